//! The questions of the intake. Each has a flag, most have a default that says where it comes from, and what has no
//! honest default stays open in the files.

use std::collections::BTreeMap;

use rlxp_govern::documents::{
    Assurance, Automation, Bytes, CheckpointRule, Confinement, Device, Direction, Network, Seconds,
};
use serde::Serialize;

use super::parse::{self, Parsed};
use super::scan::RepositoryScan;

/// Makes the questions: name, flag, text, whether it takes several answers.
macro_rules! asks {
    ($($(#[$doc:meta])* $name:ident $flag:literal $text:literal $many:literal),* $(,)?) => {
        /// Something that a person is asked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Ask { $($(#[$doc])* $name),* }

        impl Ask {
            /// All of them, in the order in which they are asked.
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
        }
    };
}

asks! {
    /// What should get better
    Mission "mission" "What should the study improve?" false,
    /// What must hold all the time
    Constraints "constraint" "Which constraints must always hold?" true,
    /// What it is not about
    NonGoals "non-goal" "What is out of scope?" true,
    /// The metric that decides
    Metric "metric" "What is the primary metric?" false,
    /// Where it stands
    MetricSource "metric-source" "Which evaluation file contains it? (eval/FILE#KEY)" false,
    /// Which way is better
    Direction "direction" "Which way is better? (higher, lower)" false,
    /// The smallest difference that matters
    SmallestEffect "smallest-effect" "What is the smallest difference that matters?" false,
    /// The score of a failed run
    FailureScore "failure-score" "What is the score of a failed run? (the worst possible score)" false,
    /// What must not get worse
    Guardrails "guardrail" "What must not get worse? (NAME=FILE#KEY,higher|lower,ALLOWED)" true,
    /// What may be changed
    Surfaces "surface" "What may candidates change? (ID=KIND:FILES[:KEY=MIN..MAX])" true,
    /// What may never be changed
    Protected "protected" "Which evaluation files must not be changed?" true,
    /// The command that trains
    Train "train" "Which command trains? ({seed}: the seed, {run}: the output folder)" false,
    /// The command that evaluates
    Eval "eval" "Which command evaluates? ({seed}, {run}, and {trained}: the output folder of training)" false,
    /// Runs
    Runs "runs" "How many runs in total, one per seed?" false,
    /// Time of all runs
    WallClock "wall-clock" "How much time may all runs take in total?" false,
    /// Disk of all runs
    Disk "disk" "How much disk space may all runs take in total?" false,
    /// One run
    PerRun "per-run" "How much may one run take? (TIME,DISK,MEMORY)" false,
    /// Where it runs
    Device "device" "What does training run on? (cpu, gpu)" false,
    /// What a run may reach
    Network "network" "Which network access may runs have? (none, loopback, allowed)" false,
    /// What is compared with
    Baseline "baseline" "What is the baseline?" false,
    /// What is evaluated on
    Environments "environments" "What are policies evaluated on? (environment, version, scenarios)" false,
    /// Episodes per seed
    Episodes "episodes" "How many evaluation episodes per seed?" false,
    /// Whether the policy acts without chance
    Deterministic "deterministic" "Is evaluation deterministic? (yes, no)" false,
    /// Which checkpoint
    Checkpoint "checkpoint" "Which checkpoint is evaluated? (last, best)" false,
    /// When it is enough
    StopRules "stop" "When should the study stop? (target VALUE; no-improvement N; failures N)" true,
    /// Who starts runs
    Automation "automation" "Who starts runs? (manual, supervised, autonomous)" false,
    /// The weakest approval that counts
    Assurance "assurance" "Which approvals count? (host, terminal, signature)" false,
    /// How many candidates an autonomous study may try
    Candidates "candidates" "How many candidates may be tried without further approval?" false,
    /// How much runs are kept apart
    Confinement "confinement" "Which sandboxing do runs need? (none, partial, full)" false,
    /// Chance of a false claim
    Alpha "alpha" "Which probability of a false claim is acceptable for the whole study? (0.0001 to 0.2)" false,
    /// Seeds of the short phase
    ScreenSeeds "screen-seeds" "On how many seeds is a candidate tried first?" false,
    /// Seeds of the confirm phase
    ConfirmSeeds "confirm-seeds" "On how many new seeds is it confirmed? (5 or more)" false,
    /// Looks at the confirm phase
    Looks "looks" "How many interim looks at the confirmation? (1 to 10)" false,
    /// Candidates that may be confirmed
    MaximumConfirms "maximum-confirms" "How many candidates may be confirmed in total?" false,
}

/// A default and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumed {
    pub answer: Vec<String>,
    /// The file it was found in, or why it is proposed.
    pub from: String,
}

/// A question as it is asked now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    pub ask: Ask,
    pub text: &'static str,
    /// The flag that answers it.
    pub flag: &'static str,
    /// What is used without an answer; nothing where that would be invented.
    pub default: Option<Assumed>,
}

