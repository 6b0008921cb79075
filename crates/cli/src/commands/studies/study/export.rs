//! `rlx study export` and `rlx study revert`: accepted changes brought out, and undone.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use rlxp_ops::studies::export_code::{CodeExport, CodeTarget, export_code};
use rlxp_ops::studies::revert::revert;
use rlxp_ops::studies::study::export::export;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use super::{Which, warn};
use crate::screen::Screen;

const EXPORT_EXAMPLES: &str = "\
Examples:
  rlx study export --to ~/first-study
  rlx study export --study cartpole/first --to exported
  rlx study export --branch rlx-accepted || echo 'nothing is accepted yet'
  rlx study export --patch accepted.patch || echo 'nothing is accepted yet'";

const REVERT_EXAMPLES: &str = "\
Examples:
  rlx study revert ppo --reason 'it falls on slopes' || echo 'it is not accepted'";

/// Export a study to a folder, or its accepted code as a branch or a patch
///
/// With --to: the study's files, a report and the patches of accepted candidates.
/// With --branch or --patch: the contract's code with every accepted change, as
/// candidates train from it now. Nothing is checked out. Arguments of the train
/// command that were accepted are listed; they are not part of any file.
#[derive(Args)]
#[command(after_long_help = EXPORT_EXAMPLES)]
#[command(group = ArgGroup::new("target").required(true).args(["to", "branch", "patch"]))]
pub(super) struct Export {
    #[command(flatten)]
    which: Which,
    /// Target folder; must be new or empty
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// Name of a new branch for the accepted code
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// New file for the accepted code as a patch
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
}

/// Undo the acceptance of the incumbent
///
/// The earlier incumbent, with its seeds and its code, is the reference again, and
/// candidates are validated against it. Runs, verdict and the ref of the reverted code
/// are kept. The same changes can't be tried again under another name.
#[derive(Args)]
#[command(after_long_help = REVERT_EXAMPLES)]
pub(super) struct Revert {
    /// The candidate, which must be the incumbent
    candidate: String,
    #[command(flatten)]
    which: Which,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Export {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let target = match (&self.to, &self.branch, &self.patch) {
            (_, Some(name), _) => CodeTarget::Branch(name.clone()),
            (_, _, Some(file)) => CodeTarget::Patch(file.clone()),
            (Some(to), ..) => return self.folder(context, screen, to.clone()),
            (None, None, None) => unreachable!("one of the three is required"),
        };
        let report = export_code(context, self.which.selector(), &target)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let CodeExport { accepted, from, code, arguments, branch, patch, .. } = &report;
        let names: Vec<&str> = accepted.iter().map(|id| id.as_str()).collect();
        let what = format!("{from} with the accepted {}", names.join(", "));
        if let Some(branch) = branch {
            screen.line(format!("created branch {branch} at {code}: {what}"));
        }
        if let Some(patch) = patch {
            screen.line(format!("wrote {}: {what}", patch.display()));
        }
        if !arguments.is_empty() {
            let words: Vec<_> = arguments.iter().map(|word| shell_word(word)).collect();
            screen.line(format!("  training also needs these arguments: {}", words.join(" ")));
        }
        warn(screen, &report.warnings);
        Ok(Exit::Yes)
    }

    fn folder(&self, context: &Context, screen: &Screen, to: PathBuf) -> Outcome<Exit> {
        let report = export(context, self.which.selector(), &to)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let files = crate::format::counted(report.files.len(), "file");
        screen.line(format!("exported {files} to {}", report.path.display()));
        if !report.accepted.is_empty() {
            let names: Vec<String> = report.accepted.iter().map(ToString::to_string).collect();
            screen.line(format!("  accepted.patch contains {}", names.join(", ")));
        }
        warn(screen, &report.warnings);
        Ok(Exit::Yes)
    }
}

impl Revert {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = revert(context, self.which.selector(), &self.candidate, &self.reason)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        screen.line(format!("reverted {}: {}", report.candidate, report.reason));
        match &report.incumbent {
            Some(incumbent) => screen.line(format!("  incumbent: {incumbent}")),
            None => screen.line("  incumbent: none"),
        }
        if let Some(code) = &report.code {
            screen.line(format!("  candidates train from {code}"));
        }
        if let Some(kept) = &report.kept {
            screen.line(format!("  its code stays at {kept}"));
        }
        warn(screen, &report.warnings);
        screen.hint("rlx study next");
        Ok(Exit::Yes)
    }
}
