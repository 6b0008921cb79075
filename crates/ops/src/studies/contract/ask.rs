//! The questions of the intake. Each has a flag; most have a default with its source; a question without an honest
//! default stays open in the files.

use std::collections::BTreeMap;

use rlxp_govern::documents::{
    Assurance, Automation, Bytes, CheckpointRule, Confinement, Device, Direction, Extractor, Guardrail,
    Network, PerRun, Seconds, Slug, StopRule, Surface, SurfaceKind,
};
use serde::{Deserialize, Serialize};

use super::parse::{self, Code, Parsed};
use super::scan::{Guess, RepositoryScan};
use super::schedule::{Proposed, looks_text, propose};
use crate::below::word_of;
use crate::studies::scripts;

/// Defines the questions: name, flag, text, whether it takes several answers, whether it is asked at a terminal, the
/// place of its answer, the type of an answer and its parser.
macro_rules! asks {
    ($($(#[$doc:meta])* $name:ident $flag:literal $text:literal $many:literal $asked:ident $place:literal
        $field:ident: $type:ty = $parse:expr;)*) => {
        /// A question of the intake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Ask { $($(#[$doc])* $name),* }

        impl Ask {
            /// All questions, in the order in which they are asked.
            pub const ALL: &'static [Ask] = &[$(Ask::$name),*];

            /// The flag that answers it, without dashes.
            pub fn flag(self) -> &'static str {
                match self { $(Ask::$name => $flag),* }
            }

            /// The question.
            pub fn text(self) -> &'static str {
                match self { $(Ask::$name => $text),* }
            }

            /// Whether it takes several answers.
            pub fn takes_many(self) -> bool {
                match self { $(Ask::$name => $many),* }
            }

            /// Whether it is asked at a terminal. All others have a default that most studies keep, and are shown.
            pub fn is_asked(self) -> bool {
                match self { $(Ask::$name => matches!(Asked::$asked, Asked::Asked)),* }
            }

            /// The file and the key where its answer is written, and can be changed.
            pub fn place(self) -> &'static str {
                match self { $(Ask::$name => $place),* }
            }
        }

        /// Parsed answers. A question that takes one answer has at most one.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct Typed { $(pub(super) $field: Vec<$type>),* }

        impl Typed {
            /// Parses the answer to a question.
            fn read(ask: Ask, items: &[String]) -> Parsed<Self> {
                let items = items.iter().map(String::as_str);
                Ok(match ask {
                    $(Ask::$name => Self { $field: items.map($parse).collect::<Parsed<_>>()?, ..Self::default() }),*
                })
            }

            /// Takes over the answer to one question.
            fn take(&mut self, ask: Ask, from: Self) {
                match ask { $(Ask::$name => self.$field = from.$field),* }
            }
        }
    };
}

/// Whether a question is asked at a terminal, or its default is shown.
enum Asked {
    Asked,
    Shown,
}

