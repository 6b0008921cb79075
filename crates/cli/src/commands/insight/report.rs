//! `rlx report`

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::insight::report::{ReportRequest, report};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::format;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx report @last
  rlx report @last --no-videos --output report.html
  rlx report ppo_cartpole_001 ppo_cartpole_002 --title \"Does a lower learning rate help?\"
  rlx report @last --json";

/// Write a self-contained HTML report of runs
///
/// One file with verdict, curves, changes, diagnosis, evaluations and videos that
/// needs no network, to send to a colleague. The first run or group is the
/// reference that the others are compared with.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Report {
    /// Runs, tag:TAG for all runs with a tag, or A+B for several runs as one group
    #[arg(value_name = "RUN", required = true, add = complete::runs())]
    runs: Vec<String>,
    /// File to write [default: analysis/report_….html in the project]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Heading of the report
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Leave out the videos
    #[arg(long)]
    no_videos: bool,
    /// Give a verdict even if runs are not comparable
    #[arg(long)]
    force: bool,
    /// Lower scores are better
    #[arg(long)]
    lower: bool,
    /// Open the report in the browser
    #[arg(long)]
    open: bool,
}

impl Report {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = ReportRequest {
            words: self.runs.clone(),
            output: self.output.clone(),
            title: self.title.clone(),
            without_videos: self.no_videos,
            force: self.force,
            lower: self.lower,
            open: self.open,
            ..ReportRequest::default()
        };
        let live = |text: &str| {
            if screen.is_live() {
                screen.live(text);
            }
        };
        let made = report(context, &request, &mut |what| live(what));
        live("");
        let made = made?;
        if screen.is_json() {
            screen.json(&made);
            return Ok(Exit::Yes);
        }
        for missing in &made.left_out {
            screen.warning(missing);
        }
        for sentence in &made.verdicts {
            screen.note(sentence);
        }
        let (errors, warnings) = made.findings;
        screen.note(&format!(
            "diagnosis: {}, {}; {}, {}",
            format::counted(errors, "error"),
            format::counted(warnings, "warning"),
            format::counted(made.videos, "video"),
            format::bytes(made.bytes)
        ));
        screen.line(&made.file);
        Ok(Exit::Yes)
    }
}
