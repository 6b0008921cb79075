//! `rlx study propose`

use clap::Args;
use rlxp_ops::studies::propose::{ProposeRequest, propose};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};

const EXAMPLES: &str = "\
Examples:
  rlx study propose --dry-run || echo 'nothing to propose'
  rlx study propose --count 1 --json || echo 'nothing to propose'";

/// Write drafts of candidates that follow from what was found
///
/// Rules only: steps of agreed keys within their ranges, in the direction that
/// findings, reflections, probes and earlier verdicts suggest. Each draft says why it
/// should help, what that rests on and how it could be wrong, and passes every gate
/// of `rlx candidate validate`. Exits with 1 if there is nothing to propose.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Propose {
    /// At most this many drafts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    count: u64,
    /// Show them and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    which: Which,
}

impl Propose {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let request = ProposeRequest { count, dry_run: self.dry_run };
        let report = propose(context, self.which.selector(), request)?;
        let exit = if report.proposals.is_empty() { Exit::No } else { Exit::Yes };
        if screen.is_json() {
            screen.json(&report);
            return Ok(exit);
        }
        for proposed in &report.proposals {
            screen.line(screen.styled(Style::Heading, proposed.candidate.as_str()));
            screen.answer(paragraph(&proposed.hypothesis, 2, ""));
            screen.answer(paragraph(&format!("could be wrong: {}", proposed.risk), 2, ""));
            if !proposed.evidence.is_empty() {
                screen.answer(paragraph(&format!("evidence: {}", proposed.evidence.join(", ")), 2, ""));
            }
        }
        if report.proposals.is_empty() {
            screen.answer("nothing to propose");
        }
        // Where drafts were found, why others were not is a detail of --json.
        if report.proposals.is_empty() {
            for why in &report.left_out {
                screen.answer(paragraph(why, 2, "- "));
            }
        }
        match report.proposals.first() {
            Some(first) if report.written => {
                screen.hint(&format!("rlx candidate validate {}", first.candidate));
            }
            Some(_) => screen.hint("rlx study propose"),
            None => screen.hint("rlx candidate new NAME    # a change of your own"),
        }
        Ok(exit)
    }
}