asks! {
    /// What to improve
    Mission "mission" "What should the study improve?" false Asked "contract.yaml task.mission" mission: String = parse::sentence;
    /// The primary metric
    Metric "metric" "What is the primary metric?" false Asked "metric_spec.yaml primary.name" metric: Slug = parse::name;
    /// Where the metric is found
    MetricSource "metric-source" "Which evaluation file contains it? (eval/FILE#KEY)" false Asked "metric_spec.yaml primary.source" metric_source: Extractor = parse::source;
    /// Which way is better
    Direction "direction" "Which way is better? (higher, lower)" false Asked "metric_spec.yaml primary.direction" direction: Direction = parse::word;
    /// The smallest difference that matters
    SmallestEffect "smallest-effect" "What is the smallest difference that matters?" false Asked "metric_spec.yaml smallest_effect" smallest_effect: f64 = parse::effect;
    /// The score of a failed run
    FailureScore "failure-score" "What is the score of a failed run? (the worst possible score)" false Asked "metric_spec.yaml failure_score" failure_score: f64 = parse::number;
    /// The command that trains
    Train "train" "Which command trains? ({seed}: the seed, {run}: the output folder)" false Asked "runbook.yaml train" train: Vec<String> = parse::command;
    /// The command that evaluates
    Eval "eval" "Which command evaluates? ({seed}, {run}, and {trained}: the output folder of training)" false Asked "runbook.yaml eval" eval: Vec<String> = parse::command;
    /// What may be changed
    Surfaces "surface" "What may candidates change? (ID=KIND:FILES[:KEY=MIN..MAX][:edit])" true Asked "surface_map.yaml surfaces" surfaces: Surface = parse::surface;
    /// How values reach the train command
    Overrides "override-syntax" "How does the train command take a value? (such as --{key} {value})" false Asked "adapter.yaml override_syntax" overrides: String = scripts::parse_overrides;
    /// What may never be changed
    Protected "protected" "Which evaluation files must not be changed?" true Asked "surface_map.yaml protected" protected: String = parse::pattern;
    /// Evaluation environments
    Environments "environments" "What are policies evaluated on? (environment, version, scenarios)" false Asked "metric_spec.yaml protocol.environments" environments: String = parse::sentence;
    /// What must always hold
    Constraints "constraint" "Which constraints must always hold?" true Shown "contract.yaml task.constraints" constraints: String = parse::sentence;
    /// What is out of scope
    NonGoals "non-goal" "What is out of scope?" true Shown "contract.yaml task.non_goals" non_goals: String = parse::sentence;
    /// What must not get worse
    Guardrails "guardrail" "What must not get worse? (NAME=FILE#KEY,higher|lower,ALLOWED)" true Shown "metric_spec.yaml guardrails" guardrails: Guardrail = parse::guardrail;
    /// Files that git ignores and runs need
    Inputs "input" "Which files that git ignores do runs need?" true Shown "runbook.yaml inputs" inputs: String = parse::file;
    /// Runs
    Runs "runs" "How many runs in total, one per seed?" false Shown "contract.yaml budget.runs" runs: u64 = parse::count;
    /// Time of all runs
    WallClock "wall-clock" "How much time may all runs take in total?" false Shown "contract.yaml budget.wall_clock" wall_clock: Seconds = parse::amount;
    /// Disk of all runs
    Disk "disk" "How much disk space may all runs take in total?" false Shown "contract.yaml budget.disk" disk: Bytes = parse::amount;
    /// One run
    PerRun "per-run" "How much may one run take? (TIME,DISK,MEMORY)" false Shown "contract.yaml budget.per_run" per_run: PerRun = parse::per_run;
    /// The device that runs train on
    Device "device" "What does training run on? (cpu, gpu)" false Shown "contract.yaml hardware.device" device: Device = parse::word;
    /// Network access of runs
    Network "network" "Which network access may runs have? (none, loopback, allowed)" false Shown "contract.yaml hardware.network" network: Network = parse::word;
    /// The reference of comparisons
    Baseline "baseline" "What is the baseline?" false Shown "contract.yaml baseline.description" baseline: String = parse::sentence;
    /// Episodes per seed
    Episodes "episodes" "How many evaluation episodes per seed?" false Shown "metric_spec.yaml protocol.episodes" episodes: u64 = parse::count;
    /// Whether evaluation is deterministic
    Deterministic "deterministic" "Is evaluation deterministic? (yes, no)" false Shown "metric_spec.yaml protocol.deterministic" deterministic: bool = parse::yes;
    /// The evaluated checkpoint
    Checkpoint "checkpoint" "Which checkpoint is evaluated? (last, best)" false Shown "metric_spec.yaml protocol.checkpoint" checkpoint: CheckpointRule = parse::word;
    /// When the study stops
    StopRules "stop" "When should the study stop? (target VALUE; no-improvement N; failures N)" true Shown "contract.yaml stop_rules" stop_rules: StopRule = parse::stop_rule;
    /// Who starts runs
    Automation "automation" "Who starts runs? (manual, supervised, autonomous)" false Shown "contract.yaml automation" automation: Automation = parse::word;
    /// The weakest approval that counts
    Assurance "assurance" "Which approvals count? (host, terminal, signature)" false Shown "contract.yaml assurance" assurance: Assurance = parse::word;
    /// How many candidates an autonomous study may try
    Candidates "candidates" "How many candidates may be tried without further approval?" false Shown "contract.yaml experiment.envelope.candidates" candidates: u64 = parse::count;
    /// The sandboxing that runs need
    Confinement "confinement" "Which sandboxing do runs need? (none, partial, full)" false Shown "contract.yaml confinement" confinement: Confinement = parse::word;
    /// Probability of a false claim
    Alpha "alpha" "Which probability of a false claim is acceptable for the whole study? (0.0001 to 0.2)" false Shown "contract.yaml statistics.alpha" alpha: f64 = parse::alpha;
    /// Seeds of the short phase
    ScreenSeeds "screen-seeds" "On how many seeds is a candidate tried first?" false Shown "contract.yaml statistics.screen_seeds" screen_seeds: u64 = parse::count;
    /// Candidates that may be confirmed
    #[serde(alias = "maximum_confirms")]
    PlannedCandidates "planned-candidates" "How many candidates may be confirmed in total?" false Shown "contract.yaml statistics.candidates" planned_candidates: u64 = |text| parse::count_within(text, 1, 1000);
    /// Seeds of the baseline
    #[serde(alias = "confirm_seeds")]
    IncumbentSeeds "incumbent-seeds" "On how many seeds does the baseline run? (5 or more)" false Shown "contract.yaml statistics.incumbent_seeds" incumbent_seeds: u64 = |text| parse::count_within(text, 5, 1000);
    /// Seeds of a candidate at each look
    Looks "looks" "At which numbers of seeds is a candidate looked at? (such as 5,10,15)" false Shown "contract.yaml statistics.looks" looks: Vec<u64> = parse::looks;
}

