//! Answers as the four files, written the way a person would: short comments, one thought per block, `TODO` where
//! nobody has answered. Every text is valid against its schema, so that it can be read at every moment.

use std::fmt::Write;

use rlxp_govern::documents::{
    Assurance, Automation, Bytes, CandidateKind, CheckpointRule, Device, Direction, Extractor, Guardrail,
    Network, PerRun, Seconds, Slug, StopRule, StudyName, Surface, SurfaceKind,
};
use rlxp_govern::section::File;
use rlxp_spec::document::to_yaml;
use serde_json::Value;

use super::ask::{AUTOMATION, Answers, Ask};
use super::parse;
use super::survey::Survey;

/// How an open answer begins.
pub const TODO: &str = "TODO:";

/// Everything that the files are made of.
struct Draft<'a> {
    name: &'a StudyName,
    answers: &'a Answers,
    survey: &'a Survey,
}

/// The four files.
pub fn files(name: &StudyName, answers: &Answers, survey: &Survey) -> [(File, String); 4] {
    let draft = Draft { name, answers, survey };
    [
        (File::Contract, draft.contract()),
        (File::MetricSpec, draft.metric_spec()),
        (File::SurfaceMap, draft.surface_map()),
        (File::Runbook, draft.runbook()),
    ]
}

