//! What a report says, once: the same blocks become Markdown and HTML, so neither can say more than the other.

use rlxp_draw::Scene;
use rlxp_types::text::one_line;

use crate::html::Table;

/// A report.
pub(super) struct Document {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) blocks: Vec<Block>,
}

/// A part of a report.
pub(super) enum Block {
    /// The beginning of a section
    Heading(&'static str),
    /// A paragraph
    Text(String),
    /// The first paragraph of the report
    Lead(String),
    Table(Table),
    /// A long table, folded away where that is possible
    Folded {
        summary: String,
        table: Table,
    },
    List(Vec<String>),
    /// A command to paste
    Command(String),
    /// A picture, with its caption. Markdown has the same numbers in a table.
    Picture {
        scene: Box<Scene>,
        caption: String,
    },
}

impl Document {
    pub(super) fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}\n", escaped(&self.title), escaped(&self.subtitle));
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Heading(heading) => text.push_str(&format!("## {heading}\n")),
                Block::Text(words) | Block::Lead(words) => text.push_str(&format!("{}\n", escaped(words))),
                Block::Table(one) => table(one, &mut text),
                Block::Folded { summary, table: one } => {
                    text.push_str(&format!("{}:\n\n", escaped(summary)));
                    table(one, &mut text);
                }
                Block::List(items) => {
                    items.iter().for_each(|item| text.push_str(&format!("- {}\n", escaped(item))));
                }
                Block::Command(command) => text.push_str(&fenced(command)),
                Block::Picture { caption, .. } => {
                    text.push_str(&format!("{} (Chart in report.html.)\n", escaped(caption)));
                }
            }
        }
        text
    }
}

/// A command as a block of code. A fence is longer than any in it.
pub(super) fn fenced(command: &str) -> String {
    let command = one_line(command);
    let longest = command.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{command}\n{fence}\n")
}

fn table(table: &Table, text: &mut String) {
    let mut line = |cells: &[String]| {
        text.push('|');
        for cell in cells {
            text.push_str(&format!(" {} |", escaped(cell)));
        }
        text.push('\n');
    };
    line(&table.head);
    line(&vec!["---".to_owned(); table.head.len()]);
    table.rows.iter().for_each(|row| line(row));
}

/// Text from records, files and folders as Markdown: on one line, and without a character that Markdown or HTML would
/// take for its own.
pub(super) fn escaped(text: &str) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let inside_word =
            before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphanumeric());
        match letter {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '*' | '`' | '[' | ']' => out.extend(['\\', letter]),
            '_' | '~' if !inside_word => out.extend(['\\', letter]),
            other => out.push(other),
        }
        before = letter;
    }
    // Rules of tables are the only cells of dashes alone.
    if out.starts_with(['#', '+', '>']) || (out.starts_with('-') && out.len() != 3) {
        let is_record = out.starts_with('#') && out[1..].starts_with(|c: char| c.is_ascii_digit());
        let is_number = out.len() > 1 && out[1..].starts_with(|c: char| c.is_ascii_digit());
        if !is_record && !is_number {
            out.insert(0, '\\');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_become_markdown() {
        let evil = "<script>x</script> | a\n# b `c` [d](e) *f* _g_ \u{1b}[31m";
        let said = escaped(evil);
        assert!(!said.contains('<') && !said.contains('\n') && !said.contains('\u{1b}'), "{said}");
        assert_eq!(escaped("a|b"), "a\\|b");
        assert_eq!(escaped("# not a heading"), "\\# not a heading");
        assert_eq!(escaped("- not a list"), "\\- not a list");
        for plain in ["#41", "+0.25", "-3", "run_ended", "ppo-r1-short-3-1", "0.75 (#4)"] {
            assert_eq!(escaped(plain), plain);
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("rlx ls"), "```text\nrlx ls\n```\n");
        assert_eq!(fenced("a ```` b"), "`````text\na ```` b\n`````\n");
        assert!(!fenced("a\n```\nb").contains("\n```\nb"));
    }
}