/// A default and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumed {
    pub answer: Vec<String>,
    #[serde(skip)]
    typed: Typed,
    /// The file it was found in, or why it is proposed.
    pub from: String,
}

impl Assumed {
    /// A default must be a valid answer.
    fn read(ask: Ask, answer: Vec<String>, from: &str) -> Option<Self> {
        let typed = Typed::read(ask, &answer).ok()?;
        Some(Self { answer, typed, from: from.to_owned() })
    }

    /// A default that is not parsed from text.
    fn typed(text: String, from: &str, fill: impl FnOnce(&mut Typed)) -> Option<Self> {
        let mut typed = Typed::default();
        fill(&mut typed);
        Some(Self { answer: vec![text], typed, from: from.to_owned() })
    }
}

/// A question with its present default.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    pub ask: Ask,
    pub text: &'static str,
    /// The flag that answers it.
    pub flag: &'static str,
    /// The file and the key where its answer is written.
    pub place: &'static str,
    /// Used without an answer; `None` if it would be invented.
    pub default: Option<Assumed>,
}

/// The answers so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// As the user wrote them.
    given: BTreeMap<Ask, Vec<String>>,
    pub(super) typed: Typed,
    /// Texts in which a person may find an answer. For these, no default is guessed.
    see: BTreeMap<Ask, String>,
}

impl Answers {
    /// Records an answer, or returns why it is invalid. Empty items are left out.
    pub fn give(&mut self, ask: Ask, items: impl IntoIterator<Item = String>) -> Parsed<()> {
        let items: Vec<String> =
            items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect();
        if !ask.takes_many() && items.len() != 1 {
            return Err(format!("one answer is needed, not {}", items.len()));
        }
        self.typed.take(ask, Typed::read(ask, &items)?);
        self.given.insert(ask, items);
        Ok(())
    }

    /// Names a text in which a person may find the answer, so that no default is guessed.
    pub fn point(&mut self, ask: Ask, text: String) {
        self.see.insert(ask, text);
    }

