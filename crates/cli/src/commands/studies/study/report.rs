//! `rlx study report`

use clap::Args;
use rlxp_ops::studies::report::report;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::{Which, warn};
use crate::paragraph::paragraph;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx study report
  rlx study report --json";

/// Write the report of a study
///
/// Writes report.md, report.html and experiments.yaml into the study's folder, and
/// feedback.json, manifest.json and handoff.md into loops/N, where N is the number of
/// verdicts so far. Everything comes from the ledger and the recorded metrics, and
/// every number names its record. The report is recorded in the ledger.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Report {
    #[command(flatten)]
    which: Which,
    /// Open report.html in the browser
    #[arg(long)]
    open: bool,
}

impl Report {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = report(context, self.which.selector(), self.open)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        for sentence in &report.summary {
            screen.answer(paragraph(sentence, 0, "").trim_end());
        }
        let files = &report.files;
        for path in
            [&files.report, &files.html, &files.experiments, &files.feedback, &files.manifest, &files.handoff]
        {
            screen.line(format!("  {}", path.display()));
        }
        warn(screen, &report.warnings);
        if let Some(next) = &report.next {
            screen.hint(next);
        }
        Ok(Exit::Yes)
    }
}
