//! `rlx tag`

use clap::Args;
use rlxp_ops::insight::runs::tag;
use rlxp_ops::reports::RunTags;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx tag @last baseline paper
  rlx tag @last --remove paper
  rlx tag @last    # show the tags";

/// Show, add or remove the tags of a run
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Tag {
    /// The run
    run: String,
    /// Tags to add
    #[arg(value_name = "TAG")]
    tags: Vec<String>,
    /// A tag to remove; can be repeated
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,
}

impl Tag {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let (run, tags) = tag(context, &self.run, &self.tags, &self.remove)?;
        if screen.is_json() {
            screen.json(&RunTags { run: &run, tags: &tags });
        } else if tags.is_empty() {
            screen.line(format!("{run} has no tags"));
        } else {
            screen.line(format!("{run}: {}", tags.join(", ")));
        }
        Ok(Exit::Yes)
    }
}
