//! `rlx study status`: the state of a study according to its files and its ledger.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::budget::Amounts;
use rlxp_govern::completeness::{Open, open_questions};
use rlxp_govern::documents::{Assurance, Automation, Reading, Slug};
use rlxp_govern::first_run::drafts_of;
use rlxp_govern::machine::{CandidateState, RunState};
use rlxp_govern::section::{File, Section, Target};
use rlxp_types::Digest;
use serde::Serialize;

use crate::below::{amounts_about, word_of};
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::files::copy::LedgerCopy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::open_study::OpenStudy;

#[derive(Clone, Debug, Serialize)]
pub struct StudyStatus {
    pub task: Slug,
    pub study: Slug,
    pub id: String,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// Whether the loop was entered and it isn't closed.
    pub open: bool,
    /// Why it was closed.
    pub closed: Option<String>,
    /// Who starts runs; `None` without a contract.
    pub automation: Option<Automation>,
    /// The weakest kind of approval that counts.
    pub required: Assurance,
    /// The four files.
    pub files: Vec<FileStatus>,
    /// What the contract still lacks.
    pub questions: Vec<Open>,
    pub approvals: Vec<TargetApproval>,
    /// Number of candidates in each state.
    pub candidates: BTreeMap<CandidateState, usize>,
    /// Number of runs in each state.
    pub runs: BTreeMap<&'static str, usize>,
    pub budget: BudgetStatus,
    /// The reference for all comparisons.
    pub incumbent: Option<Incumbent>,
    pub ledger: LedgerStatus,
    /// Runs whose files exist although the ledger doesn't have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_runs: Vec<String>,
    /// Number of recorded refusals.
    pub refusals: usize,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// One of the four files.
#[derive(Clone, Debug, Serialize)]
pub struct FileStatus {
    pub file: &'static str,
    pub state: FileState,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    Missing,
    Broken,
    Read,
}

#[derive(Clone, Debug, Serialize)]
pub struct TargetApproval {
    pub target: Target,
    #[serde(flatten)]
    pub standing: ApprovalStatus,
}

/// What is spent, reserved and left.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BudgetStatus {
    /// By runs that ended.
    pub spent: Amounts,
    /// For runs that are intended or active.
    pub reserved: Amounts,
    /// The contract's budget; `None` without a contract.
    pub total: Option<Amounts>,
    /// What can still be reserved.
    pub left: Option<Amounts>,
}

/// The accepted candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Incumbent {
    pub candidate: Slug,
    /// Its primary metric, if known.
    pub score: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LedgerStatus {
    pub records: u64,
    /// The digest of the last one.
    pub head: Digest,
    /// When the last one was written.
    pub last: Option<String>,
    /// Bytes after the last complete record. Nothing depends on them: a record counts once it is complete.
    pub torn: usize,
}

/// The status of the study that `selector` names, or of the active one.
pub fn status(context: &Context, selector: Option<&str>) -> Outcome<StudyStatus> {
    let opened = OpenStudy::open(context, selector)?;
    status_of(&opened)
}

pub fn status_of(opened: &OpenStudy) -> Outcome<StudyStatus> {
    let study = &opened.study;
    let state = study.state();
    let standings = opened.standings()?;
    let total = study.contract().map(|contract| Amounts::from(&contract.budget));
    let mut candidates: BTreeMap<CandidateState, usize> = BTreeMap::new();
    for record in state.candidates.values().filter(|record| record.state != CandidateState::Draft) {
        *candidates.entry(record.state).or_default() += 1;
    }
    let drafts = drafts_of(study).len();
    if drafts > 0 {
        candidates.insert(CandidateState::Draft, drafts);
    }
    let mut runs: BTreeMap<&'static str, usize> = BTreeMap::new();
    for run in state.runs.values() {
        let name = match run.state {
            RunState::Intended => "intended",
            RunState::Running => "running",
            RunState::Ended(_) => "ended",
        };
        *runs.entry(name).or_default() += 1;
    }
    Ok(StudyStatus {
        task: study.name.task.clone(),
        study: study.name.study.clone(),
        id: state.opened.as_ref().map(|opened| opened.id.clone()).unwrap_or_default(),
        path: opened.place.folder.clone(),
        open: study.is_open(),
        closed: state.closed.clone(),
        automation: study.contract().map(|contract| contract.automation),
        required: study.required(),
        files: files(opened),
        questions: open_questions(&study.files),
        approvals: standings
            .into_iter()
            .map(|(target, standing)| TargetApproval { target, standing })
            .collect(),
        candidates,
        runs,
        budget: BudgetStatus {
            spent: state.tally.spent,
            reserved: state.tally.reserved,
            total,
            left: total.map(|total| state.tally.left(total)),
        },
        incumbent: state
            .incumbent
            .clone()
            .map(|candidate| Incumbent { candidate, score: state.incumbent_score }),
        ledger: LedgerStatus {
            records: study.ledger.next_seq(),
            head: study.ledger.head(),
            last: study.ledger.records.last().map(|record| record.at.clone()),
            torn: study.ledger.torn,
        },
        unknown_runs: match LaunchPaths::for_study(opened) {
            Ok(place) => place.unknown_runs(opened.context().fs.as_ref(), &study.ledger)?,
            // Without a home folder there are no runs.
            Err(_) => Vec::new(),
        },
        refusals: state.refusals.len(),
        warnings: opened.warnings.iter().cloned().chain(no_copy(opened)?).collect(),
    })
}

