//! `rlx study probe summarize`: successes by value, the range around the nominal value in which the policy works, and
//! what a reader should know before that range is used.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_analyze::statistics::feasible::{Range, Trial, feasible};
use rlxp_fs::{Fs, FsExt};
use rlxp_govern::documents::{
    CandidateKind, Feasibility, Phase, ProbeRange, ProbeResult, ProbeSummary, ProbedRun, Reading, Slug,
    StudyName,
};
use rlxp_govern::ledger::attempts;
use rlxp_govern::ledger::event::{Analysis, Analyzed, ProbePoint, ProbedSpan};
use rlxp_govern::ledger::state::{RunRecord, StudyState};
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::next_run::runs_left;
use rlxp_types::{Digest, Exit};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::analysis_file::{AnalysisFile, check_open, write};
use crate::studies::candidate::known;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};
use crate::studies::launch::{reconcile, recorded_manifest};
use crate::studies::present::surfaces_in_scope;

/// What the probe step writes, in its own folder.
const RESULT: &str = "probe/probe.json";
/// Counts are short.
const LONGEST_RESULT: u64 = 1 << 20;
/// How often the edges of a range are refined.
const MOST_REFINEMENTS: usize = 3;

/// A summary and where it was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeSummaryReport {
    pub name: StudyName,
    #[serde(flatten)]
    pub written: AnalysisFile,
    #[serde(rename = "probe_summary")]
    pub content: ProbeSummary,
}

/// The content of `probe.json`.
#[derive(Deserialize)]
struct Counted {
    episodes: u64,
    successes: u64,
}

/// Summarizes a probe whose runs have all ended, with earlier probes of the same parameter on the same policies.
pub fn summarize(context: &Context, study: Option<&str>, name: &str) -> Outcome<ProbeSummaryReport> {
    let mut opened = OpenStudy::open(context, study)?;
    check_open(&opened)?;
    reconcile(context, &mut opened)?;
    let id = known(&opened, name)?;
    let (content, analyzed) = compute(context, &opened, &id)?;
    let name = opened.study.name.clone();
    let written = write(context, &mut opened, &format!("probe-{id}.json"), &content, analyzed)?;
    Ok(ProbeSummaryReport { name, written, content })
}

/// Computes a summary from the files of runs, and the record of it without the file; nothing is written.
pub(crate) fn compute(context: &Context, opened: &OpenStudy, id: &Slug) -> Outcome<(ProbeSummary, Analyzed)> {
    let asked = Asked::of(opened, id)?;
    let place = LaunchPaths::for_study(opened)?;
    let (mut runs, mut trials, mut probes) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    for run in asked.runs(opened.study.state()) {
        let point = run.intent.probe.as_ref().expect("only probing runs are taken");
        let read = read_run(context.fs.as_ref(), &place.run(&run.intent.key), run, point, asked.episodes)?;
        trials.push(Trial { value: read.value, successes: read.successes, episodes: read.episodes });
        probes.insert(run.intent.candidate.clone());
        runs.insert(run.intent.key.clone(), read);
    }
    let limits = Range { from: asked.agreed.from, to: asked.agreed.to };
    let found = feasible(&trials, asked.nominal, limits).ok_or_else(|| {
        let message = format!("nothing was counted at the nominal value of {}, {}", asked.key, asked.nominal);
        Failure::refused("nothing_counted", message).hint(format!("rlx candidate show {id}"))
    })?;
    let summary: ProbeResult =
        serde_json::to_value(&found).and_then(serde_json::from_value).map_err(|error| {
            Failure::new(Exit::Bug, "probe_format", format!("the summary can't be written: {error}"))
        })?;
    let mut summary = summary;
    // Each refinement is a probe of its own.
    if probes.len() > MOST_REFINEMENTS {
        summary.next.clear();
    }
    let name = &opened.study.name;
    let notes = notes(opened.study.state(), &asked, &summary, &runs);
    let content = ProbeSummary {
        schema: Default::default(),
        study_id: opened.study.state().opened.as_ref().map(|opened| opened.id.clone()).unwrap_or_default(),
        task: name.task.clone(),
        study: name.study.clone(),
        candidate: id.clone(),
        probes: probes.into_iter().collect(),
        reference: asked.reference.clone(),
        key: asked.key.clone(),
        agreed: asked.agreed,
        runs,
        summary,
        notes,
    };
    let analyzed = Analyzed {
        what: Analysis::Probe,
        candidate: id.clone(),
        reference: Some(asked.reference),
        parameter: Some(asked.key),
        span: content
            .summary
            .grid
            .first()
            .zip(content.summary.grid.last())
            .map(|(first, last)| ProbedSpan { from: first.value, to: last.value }),
        runs: content.runs.iter().filter_map(|(key, run)| Some((key.clone(), run.manifest?))).collect(),
        file: String::new(),
        digest: Digest::ZERO,
    };
    Ok((content, analyzed))
}

