//! `rlx verify`

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::studies::verify::{VerifyReport, VerifyRequest, verify};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::study::Which;
use crate::format::counted;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};

const EXAMPLES: &str = "\
Examples:
  rlx verify
  rlx verify --chain --study cartpole/first --json";

/// Verify a study: its ledger, the files of its runs, metrics and verdicts
///
/// Checks that the ledger was not altered and that the files of all runs are as they
/// were, then reads every metric again and judges every candidate again: all of it
/// must come out as it is recorded. Exits with 1 and lists every problem if something
/// differs. Also lists what can't be checked: only an anchor, or the copy in your state
/// folder, reveals records that were removed from the end, or a ledger that was
/// rewritten completely.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Verify {
    /// Check only the ledger: its chain, copy, anchors and signatures
    #[arg(long)]
    chain: bool,
    #[command(flatten)]
    which: Which,
    /// Check against these approvers instead of yours, in ssh's allowed_signers format
    #[arg(long, value_name = "FILE")]
    approvers: Option<PathBuf>,
    /// File of anchors, in addition to those in your state folder; can be repeated
    #[arg(long = "anchor", value_name = "FILE")]
    anchors: Vec<PathBuf>,
}

impl Verify {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = VerifyRequest {
            study: self.which.selector().map(str::to_owned),
            approvers: self.approvers.clone(),
            anchors: self.anchors.clone(),
            chain_only: self.chain,
        };
        let report = verify(context, &request)?;
        let exit = if report.problems.is_empty() { Exit::Yes } else { Exit::No };
        if screen.is_json() {
            screen.json(&report);
            return Ok(exit);
        }
        let VerifyReport { name, records, head, problems, holds, not_checked } = &report;
        let verdict = if problems.is_empty() {
            screen.styled(Style::Good, "no problems found")
        } else {
            screen.styled(Style::Error, "damaged")
        };
        screen.line(format!(
            "{name}: {verdict}; {}, head {}",
            counted(*records as usize, "record"),
            head.short()
        ));
        for problem in problems {
            let line = problem.line.map_or_else(String::new, |line| format!(", line {line}"));
            screen.answer(paragraph(
                &format!("{} ({}{line})", problem.message, problem.code),
                2,
                "- problem: ",
            ));
        }
        for fact in holds {
            screen.answer(paragraph(fact, 2, "- ok: "));
        }
        for gap in not_checked {
            screen.answer(paragraph(gap, 2, "- not checked: "));
        }
        Ok(exit)
    }
}
