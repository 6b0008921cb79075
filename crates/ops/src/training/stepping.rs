//! Steps an environment without learning, for programs that measure how fast that is.

use rlxp_env::{EnvError, Sources, VectorEnv};
use rlxp_spec::config::EnvConfig;
use rlxp_types::Stream;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::{permit_training, refuse_governed};
use crate::training::bridge::Python;
use crate::training::train::project_for_new_run;

/// Makes the `num_envs` copies that `env` asks for as training does, and hands them to `work`.
pub fn with_copies<T>(
    context: &Context,
    env: &EnvConfig,
    work: impl FnOnce(&mut dyn VectorEnv) -> Result<T, EnvError>,
) -> Outcome<T> {
    refuse_governed(context)?;
    let root = project_for_new_run(context)?.root().to_owned();
    let python = Python::new(permit_training(context, &root)?, context, &root, env, context.cores)?;
    let table = python.table();
    let streams = (0..env.num_envs as u64).map(|copy| Stream::new(0, "env", copy)).collect();
    let failed = |error: &dyn std::error::Error| Failure::usage("env_failed", error.to_string());
    let mut copies = Sources::new(&table).make(env, streams).map_err(|error| failed(&error))?;
    work(copies.as_mut()).map_err(|error| failed(&error))
}
