//! `approve`: a person approves the present content of the files.
//!
//! What is shown, signed and recorded comes from one [`Prepared`]. Before anything is written the study is read
//! again; a digest that changed in the meantime stops the approval.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use rlxp_govern::approval::{may_approve, statement};
use rlxp_govern::completeness::open_questions;
use rlxp_govern::documents::{Assurance, Automation, Reading, StudyName};
use rlxp_govern::ledger::event::{Approved, Refused};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::CandidateState;
use rlxp_govern::run_approval::why_approve;
use rlxp_govern::run_section::{run_digest, run_value};
use rlxp_govern::section::{COVERAGE, Section, Target, close_digest, content};
use rlxp_govern::signature::{LONGEST_SIGNATURE, Statement, verify};
use rlxp_spec::document::to_yaml;
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::approver_key::{sign, sign_command, signing_key};
use crate::studies::contract::allows::allows;
use crate::studies::files::OpenStudy;

#[derive(Clone, Debug, Default)]
pub struct ApproveRequest {
    /// The study; the active one by default.
    pub study: Option<String>,
    /// Sections and candidates by name.
    pub targets: Vec<String>,
    /// Everything that is open: sections whose present content isn't approved, and validated candidates that need an
    /// approval to run. Without targets this is what is meant.
    pub all: bool,
}

/// What would be approved, for a person to read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prepared {
    pub study: StudyName,
    /// Its unique id.
    pub study_id: String,
    /// The ledger's head that the approval is given on.
    pub head: Digest,
    /// The weakest kind of approval that counts.
    pub required: Assurance,
    /// Whether a signature can count: the study was opened with approvers.
    pub can_be_signed: bool,
    pub targets: Vec<Shown>,
}

/// One target with its present content.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    pub target: Target,
    /// The digest of everything that it covers.
    pub digest: Digest,
    /// Its own text, word for word.
    pub text: String,
    /// The targets it depends on, whose text is shown there.
    pub depends_on: Vec<String>,
    pub allows: &'static str,
}

/// A recorded approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApproveReport {
    pub study: StudyName,
    pub targets: BTreeMap<Target, Digest>,
    /// The assurance of the approval.
    pub assurance: Assurance,
    pub who: String,
    /// The number of the record.
    pub seq: u64,
    /// The ledger's head after it.
    pub head: Digest,
    /// Problems that did not change the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Prepared {
    pub fn digests(&self) -> BTreeMap<Target, Digest> {
        self.targets.iter().map(|shown| (shown.target.clone(), shown.digest)).collect()
    }

    /// What a person signs.
    pub fn statement(&self) -> Statement {
        statement(self.study_id.clone(), &self.digests(), self.head)
    }
}

/// What would be approved. Changes nothing beyond what opening a study records.
pub fn prepare(context: &Context, request: &ApproveRequest) -> Outcome<Prepared> {
    prepared(&OpenStudy::open(context, request.study.as_deref())?, request)
}

/// Approves by a signature made with `ssh-keygen -Y sign` over [`Prepared::statement`].
pub fn by_signature(context: &Context, request: &ApproveRequest, armored: &str) -> Outcome<ApproveReport> {
    let mut opened = OpenStudy::open(context, request.study.as_deref())?;
    let prepared = prepared(&opened, request)?;
    let Some(approvers) = opened.study.approvers.clone() else {
        return refused(
            &mut opened,
            &prepared,
            "approvers_unreadable",
            "the list of approvers can't be read".into(),
        );
    };
    match verify(&prepared.statement(), armored, &approvers) {
        Err(problem) => {
            let detail =
                format!("{problem}; sign the current output of `rlx approve {} --print`", names(&prepared));
            refused(&mut opened, &prepared, problem.code(), detail)
        }
        Ok(signed) if !may_approve(opened.study.state(), &signed.fingerprint) => {
            let detail = format!(
                "{} was not among the approvers when the study was opened; keys that were added later approve nothing",
                signed.fingerprint
            );
            refused(&mut opened, &prepared, "key_of_no_approver", detail)
        }
        Ok(signed) => {
            let digest = Digest::hash(armored.as_bytes());
            let (folder, file) = (opened.place.signatures(), opened.place.signature(&digest));
            crate::studies::files::read::look(context.fs.as_ref(), &opened.place.root, &folder)?;
            context.fs.create_dir_all(&folder)?;
            // Written before the record that refers to it: a record without its signature would prove nothing.
            context.fs.write_atomic(&file, armored.as_bytes())?;
            opened.study.signatures.insert(digest, armored.to_owned());
            let approved = Approved {
                targets: prepared.digests(),
                assurance: Assurance::Signature,
                who: signed.name,
                key: Some(signed.fingerprint),
                signature: Some(digest),
            };
            record(&mut opened, &prepared, approved)
        }
    }
}