    /// The question as it is written into a file in place of an answer.
    pub fn open_text(&self, ask: Ask) -> String {
        match self.see.get(&ask) {
            Some(text) => format!("TODO: {} See {text}", ask.text()),
            None => format!("TODO: {}", ask.text()),
        }
    }

    pub fn given(&self, ask: Ask) -> Option<&[String]> {
        self.given.get(&ask).map(Vec::as_slice)
    }

    /// All answers, as the user wrote them.
    pub(super) fn all_given(&self) -> &BTreeMap<Ask, Vec<String>> {
        &self.given
    }

    /// These answers, with defaults filled in for unanswered questions that have one.
    pub(super) fn settled(&self, survey: &RepositoryScan) -> Self {
        let mut all = self.clone();
        for ask in Ask::ALL.iter().filter(|ask| self.given(**ask).is_none()) {
            if let Some(Assumed { answer, typed, .. }) = default(*ask, self, survey) {
                all.typed.take(*ask, typed);
                all.given.insert(*ask, answer);
            }
        }
        all
    }

    /// The text of the answer or default of a question that takes one answer.
    fn taken(&self, ask: Ask, survey: &RepositoryScan) -> Option<String> {
        let given = self.given.get(&ask).cloned().or_else(|| Some(default(ask, self, survey)?.answer));
        given?.into_iter().next()
    }
}

/// The question after these answers; `None` if it doesn't apply.
pub fn question(ask: Ask, answers: &Answers, survey: &RepositoryScan) -> Option<Question> {
    // No study is autonomous by default.
    if ask == Ask::Candidates && answers.typed.automation != [Automation::Autonomous] {
        return None;
    }
    let default = default(ask, answers, survey);
    // Values of a file need no override.
    if ask == Ask::Overrides && default.is_none() && !has_keys_of_code(answers, survey) {
        return None;
    }
    Some(Question { ask, text: ask.text(), flag: ask.flag(), place: ask.place(), default })
}

/// Whether the last answer was about a metric that isn't the one any more.
fn is_about_another_metric(ask: Ask, answers: &Answers, survey: &RepositoryScan) -> bool {
    let last = survey.last_answers.get(&Ask::Metric).map(Vec::as_slice);
    let depends = [Ask::MetricSource, Ask::Direction, Ask::SmallestEffect, Ask::FailureScore].contains(&ask);
    depends && answers.given(Ask::Metric).is_some_and(|metric| Some(metric) != last)
}

/// Whether candidates may set a key that is a value of a script, which no file holds.
fn has_keys_of_code(answers: &Answers, survey: &RepositoryScan) -> bool {
    let is_of_code = |surface: &Surface| {
        let is_code = |path: &String| path.ends_with(".py");
        !surface.keys.is_empty() && surface.paths.iter().any(is_code)
    };
    match answers.given(Ask::Surfaces) {
        Some(_) => answers.typed.surfaces.iter().any(is_of_code),
        None => default(Ask::Surfaces, answers, survey)
            .is_some_and(|assumed| assumed.typed.surfaces.iter().any(is_of_code)),
    }
}

