//! `candidate`: one bounded change at a time, from a draft to a plan that every gate has passed.

mod code;
mod draft;
mod look;
mod protected;
mod revise;

use std::collections::BTreeMap;

use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::documents::{CandidateKind, Phase, Reading, Slug, StudyName, Written};
use rlxp_govern::gate::{GateName, Purpose, Refusal, refusals};
use rlxp_govern::ledger::event::{PlannedPhase, Refused, RefusedDraft, Reopened, Validated};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::CandidateState;
use rlxp_govern::plan::{Plan, effect, phases};
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::Value;

pub use code::{LONGEST_SOURCE, base, find_program, is_in};
pub use draft::{Draft, KeyIsFlag, NewReport, UnknownKey, new};
pub use look::view;
pub(crate) use look::{Looked, look, look_at};
pub use protected::{Protected, protected};
pub use revise::{ReviseReport, revise};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;

/// A candidate that passed every gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidateReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub revision: u64,
    /// The digest of everything a launch would use.
    pub plan: Digest,
    pub parts: BTreeMap<String, Digest>,
    pub phases: Vec<PlannedPhase>,
    /// The gates that it passed.
    pub gates: Vec<GateName>,
    /// Whether it was already recorded.
    pub already: bool,
}

/// Checks a candidate against every gate; if all pass, records that with its plan.
pub fn validate(context: &Context, study: Option<&str>, name: &str) -> Outcome<ValidateReport> {
    let mut opened = OpenStudy::open_with_head(context, study)?;
    let validated = validate_in(&mut opened, name);
    opened.leave();
    validated
}

fn validate_in(opened: &mut OpenStudy, name: &str) -> Outcome<ValidateReport> {
    let id = known(opened, name)?;
    is_not_settled(opened, &id)?;
    let Looked { view, tree, training } = look(opened, &id)?;
    opened.warnings.extend([tree, training].into_iter().flatten().filter_map(|tree| tree.warning()));
    let refused = refusals(Purpose::Validate, &opened.study, Some(&view));
    if !refused.is_empty() {
        return Err(refuse(opened, "validate", &id, refused)?);
    }
    let plan = Plan::for_candidate(&opened.study, &view).ok_or_else(|| {
        Failure::refused("plan_unknown", format!("can't plan {id}")).hint("rlx contract check")
    })?;
    let candidate = &view.written.typed;
    let validated = Validated {
        candidate: id.clone(),
        revision: candidate.revision,
        kind: candidate.kind,
        file: view.file,
        digest: opened.study.candidate_digest(&view.written).expect("its plan has it"),
        plan: plan.digest(),
        parts: plan.parts.clone(),
        phases: phases(&opened.study, &view),
        base: view.base.clone(),
        programs: view.programs.clone(),
        effect: effect(&view),
    };
    let known = opened.study.state().candidates.get(&id);
    // The plan covers everything that counts; a record of an earlier version may have fewer fields beside it.
    let already = known.is_some_and(|record| {
        record.state == CandidateState::Validated
            && (record.validated.plan, record.validated.file) == (validated.plan, validated.file)
    });
    let report = ValidateReport {
        study: opened.study.name.clone(),
        candidate: id,
        revision: validated.revision,
        plan: validated.plan,
        parts: plan.parts,
        phases: validated.phases.clone(),
        gates: rlxp_govern::gate::names(Purpose::Validate),
        already,
    };
    if !already {
        let again = known.and_then(|record| match record.state {
            CandidateState::Debug => Some("it was debugged".to_owned()),
            // Files of the repository that are only checked at launch.
            CandidateState::Validated => {
                let changed = Plan::differences(&record.validated.parts, &validated.parts);
                Some(format!("files it was validated with have changed: {}", changed.join(", ")))
            }
            _ => None,
        });
        let mut events = Vec::new();
        if let Some(reason) = again {
            let reopened = Reopened { candidate: report.candidate.clone(), reason };
            events.push((Actor::Rlx, Event::Reopened(reopened)));
        }
        events.push((Actor::Rlx, Event::Validated(validated)));
        opened.append_all(events)?;
    }
    Ok(report)
}

/// A candidate that has run can't be validated again: retrying takes another candidate or, after debugging, another
/// revision.
fn is_not_settled(opened: &OpenStudy, id: &Slug) -> Outcome<()> {
    let Some(record) = opened.study.state().candidates.get(id) else { return Ok(()) };
    match record.state {
        CandidateState::Draft | CandidateState::Validated | CandidateState::Debug => Ok(()),
        state => {
            let message = format!("{id} is {state}: a candidate that has run can't be validated again");
            if record.furthest() == Some(Phase::Smoke) {
                let hint = format!("rlx candidate revise {id}    # only smoke runs were started");
                return Err(Failure::refused("candidate_settled", message).hint(hint));
            }
            Err(Failure::refused("candidate_settled", message)
                .hint(format!("rlx candidate show {id}"))
                .hint("rlx study next"))
        }
    }
}

/// Records the refusal and returns it as a failure.
pub(crate) fn refuse(
    opened: &mut OpenStudy,
    verb: &str,
    id: &Slug,
    refused: Vec<Refusal>,
) -> Outcome<Failure> {
    let mut codes: Vec<String> = refused.iter().map(|refusal| refusal.code.to_string()).collect();
    codes.dedup();
    let detail: Vec<&str> = refused.iter().map(|refusal| refusal.reason.as_str()).collect();
    let mut detail = detail.join("; ");
    if detail.len() > LONGEST_DETAIL {
        let end = detail.floor_char_boundary(LONGEST_DETAIL);
        detail.truncate(end);
        detail.push('…');
    }
    let file = opened.study.candidate_files.get(id.as_str()).filter(|_| verb == "validate");
    let draft = file.map(|file| RefusedDraft { candidate: id.clone(), file: *file });
    opened.record_refusal(Refused { what: format!("{verb} {id}"), codes, detail, draft })?;
    let doing = match verb {
        "validate" => format!("validating {id}"),
        verb => format!("{verb}ing {id}"),
    };
    Ok(Failure::gates(&doing, refused))
}