/// What a probe was about.
struct Asked {
    key: String,
    nominal: f64,
    agreed: ProbeRange,
    /// Whose policies were probed.
    reference: Slug,
    /// Episodes that a run counts for if it didn't count them.
    episodes: u64,
}

impl Asked {
    fn of(opened: &OpenStudy, id: &Slug) -> Outcome<Self> {
        let state = opened.study.state();
        let written = match opened.candidate(id)? {
            Reading::Read(written) => written.typed,
            _ => {
                let message = format!("candidates/{id}.yaml is missing or invalid");
                return Err(
                    Failure::usage("candidate_broken", message).hint(format!("rlx candidate show {id}"))
                );
            }
        };
        let parameter = written.requirements.parameter.filter(|_| written.kind == CandidateKind::Probe);
        let first = state.runs_of_plan(id).into_iter().find_map(|run| run.intent.probe.as_ref());
        let (Some(parameter), Some(first)) = (parameter, first) else {
            let message = match written.kind {
                CandidateKind::Probe => format!("{id} has not run yet"),
                kind => format!("{id} is a candidate of kind {kind}, not a probe"),
            };
            return Err(Failure::refused("not_probed", message).hint(format!("rlx launch {id}")));
        };
        let left = runs_left(&opened.study, id, Phase::Short);
        let live =
            state.runs_of_plan(id).iter().filter(|run| !matches!(run.state, RunState::Ended(_))).count();
        if left > 0 || live > 0 {
            let message = format!("{id} has not finished: {} of its runs have not ended", left + live as u64);
            return Err(Failure::refused("probe_unfinished", message).hint(format!("rlx launch {id}")));
        }
        let nominal = parameter.nominal.ok_or_else(|| {
            let message =
                format!("candidates/{id}.yaml doesn't say which value of {} training uses", parameter.key);
            Failure::usage("no_nominal", message).hint("rlx study probe plan --help")
        })?;
        let surfaces = surfaces_in_scope(opened);
        let mut keys = surfaces.iter().flat_map(|surface| &surface.keys);
        let range = keys.find(|allowed| allowed.key == parameter.key);
        // JSON has no infinity: an open end is where the grid ends.
        let ends = parameter
            .values
            .iter()
            .fold((nominal, nominal), |(low, high), value| (low.min(*value), high.max(*value)));
        let agreed = ProbeRange {
            from: range.and_then(|range| range.min).unwrap_or(ends.0),
            to: range.and_then(|range| range.max).unwrap_or(ends.1),
        };
        let reference = state.runs.get(&first.trained).map(|run| run.intent.candidate.clone());
        let reference = reference.ok_or_else(|| {
            Failure::refused("no_trained_run", format!("run {} is not in the ledger", first.trained))
        })?;
        let episodes = opened.study.files.metric_spec.typed().map_or(1, |spec| spec.protocol.episodes);
        Ok(Self { key: parameter.key, nominal, agreed, reference, episodes })
    }

    /// The last attempts of all runs that probed this parameter on policies of this reference, in order.
    fn runs<'s>(&self, state: &'s StudyState) -> Vec<&'s RunRecord> {
        let mut found = Vec::new();
        for (id, record) in
            state.candidates.iter().filter(|(_, it)| it.validated.kind == CandidateKind::Probe)
        {
            let is_own = |run: &&RunRecord| {
                run.intent.probe.as_ref().is_some_and(|point| {
                    let of = state.runs.get(&point.trained).map(|run| &run.intent.candidate);
                    point.key == self.key && of == Some(&self.reference)
                })
            };
            let runs: Vec<&RunRecord> = state.runs_of_plan(id).into_iter().filter(is_own).collect();
            let done = attempts::done(&runs, state.side_of(&record.validated.candidate));
            found.extend(done.into_iter().map(|seed| seed.last.intent.key.as_str()));
        }
        let mut runs: Vec<&RunRecord> = found.into_iter().filter_map(|key| state.runs.get(key)).collect();
        runs.sort_by_key(|run| run.order);
        runs
    }
}

