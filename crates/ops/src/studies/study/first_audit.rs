//! `study audit`, and the first one as a command for the user to check and paste.

use std::path::Path;

use rlxp_fs::FsExt;
use rlxp_govern::documents::ClaimKind;
use rlxp_types::text::shell_word;

use crate::below::word_of;
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::audit::{self, AuditReport, LONGEST_SOURCE, NewClaim};
use crate::studies::contract::scan::scan_repository;

/// Adds `new` claims, accepts changed lines if asked to, sets how values reach the train command, and checks all claims.
pub fn audit(
    context: &Context,
    study: Option<&str>,
    new: &[NewClaim],
    refresh: bool,
    overrides: Option<&str>,
) -> Outcome<AuditReport> {
    audit::audit(context, study, new, refresh, overrides, &|root| suggestion(context, root))
}

/// The command that cites the scripts that seem to train and to evaluate, for the user to check and paste.
pub(super) fn suggestion(context: &Context, root: &Path) -> Outcome<Option<String>> {
    let found = scan_repository(context, root, &[])?;
    let guesses =
        [(ClaimKind::TrainCommand, found.train.clone()), (ClaimKind::Evaluator, found.eval.clone())];
    let mut claims = String::new();
    for (about, guess) in guesses {
        let Some(file) = guess.map(|guess| guess.from) else { continue };
        let Ok(text) = context.fs.read_text(&root.join(&file), LONGEST_SOURCE) else { continue };
        // A script's entry point says more than its first line, which is a comment or an import.
        let entry = text.lines().position(|line| line.contains("__main__"));
        let first = || text.lines().position(|line| !line.trim().is_empty());
        // A path with a colon can't be written as a claim.
        let Some(line) = entry.or_else(first).filter(|_| !file.contains(':')) else { continue };
        claims.push_str(&format!(
            " --claim {}",
            shell_word(&format!("{}:{file}:{}", word_of(&about), line + 1))
        ));
    }
    // Values of the script that trains reach it as flags; values of a config stay in their file.
    let of_script =
        found.train.as_ref().is_some_and(|train| found.configs.iter().any(|(file, _)| *file == train.from));
    if let Some(syntax) = found.override_syntax.filter(|_| of_script && !claims.is_empty()) {
        claims.push_str(&format!(" --override-syntax {}", shell_word(&syntax.text)));
    }
    Ok((!claims.is_empty()).then(|| format!("rlx study audit{claims}")))
}
