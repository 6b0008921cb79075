//! What the approval of a run, `run:<key>`, covers. Sections know nothing of the ledger; this does.

use rlxp_types::Digest;
use serde_json::{Value, json};

use crate::canonical;
use crate::ledger::state::RunRecord;
use crate::section::Identity;

/// The digest of a run as the ledger has it; `None` before it has ended.
pub fn run_digest(identity: &Identity, run: &RunRecord) -> Option<Digest> {
    run_value(identity, run).map(|value| canonical::digest(&value))
}

/// What the approval of a run covers: how it was intended and how it ended, with its files by the digest of their
/// list.
pub fn run_value(identity: &Identity, run: &RunRecord) -> Option<Value> {
    Some(json!({
        "schema": "rlxp.section/1",
        "study": identity.study,
        "approvers": identity.approvers,
        "section": "run",
        "intended": canonical::plain(&run.intent),
        "ended": canonical::plain(run.ended.as_ref()?),
    }))
}