/// What one run counted. A run that failed counts as failed in every episode: something that breaks at a value doesn't
/// work there.
fn read_run(
    fs: &dyn Fs,
    place: &RunPaths,
    run: &RunRecord,
    point: &ProbePoint,
    episodes: u64,
) -> Outcome<ProbedRun> {
    let manifest = run.ended.as_ref().and_then(|ended| ended.manifest);
    let counted = match (run.state, run.not_evidence(), manifest) {
        (_, Some(code), _) => Err(format!("it never counts as evidence: {code}")),
        (RunState::Ended(RunEnd::Ok), None, Some(manifest)) => counted(fs, place, &run.intent.key, manifest)?,
        (RunState::Ended(end), ..) => {
            let why = run.ended.as_ref().map_or("", |ended| ended.reason.as_str());
            let how = crate::below::word_of(&end);
            Err(if why.is_empty() {
                format!("it ended as {how}")
            } else {
                format!("it ended as {how}: {why}")
            })
        }
        (state, ..) => Err(format!("it is {state}")),
    };
    let (counted, failed) = match counted {
        Ok(counted) => (counted, None),
        Err(why) => (Counted { episodes, successes: 0 }, Some(why)),
    };
    Ok(ProbedRun {
        value: point.value,
        trained: point.trained.clone(),
        successes: counted.successes,
        episodes: counted.episodes,
        failed,
        manifest,
    })
}

/// The counts of a run, or why it has none. A file that changed since the run ended is an error.
fn counted(fs: &dyn Fs, place: &RunPaths, key: &str, manifest: Digest) -> Outcome<Result<Counted, String>> {
    let rooted = fs.rooted(place.path());
    let listed = recorded_manifest(rooted.as_ref(), place, key, manifest)?;
    let Some(file) = listed.files.get(RESULT) else {
        return Ok(Err(format!("it wrote no {RESULT}")));
    };
    let path = place.path().join(RESULT);
    let changed = || {
        let message = format!("{} is missing or has changed since run {key} ended", path.display());
        Failure::refused("run_file_changed", message).hint("restore the file, then run the command again")
    };
    if file.length > LONGEST_RESULT {
        return Ok(Err(format!("{RESULT} is longer than {LONGEST_RESULT} bytes")));
    }
    let bytes = rooted.read(&path, LONGEST_RESULT).map_err(|_| changed())?;
    if Digest::hash(&bytes) != file.digest {
        return Err(changed());
    }
    Ok(match serde_json::from_slice::<Counted>(&bytes) {
        Ok(counted) if counted.episodes == 0 => Err(format!("{RESULT} has no episodes")),
        Ok(counted) if counted.successes > counted.episodes => {
            Err(format!("{RESULT} has {} successes in {} episodes", counted.successes, counted.episodes))
        }
        Ok(counted) => Ok(counted),
        Err(error) => Err(format!("{RESULT} must have episodes and successes as whole numbers: {error}")),
    })
}

/// What a reader should know before the range is used.
fn notes(
    state: &StudyState,
    asked: &Asked,
    summary: &ProbeResult,
    runs: &BTreeMap<String, ProbedRun>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let failed = runs.values().filter(|run| run.failed.is_some()).count();
    if failed > 0 {
        notes.push(format!("{failed} of {} runs failed and count as failed in every episode", runs.len()));
    }
    let policies: BTreeSet<&String> = runs.values().map(|run| &run.trained).collect();
    if let [only] = policies.iter().collect::<Vec<_>>().as_slice() {
        notes.push(format!("only one policy was probed ({only}); another seed may fail elsewhere"));
    }
    let uncertain = summary.grid.iter().filter(|point| point.status == Feasibility::Uncertain);
    let uncertain: Vec<String> = uncertain.map(|point| point.value.to_string()).collect();
    if !uncertain.is_empty() {
        notes.push(format!("too few episodes to tell at {}", uncertain.join(", ")));
    }
    if summary.range.is_none() {
        notes.push(format!(
            "not even the nominal value is shown to reach {:.0}%: no range is proposed",
            summary.asked * 100.0
        ));
    }
    if !summary.holes.is_empty() {
        let holes: Vec<String> = summary.holes.iter().map(ToString::to_string).collect();
        notes.push(format!("it fails at {} between values at which it works", holes.join(", ")));
    }
    let others: BTreeSet<&str> = state
        .analyzed
        .iter()
        .filter(|(_, it)| it.what == Analysis::Probe && it.reference.as_ref() == Some(&asked.reference))
        .filter_map(|(_, it)| it.parameter.as_deref())
        .filter(|key| *key != asked.key)
        .collect();
    notes.push(match others.is_empty() {
        true => "one parameter varied, all others were nominal: combinations were not probed".to_owned(),
        false => format!(
            "one parameter varied, all others were nominal: corners together with {} were not probed",
            others.into_iter().collect::<Vec<_>>().join(", ")
        ),
    });
    notes.push("the policy was not trained over this range: a wider one is harder to learn".to_owned());
    notes
}