/// The key that the person at the terminal can sign with, if one of the listed keys is theirs.
pub fn own_signing_key(context: &Context, request: &ApproveRequest) -> Outcome<Option<PathBuf>> {
    Ok(own_key(&OpenStudy::open(context, request.study.as_deref())?))
}

fn own_key(opened: &OpenStudy) -> Option<PathBuf> {
    signing_key(opened.context(), opened.study.approvers.as_ref()?)
}

/// Approves by a signature that the person's `ssh-keygen` makes on their terminal, after they saw `seen`.
pub fn by_key(
    context: &Context,
    request: &ApproveRequest,
    seen: &Prepared,
    key: &Path,
) -> Outcome<ApproveReport> {
    // Over what was shown: if anything has changed since, the signature doesn't fit.
    by_signature(context, request, &sign(key, &seen.statement().bytes())?)
}

/// Approves by what a person typed at a terminal after they saw `seen`.
pub fn by_terminal(
    context: &Context,
    request: &ApproveRequest,
    seen: &Prepared,
    who: &str,
) -> Outcome<ApproveReport> {
    unsigned(context, request, seen, who, Assurance::Terminal)
}

/// Refuses and records the refusal if an approval at a terminal wouldn't count, before the user has to type anything.
pub fn terminal_counts(context: &Context, request: &ApproveRequest) -> Outcome<()> {
    let mut opened = OpenStudy::open(context, request.study.as_deref())?;
    let prepared = prepared(&opened, request)?;
    sure_enough(&mut opened, &prepared, Assurance::Terminal)
}

fn sure_enough(opened: &mut OpenStudy, prepared: &Prepared, assurance: Assurance) -> Outcome<()> {
    if assurance >= prepared.required {
        return Ok(());
    }
    let detail = format!("this study requires approval by {}, not by {assurance}", prepared.required);
    refused(opened, prepared, "approval_too_weak", detail)
}

fn unsigned(
    context: &Context,
    request: &ApproveRequest,
    seen: &Prepared,
    who: &str,
    assurance: Assurance,
) -> Outcome<ApproveReport> {
    let mut opened = OpenStudy::open(context, request.study.as_deref())?;
    let prepared = prepared(&opened, request)?;
    if prepared.digests() != seen.digests() || prepared.study_id != seen.study_id {
        let message = "the content changed after it was shown; nothing was approved";
        return Err(Failure::refused("changed_meanwhile", message)
            .hint("run the command again and review the new content"));
    }
    sure_enough(&mut opened, &prepared, assurance)?;
    let approved =
        Approved { targets: prepared.digests(), assurance, who: who.to_owned(), key: None, signature: None };
    record(&mut opened, &prepared, approved)
}

fn record(opened: &mut OpenStudy, prepared: &Prepared, approved: Approved) -> Outcome<ApproveReport> {
    let (assurance, who) = (approved.assurance, approved.who.clone());
    if opened.study.ledger.head() != prepared.head {
        return Err(Failure::with_kind(
            FailureKind::LedgerMoved,
            "the ledger changed in the meantime; nothing was approved",
        )
        .hint("run the command again"));
    }
    crate::studies::contract::keep_approved(opened, &prepared.digests())?;
    let record = opened.append(Actor::Person, Event::Approved(approved))?;
    let (seq, head) = (record.seq, record.digest);
    Ok(ApproveReport {
        study: prepared.study.clone(),
        targets: prepared.digests(),
        assurance,
        who,
        seq,
        head,
        warnings: opened.warnings.clone(),
    })
}

