//! `rlx study next` and `rlx study audit`

use clap::Args;
use rlxp_ops::below::{ClaimKind, parse_word};
use rlxp_ops::studies::audit::NewClaim;
use rlxp_ops::studies::study::first_audit::audit;
use rlxp_ops::studies::study::next::next;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};

const NEXT_EXAMPLES: &str = "\
Examples:
  rlx study next
  rlx study next --json";

const AUDIT_EXAMPLES: &str = "\
Examples:
  rlx study audit --claim train_command:configs/ppo_cartpole.yaml:1
  rlx study audit";

/// Show the next step of a study
///
/// Prints the action, the reason, the exact command, what it would change, and what
/// a person must do. Reads only files.
#[derive(Args)]
#[command(after_long_help = NEXT_EXAMPLES)]
pub(super) struct Next {
    #[command(flatten)]
    which: Which,
}

/// Check the claims about the repository
///
/// Each claim in adapter.yaml cites a line of the repository. A claim is stale if
/// its line has changed; no candidate can be validated until you have reviewed it.
#[derive(Args)]
#[command(after_long_help = AUDIT_EXAMPLES)]
pub(super) struct Audit {
    /// Add a claim, as KIND:FILE:LINE or KIND:FILE:LINE:TEXT. Kinds: train_command, eval_command, config_system,
    /// log_source, launcher, reward, termination, curriculum, randomisation, evaluator
    #[arg(long, value_name = "CLAIM", value_parser = claim)]
    claim: Vec<NewClaim>,
    /// How the train command takes a value, such as --{key}={value}; empty if values are only set in files
    #[arg(long, value_name = "SYNTAX", allow_hyphen_values = true)]
    override_syntax: Option<String>,
    /// Accept changed lines that you have reviewed
    #[arg(long)]
    refresh: bool,
    #[command(flatten)]
    which: Which,
}

fn claim(text: &str) -> Result<NewClaim, String> {
    let wrong = || format!("{text:?} is not KIND:FILE:LINE or KIND:FILE:LINE:TEXT");
    let mut parts = text.splitn(4, ':');
    let (Some(kind), Some(file), Some(line)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
    };
    Ok(NewClaim {
        about: parse_word::<ClaimKind>(kind)?,
        file: file.to_owned(),
        line: line.parse().map_err(|_| wrong())?,
        value: parts.next().map(str::to_owned),
    })
}

impl Next {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = next(context, self.which.selector())?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let step = &report.next;
        let action = rlxp_ops::below::word_of(&step.action).replace('_', " ");
        screen.line(format!("{}: {}", report.study, screen.styled(Style::Hint, &action)));
        screen.answer(paragraph(&step.reason, 2, "why: ").trim_end());
        if let Some(command) = &step.command {
            screen.line(format!("  command: {command}"));
        }
        screen.line(format!("  changes: {}", step.changes));
        if let Some(person) = &step.person {
            screen.line(format!("  a person must: {person}"));
        }
        Ok(Exit::Yes)
    }
}

impl Audit {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let overrides = self.override_syntax.as_deref();
        let report = audit(context, self.which.selector(), &self.claim, self.refresh, overrides)?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            for claim in &report.claims {
                let place = format!("{}:{}", claim.file, claim.line);
                let stale = match report.moved.get(&place).map(Vec::as_slice) {
                    Some([line]) => format!(" (moved to line {line})"),
                    Some(lines) => {
                        let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
                        format!(" (line changed; lines {} have its text)", lines.join(", "))
                    }
                    None if report.stale.contains(&place) => " (line changed)".to_owned(),
                    None => String::new(),
                };
                let about = rlxp_ops::below::word_of(&claim.about).replace('_', " ");
                screen.line(format!("{about}: {} ({place}){stale}", claim.value));
            }
            for one in &report.refreshed {
                let about = rlxp_ops::below::word_of(&one.about).replace('_', " ");
                let how = if one.is_moved { "moved" } else { "cites another text now" };
                screen.line(format!("{about} {how}: {} -> {}: {}", one.was, one.now, one.line));
            }
            if let Some(syntax) = &report.override_syntax {
                screen.line(format!("values reach the train command as {syntax}"));
            }
            if report.recorded {
                let all = report.claims.len();
                let hold =
                    if all == 1 { "1 claim is valid".to_owned() } else { format!("{all} claims are valid") };
                screen.line(format!("{hold}, recorded in the ledger"));
                screen.hint("rlx study next");
            } else {
                screen.line(format!("{} of {} claims are stale", report.stale.len(), report.claims.len()));
                screen.hint("rlx study audit --refresh    # after you have reviewed the lines");
                let ambiguous = report.claims.iter().find(|claim| {
                    let place = format!("{}:{}", claim.file, claim.line);
                    report.moved.get(&place).is_some_and(|lines| lines.len() > 1)
                });
                if let Some(claim) = ambiguous {
                    let about = rlxp_ops::below::word_of(&claim.about);
                    screen.hint(&format!("rlx study audit --claim {about}:{}:LINE", claim.file));
                }
            }
        }
        Ok(if report.recorded { Exit::Yes } else { Exit::No })
    }
}