/// What is said of a study with approvals whose ledger has no copy outside the repository.
fn no_copy(opened: &OpenStudy) -> Outcome<Option<String>> {
    let (fs, ledger) = (opened.context().fs.as_ref(), &opened.study.ledger);
    if ledger.state.approvals.is_empty() || LedgerCopy::find(fs, &opened.place, ledger)?.is_some() {
        return Ok(None);
    }
    let said = "your state folder has no copy of the ledger, so an older ledger in the repository would not be \
                noticed; the next approval or run writes one";
    Ok(Some(said.to_owned()))
}

fn files(opened: &OpenStudy) -> Vec<FileStatus> {
    fn file_status<T>(file: File, reading: &Reading<T>) -> FileStatus {
        let (state, problems) = match reading {
            Reading::Missing => (FileState::Missing, Vec::new()),
            Reading::Broken(problems) => (FileState::Broken, problems.clone()),
            Reading::Read(_) => (FileState::Read, Vec::new()),
        };
        FileStatus { file: file.name(), state, problems }
    }
    let files = &opened.study.files;
    vec![
        file_status(File::Contract, &files.contract),
        file_status(File::MetricSpec, &files.metric_spec),
        file_status(File::SurfaceMap, &files.surface_map),
        file_status(File::Runbook, &files.runbook),
    ]
}

impl StudyStatus {
    /// Sections without a valid approval.
    pub fn not_approved(&self) -> impl Iterator<Item = (Section, &ApprovalStatus)> {
        self.approvals.iter().filter_map(|approval| match &approval.target {
            Target::Section(section) if !approval.standing.is_given() => Some((*section, &approval.standing)),
            _ => None,
        })
    }

    /// The status as Markdown, for a report that people read.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# Study {}/{}\n\n", self.task, self.study);
        for paragraph in self.paragraphs() {
            text.push_str(&paragraph);
            text.push_str("\n\n");
        }
        text.push_str("## Approvals\n\n");
        for approval in &self.approvals {
            text.push_str(&format!("- {}: {}\n", approval.target, approval.standing));
        }
        text
    }

    pub fn paragraphs(&self) -> Vec<String> {
        let stand = match (&self.closed, self.open) {
            (Some(reason), _) => format!("Closed: {reason}."),
            (None, true) => {
                "Open: the loop was entered; runs can only be started with rlx launch.".to_owned()
            }
            (None, false) => "In preparation: the loop was not entered.".to_owned(),
        };
        let mut all = vec![stand];
        let unread: Vec<String> = self
            .files
            .iter()
            .filter(|file| file.state != FileState::Read)
            .map(|file| format!("{} is {}", file.file, word_of(&file.state)))
            .collect();
        if !unread.is_empty() {
            all.push(format!("Documents: {}.", unread.join(", ")));
        }
        if !self.questions.is_empty() {
            all.push(format!("The contract has {}.", counted(self.questions.len(), "open question")));
        }
        let candidates: Vec<String> =
            self.candidates.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let runs: Vec<String> = self.runs.iter().map(|(state, count)| format!("{count} {state}")).collect();
        all.push(format!("Candidates: {}. Runs: {}.", listed(&candidates), listed(&runs)));
        if !self.unknown_runs.is_empty() {
            all.push(format!(
                "Runs that the ledger doesn't have, although their files exist: {} (rlx verify --chain).",
                self.unknown_runs.join(", ")
            ));
        }
        all.push(self.budget.sentence());
        all.push(match &self.incumbent {
            Some(Incumbent { candidate, score: Some(score) }) => format!("Incumbent: {candidate}, {score}."),
            Some(Incumbent { candidate, score: None }) => format!("Incumbent: {candidate}."),
            None => "No incumbent yet.".to_owned(),
        });
        let LedgerStatus { records, head, torn, .. } = &self.ledger;
        let mut ledger = format!("Ledger: {}, head {}.", counted(*records as usize, "record"), head.short());
        if *torn > 0 {
            ledger.push_str(&format!(" {torn} bytes after the last record were never acknowledged."));
        }
        all.push(ledger);
        all
    }
}

impl BudgetStatus {
    fn sentence(&self) -> String {
        let Some(left) = self.left else { return "No budget yet.".to_owned() };
        let shown = |amounts: Amounts| listed(&amounts_about(amounts));
        format!(
            "Budget left: {}. Spent: {}. Reserved: {}.",
            shown(left),
            shown(self.spent),
            shown(self.reserved)
        )
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}
