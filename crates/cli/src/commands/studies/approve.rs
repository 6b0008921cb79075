//! `rlx approve`

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::below::{Assurance, environment};
use rlxp_ops::reports::ApprovalStatement;
use rlxp_ops::studies::approve::{
    ApproveReport, ApproveRequest, Prepared, by_key, by_signature, by_terminal, how_to_approve,
    own_signing_key, prepare, read_signature, terminal_counts,
};
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::Exit;

use super::study::{Which, warn};
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx approve --show
  rlx approve task metrics scope --show
  rlx approve metrics --print";

const ABOUT: &str = "\
Approve sections, permissions or candidates of a study

Sections are task, metrics, scope, budget, hardware, baseline, evaluation, experiment; permissions are plan, execute and \
loop_entry; `candidate:ID` approves one candidate, and `run:KEY` lets a run count that rlx doesn't take as evidence by itself. An approval covers the current content of the files; changing any of it voids the approval.

Without names, everything that is open is approved: sections without a valid approval, and validated candidates.

On a terminal, the whole text is shown and you approve it by typing the first letters of its digest. In a study that needs \
signatures, rlx then starts your own ssh-keygen with the key in ~/.ssh that is listed among the approvers, or with --key. \
Without a terminal, or where your key is elsewhere, sign by hand:

  rlx approve metrics --print > statement
  ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n rlx-approval statement
  rlx approve metrics --signature statement.sig

See docs/concepts/trust.md for what each method protects against.";

/// Approve sections, permissions or candidates of a study
#[derive(Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Approve {
    /// Sections, permissions, `candidate:ID` and `run:KEY`
    #[arg(value_name = "SECTION")]
    targets: Vec<String>,
    /// Everything that is open, as without any name; can be combined with names
    #[arg(long)]
    all: bool,
    /// Show what would be approved, without approving
    #[arg(long, conflicts_with_all = ["print", "signature"])]
    show: bool,
    /// Print the bytes to sign, without approving
    #[arg(long, conflicts_with = "signature")]
    print: bool,
    /// Approve with a signature over the output of --print
    #[arg(long, value_name = "FILE")]
    signature: Option<String>,
    /// Key to sign with on this terminal [default: the one in ~/.ssh that is listed among the approvers]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["print", "signature", "show"])]
    key: Option<PathBuf>,
    /// Name to record for a terminal approval [default: your user name]
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Approve {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = ApproveRequest {
            study: self.which.selector().map(str::to_owned),
            targets: self.targets.clone(),
            all: self.all,
        };
        if let Some(file) = &self.signature {
            let armored = read_signature(context, file)?;
            return Ok(done(screen, &by_signature(context, &request, &armored)?));
        }
        let prepared = prepare(context, &request)?;
        if self.print {
            return Ok(print(screen, &prepared));
        }
        if self.show {
            return Ok(show(screen, &prepared));
        }
        let wants_signature = self.key.is_some() || prepared.required == Assurance::Signature;
        let key = match &self.key {
            Some(key) => Some(context.folder.join(key)),
            None => own_signing_key(context, &request)?.filter(|_| wants_signature),
        };
        if screen.can_type() && key.is_none() {
            terminal_counts(context, &request)?;
        }
        text(&prepared).iter().for_each(|line| screen.note(line));
        let code = prepared.statement().digest.short();
        let question = format!("type {code} to approve, anything else to cancel: ");
        let Some(typed) = screen.type_in(&question) else {
            let what = match (self.targets.is_empty(), self.all) {
                (true, _) => "--all".to_owned(),
                (false, true) => format!("{} --all", self.targets.join(" ")),
                (false, false) => self.targets.join(" "),
            };
            let needs = match prepared.can_be_signed {
                true => "approving needs a terminal or a signature",
                false => "approving needs a terminal: this study was opened without approvers",
            };
            let failure = Failure::refused("no_terminal", needs);
            let hints = how_to_approve(&prepared, &what, key.as_deref());
            return Err(hints.into_iter().fold(failure, Failure::hint));
        };
        if typed.trim() != code {
            return Err(Failure::refused("not_approved", "nothing was approved"));
        }
        if let Some(key) = &key {
            return Ok(done(screen, &by_key(context, &request, &prepared, key)?));
        }
        let who =
            self.who.clone().or_else(|| environment::variable("USER")).unwrap_or_else(|| "unknown".into());
        Ok(done(screen, &by_terminal(context, &request, &prepared, &who)?))
    }
}

fn print(screen: &Screen, prepared: &Prepared) -> Exit {
    let statement = String::from_utf8(prepared.statement().bytes()).expect("a statement is ASCII");
    if screen.is_json() {
        screen.json(&ApprovalStatement { statement: &statement, prepared });
    } else {
        screen.answer(statement.trim_end_matches('\n'));
    }
    Exit::Yes
}

fn show(screen: &Screen, prepared: &Prepared) -> Exit {
    if screen.is_json() {
        screen.json(prepared);
    } else {
        screen.lines(text(prepared));
    }
    Exit::Yes
}

fn done(screen: &Screen, report: &ApproveReport) -> Exit {
    if screen.is_json() {
        screen.json(report);
    } else {
        let names: Vec<String> = report.targets.keys().map(ToString::to_string).collect();
        screen.line(format!(
            "{} approved {} by {} (record {} of {})",
            report.who,
            names.join(", "),
            report.assurance,
            report.seq,
            report.study
        ));
        warn(screen, &report.warnings);
        screen.hint("rlx study next");
    }
    Exit::Yes
}

/// Everything that would be approved, as shown to the user.
fn text(prepared: &Prepared) -> Vec<String> {
    let mut lines = vec![format!("Study {} requires approval by {}.", prepared.study, prepared.required)];
    for shown in &prepared.targets {
        lines.push(String::new());
        lines.push(format!("{} ({})", shown.target, shown.digest.short()));
        lines.push(format!("  effect: {}", shown.allows));
        if !shown.depends_on.is_empty() {
            lines.push(format!("  depends on: {}", shown.depends_on.join(", ")));
        }
        if shown.text.trim() == "{}" {
            lines.push("  (nothing of its own: it covers the sections above)".to_owned());
            continue;
        }
        lines.extend(shown.text.lines().map(|line| format!("  | {line}")));
    }
    lines.push(String::new());
    lines.push(format!(
        "Ledger head {}, combined digest {}.",
        prepared.head.short(),
        prepared.statement().digest.short()
    ));
    lines
}
