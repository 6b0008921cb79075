//! What a contract still lacks, as questions to a person. A draft may have open questions; a study can't
//! continue with one.

use serde::Serialize;

use crate::documents::is_answered;
use crate::documents::{Automation, Base, Contract, Extractor, Files, MetricSpec, Runbook, SurfaceMap};
use crate::evaluation_files;
use crate::gate_words::RefusalCode;
use crate::scope::bad_glob;

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Open {
    pub file: &'static str,
    /// The path in it, such as `task.mission`.
    pub path: String,
    /// The question.
    pub question: String,
    /// The code of the refusal until it is answered.
    #[serde(skip)]
    pub code: RefusalCode,
}

/// The slot that a seed is put into.
pub const SEED_SLOT: &str = "{seed}";

/// Everything that isn't answered yet, in the order of the files. A file that can't be read is for another gate.
pub fn open_questions(files: &Files) -> Vec<Open> {
    let mut open = Vec::new();
    if let Some(contract) = files.contract.typed() {
        of_contract(contract, &mut asking("contract.yaml", &mut open));
        open.extend(of_base(contract));
    }
    if let Some(spec) = files.metric_spec.typed() {
        of_metrics(spec, &mut asking("metric_spec.yaml", &mut open));
    }
    if let Some(map) = files.surface_map.typed() {
        of_surfaces(map, &mut asking("surface_map.yaml", &mut open));
    }
    if let Some(runbook) = files.runbook.typed() {
        of_runbook(runbook, &mut asking("runbook.yaml", &mut open));
    }
    open
}

fn asking<'o>(file: &'static str, open: &'o mut Vec<Open>) -> impl FnMut(&str, &str) + 'o {
    let code = RefusalCode::ContractIncomplete;
    move |path, question| open.push(Open { file, path: path.into(), question: question.into(), code })
}

/// A contract of an older version names no code, so a commit before the first launch could choose the evaluator.
fn of_base(contract: &Contract) -> Option<Open> {
    let baseline = &contract.baseline;
    let question = "which code do changes start from? the commit, as printed by `git rev-parse HEAD`; without git \
                    write `snapshot` instead, as `rlx contract new` does";
    (baseline.commit.is_none() && baseline.snapshot.is_none()).then(|| Open {
        file: "contract.yaml",
        path: "baseline.commit".into(),
        question: question.into(),
        code: RefusalCode::BaselineCommitMissing,
    })
}

fn of_contract(contract: &Contract, ask: &mut impl FnMut(&str, &str)) {
    let texts = [
        ("task.mission", &contract.task.mission, "what should improve?"),
        ("baseline.description", &contract.baseline.description, "what are results compared with?"),
        ("evaluation.description", &contract.evaluation.description, "how are results evaluated?"),
        ("experiment.description", &contract.experiment.description, "what should be tried?"),
    ];
    for (path, text, question) in texts {
        if !is_answered(text) {
            ask(path, question);
        }
    }
    if !is_answered(contract.metrics.primary.as_str()) {
        ask("metrics.primary", "which metric decides the verdict?");
    }
    if contract.scope.surfaces.is_empty() {
        ask("scope.surfaces", "what may be changed? name at least one surface from surface_map.yaml");
    }
    let budget = &contract.budget;
    if budget.wall_clock.0 == 0 || budget.per_run.wall_clock.0 == 0 {
        ask("budget.wall_clock", "how much time may all runs take in total, and how much may one run take?");
    }
    if budget.per_run.wall_clock > budget.wall_clock || budget.per_run.disk > budget.disk {
        ask("budget.per_run", "the limit of one run exceeds the total: which one is right?");
    }
    if budget.disk.0 == 0 || budget.per_run.disk.0 == 0 || budget.per_run.memory.0 == 0 {
        ask("budget.disk", "how much disk space and memory may runs use?");
    }
    if contract.stop_rules.is_empty() {
        ask("stop_rules", "when should the study stop? name at least one stop rule");
    }
    match (contract.automation, &contract.experiment.envelope) {
        (Automation::Autonomous, None) => {
            ask(
                "experiment.envelope",
                "which kinds, surfaces and phases, and how many candidates, may be tried without approval?",
            );
        }
        (Automation::Manual | Automation::Supervised, Some(_)) => {
            ask("experiment.envelope", "an envelope requires autonomous mode: which one is intended?");
        }
        _ => {}
    }
    for problem in contract.statistics.problems() {
        ask(&format!("statistics.{}", problem.key), &problem.problem);
    }
    if contract.baseline.commit.as_ref().is_some_and(|commit| Base::of_commit(commit).is_none()) {
        ask("baseline.commit", "which commit? 40 hexadecimal digits, as printed by `git rev-parse HEAD`");
    }
    if contract.baseline.commit.is_some() && contract.baseline.snapshot.is_some() {
        ask("baseline.snapshot", "changes start from the commit or from a snapshot: which one is intended?");
    }
    for (index, exception) in contract.exceptions.iter().enumerate() {
        if !is_answered(&exception.reason) {
            ask(&format!("exceptions[{index}].reason"), "why is this gate waived?");
        }
    }
}

