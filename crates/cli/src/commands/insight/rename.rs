//! `rlx rename`

use clap::Args;
use rlxp_ops::insight::notes::rename;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx rename @last \"wide network, no entropy bonus\"
  rlx ls --where 'title=wide network, no entropy bonus' --columns name,title,score
  rlx rename @last --clear";

/// Give a run a title
///
/// The title is shown by `rlx info` and in the column title of `rlx ls`. The run's
/// folder and the name that commands take stay as they are.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Rename {
    /// The run
    #[arg(value_name = "RUN", add = complete::runs())]
    run: String,
    /// The title: one line of up to 100 bytes
    #[arg(value_name = "TITLE", required_unless_present = "clear")]
    title: Option<String>,
    /// Remove the title
    #[arg(long, conflicts_with = "title")]
    clear: bool,
}

impl Rename {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let titled = rename(context, &self.run, self.title.as_deref())?;
        if screen.is_json() {
            screen.json(&titled);
            return Ok(Exit::Yes);
        }
        match &titled.title {
            Some(title) => screen.line(format!("{}: {title}", titled.run)),
            None => screen.line(format!("{} has no title", titled.run)),
        }
        Ok(Exit::Yes)
    }
}