impl Draft<'_> {
    fn one<T>(&self, ask: Ask, parse: impl Fn(&str) -> parse::Parsed<T>) -> Option<T> {
        self.answers.one(ask, self.survey, parse)
    }

    fn sentence(&self, ask: Ask) -> String {
        self.one(ask, parse::sentence).unwrap_or_else(|| self.answers.open_text(ask))
    }

    fn surfaces(&self) -> Vec<Surface> {
        self.answers.all(Ask::Surfaces, self.survey, parse::surface)
    }

    fn guardrails(&self) -> Vec<Guardrail> {
        self.answers.all(Ask::Guardrails, self.survey, parse::guardrail)
    }

    fn metric(&self) -> Slug {
        self.one(Ask::Metric, parse::name).unwrap_or_else(|| "todo".parse().expect("this is a name"))
    }

    fn device(&self) -> Device {
        self.one(Ask::Device, |text| parse::word(text, "")).unwrap_or(Device::Cpu)
    }

    fn contract(&self) -> String {
        let mut text = format!(
            "# What was agreed for {}. People approve it section by section; rlx never rewrites it.\n\
             # TODO stands where nobody has answered yet: `rlx contract check` lists all of them.\n\
             schema: rlxp.contract/1\n\n",
            self.name
        );
        let StudyName { task, study } = self.name;
        let mission = scalar(&self.sentence(Ask::Mission));
        let constraints = self.answers.all(Ask::Constraints, self.survey, parse::sentence);
        let non_goals = self.answers.all(Ask::NonGoals, self.survey, parse::sentence);
        put(&mut text, format_args!("task:\n  id: {task}\n  study: {study}\n  mission: {mission}\n"));
        put(&mut text, format_args!("  constraints:{}\n", list(&constraints, 4)));
        put(&mut text, format_args!("  non_goals:{}\n\n", list(&non_goals, 4)));

        let guardrails: Vec<String> =
            self.guardrails().iter().map(|one| one.metric.name.to_string()).collect();
        put(
            &mut text,
            format_args!(
                "# What they are stands in metric_spec.yaml.\nmetrics:\n  primary: {}\n",
                self.metric()
            ),
        );
        put(&mut text, format_args!("  guardrails: {}\n\n", flow(&guardrails)));

        let surfaces: Vec<String> = self.surfaces().iter().map(|one| one.id.to_string()).collect();
        put(
            &mut text,
            format_args!(
                "# What they are stands in surface_map.yaml.\nscope:\n  surfaces: {}\n",
                flow(&surfaces)
            ),
        );
        text.push_str("  one_change_at_a_time: true\n\n");
        self.budget(&mut text);
        self.hardware(&mut text);
        put(
            &mut text,
            format_args!(
                "# Changes start from the working tree's commit unless `commit:` names another.\nbaseline:\n  description: {}\n\n",
                scalar(&self.sentence(Ask::Baseline))
            ),
        );
        put(&mut text, format_args!("evaluation:\n  description: {}\n\n", scalar(&self.evaluation())));
        self.experiment(&mut text);
        text.push_str(
            "# How a claim is judged: docs/statistics.md says what each number does.\n\
             statistics:\n  alpha: 0.05\n  screen_seeds: 3\n  confirm_seeds: 10\n  looks: 1\n  maximum_confirms: 3\n\n",
        );
        text.push_str("# The study stops and is handed to a person when one of these holds.\n");
        let rules = self.answers.all(Ask::StopRules, self.survey, parse::stop_rule);
        if rules.is_empty() {
            put(&mut text, format_args!("# {}\nstop_rules: []\n", self.answers.open_text(Ask::StopRules)));
            return text;
        }
        text.push_str("stop_rules:\n");
        for rule in rules {
            let line = match rule {
                StopRule::TargetReached { value } => {
                    format!("{{when: target_reached, value: {}}}", number(value))
                }
                StopRule::NoImprovement { candidates } => {
                    format!("{{when: no_improvement, candidates: {candidates}}}")
                }
                StopRule::FailuresInARow { runs } => format!("{{when: failures_in_a_row, runs: {runs}}}"),
            };
            put(&mut text, format_args!("  - {line}\n"));
        }
        text
    }

    fn budget(&self, text: &mut String) {
        let runs = self.one(Ask::Runs, parse::count).unwrap_or(1);
        let wall_clock: Seconds = self.one(Ask::WallClock, parse::amount).unwrap_or_default();
        let disk: Bytes = self.one(Ask::Disk, parse::amount).unwrap_or_default();
        let PerRun { wall_clock: time, disk: space, memory, .. } =
            self.one(Ask::PerRun, parse::per_run).expect("it has a default that can be read");
        put(
            text,
            format_args!(
                "# For the whole study, and the most one run may take.\nbudget:\n  runs: {runs}\n  wall_clock: {wall_clock}\n"
            ),
        );
        if self.device() == Device::Gpu {
            put(text, format_args!("  gpu_time: {wall_clock}\n"));
        }
        put(
            text,
            format_args!(
                "  disk: {disk}\n  per_run: {{wall_clock: {time}, disk: {space}, memory: {memory}}}\n\n"
            ),
        );
    }

    fn hardware(&self, text: &mut String) {
        let device = self.device();
        let network: Network = self.one(Ask::Network, |text| parse::word(text, "")).unwrap_or(Network::None);
        let gpus = u8::from(device == Device::Gpu);
        put(text, format_args!("hardware: {{device: {device}, gpus: {gpus}, network: {network}}}\n"));
        text.push_str("# How much a run is kept apart from everything else: none, partial, full.\nconfinement: full\n\n");
    }

    /// The protocol in words. It stays open as long as anything of the metric is.
    fn evaluation(&self) -> String {
        let needed = [
            Ask::Metric,
            Ask::MetricSource,
            Ask::Direction,
            Ask::SmallestEffect,
            Ask::FailureScore,
            Ask::Eval,
        ];
        let missing: Vec<&str> = needed
            .into_iter()
            .filter(|ask| self.answers.taken(*ask, self.survey).is_none_or(|items| items.is_empty()))
            .map(Ask::flag)
            .collect();
        if !missing.is_empty() {
            return format!(
                "{TODO} how is a result evaluated? metric_spec.yaml and runbook.yaml still lack: {}",
                missing.join(", ")
            );
        }
        let command = self.answers.taken(Ask::Eval, self.survey).unwrap_or_default().join(" ");
        let (episodes, how, which) = self.protocol();
        let chance = if how { "without chance" } else { "with chance" };
        let which = if which == CheckpointRule::Last { "last" } else { "best" };
        format!("{episodes} episodes per seed, {chance}, {which} checkpoint, by `{command}`")
    }

    fn protocol(&self) -> (u64, bool, CheckpointRule) {
        (
            self.one(Ask::Episodes, parse::count).unwrap_or(20),
            self.one(Ask::Deterministic, parse::yes).unwrap_or(true),
            self.one(Ask::Checkpoint, |text| parse::word(text, "")).unwrap_or(CheckpointRule::Last),
        )
    }

    fn experiment(&self, text: &mut String) {
        let surfaces = self.surfaces();
        let names: Vec<&str> = surfaces.iter().map(|surface| surface.id.as_str()).collect();
        let description = if names.is_empty() {
            format!("{TODO} what is to be tried?")
        } else {
            format!("one change at a time to {}", names.join(", "))
        };
        let automation: Automation =
            self.one(Ask::Automation, |text| parse::word(text, AUTOMATION)).unwrap_or(Automation::Manual);
        let assurance: Assurance =
            self.one(Ask::Assurance, |text| parse::word(text, "")).unwrap_or(Assurance::Signature);
        put(text, format_args!("experiment:\n  description: {}\n", scalar(&description)));
        if automation == Automation::Autonomous
            && let Some(candidates) = self.one(Ask::Candidates, parse::count)
        {
            let mut kinds: Vec<CandidateKind> = Vec::new();
            for surface in &surfaces {
                let of: &[CandidateKind] = match surface.kind {
                    SurfaceKind::Reward => &[CandidateKind::RewardTuning, CandidateKind::RewardEngineering],
                    SurfaceKind::Termination => &[CandidateKind::Termination],
                    SurfaceKind::Curriculum => &[CandidateKind::Curriculum],
                    SurfaceKind::Randomisation => &[CandidateKind::Randomisation],
                    SurfaceKind::Hyperparameter => &[CandidateKind::Hyperparameter],
                    SurfaceKind::Policy => &[CandidateKind::Policy],
                };
                kinds.extend(of.iter().filter(|kind| !kinds.contains(kind)).copied().collect::<Vec<_>>());
            }
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            let surfaces: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            put(
                text,
                format_args!(
                    "  # What may be tried without asking again.\n  envelope:\n    kinds: {}\n    surfaces: {}\n    phases: [smoke, short, confirm]\n    candidates: {candidates}\n",
                    flow(&kinds),
                    flow(&surfaces)
                ),
            );
        }
        put(
            text,
            format_args!(
                "# Who starts runs: manual, supervised (candidates that a person approved), autonomous.\nautomation: {automation}\n"
            ),
        );
        put(
            text,
            format_args!(
                "# The weakest way of approving that counts: host, terminal, signature.\nassurance: {assurance}\n\n"
            ),
        );
    }

    fn metric_spec(&self) -> String {
        let mut text = format!(
            "# What is measured in {}, and how two results may be compared.\nschema: rlxp.metric_spec/1\n\n",
            self.name
        );
        let open = |ask: Ask| match self.answers.taken(ask, self.survey) {
            Some(_) => String::new(),
            None => format!("  # {}", self.answers.open_text(ask)),
        };
        let direction: Direction =
            self.one(Ask::Direction, |text| parse::word(text, "")).unwrap_or(Direction::Higher);
        let source = self.one(Ask::MetricSource, parse::source).unwrap_or_else(|| Extractor::Json {
            file: self.answers.open_text(Ask::MetricSource),
            pointer: "/TODO".to_owned(),
        });
        put(
            &mut text,
            format_args!(
                "# The metric that decides. It is read from the files of an evaluation, never from training.\nprimary:\n  name: {}{}\n",
                self.metric(),
                open(Ask::Metric)
            ),
        );
        put(&mut text, format_args!("  source: {}\n", extractor(&source)));
        put(
            &mut text,
            format_args!(
                "  direction: {}{}\n  aggregation: mean\n\n",
                plain(&direction),
                open(Ask::Direction)
            ),
        );
        let guardrails = self.guardrails();
        if guardrails.is_empty() {
            text.push_str("# What must not get worse.\nguardrails: []\n\n");
        } else {
            text.push_str("# What must not get worse, and by how much it may.\nguardrails:\n");
            for guardrail in &guardrails {
                let metric = &guardrail.metric;
                put(
                    &mut text,
                    format_args!(
                        "  - metric:\n      name: {}\n      source: {}\n      direction: {}\n      aggregation: mean\n    allowed_regression: {}\n",
                        metric.name,
                        extractor(&metric.source),
                        plain(&metric.direction),
                        number(guardrail.allowed_regression)
                    ),
                );
            }
            text.push('\n');
        }
        let failure = self.one(Ask::FailureScore, parse::number).unwrap_or(0.0);
        let effect = self.one(Ask::SmallestEffect, parse::number).unwrap_or(0.0);
        put(
            &mut text,
            format_args!(
                "# The score of a run that failed, so that nobody gains by failing.\nfailure_score: {}{}\n",
                number(failure),
                open(Ask::FailureScore)
            ),
        );
        put(
            &mut text,
            format_args!(
                "# The smallest difference of the primary metric that matters.\nsmallest_effect: {}{}\n\n",
                number(effect),
                open(Ask::SmallestEffect)
            ),
        );
        let (episodes, deterministic, checkpoint) = self.protocol();
        let environments = scalar(&self.sentence(Ask::Environments));
        put(
            &mut text,
            format_args!(
                "# Two results are compared only when all of this is the same.\nprotocol:\n  episodes: {episodes}\n  deterministic: {deterministic}\n  checkpoint: {}\n  environments: {environments}\n",
                plain(&checkpoint)
            ),
        );
        text.push_str(
            "  # Confirm and audit seeds are drawn when they are needed; no range may share a seed with another.\n  \
             seeds:\n    screen: {from: 1, to: 999}\n    confirm: {from: 1000, to: 999999}\n    \
             audit: {from: 1000000, to: 1999999}\n    evaluation: {from: 2000000, to: 2999999}\n",
        );
        text
    }

    fn surface_map(&self) -> String {
        let mut text = format!(
            "# What candidates of {} may change, and what nobody may.\n\
             # Patterns start at the repository's root: `*` within a name, `**` over folders.\n\
             schema: rlxp.surface_map/1\n\n",
            self.name
        );
        let surfaces = self.surfaces();
        if surfaces.is_empty() {
            put(&mut text, format_args!("# {}\nsurfaces: []\n\n", self.answers.open_text(Ask::Surfaces)));
        } else {
            text.push_str("surfaces:\n");
        }
        for surface in &surfaces {
            let operations: Vec<String> = surface.operations.iter().map(ToString::to_string).collect();
            put(
                &mut text,
                format_args!(
                    "  - id: {}\n    kind: {}\n    paths: {}\n",
                    surface.id,
                    surface.kind,
                    flow(&surface.paths)
                ),
            );
            if !surface.keys.is_empty() {
                text.push_str("    keys:\n");
                for key in &surface.keys {
                    let name = flow_word(&key.key);
                    match (key.min, key.max) {
                        (Some(min), Some(max)) => put(
                            &mut text,
                            format_args!(
                                "      - {{key: {name}, min: {}, max: {}}}\n",
                                number(min),
                                number(max)
                            ),
                        ),
                        _ => put(&mut text, format_args!("      - {{key: {name}}}  # {TODO} min and max\n")),
                    }
                }
            }
            put(&mut text, format_args!("    operations: {}\n\n", flow(&operations)));
        }
        let protected = self.answers.taken(Ask::Protected, self.survey).unwrap_or_default();
        text.push_str(
            "# The evaluator, metric code and seeds. `.rlxp/**` and `.git/**` always belong to them.\n",
        );
        if protected.is_empty() {
            put(&mut text, format_args!("# {}\n", self.answers.open_text(Ask::Protected)));
        }
        put(&mut text, format_args!("protected:{}\n", list(&protected, 2)));
        text
    }

    fn runbook(&self) -> String {
        let mut text = format!(
            "# How {} is run. Commands are lists of words: no shell ever sees them.\n\
             # {{seed}} and {{run}} are filled in.\nschema: rlxp.runbook/1\n",
            self.name
        );
        for (name, ask) in [("train", Ask::Train), ("eval", Ask::Eval)] {
            let argv = self.one(ask, parse::command).unwrap_or_else(|| vec![self.answers.open_text(ask)]);
            let quoted: Vec<String> =
                argv.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
            put(&mut text, format_args!("\n{name}:\n  argv: [{}]\n", quoted.join(", ")));
        }
        text.push_str("\n# A run is ended when nothing happens for this long.\nstop: {silence: 15m}\n");
        text
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a text can't fail");
}

