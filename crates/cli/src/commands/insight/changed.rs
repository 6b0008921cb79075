//! What changed between two runs or groups as a table, for `rlx compare` and `rlx diff`.

use rlxp_ops::insight::compare::Changes;
use rlxp_types::text::one_line;

use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// Rows of a list of changes.
const MOST_CHANGES: usize = 15;
/// Files of a list of changed files.
const MOST_FILES: usize = 8;
/// The longest value that is written out.
const LONGEST_VALUE: usize = 42;

/// Config, code and seeds that differ; `names` head the two columns.
pub(super) fn changed(screen: &Screen, changes: &Changes, names: (&str, &str)) -> String {
    let Changes { config, code, files, seeds, notes } = changes;
    if config.is_empty() && code.is_empty() && seeds.same {
        return "  nothing: same config, code and seeds\n".to_owned();
    }
    let mut table = Table::new([("", Align::Left), (names.0, Align::Left), (names.1, Align::Left)]);
    for change in config.iter().take(MOST_CHANGES) {
        table.row([change.key.clone(), short(&change.a), short(&change.b)]);
    }
    for change in code {
        let (a, b) = (brief(change.what, &change.a), brief(change.what, &change.b));
        table.row([change.what.to_owned(), short(&a), short(&b)]);
    }
    if !seeds.same {
        table.row(["seeds".to_owned(), short(&seeds.a), short(&seeds.b)]);
    }
    let mut text = table.render("  ", |header| screen.styled(Style::Dim, header));
    if config.len() > MOST_CHANGES {
        text.push_str(&format!("  and {} more keys; pass --json to see all\n", config.len() - MOST_CHANGES));
    }
    if config.is_empty() {
        text.push_str("  same config\n");
    }
    if let Some(files) = files {
        let count = files.files.len() + files.left_off;
        text.push_str(&format!("  {count} files differ between the commits\n"));
        for file in files.files.iter().take(MOST_FILES) {
            let lines = match (file.added, file.removed) {
                (Some(added), Some(removed)) => format!("+{added} -{removed}"),
                _ => "binary".to_owned(),
            };
            text.push_str(&format!("    {lines:<12}{}\n", one_line(&file.path)));
        }
        if count > MOST_FILES {
            text.push_str(&format!("    and {} more\n", count - MOST_FILES));
        }
    }
    for note in notes {
        text.push_str(&format!("  {}\n", one_line(note)));
    }
    text
}

/// Commits by the letters that tell them apart.
fn brief(what: &str, value: &str) -> String {
    if what != "commit" {
        return value.to_owned();
    }
    value.split(" | ").map(|commit| commit.get(..12).unwrap_or(commit)).collect::<Vec<_>>().join(" | ")
}

/// A value that does not break the table.
pub(super) fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST_VALUE {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST_VALUE - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_at_a_letter() {
        assert_eq!(short("short"), "short");
        let cut = short(&"größe".repeat(20));
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (LONGEST_VALUE, true));
    }
}