/// Reasons in the ledger are for people; this keeps a candidate from filling it.
const LONGEST_DETAIL: usize = 2000;

#[derive(Clone, Debug, Serialize)]
pub struct ShowReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub state: CandidateState,
    /// The content of its file; `None` if it can't be read.
    pub text: Option<Value>,
    /// The problems of its file.
    pub problems: Vec<String>,
    pub approval: ApprovalStatus,
    /// The plan that it was validated with.
    pub plan: Option<Digest>,
    pub runs: Vec<RunLine>,
    /// Why it can't be validated now; empty if it can.
    pub refusals: Vec<Refusal>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    pub key: String,
    pub phase: String,
    pub seed: u64,
    pub state: String,
}

/// Everything about one candidate. Records nothing beyond what opening does.
pub fn show(context: &Context, study: Option<&str>, name: &str) -> Outcome<ShowReport> {
    let opened = OpenStudy::open(context, study)?;
    let id = known(&opened, name)?;
    let (text, problems, approval, refused) = match opened.candidate(&id)? {
        Reading::Read(written) => {
            let view = look::look_at(&opened, &id, *written)?.view;
            let refused = refusals(Purpose::Validate, &opened.study, Some(&view));
            let approval = opened.study.candidate_standing(&view.written);
            (Some(view.written.explicit), Vec::new(), approval, refused)
        }
        Reading::Broken(problems) => (None, problems, ApprovalStatus::Missing, Vec::new()),
        Reading::Missing => {
            (None, vec!["its file is missing".to_owned()], ApprovalStatus::Missing, Vec::new())
        }
    };
    let state = opened.study.state();
    let record = state.candidates.get(&id);
    let runs = state.runs_of(&id).into_iter().map(|run| RunLine {
        key: run.intent.key.clone(),
        phase: run.intent.phase.to_string(),
        seed: run.intent.seed,
        state: run.state.to_string(),
    });
    Ok(ShowReport {
        study: opened.study.name.clone(),
        state: record.map_or(CandidateState::Draft, |record| record.state),
        text,
        problems,
        approval,
        plan: record.map(|record| record.validated.plan),
        runs: runs.collect(),
        refusals: refused,
        candidate: id,
    })
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListLine {
    pub candidate: String,
    pub state: CandidateState,
    /// `None` before it was validated.
    pub kind: Option<CandidateKind>,
    /// `None` before it was validated.
    pub revision: Option<u64>,
    /// Phases that have run.
    pub phases: Vec<String>,
    pub file: bool,
}

/// All candidates of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListReport {
    pub study: StudyName,
    /// The reference for all comparisons.
    pub incumbent: Option<Slug>,
    /// Sorted by name.
    pub candidates: Vec<ListLine>,
}

/// All candidates: files, and recorded candidates whose files are gone.
pub fn list(context: &Context, study: Option<&str>) -> Outcome<ListReport> {
    let opened = OpenStudy::open(context, study)?;
    let state = opened.study.state();
    let mut names: Vec<&str> = opened.study.candidate_files.keys().map(String::as_str).collect();
    names.extend(state.candidates.keys().map(Slug::as_str));
    names.sort_unstable();
    names.dedup();
    let line = |name: &str| {
        let record = state.candidates.get(name);
        ListLine {
            candidate: name.to_owned(),
            state: record.map_or(CandidateState::Draft, |record| record.state),
            kind: record.map(|record| record.validated.kind),
            revision: record.map(|record| record.validated.revision),
            phases: record
                .map(|record| record.phases.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            file: opened.study.candidate_files.contains_key(name),
        }
    };
    Ok(ListReport {
        study: opened.study.name.clone(),
        incumbent: state.incumbent.clone(),
        candidates: names.into_iter().map(line).collect(),
    })
}

/// The candidate with this name, if there is a file or a record of it.
pub(crate) fn known(opened: &OpenStudy, name: &str) -> Outcome<Slug> {
    let id: Slug = name
        .parse()
        .map_err(|error: rlxp_govern::documents::NotASlug| Failure::usage("bad_name", error.to_string()))?;
    if opened.study.candidate_files.contains_key(name) || opened.study.state().candidates.contains_key(name) {
        return Ok(id);
    }
    let near = rlxp_spec::nearest(name, opened.study.candidate_files.keys().map(String::as_str));
    let failure =
        Failure::usage("candidate_not_found", format!("no candidate {name} in {}", opened.study.name));
    Err(match near {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("rlx candidate list"),
    })
}

/// Reads a candidate's file; fails if it is not valid.
fn written(opened: &OpenStudy, id: &Slug) -> Outcome<Written<rlxp_govern::documents::Candidate>> {
    match opened.candidate(id)? {
        Reading::Read(written) => Ok(*written),
        Reading::Missing => {
            let message = format!("the file of candidate {id} is missing");
            Err(Failure::usage("candidate_not_found", message).hint("rlx candidate list"))
        }
        Reading::Broken(problems) => {
            let message = format!("candidates/{id}.yaml is invalid: {}", problems.join("; "));
            let hint = format!("edit {} and fill in every TODO", opened.place.candidate(id).display());
            Err(Failure::usage("candidate_broken", message).hint(hint))
        }
    }
}
