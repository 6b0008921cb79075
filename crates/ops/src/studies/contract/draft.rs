//! Answers as the four files, written the way a person would: short comments, one thought per block, `TODO` where
//! nobody has answered. Every text is valid against its schema, so that it can be read at every moment.

mod contract;
mod metric_spec;
mod yaml;

use rlxp_govern::documents::{CheckpointRule, Device, Guardrail, Slug, StudyName, Surface};
use rlxp_govern::section::File;
use serde_json::Value;

use super::ask::{Answers, Ask};
use super::parse;
use super::scan::RepositoryScan;
use yaml::{flow, flow_word, list, number, put};

/// How an open answer begins.
pub const TODO: &str = "TODO:";

/// What the primary metric needs.
const METRIC: [Ask; 4] = [Ask::Metric, Ask::MetricSource, Ask::Direction, Ask::FailureScore];

/// Everything that the files are made of.
struct Draft<'a> {
    name: &'a StudyName,
    answers: &'a Answers,
    survey: &'a RepositoryScan,
}

/// The four files.
pub fn files(name: &StudyName, answers: &Answers, survey: &RepositoryScan) -> [(File, String); 4] {
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

    /// Flags whose answers the metric and its evaluation still lack.
    fn missing(&self, needed: &[Ask]) -> Vec<&'static str> {
        let is_open = |ask: &Ask| self.answers.taken(*ask, self.survey).is_none_or(|items| items.is_empty());
        needed.iter().copied().filter(is_open).map(Ask::flag).collect()
    }

    fn protocol(&self) -> (u64, bool, CheckpointRule) {
        (
            self.one(Ask::Episodes, parse::count).unwrap_or(20),
            self.one(Ask::Deterministic, parse::yes).unwrap_or(true),
            self.one(Ask::Checkpoint, |text| parse::word(text, "")).unwrap_or(CheckpointRule::Last),
        )
    }

    fn surface_map(&self) -> String {
        let mut text = format!(
            "# What candidates of {} may and may not change.\n\
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
            "# How {} is run. Commands are lists of words, run without a shell.\n\
             # Placeholders: {{seed}}, {{run}} (the output folder of the step) and, for eval, {{trained}} (the output folder of training).\n\
             schema: rlxp.runbook/1\n",
            self.name
        );
        for (name, ask) in [("train", Ask::Train), ("eval", Ask::Eval)] {
            let argv = self.one(ask, parse::command).unwrap_or_else(|| vec![self.answers.open_text(ask)]);
            let quoted: Vec<String> =
                argv.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
            put(&mut text, format_args!("\n{name}:\n  argv: [{}]\n", quoted.join(", ")));
        }
        text.push_str(
            "\n# Where Python finds the project's modules; these come before installed packages.\n\
             import_roots: [src, .]\n",
        );
        text.push_str("\n# A run is stopped if it makes no progress for this long.\nstop: {silence: 15m}\n");
        text
    }
}