/// Records the refusal of an approval, once per series of attempts.
fn refused<T>(opened: &mut OpenStudy, prepared: &Prepared, code: &'static str, detail: String) -> Outcome<T> {
    let what = format!("approve {}", names(prepared));
    opened.record_refusal(Refused { what, codes: vec![code.into()], detail: detail.clone(), draft: None })?;
    let failure = Failure::refused(code, format!("not approved: {detail}"));
    Err(how_to_approve(prepared, &names(prepared), own_key(opened).as_deref())
        .into_iter()
        .fold(failure, Failure::hint))
}

/// Commands that approve these targets in a way that can count in their study.
pub fn how_to_approve(prepared: &Prepared, targets: &str, key: Option<&Path>) -> Vec<String> {
    if !prepared.can_be_signed {
        return vec![format!("rlx approve {targets}    # at a terminal")];
    }
    vec![
        format!("rlx approve {targets} --print > statement"),
        sign_command(key),
        format!("rlx approve {targets} --signature statement.sig"),
    ]
}

fn names(prepared: &Prepared) -> String {
    prepared.targets.iter().map(|shown| shown.target.to_string()).collect::<Vec<_>>().join(" ")
}

fn prepared(opened: &OpenStudy, request: &ApproveRequest) -> Outcome<Prepared> {
    let study = &opened.study;
    let digests = study.digests();
    let study_id = study.state().opened.as_ref().map(|opened| opened.id.clone()).unwrap_or_default();
    let mut targets = Vec::new();
    for target in wanted(opened, request)? {
        let (digest, text) = match &target {
            Target::Section(section) => {
                complete(opened, *section)?;
                let digest = digests.get(section).copied().ok_or_else(|| unreadable(&target))?;
                (digest, content(*section, &study.files).map(|value| to_yaml(&value)).unwrap_or_default())
            }
            Target::Close => {
                let identity = study.identity().ok_or_else(|| unreadable(&target))?;
                (close_digest(&identity), "{}\n".to_owned())
            }
            Target::Run(key) => run(opened, key)?,
            Target::Candidate(id) => match opened.candidate(id)? {
                Reading::Read(written) => {
                    let digest = study.candidate_digest(&written).ok_or_else(|| unreadable(&target))?;
                    (digest, to_yaml(&written.explicit))
                }
                Reading::Missing => {
                    let message = format!("no candidate {id}");
                    return Err(Failure::usage("candidate_not_found", message).hint("rlx candidate list"));
                }
                Reading::Broken(_) => {
                    return Err(unreadable(&target).hint(format!("rlx candidate show {id}")));
                }
            },
        };
        targets.push(Shown {
            digest,
            text,
            depends_on: depends_on(&target),
            allows: allows(&target),
            target,
        });
    }
    let head = study.ledger.head();
    Ok(Prepared {
        study: study.name.clone(),
        study_id,
        head,
        required: study.required(),
        can_be_signed: study.can_be_signed(),
        targets,
    })
}

/// What rlx knows of a run, for the person who decides whether it counts.
fn run(opened: &OpenStudy, key: &str) -> Outcome<(Digest, String)> {
    let study = &opened.study;
    let Some(run) = study.state().runs.get(key) else {
        let message = format!("no run {key} in {}", study.name);
        return Err(Failure::with_kind(FailureKind::RunNotFound, message).hint("rlx launch status"));
    };
    if run.ended.is_none() {
        let message = format!("run {key} is {}; it can be approved once it has ended", run.state);
        return Err(Failure::refused("run_not_over", message).hint("rlx launch status"));
    }
    let Some(why) = why_approve(study.state(), study.files.metric_spec.typed(), run) else {
        let message = match run.not_evidence() {
            Some(code) => format!("run {key} never counts as evidence: {code}"),
            None => format!("run {key} needs no approval: it counts without one, or never"),
        };
        return Err(Failure::refused("approval_not_needed", message).hint("rlx study next"));
    };
    let identity = study.identity().ok_or_else(|| unreadable(&Target::Run(key.into())))?;
    let value = run_value(&identity, run).expect("it has ended");
    let digest = run_digest(&identity, run).expect("it has ended");
    Ok((digest, format!("# {why}\n{}", to_yaml(&value))))
}