/// What was answered so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    given: BTreeMap<Ask, Vec<String>>,
    /// Texts in which a person may find an answer. A guess doesn't stand in for those.
    see: BTreeMap<Ask, String>,
}

impl Answers {
    /// Takes an answer, or says why it can't be one. Empty items are left out.
    pub fn give(&mut self, ask: Ask, items: impl IntoIterator<Item = String>) -> Parsed<()> {
        let items: Vec<String> =
            items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect();
        if !ask.takes_many() && items.len() != 1 {
            return Err(format!("one answer is needed, not {}", items.len()));
        }
        items.iter().try_for_each(|item| valid(ask, item))?;
        self.given.insert(ask, items);
        Ok(())
    }

    /// Says where a person may find the answer, so that none is guessed.
    pub fn point(&mut self, ask: Ask, text: String) {
        self.see.insert(ask, text);
    }

    /// The question as it stands in a file that has no answer to it.
    pub fn open_text(&self, ask: Ask) -> String {
        match self.see.get(&ask) {
            Some(text) => format!("TODO: {} See {text}", ask.text()),
            None => format!("TODO: {}", ask.text()),
        }
    }

    /// What was given for a question.
    pub fn given(&self, ask: Ask) -> Option<&[String]> {
        self.given.get(&ask).map(Vec::as_slice)
    }

    /// What is taken for a question: what was given, or the default.
    pub fn taken(&self, ask: Ask, survey: &RepositoryScan) -> Option<Vec<String>> {
        self.given.get(&ask).cloned().or_else(|| default(ask, self, survey).map(|assumed| assumed.answer))
    }

    /// The first item of [`taken`](Self::taken), read by `parse`. Answers were read once when they were given, and
    /// defaults are written in the same way, so nothing is lost here.
    pub(super) fn one<T>(
        &self,
        ask: Ask,
        survey: &RepositoryScan,
        parse: impl Fn(&str) -> Parsed<T>,
    ) -> Option<T> {
        self.taken(ask, survey)?.first().and_then(|text| parse(text).ok())
    }

    /// The same for all items.
    pub(super) fn all<T>(
        &self,
        ask: Ask,
        survey: &RepositoryScan,
        parse: impl Fn(&str) -> Parsed<T>,
    ) -> Vec<T> {
        self.taken(ask, survey).unwrap_or_default().iter().filter_map(|text| parse(text).ok()).collect()
    }

    fn automation(&self, survey: &RepositoryScan) -> Option<Automation> {
        self.one(Ask::Automation, survey, |text| parse::word(text, AUTOMATION))
    }
}

pub(super) const AUTOMATION: &str = "manual, supervised, autonomous";

/// The question as it stands after these answers; nothing when it doesn't come up.
pub fn question(ask: Ask, answers: &Answers, survey: &RepositoryScan) -> Option<Question> {
    if ask == Ask::Candidates && answers.automation(survey) != Some(Automation::Autonomous) {
        return None;
    }
    Some(Question { ask, text: ask.text(), flag: ask.flag(), default: default(ask, answers, survey) })
}