fn default(ask: Ask, answers: &Answers, survey: &RepositoryScan) -> Option<Assumed> {
    if answers.see.contains_key(&ask) {
        return None;
    }
    if let Some(last) =
        survey.last_answers.get(&ask).filter(|_| !is_about_another_metric(ask, answers, survey))
        // An answer to an earlier version of rlx may be none any more.
        && let Some(assumed) = Assumed::read(ask, last.clone(), "your last answer")
    {
        return Some(assumed);
    }
    let read = |text: &str, from: &str| Assumed::read(ask, vec![text.to_owned()], from);
    let proposed = |text: &str| read(text, PROPOSED);
    let found = |guess: &Option<Guess>| guess.as_ref().and_then(|guess| read(&guess.text, &guess.from));
    match ask {
        Ask::Mission => found(&survey.mission),
        Ask::SmallestEffect | Ask::Candidates => None,
        Ask::Constraints | Ask::NonGoals | Ask::Guardrails => Assumed::read(ask, Vec::new(), "none given"),
        Ask::Metric => found(&survey.metric.as_ref().map(|(name, _)| name.clone())),
        // The file was found together with its metric; it doesn't apply to another one.
        Ask::MetricSource if answers.given(Ask::Metric).is_some() => None,
        Ask::MetricSource => found(&survey.metric.as_ref().map(|(_, source)| source.clone())),
        Ask::Direction => {
            let better = direction(&answers.taken(Ask::Metric, survey)?)?;
            Assumed::typed(word_of(&better), "the metric's name", |typed| typed.direction.push(better))
        }
        Ask::FailureScore => {
            let worst = failure_score(&answers.taken(Ask::Metric, survey)?)?;
            let from = "the metric's name: a rate";
            Assumed::typed(worst.to_string(), from, |typed| typed.failure_score.push(worst))
        }
        Ask::Surfaces => {
            let (answer, surfaces): (Vec<String>, Vec<Surface>) = surfaces(survey).unzip();
            let typed = Typed { surfaces, ..Typed::default() };
            (!answer.is_empty()).then(|| Assumed { answer, typed, from: "file names".to_owned() })
        }
        Ask::Protected => {
            let answer: Vec<String> = survey.protected.iter().flat_map(|path| parse::pattern(path)).collect();
            Assumed::read(ask, answer, "file names").filter(|assumed| !assumed.answer.is_empty())
        }
        Ask::Train => found(&survey.train),
        Ask::Eval => found(&survey.eval),
        Ask::Overrides => found(&survey.override_syntax).filter(|_| has_keys_of_code(answers, survey)),
        Ask::Inputs => {
            let answer: Vec<String> = survey.inputs.iter().flat_map(|path| parse::file(path)).collect();
            let from = if answer.is_empty() { "none given" } else { "ignored by git, named in the code" };
            Assumed::read(ask, answer, from)
        }
        Ask::Runs => Assumed::typed(USUAL_RUNS.to_string(), PROPOSED, |typed| typed.runs.push(USUAL_RUNS)),
        Ask::WallClock => proposed("8h"),
        Ask::Disk => {
            let disk = Bytes(gibibytes_of_disk(survey) << 30);
            Assumed::typed(disk.to_string(), "free disk", |typed| typed.disk.push(disk))
        }
        Ask::PerRun => {
            let memory = ((survey.memory.unwrap_or(8 << 30) / 2) >> 30).clamp(1, 64);
            // Sized so that the proposed number of runs fits into the proposed disk space.
            let disk = (gibibytes_of_disk(survey) << 10) / USUAL_RUNS;
            let limits = parse::limits(Seconds(30 * 60), Bytes(disk << 20), Bytes(memory << 30));
            let text = format!("30m,{disk}MiB,{memory}GiB");
            Assumed::typed(text, "half of the free memory", |typed| typed.per_run.push(limits))
        }
        Ask::Device if survey.gpu.is_none() => read("cpu", "no GPU found"),
        Ask::Device => read("gpu", survey.gpu.as_deref()?),
        Ask::Network => proposed("none"),
        Ask::Baseline => {
            let train = answers.taken(Ask::Train, survey)?;
            read(&format!("the repository as it is, trained by `{train}`"), "the train command")
        }
        Ask::Environments => found(&survey.environment),
        Ask::Episodes => proposed("20"),
        Ask::Deterministic => proposed("yes"),
        Ask::Checkpoint => proposed("last"),
        Ask::StopRules => {
            Assumed::read(ask, ["no-improvement 5", "failures 3"].map(str::to_owned).to_vec(), PROPOSED)
        }
        Ask::Automation => proposed("supervised"),
        Ask::Assurance if answers.typed.automation == [Automation::Autonomous] => {
            read("signature", "autonomous studies need it")
        }
        Ask::Assurance => {
            let floor = survey.floor.unwrap_or(Assurance::Terminal);
            Assumed::typed(floor.to_string(), "setting of the study", |typed| typed.assurance.push(floor))
        }
        Ask::Confinement => proposed("full"),
        Ask::Alpha => proposed("0.05"),
        Ask::ScreenSeeds => proposed("3"),
        Ask::PlannedCandidates => {
            let Proposed { candidates, .. } = proposed_schedule(answers, survey);
            read(&candidates.to_string(), FROM_RUNS)
        }
        Ask::IncumbentSeeds => {
            read(&proposed_schedule(answers, survey).incumbent_seeds.to_string(), FROM_RUNS)
        }
        Ask::Looks => read(&looks_text(&proposed_schedule(answers, survey).looks), FROM_RUNS),
    }
}

