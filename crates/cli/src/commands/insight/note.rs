//! `rlx note`

use clap::Args;
use rlxp_ops::insight::notes::{Noted, note, to_note};
use rlxp_ops::reports::RunNotes;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::format;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx note @last \"reward scale was wrong\"
  rlx note 'ppo_*' \"before the fix of the wrapper\"    # every run that matches
  rlx note @last                # show the notes
  rlx ls --columns name,notes";

/// Show, add or remove the notes of runs
///
/// Notes are shown by `rlx info` and in the column notes of `rlx ls`. A note has a
/// number, which --remove takes.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Note {
    /// The runs
    #[arg(value_name = "RUN", add = complete::runs())]
    run: String,
    /// A note to add: one line of up to 1000 bytes
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// The number of a note to remove; can be repeated
    #[arg(long, value_name = "N")]
    remove: Vec<u64>,
}

impl Note {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let mut runs = to_note(context, &self.run)?;
        if self.text.is_some() || !self.remove.is_empty() {
            if runs.len() > 1 {
                let names: Vec<&str> = runs.iter().map(|noted| noted.run.as_str()).collect();
                screen.note(&format!("{} matches {} runs: {}", self.run, runs.len(), names.join(", ")));
            }
            let mut done = Vec::new();
            let outcome =
                note(context, &runs, self.text.as_deref(), &self.remove, &mut |noted| done.push(noted));
            runs = done;
            if outcome.is_err() && !screen.is_json() {
                // These are changed although a later one failed.
                runs.iter().for_each(|noted| show(screen, noted));
            }
            outcome?;
        }
        if screen.is_json() {
            screen.json(&RunNotes { runs: &runs });
        } else {
            runs.iter().for_each(|noted| show(screen, noted));
        }
        Ok(Exit::Yes)
    }
}

fn show(screen: &Screen, Noted { run, notes }: &Noted) {
    if notes.is_empty() {
        return screen.line(format!("{run} has no notes"));
    }
    screen.line(format!("{run}:"));
    for note in notes {
        screen.line(format!("  {}  {}  {}", note.number, format::moment(&note.at), note.text));
    }
}
