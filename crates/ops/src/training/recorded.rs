//! What a run's record says of its training: the config it was trained from
//! and the return at which it was to stop.

use rlxp_spec::{Config, Source};
use rlxp_store::Run;

use super::old_rules::as_trained;
use crate::failure::{Failure, Outcome};

/// Metadata key of the return at which training stops early.
pub(crate) const STOP_AT: &str = "stop_at";

/// The config that the run is trained from, with every value as training uses it.
pub(crate) fn config_of(run: &Run) -> Outcome<Config> {
    let name = run.config_path().display().to_string();
    let source = Source { name, text: run.config_snapshot()? };
    let read = rlxp_spec::from_snapshot(&source)
        .map_err(|problems| Failure::config(problems.problems, problems.sources))?;
    Ok(as_trained(read))
}
