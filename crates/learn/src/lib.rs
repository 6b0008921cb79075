//! Learning algorithms, one file each, over `rlxp-nn` and `rlxp-env`.
//!
//! Nothing here knows files, processes or terminals: a learner is stepped from outside, returns what happened, and
//! converts itself to named tensors and back, so that the owner of the run folder can save it at any update.
//!
//! | module | what |
//! |---|---|
//! | `learner` | the interface of every algorithm, and the table of algorithms |
//! | `ppo` | the algorithm, top to bottom as the paper: collect, advantages, update |
//! | `rollout` | many environments stepped with one policy into flat buffers |
//! | `advantage` | generalised advantage estimation |
//! | `normalize` | running moments of observations and of the discounted return |
//! | `signals` | metrics of each rollout that show how training goes |
//! | `observed` | metrics of observations, and the share of dormant units |
//! | `policy` | what acts: network, weights, frozen normaliser, action bounds |
//! | `evaluate` | seeded episodes of a policy or of a baseline |
//! | `inspect` | what a policy looks at: episodes step by step, attribution per observation dimension |
//! | `parallel` | fixed shards over threads: the thread count never changes a bit |

pub mod advantage;
pub mod evaluate;
pub mod inspect;
pub mod learner;
pub mod normalize;
mod observed;
mod parallel;
pub mod policy;
pub mod ppo;
pub mod rollout;
mod signals;
mod state;
#[cfg(test)]
mod testing;

pub use evaluate::{Actor, Episode, EpisodeFactory, Evaluation, evaluate, evaluate_in};
pub use learner::{Agent, Algorithm, Learner, Resumed, Setup, Spaces, Update, algorithm};
pub use policy::Policy;
pub use ppo::Ppo;
pub use rollout::Factory;

/// Why a learner can't be created, restored or continued.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The environment can't be created as requested.
    #[error(transparent)]
    Environment(rlxp_env::MakeError),
    /// The environment failed while it was used.
    #[error("environment {env:?} failed")]
    EnvironmentFailed {
        env: String,
        /// Which copy, and what happened.
        source: rlxp_env::EnvError,
    },
    /// The environment's saved state does not fit.
    #[error(transparent)]
    EnvironmentState(#[from] rlxp_env::BadState),
    /// The network's tensors don't fit the config.
    #[error(transparent)]
    Network(#[from] rlxp_nn::ShapeMismatch),
    /// A tensor is missing or of another type.
    #[error(transparent)]
    Tensors(#[from] rlxp_nn::TensorsError),
    /// The optimiser's moments don't fit.
    #[error(transparent)]
    Moments(#[from] rlxp_nn::MomentsMismatch),
    /// A part of a checkpoint is missing or has the wrong size.
    #[error("the checkpoint's {name:?} is {problem}")]
    State {
        /// Name of the tensor.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value became NaN or infinite: training can't continue.
    #[error("{what} became {value} at step {step}: training diverged")]
    Diverged {
        what: &'static str,
        value: f64,
        /// Environment steps done.
        step: u64,
        /// The metrics of the update in which it happened, as far as it got.
        values: Vec<(&'static str, f64)>,
    },
}

impl LearnError {
    /// An error of the environment `env`.
    pub fn in_environment(env: &str, error: rlxp_env::EnvError) -> Self {
        match error {
            rlxp_env::EnvError::State(bad) => Self::EnvironmentState(bad),
            source => Self::EnvironmentFailed { env: env.to_owned(), source },
        }
    }
}

impl From<rlxp_env::MakeError> for LearnError {
    fn from(error: rlxp_env::MakeError) -> Self {
        match error {
            rlxp_env::MakeError::Failed { env, source } => Self::in_environment(&env, source),
            refused @ rlxp_env::MakeError::Config { .. } => Self::Environment(refused),
        }
    }
}
