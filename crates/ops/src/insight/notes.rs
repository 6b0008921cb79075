//! `rlx note`, `rename`: what users write about their runs.

use rlxp_store::{LabelChange, Labels, Note};
use rlxp_types::text::shell_word;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::select::{project, whole_runs};

/// Bytes of the longest note.
const LONGEST_NOTE: usize = 1000;
/// Bytes of the longest title.
const LONGEST_TITLE: usize = 100;

/// A run with its notes.
#[derive(Clone, Debug, Serialize)]
pub struct Noted {
    pub run: String,
    pub notes: Vec<Note>,
}

/// The runs that `text` names, with their notes before anything is changed.
pub fn to_note(context: &Context, text: &str) -> Outcome<Vec<Noted>> {
    let runs = whole_runs(&project(context)?, &[text.to_owned()])?;
    runs.iter().map(|run| Ok(Noted { run: run.name(), notes: run.labels()?.notes })).collect()
}

/// Adds a note to each run of this project, or removes notes by their numbers; calls `done` for each run.
pub fn note(
    context: &Context,
    runs: &[Noted],
    add: Option<&str>,
    remove: &[u64],
    done: &mut dyn FnMut(Noted),
) -> Outcome<()> {
    if let Some(text) = add {
        check("note", text, LONGEST_NOTE)?;
    }
    for Noted { run, notes } in runs {
        if let Some(missing) = remove.iter().find(|number| notes.iter().all(|note| note.number != **number)) {
            let failure = Failure::usage("no_such_note", format!("{run} has no note {missing}"));
            return Err(failure.hint(format!("rlx note {}", shell_word(run))));
        }
    }
    let project = project(context)?;
    for Noted { run, .. } in runs {
        let change = LabelChange {
            note: add.map(str::to_owned),
            remove_notes: remove.to_vec(),
            ..LabelChange::default()
        };
        let Labels { notes, .. } = project.run(run).change_labels(change)?;
        done(Noted { run: run.clone(), notes });
    }
    Ok(())
}

/// A run with its title.
#[derive(Clone, Debug, Serialize)]
pub struct Titled {
    pub run: String,
    pub title: Option<String>,
}

/// Gives the run that `text` names a title, or takes it away.
pub fn rename(context: &Context, text: &str, title: Option<&str>) -> Outcome<Titled> {
    if title == Some("") {
        let hint = format!("rlx rename {} --clear    # remove the title", shell_word(text));
        return Err(Failure::usage("bad_title", "the title is empty").hint(hint));
    }
    if let Some(title) = title {
        check("title", title, LONGEST_TITLE)?;
    }
    let runs = whole_runs(&project(context)?, &[text.to_owned()])?;
    let [run] = &runs[..] else {
        let message = format!("{text:?} matches {} runs, expected one: a title is for one run", runs.len());
        return Err(Failure::with_kind(FailureKind::SeveralRuns, message));
    };
    let change = LabelChange { title: Some(title.unwrap_or_default().to_owned()), ..LabelChange::default() };
    let has_one = run.labels()?.title.is_some();
    let labels = if title.is_some() || has_one { run.change_labels(change)? } else { run.labels()? };
    Ok(Titled { run: run.name(), title: labels.title })
}

/// An error unless `text` can be a note or a title.
fn check(what: &str, text: &str, longest: usize) -> Outcome<()> {
    let is_good = !text.is_empty()
        && text.len() <= longest
        && text.trim() == text
        && !text.contains(|c: char| c.is_control());
    if is_good {
        return Ok(());
    }
    let message = format!(
        "{text:?} can't be a {what}: use 1 to {longest} bytes without line breaks, control characters or spaces at \
         either end"
    );
    Err(Failure::usage(if what == "note" { "bad_note" } else { "bad_title" }, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_line_of_a_limited_length() {
        for text in ["x", "reward scale was wrong, see #12", &"ü".repeat(50)] {
            assert!(check("title", text, LONGEST_TITLE).is_ok(), "{text}");
        }
        for text in ["", " x", "x ", "a\nb", "a\u{1b}[2J", &"ü".repeat(51)] {
            assert!(check("title", text, LONGEST_TITLE).is_err(), "{text}");
        }
    }
}