/// What the answers about runs and seeds allow.
fn proposed_schedule(answers: &Answers, survey: &RepositoryScan) -> Proposed {
    let number = |ask| answers.taken(ask, survey).and_then(|text| text.parse::<u64>().ok());
    let given = answers.typed.planned_candidates.first().copied();
    let last = || survey.last_answers.get(&Ask::PlannedCandidates)?.first()?.parse().ok();
    let candidates = given.or_else(last);
    propose(number(Ask::Runs).unwrap_or(USUAL_RUNS), number(Ask::ScreenSeeds).unwrap_or(3), candidates)
}

const PROPOSED: &str = "default";
const FROM_RUNS: &str = "the number of runs";
/// The proposed number of runs.
const USUAL_RUNS: u64 = 40;

/// A quarter of the free disk space, capped at what a small study needs.
fn gibibytes_of_disk(survey: &RepositoryScan) -> u64 {
    ((survey.disk.unwrap_or(u64::MAX) / 4) >> 30).clamp(1, 10)
}

const BETTER_HIGHER: [&str; 7] = ["success", "return", "reward", "score", "accuracy", "win", "progress"];
const BETTER_LOWER: [&str; 8] = ["error", "loss", "cost", "collision", "fall", "failure", "time", "distance"];

fn direction(name: &str) -> Option<Direction> {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match (has(&BETTER_HIGHER), has(&BETTER_LOWER)) {
        (true, false) => Some(Direction::Higher),
        (false, true) => Some(Direction::Lower),
        _ => None,
    }
}

/// Only rates have a worst value that their name reveals.
fn failure_score(name: &str) -> Option<f64> {
    let is_rate = ["rate", "accuracy"].iter().any(|word| name.to_lowercase().contains(word));
    is_rate
        .then(|| direction(name))
        .flatten()
        .map(|better| if better == Direction::Higher { 0.0 } else { 1.0 })
}

/// The proposed surfaces, each as text and parsed. A file name that no pattern can express is left to the person.
fn surfaces(survey: &RepositoryScan) -> impl Iterator<Item = (String, Surface)> {
    let code = survey.surfaces.iter().map(|(kind, paths)| {
        // Said in the text that is shown, written and approved: these files are code, which has no keys.
        let is_script = paths.iter().any(|path| path.ends_with(".py"));
        let (code, edit) = if is_script { (Code::Edited, ":edit") } else { (Code::Kept, "") };
        let text = format!("{kind}={kind}:{}{edit}", paths.join(","));
        Some((text, parse::new_surface(&kind.to_string(), *kind, paths.clone(), &[], code).ok()?))
    });
    let configs = survey.configs.iter().enumerate().map(|(index, (file, keys))| {
        let id =
            if index == 0 { "hyperparameters".to_owned() } else { format!("hyperparameters-{}", index + 1) };
        let text = format!("{id}=hyperparameter:{file}:{}", keys.join(","));
        let paths = vec![file.clone()];
        let kind = SurfaceKind::Hyperparameter;
        Some((text, parse::new_surface(&id, kind, paths, keys, Code::Kept).ok()?))
    });
    code.chain(configs).flatten()
}