fn valid(ask: Ask, text: &str) -> Parsed<()> {
    match ask {
        Ask::Mission | Ask::Constraints | Ask::NonGoals | Ask::Baseline | Ask::Environments => {
            parse::sentence(text).map(drop)
        }
        Ask::Metric => parse::name(text).map(drop),
        Ask::MetricSource => parse::source(text).map(drop),
        Ask::Direction => parse::word::<Direction>(text, "higher, lower").map(drop),
        Ask::SmallestEffect => match parse::number(text)? {
            effect if effect > 0.0 => Ok(()),
            _ => Err("more than zero".to_owned()),
        },
        Ask::FailureScore => parse::number(text).map(drop),
        Ask::Guardrails => parse::guardrail(text).map(drop),
        Ask::Surfaces => parse::surface(text).map(drop),
        Ask::Protected => match rlxp_govern::scope::bad_glob(text) {
            Some(why) => Err(format!("{text:?} is not a valid pattern: {why}")),
            None => Ok(()),
        },
        Ask::Train | Ask::Eval => parse::command(text).map(drop),
        Ask::Runs | Ask::Episodes | Ask::Candidates | Ask::ScreenSeeds | Ask::MaximumConfirms => {
            parse::count(text).map(drop)
        }
        Ask::ConfirmSeeds => parse::count_within(text, 5, u64::MAX).map(drop),
        Ask::Looks => parse::count_within(text, 1, 10).map(drop),
        Ask::Alpha => parse::alpha(text).map(drop),
        Ask::Confinement => parse::word::<Confinement>(text, "none, partial, full").map(drop),
        Ask::WallClock => parse::amount::<Seconds>(text).map(drop),
        Ask::Disk => parse::amount::<Bytes>(text).map(drop),
        Ask::PerRun => parse::per_run(text).map(drop),
        Ask::Device => parse::word::<Device>(text, "cpu, gpu").map(drop),
        Ask::Network => parse::word::<Network>(text, "none, loopback, allowed").map(drop),
        Ask::Deterministic => parse::yes(text).map(drop),
        Ask::Checkpoint => parse::word::<CheckpointRule>(text, "last, best").map(drop),
        Ask::StopRules => parse::stop_rule(text).map(drop),
        Ask::Automation => parse::word::<Automation>(text, AUTOMATION).map(drop),
        Ask::Assurance => parse::word::<Assurance>(text, "host, terminal, signature").map(drop),
    }
}

/// What is proposed as the default.
fn default(ask: Ask, answers: &Answers, survey: &RepositoryScan) -> Option<Assumed> {
    if answers.see.contains_key(&ask) {
        return None;
    }
    let proposed =
        |answer: &str| Some(Assumed { answer: vec![answer.to_owned()], from: PROPOSED.to_owned() });
    let found = |guess: &Option<super::scan::Guess>| {
        guess.as_ref().map(|guess| Assumed { answer: vec![guess.text.clone()], from: guess.from.clone() })
    };
    match ask {
        Ask::Mission => found(&survey.mission),
        Ask::SmallestEffect | Ask::Candidates => None,
        Ask::Constraints | Ask::NonGoals | Ask::Guardrails => {
            Some(Assumed { answer: Vec::new(), from: "none given".to_owned() })
        }
        Ask::Metric => found(&survey.metric.as_ref().map(|(name, _)| name.clone())),
        // The file was found with its metric, and says nothing about another.
        Ask::MetricSource if answers.given(Ask::Metric).is_none() => {
            found(&survey.metric.as_ref().map(|(_, source)| source.clone()))
        }
        Ask::MetricSource => None,
        Ask::Direction => direction(&answers.taken(Ask::Metric, survey)?.first()?.to_lowercase()),
        Ask::FailureScore => failure_score(&answers.taken(Ask::Metric, survey)?.first()?.to_lowercase()),
        Ask::Surfaces => surfaces(survey),
        Ask::Protected => {
            let is_pattern = |path: &&String| rlxp_govern::scope::bad_glob(path).is_none();
            let answer: Vec<String> = survey.protected.iter().filter(is_pattern).cloned().collect();
            (!answer.is_empty()).then(|| Assumed { answer, from: "file names".to_owned() })
        }
        Ask::Train => found(&survey.train),
        Ask::Eval => found(&survey.eval),
        Ask::Runs => proposed(&USUAL_RUNS.to_string()),
        Ask::WallClock => proposed("8h"),
        Ask::Disk => {
            let answer = vec![format!("{}GiB", gibibytes_of_disk(survey))];
            Some(Assumed { answer, from: "free disk".to_owned() })
        }
        Ask::PerRun => {
            let memory = ((survey.memory.unwrap_or(8 << 30) / 2) >> 30).clamp(1, 64);
            let from = "half of the free memory".to_owned();
            // As many runs as are proposed fit onto the disk that is.
            let disk = (gibibytes_of_disk(survey) << 10) / USUAL_RUNS;
            Some(Assumed { answer: vec![format!("30m,{disk}MiB,{memory}GiB")], from })
        }
        Ask::Device => Some(match &survey.gpu {
            Some(path) => Assumed { answer: vec!["gpu".to_owned()], from: path.clone() },
            None => Assumed { answer: vec!["cpu".to_owned()], from: "no GPU found".to_owned() },
        }),
        Ask::Network => proposed("none"),
        Ask::Baseline => {
            let train = answers.taken(Ask::Train, survey)?;
            let text = format!("the repository as it is, trained by `{}`", train.first()?);
            Some(Assumed { answer: vec![text], from: "the train command".to_owned() })
        }
        Ask::Environments => found(&survey.environment),
        Ask::Episodes => proposed("20"),
        Ask::Deterministic => proposed("yes"),
        Ask::Checkpoint => proposed("last"),
        Ask::StopRules => Some(Assumed {
            answer: vec!["no-improvement 5".to_owned(), "failures 3".to_owned()],
            from: PROPOSED.to_owned(),
        }),
        Ask::Automation => proposed("supervised"),
        Ask::Assurance => match answers.automation(survey) {
            Some(Automation::Autonomous) => {
                Some(Assumed { answer: vec!["signature".into()], from: "autonomous studies need it".into() })
            }
            _ => Some(Assumed {
                answer: vec![survey.floor.unwrap_or(Assurance::Terminal).to_string()],
                from: "setting of the study".to_owned(),
            }),
        },
        Ask::Confinement => proposed("full"),
        Ask::Alpha => proposed("0.05"),
        Ask::ScreenSeeds => proposed("3"),
        Ask::ConfirmSeeds => proposed("10"),
        Ask::Looks => proposed("1"),
        Ask::MaximumConfirms => proposed("3"),
    }
}