fn wanted(opened: &OpenStudy, request: &ApproveRequest) -> Outcome<BTreeSet<Target>> {
    let mut targets = BTreeSet::new();
    for text in &request.targets {
        let target = text.parse().map_err(|error| {
            let known: Vec<String> = Section::ALL.iter().map(ToString::to_string).collect();
            Failure::usage("unknown_section", format!("{error}; sections are {}", known.join(", ")))
                .hint("rlx contract request")
        })?;
        targets.insert(target);
    }
    if request.all || request.targets.is_empty() {
        let open = opened.study.standings().into_iter().filter(|(_, standing)| !standing.is_given());
        targets.extend(open.map(|(section, _)| Target::Section(section)));
        targets.extend(open_candidates(opened)?);
    }
    if targets.is_empty() {
        let message = "everything that is open is already approved";
        return Err(Failure::refused("nothing_to_approve", message).hint("rlx study next"));
    }
    Ok(targets)
}

/// Validated candidates that can't run without an approval.
fn open_candidates(opened: &OpenStudy) -> Outcome<Vec<Target>> {
    let study = &opened.study;
    if study.contract().is_none_or(|contract| contract.automation == Automation::Autonomous) {
        return Ok(Vec::new());
    }
    let mut open = Vec::new();
    for (id, record) in &study.state().candidates {
        if record.state == CandidateState::Validated
            && let Reading::Read(written) = opened.candidate(id)?
            && !study.candidate_standing(&written).is_given()
        {
            open.push(Target::Candidate(id.clone()));
        }
    }
    Ok(open)
}

/// Refuses a section with open questions.
fn complete(opened: &OpenStudy, section: Section) -> Outcome<()> {
    let mut open: Vec<String> = open_questions(&opened.study.files)
        .into_iter()
        .filter(|open| {
            let key = open.path.split(['.', '[']).next().unwrap_or_default();
            COVERAGE.iter().any(|(file, covered, owner)| {
                file.name() == open.file && *covered == key && *owner == section
            })
        })
        .map(|open| format!("{} {}: {}", open.file, open.path, open.question))
        .collect();
    let spec = opened.study.files.metric_spec.typed().filter(|_| section == Section::Metrics);
    let outside = spec.and_then(rlxp_govern::documents::MetricSpec::primary_outside_evaluation);
    open.extend(outside.map(|why| format!("metric_spec.yaml primary.source: {why}")));
    if open.is_empty() {
        return Ok(());
    }
    let message = format!("section {section} is incomplete: {}", open.join("; "));
    Err(Failure::refused("contract_incomplete", message).hint("rlx contract check"))
}

fn unreadable(target: &Target) -> Failure {
    let message = format!("{target} can't be approved: one of its files is missing or invalid");
    Failure::refused("file_broken", message).hint("rlx contract check")
}

fn depends_on(target: &Target) -> Vec<String> {
    match target {
        Target::Section(section) => section.depends_on().iter().map(ToString::to_string).collect(),
        Target::Candidate(_) => vec![Section::Experiment.to_string()],
        Target::Run(_) | Target::Close => Vec::new(),
    }
}

/// The text of a signature file.
pub fn read_signature(context: &Context, file: &str) -> Outcome<String> {
    let path = context.folder.join(file);
    context.fs.read_text(&path, LONGEST_SIGNATURE as u64).map_err(|error| {
        Failure::usage("signature_unreadable", crate::failure::describe(&error)).hint(sign_command(None))
    })
}
