//! Answers as the four files, written the way a person would: short comments, one thought per block, `TODO` for open
//! questions. Every draft is valid against its schema, so it can always be read.

mod contract;
mod metric_spec;
mod yaml;

use std::collections::BTreeMap;

use rlxp_govern::documents::{Base, CheckpointRule, Device, Slug, StudyName};
use rlxp_govern::section::File;
use rlxp_types::Digest;
use serde_json::Value;

use super::ask::{Answers, Ask, Typed};
use super::scan::RepositoryScan;
use yaml::{flow, flow_word, list, number, put};

/// The prefix of an open answer.
pub const TODO: &str = "TODO:";

/// What the primary metric needs.
const METRIC: [Ask; 4] = [Ask::Metric, Ask::MetricSource, Ask::Direction, Ask::FailureScore];

/// Everything that the files are made from.
struct Draft<'a> {
    name: &'a StudyName,
    answers: &'a Answers,
    typed: &'a Typed,
    input_digests: &'a BTreeMap<String, Digest>,
    /// The present code; `None` where there is nothing that could be restored.
    base: Option<&'a Base>,
}

/// The answer to a question that takes one.
fn first<T: Copy>(answers: &[T]) -> Option<T> {
    answers.first().copied()
}

/// The four files.
pub fn files(
    name: &StudyName,
    answers: &Answers,
    survey: &RepositoryScan,
    base: Option<&Base>,
) -> [(File, String); 4] {
    let answers = &answers.settled(survey);
    let draft = Draft { name, answers, typed: &answers.typed, input_digests: &survey.input_digests, base };
    [
        (File::Contract, draft.contract()),
        (File::MetricSpec, draft.metric_spec()),
        (File::SurfaceMap, draft.surface_map()),
        (File::Runbook, draft.runbook()),
    ]
}

impl Draft<'_> {
    /// An answer, or the question if there is no answer.
    fn sentence(&self, answer: &[String], ask: Ask) -> String {
        answer.first().cloned().unwrap_or_else(|| self.answers.open_text(ask))
    }

    fn metric(&self) -> Slug {
        self.typed.metric.first().cloned().unwrap_or_else(|| "todo".parse().expect("this is a name"))
    }

    fn device(&self) -> Device {
        first(&self.typed.device).unwrap_or(Device::Cpu)
    }

    /// Flags of unanswered questions about the metric and its evaluation.
    fn missing(&self, needed: &[Ask]) -> Vec<&'static str> {
        let is_open = |ask: &Ask| self.answers.given(*ask).is_none_or(<[String]>::is_empty);
        needed.iter().copied().filter(is_open).map(Ask::flag).collect()
    }

    fn protocol(&self) -> (u64, bool, CheckpointRule) {
        (
            first(&self.typed.episodes).unwrap_or(20),
            first(&self.typed.deterministic).unwrap_or(true),
            first(&self.typed.checkpoint).unwrap_or(CheckpointRule::Last),
        )
    }

    fn surface_map(&self) -> String {
        let mut text = format!(
            "# What candidates of {} may and may not change.\n\
             # Patterns start at the repository's root: `*` within a name, `**` over folders.\n\
             schema: rlxp.surface_map/1\n\n",
            self.name
        );
        let surfaces = &self.typed.surfaces;
        if surfaces.is_empty() {
            put(&mut text, format_args!("# {}\nsurfaces: []\n\n", self.answers.open_text(Ask::Surfaces)));
        } else {
            text.push_str("surfaces:\n");
        }
        for surface in surfaces {
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
        let protected = &self.typed.protected;
        text.push_str(
            "# The evaluator, metric code and seeds. `.rlxp/**` and `.git/**` always belong to them.\n",
        );
        if protected.is_empty() {
            put(&mut text, format_args!("# {}\n", self.answers.open_text(Ask::Protected)));
        }
        put(&mut text, format_args!("protected:{}\n", list(protected, 2)));
        text
    }

    fn runbook(&self) -> String {
        let mut text = format!(
            "# How {} is run. Commands are lists of words, run without a shell.\n\
             # Placeholders: {{seed}}, {{run}} (the output folder of the step) and, for eval, {{trained}} (the output folder of training).\n\
             # In eval, {{seed}} is a fresh seed that training never sees, and {{train_seed}} is training's.\n\
             schema: rlxp.runbook/1\n",
            self.name
        );
        let Typed { train, eval, .. } = self.typed;
        for (name, given, ask) in [("train", train, Ask::Train), ("eval", eval, Ask::Eval)] {
            let argv = given.first().cloned().unwrap_or_else(|| vec![self.answers.open_text(ask)]);
            let quoted: Vec<String> =
                argv.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
            put(&mut text, format_args!("\n{name}:\n  argv: [{}]\n", quoted.join(", ")));
        }
        text.push_str(
            "\n# Where Python finds the project's modules; these come before installed packages.\n\
             import_roots: [src, .]\n",
        );
        text.push_str(
            "\n# Files that git ignores and runs need; `rlx contract input FILE` adds one with its digest.\n",
        );
        let digests = &self.input_digests;
        let inputs = self.typed.inputs.iter().filter_map(|path| Some((path, digests.get(path)?)));
        let lines: Vec<String> =
            inputs.map(|(path, digest)| format!("{{path: {}, digest: {digest}}}", flow_word(path))).collect();
        match lines.is_empty() {
            true => text.push_str("inputs: []\n"),
            false => put(&mut text, format_args!("inputs: [{}]\n", lines.join(", "))),
        }
        text.push_str("\n# A run is stopped if it makes no progress for this long.\nstop: {silence: 15m}\n");
        text
    }
}
