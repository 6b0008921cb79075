//! `rlx verify`

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::studies::verify::{VerifyReport, VerifyRequest, verify};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::study::Which;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};

const EXAMPLES: &str = "\
Examples:
  rlx verify --chain
  rlx verify --chain --study cartpole/first --json";

/// Check that the record of a study is what it was
///
/// Exits with 1 and names every problem when it isn't. Says plainly what can't
/// be told from here: records cut off the end and a ledger that was rewritten
/// as a whole are found only against an anchor.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Verify {
    /// Check the ledger: its chain, its anchors and the signatures of approvals
    #[arg(long, required = true)]
    chain: bool,
    #[command(flatten)]
    which: Which,
    /// The approvers as you know them, in ssh's allowed_signers format
    #[arg(long, value_name = "FILE")]
    approvers: Option<PathBuf>,
    /// A file of anchors, beside those in your own state folder; can be repeated
    #[arg(long = "anchor", value_name = "FILE")]
    anchors: Vec<PathBuf>,
}

impl Verify {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = VerifyRequest {
            study: self.which.selector().map(str::to_owned),
            approvers: self.approvers.clone(),
            anchors: self.anchors.clone(),
        };
        let report = verify(context, &request)?;
        let exit = if report.problems.is_empty() { Exit::Yes } else { Exit::No };
        if screen.is_json() {
            screen.json(&report);
            return Ok(exit);
        }
        let VerifyReport { name, records, head, problems, holds, not_checked } = &report;
        let verdict = if problems.is_empty() {
            screen.styled(Style::Good, "nothing wrong found")
        } else {
            screen.styled(Style::Error, "damaged")
        };
        screen.line(format!("{name}: {verdict}; {records} records read, head {}", head.short()));
        for problem in problems {
            let line = problem.line.map_or_else(String::new, |line| format!(", line {line}"));
            screen.answer(paragraph(
                &format!("{} ({}{line})", problem.message, problem.code),
                2,
                "- wrong: ",
            ));
        }
        for fact in holds {
            screen.answer(paragraph(fact, 2, "- holds: "));
        }
        for gap in not_checked {
            screen.answer(paragraph(gap, 2, "- not checked: "));
        }
        Ok(exit)
    }
}