/// A text on one line, quoted where it must be.
fn scalar(text: &str) -> String {
    to_yaml(&Value::from(text)).trim_end().to_owned()
}

fn number(value: f64) -> String {
    to_yaml(&Value::from(value)).trim_end().to_owned()
}

fn plain(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Items on lines of their own after a colon, or nothing.
fn list(items: &[String], indent: usize) -> String {
    if items.is_empty() {
        return " []".to_owned();
    }
    items.iter().map(|item| format!("\n{}- {}", " ".repeat(indent), scalar(item))).collect()
}

/// Items in one line. In brackets more letters have a meaning than elsewhere, so only plain names go unquoted.
fn flow(items: &[String]) -> String {
    let shown: Vec<String> = items.iter().map(|item| flow_word(item)).collect();
    format!("[{}]", shown.join(", "))
}

fn flow_word(text: &str) -> String {
    let is_plain = text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && scalar(text) == text;
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Where a metric is read from, in one line.
fn extractor(source: &Extractor) -> String {
    let value = serde_json::to_value(source).expect("a source is plain data");
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let shown: Vec<String> = fields
        .map(|(key, value)| {
            let text = value.as_str().unwrap_or_default();
            format!("{key}: {}", if key == "format" { text.to_owned() } else { value.to_string() })
        })
        .collect();
    format!("{{{}}}", shown.join(", "))
}
