//! `rlx tag`

use clap::Args;
use rlxp_ops::insight::runs::{Tagged, tag, to_tag};
use rlxp_ops::reports::RunTags;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx tag @last baseline paper
  rlx tag @last --remove paper
  rlx tag 'ppo_*' sweep    # every run that matches
  rlx tag @last            # show the tags";

/// Show, add or remove the tags of runs
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Tag {
    /// The runs
    #[arg(value_name = "RUN", add = complete::runs())]
    run: String,
    /// Tags to add
    #[arg(value_name = "TAG", add = complete::tags())]
    tags: Vec<String>,
    /// A tag to remove; can be repeated
    #[arg(long, value_name = "TAG", add = complete::tags())]
    remove: Vec<String>,
}

impl Tag {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let mut runs = to_tag(context, &self.run)?;
        if !self.tags.is_empty() || !self.remove.is_empty() {
            if runs.len() > 1 {
                let names: Vec<&str> = runs.iter().map(|tagged| tagged.run.as_str()).collect();
                screen.note(&format!("{} matches {} runs: {}", self.run, runs.len(), names.join(", ")));
            }
            let mut done = Vec::new();
            let outcome = tag(context, &runs, &self.tags, &self.remove, &mut |tagged| done.push(tagged));
            runs = done;
            if outcome.is_err() && !screen.is_json() {
                // These are tagged although a later one failed.
                runs.iter().for_each(|tagged| show(screen, tagged));
            }
            outcome?;
        }
        if screen.is_json() {
            let only = if let [only] = &runs[..] { Some(only) } else { None };
            screen.json(&RunTags { runs: &runs, only });
        } else {
            runs.iter().for_each(|tagged| show(screen, tagged));
        }
        Ok(Exit::Yes)
    }
}

fn show(screen: &Screen, Tagged { run, tags }: &Tagged) {
    if tags.is_empty() {
        screen.line(format!("{run} has no tags"));
    } else {
        screen.line(format!("{run}: {}", tags.join(", ")));
    }
}
