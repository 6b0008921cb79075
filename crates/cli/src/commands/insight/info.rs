//! `rlx info`

use clap::Args;
use rlxp_ops::below::{Lineage, LineageKind};
use rlxp_ops::insight::runs::{RunInfo, info};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::one_line;
use serde_json::Value;

use crate::complete;
use crate::format;
use crate::screen::{Screen, Style};
use crate::summary;

/// Longest line of the config.
const LINE: usize = 96;

const EXAMPLES: &str = "\
Examples:
  rlx info @last
  rlx info ppo_cartpole_001 --json";

/// Show everything about a run: status, learning curve, config and origin
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Info {
    /// The run
    #[arg(add = complete::runs())]
    run: String,
}

impl Info {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = info(context, &self.run)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        screen.answer(facts(screen, &report));
        screen.answer(summary::seeds(screen, &report));
        if let Some(stops) = summary::stops(&report) {
            screen.answer(stops);
        }
        if let Some(curve) = summary::curve(&report) {
            screen.answer(format!("\n{curve}"));
        }
        screen.answer(format!("\n{}", config(screen, &report.config)));
        for seed in &report.seeds {
            for damage in &seed.damage {
                screen.warning(&format!("seed {}: {damage}", seed.seed));
            }
        }
        for command in &report.next {
            screen.hint(command);
        }
        Ok(Exit::Yes)
    }
}

fn facts(screen: &Screen, report: &RunInfo) -> String {
    let metadata = &report.metadata;
    let mut lines = vec![
        ("status", report.status.to_string()),
        ("environment", metadata.env.clone()),
        ("algorithm", metadata.algo.clone()),
        ("steps per seed", format::count(metadata.total_steps)),
        ("created", metadata.created.clone()),
        ("folder", report.path.display().to_string()),
        ("id", metadata.id.to_string().chars().take(16).collect()),
        ("attempts", report.attempts.to_string()),
        (
            "trained by",
            format!(
                "rlx {} with {} kernels on {}",
                metadata.versions.rlx, metadata.cpu_kernels, metadata.host
            ),
        ),
    ];
    lines.extend(report.reason.clone().map(|reason| ("reason", reason)));
    lines.extend(metadata.git.as_ref().map(|git| {
        let dirty = if git.dirty { " with uncommitted changes" } else { "" };
        let commit = git.commit.as_deref().map_or("no commit", |commit| commit.get(..12).unwrap_or(commit));
        ("code", format!("git {commit}{dirty}"))
    }));
    lines.extend(
        report.stop_at.map(|wanted| ("stop at", format!("evaluation return >= {}", format::score(wanted)))),
    );
    lines.extend(report.lineage.as_ref().map(|lineage| ("origin", origin(lineage))));
    lines.extend(report.title.clone().map(|title| ("title", title)));
    if !metadata.tags.is_empty() {
        lines.push(("tags", metadata.tags.join(", ")));
    }
    if !metadata.overrides.is_empty() {
        lines.push(("overrides", metadata.overrides.join(" ")));
    }
    for (place, note) in report.notes.iter().enumerate() {
        lines.push((if place == 0 { "notes" } else { "" }, note.text.clone()));
    }
    // A run that was copied or renamed is known here by its folder.
    let name = report.path.file_name().map_or(metadata.name.clone().into(), |name| name.to_string_lossy());
    let heading = screen.styled(Style::Heading, &one_line(&name));
    let lines: String =
        lines.iter().map(|(name, value)| format!("  {name:<16}{}\n", one_line(value))).collect();
    format!("{heading}\n{lines}\n")
}

fn origin(lineage: &Lineage) -> String {
    let step = lineage.checkpoint.map_or(String::new(), |step| format!(" at step {}", format::count(step)));
    match lineage.kind {
        LineageKind::ResumedExtended => format!("extends {}{step}", lineage.parent),
        LineageKind::WarmStart => match (lineage.seed, lineage.checkpoints.is_empty()) {
            (Some(seed), _) => format!("warm start from {}:{seed}{step}", lineage.parent),
            (None, false) => format!("warm start from {}, each seed from its own", lineage.parent),
            (None, true) => format!("warm start from {}{step}", lineage.parent),
        },
        LineageKind::Reproduced => format!("reproduces {}", lineage.parent),
    }
}

/// The config as `key=value`, one section per paragraph; each can be given to `--set`.
fn config(screen: &Screen, config: &Value) -> String {
    let mut text = format!("{}\n", screen.styled(Style::Heading, "config"));
    let mut section = |name: &str, values: Vec<String>| {
        let mut line = format!("  {name:<12}");
        for value in values {
            if line.chars().count() + value.chars().count() + 1 > LINE {
                text.push_str(line.trim_end());
                text.push('\n');
                line = format!("  {:<12}", "");
            }
            line.push_str(&value);
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let fields = config.as_object().into_iter().flatten();
    let (sections, plain): (Vec<_>, Vec<_>) = fields.partition(|(_, value)| value.is_object());
    section("", plain.into_iter().map(|(key, value)| pair(key, value)).collect());
    for (name, values) in sections {
        let values = values.as_object().into_iter().flatten();
        section(&one_line(name), values.map(|(key, value)| pair(key, value)).collect());
    }
    text
}

fn pair(key: &str, value: &Value) -> String {
    let pair = match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    one_line(&pair).into_owned()
}
