//! `rlx quickstart`: a project, a solved CartPole over several seeds, its
//! evaluation and its curve, without a file written by hand.

use std::path::PathBuf;

use serde::Serialize;

use rlxp_types::text::shell_word;

use crate::context::Context;
use crate::event::Sink;
use crate::failure::{Failure, Outcome};
use crate::insight::runs::{RunInfo, info};
use crate::studies::files::refuse_governed_at;
use crate::training::config::Checked;
use crate::training::eval::{EvalReport, EvalRequest, FIRST_SEED, eval};
use crate::training::init::{Template, init};
use crate::training::train::{TrainRequest, train};

/// The starter that is trained.
const STARTER: &str = "configs/ppo_cartpole.yaml";

/// What was made and found.
#[derive(Debug, Serialize)]
pub struct QuickstartReport {
    /// The project.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// The run, with its curves.
    pub run: RunInfo,
    /// How good it is on episodes that it has never seen.
    pub evaluation: EvalReport,
}

/// Makes a project in `folder` and trains CartPole there over `seeds` seeds.
pub fn quickstart(
    context: &Context,
    folder: &str,
    seeds: usize,
    events: Sink<'_>,
) -> Outcome<QuickstartReport> {
    refuse_governed_at(context, &context.folder.join(folder))?;
    let project = init(context, folder, Template::Native)?;
    let inside = Context { folder: project.path.clone(), folder_is_root: true, ..context.clone() };
    let request = TrainRequest {
        config: STARTER.into(),
        overrides: vec!["run_name=quickstart".into(), format!("seeds={seeds}")],
        ..TrainRequest::default()
    };
    let trained = train(&inside, &request, &mut |_: &Checked| {}, events)?;
    let name = trained.run.expect("only a dry run creates no run");
    if trained.status != Some(rlxp_types::RunStatus::Completed) {
        return Err(Failure::new(
            rlxp_types::Exit::Interrupted,
            "interrupted",
            format!("{name} was interrupted"),
        )
        .hint(format!("cd {} && rlx resume {name}", shell_word(folder))));
    }
    let request = EvalRequest {
        run: Some(name.clone()),
        episodes: 100,
        seed: FIRST_SEED,
        random: true,
        ..EvalRequest::default()
    };
    let evaluation = eval(&inside, &request, &mut |_| {})?;
    Ok(QuickstartReport { path: project.path, run: info(&inside, &name)?, evaluation })
}