fn of_metrics(spec: &MetricSpec, ask: &mut impl FnMut(&str, &str)) {
    if !is_answered(&spec.protocol.environments) {
        ask("protocol.environments", "what are results evaluated on?");
    }
    for problem in spec.protocol.seeds.problems() {
        ask("protocol.seeds", &format!("{problem}: which ranges are intended?"));
    }
    for (role, metric) in spec.metrics() {
        let texts = match &metric.source {
            Extractor::Json { file, pointer } | Extractor::Jsonl { file, pointer, .. } => [file, pointer],
            Extractor::Csv { file, column, .. } => [file, column],
            Extractor::Tensorboard { file, tag } => [file, tag],
            Extractor::Wandb { file, key } => [file, key],
            Extractor::Stdout { before: text } | Extractor::StdoutRegex { pattern: text } => [text, text],
        };
        if !is_answered(metric.name.as_str()) || texts.into_iter().any(|text| !is_answered(text)) {
            let place = if role == "primary" { "primary" } else { "guardrails" };
            let name = if is_answered(metric.name.as_str()) { metric.name.as_str() } else { "metric" };
            ask(place, &format!("where is the {role} {name} found?"));
        }
    }
    if spec.smallest_effect <= 0.0 {
        ask("smallest_effect", "which difference in the primary metric matters? greater than zero");
    }
}

fn of_surfaces(map: &SurfaceMap, ask: &mut impl FnMut(&str, &str)) {
    if map.protected.is_empty() {
        ask("protected", "which files are part of the evaluation? no candidate may change them");
    }
    let globs = map.surfaces.iter().flat_map(|surface| surface.paths.iter().chain(&surface.evaluation_files));
    let globs = globs.chain(&map.protected);
    for glob in globs {
        if let Some(why) = bad_glob(glob) {
            ask("surfaces", &format!("{glob:?} is not a valid pattern: {why}"));
        }
    }
    for surface in &map.surfaces {
        let path = format!("surfaces.{}", surface.id);
        if surface.paths.is_empty() || surface.operations.is_empty() {
            ask(&path, "which files, and which operations on them?");
        }
        if let Some(problem) = evaluation_files::problem(map, surface, std::iter::empty()) {
            ask(&path, &problem);
        }
        for key in &surface.keys {
            if key.min.is_none() && key.max.is_none() && key.values.is_empty() {
                ask(&path, &format!("between which values may {} be set?", key.key));
            }
        }
    }
}

fn of_runbook(runbook: &Runbook, ask: &mut impl FnMut(&str, &str)) {
    for (name, step) in runbook.steps() {
        if !step.argv.first().is_some_and(|program| is_answered(program)) {
            ask(&format!("{name}.argv"), "which program, with which arguments?");
        }
    }
    for (name, step) in [("train", &runbook.train), ("eval", &runbook.eval)] {
        if !step.argv.iter().any(|word| word.contains(SEED_SLOT)) {
            ask(&format!("{name}.argv"), "where does the seed go? put {seed} there");
        }
    }
}
