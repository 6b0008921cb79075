//! `rlx ledger`

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rlxp_ops::below::Actor;
use rlxp_ops::studies::ledger::{Records, ShownRecord, anchor, note, restore, show};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use serde_json::Value;

use super::study::{Which, warn};
use crate::format::{counted, moment};
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx ledger show --tail 5
  rlx ledger note 'the simulator was updated on Friday' --as person
  rlx ledger anchor
  rlx ledger restore";

const SHOW_EXAMPLES: &str = "\
Examples:
  rlx ledger show
  rlx ledger show --tail 3 --kind note --json";

const NOTE_EXAMPLES: &str = "\
Examples:
  rlx ledger note 'the simulator was updated on Friday' --as person
  rlx ledger note 'entropy collapses after a million steps'";

const ANCHOR_EXAMPLES: &str = "\
Examples:
  rlx ledger anchor
  rlx ledger anchor --print
  rlx ledger anchor --to ~/anchors.jsonl";

const RESTORE_EXAMPLES: &str = "\
Examples:
  rlx ledger restore
  rlx ledger restore --study cartpole/first";

/// Read the ledger of a study, append notes to it, or restore it
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Show(Show),
    Note(Note),
    Anchor(Anchor),
    Restore(Restore),
}

/// Show the records, oldest first
#[derive(Args)]
#[command(after_long_help = SHOW_EXAMPLES)]
struct Show {
    #[command(flatten)]
    which: Which,
    /// Only the last N records
    #[arg(short = 'n', long, value_name = "N")]
    tail: Option<usize>,
    /// Only records of one kind, such as approved or note
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

/// Append a note to the ledger
#[derive(Args)]
#[command(after_long_help = NOTE_EXAMPLES)]
struct Note {
    /// The text of the note
    text: String,
    #[command(flatten)]
    which: Which,
    /// Author of the note [default: person on a terminal, otherwise agent]
    #[arg(long = "as", value_name = "WHO")]
    by: Option<Who>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Who {
    /// Written by a person
    Person,
    /// Written by an agent
    Agent,
}

/// Save the ledger's head outside the repository
///
/// Only an anchor reveals records that were removed from the end, or a ledger that
/// was rewritten completely. Keep one where agents can't write.
#[derive(Args)]
#[command(after_long_help = ANCHOR_EXAMPLES)]
struct Anchor {
    #[command(flatten)]
    which: Which,
    /// File to append the anchor to [default: a file in your state folder]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Also print the command that stores it in a git note
    #[arg(long)]
    print: bool,
}

/// Put the copy of the ledger in your state folder back
///
/// rlx copies the ledger there after each approval, run and verdict. If git brings
/// back an older ledger (git checkout, git stash, another branch), the study is locked
/// until you switch back or restore the copy. The replaced ledger is kept beside it.
#[derive(Args)]
#[command(after_long_help = RESTORE_EXAMPLES)]
struct Restore {
    #[command(flatten)]
    which: Which,
    /// Restore even if approvals are void then, because the documents are not the approved ones
    #[arg(long)]
    even_if_void: bool,
}

impl Ledger {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.what {
            What::Show(command) => command.run(context, screen),
            What::Note(command) => command.run(context, screen),
            What::Anchor(command) => command.run(context, screen),
            What::Restore(command) => command.run(context, screen),
        }
    }
}

impl Show {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let records = show(context, self.which.selector(), self.tail, self.kind.as_deref())?;
        Ok(answer(screen, &records))
    }
}

impl Note {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let actor = match self.by {
            Some(Who::Person) => Actor::Person,
            Some(Who::Agent) => Actor::Agent,
            None if io::stdin().is_terminal() => Actor::Person,
            None => Actor::Agent,
        };
        let records = note(context, self.which.selector(), &self.text, actor)?;
        Ok(answer(screen, &records))
    }
}

fn answer(screen: &Screen, records: &Records) -> Exit {
    if screen.is_json() {
        screen.json(records);
        return Exit::Yes;
    }
    screen.lines(records.records.iter().map(line));
    warn(screen, &records.warnings);
    Exit::Yes
}

impl Anchor {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = anchor(context, self.which.selector(), self.to.as_deref())?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        screen.line(format!(
            "anchored {} at record {}, {}, in {}",
            report.name,
            report.anchor.seq,
            report.anchor.head.short(),
            report.path.display()
        ));
        if self.print {
            screen.answer(&report.git_notes);
        }
        warn(screen, &report.warnings);
        Ok(Exit::Yes)
    }
}

impl Restore {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = restore(context, self.which.selector(), self.even_if_void)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let Some(kept) = &report.kept else {
            screen.line(format!(
                "{}: nothing to restore; no copy has records that the ledger lacks",
                report.name
            ));
            return Ok(Exit::Yes);
        };
        screen.line(format!(
            "restored the ledger of {}: {} instead of {}, head {}",
            report.name,
            counted(report.records as usize, "record"),
            report.before,
            report.head.short()
        ));
        if report.only_replaced > 0 {
            let count = counted(report.only_replaced as usize, "record");
            screen.line(format!("{count} of the replaced ledger are not in the copy and count no longer"));
        }
        screen.line(format!("the replaced ledger is kept as {}", kept.display()));
        Ok(Exit::Yes)
    }
}

fn line(record: &ShownRecord) -> String {
    let actor = match record.actor {
        Actor::Person => "person",
        Actor::Agent => "agent",
        Actor::Rlx => "rlx",
    };
    let what = words(&record.body);
    format!("{:>4}  {}  {actor:<6}  {:<13}  {what}", record.seq, moment(&record.at), record.kind)
        .trim_end()
        .to_owned()
}

/// What a record holds, as `name value` pairs; long digests are shortened.
fn words(body: &Value) -> String {
    let short = |text: &str| {
        let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_digest { &text[..12] } else { text }.to_owned()
    };
    let one = |value: &Value| match value {
        Value::String(text) => short(text),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| item.as_str().map_or(item.to_string(), short)).collect();
            items.join(", ")
        }
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    match body.as_object() {
        Some(fields) if fields.len() == 1 => fields.values().map(one).collect(),
        Some(fields) => {
            let shown = fields.iter().filter(|(_, value)| !value.is_null());
            shown.map(|(name, value)| format!("{name}: {}", one(value))).collect::<Vec<_>>().join(" · ")
        }
        None => String::new(),
    }
}