const PROPOSED: &str = "a cautious start";
/// Runs that are proposed.
const USUAL_RUNS: u64 = 40;

/// A quarter of the free disk, and not more than a small study needs.
fn gibibytes_of_disk(survey: &RepositoryScan) -> u64 {
    ((survey.disk.unwrap_or(u64::MAX) / 4) >> 30).clamp(1, 10)
}

const BETTER_HIGHER: [&str; 7] = ["success", "return", "reward", "score", "accuracy", "win", "progress"];
const BETTER_LOWER: [&str; 8] = ["error", "loss", "cost", "collision", "fall", "failure", "time", "distance"];

fn direction(name: &str) -> Option<Assumed> {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let answer = match (has(&BETTER_HIGHER), has(&BETTER_LOWER)) {
        (true, false) => "higher",
        (false, true) => "lower",
        _ => return None,
    };
    Some(Assumed { answer: vec![answer.to_owned()], from: "the metric's name".to_owned() })
}

/// Only rates have a worst value that their name tells.
fn failure_score(name: &str) -> Option<Assumed> {
    let is_rate = name.contains("rate") || name.contains("accuracy");
    let worst = match direction(name)?.answer.first()?.as_str() {
        "higher" if is_rate => "0",
        "lower" if is_rate => "1",
        _ => return None,
    };
    Some(Assumed { answer: vec![worst.to_owned()], from: "the metric's name: a rate".to_owned() })
}

fn surfaces(survey: &RepositoryScan) -> Option<Assumed> {
    let code = survey.surfaces.iter().map(|(kind, paths)| format!("{kind}={kind}:{}", paths.join(",")));
    let configs = survey.configs.iter().enumerate().map(|(index, (file, keys))| {
        let id =
            if index == 0 { "hyperparameters".to_owned() } else { format!("hyperparameters-{}", index + 1) };
        format!("{id}=hyperparameter:{file}:{}", keys.join(","))
    });
    // A name that no pattern can hold is left to the person.
    let answer: Vec<String> = code.chain(configs).filter(|text| parse::surface(text).is_ok()).collect();
    (!answer.is_empty()).then(|| Assumed { answer, from: "file names".to_owned() })
}
