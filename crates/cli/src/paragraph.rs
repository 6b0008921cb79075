//! Sentences set in lines that fit a terminal.

/// Longest line.
const LINE: usize = 100;

/// `text` in lines of at most 100 letters: the first begins with `mark`, the
/// others line up with it, all set in by `indent`. A word that is longer than
/// a line gets one of its own.
pub(crate) fn paragraph(text: &str, indent: usize, mark: &str) -> String {
    let margin = " ".repeat(indent + mark.chars().count());
    let mut lines = String::new();
    let mut line = format!("{}{mark}", " ".repeat(indent));
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > LINE {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line.clone_from(&margin);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_line_up() {
        assert_eq!(paragraph("one two", 2, "- "), "  - one two\n");
        let long = "ö".repeat(60);
        let text = paragraph(&format!("{long} {long} {}", "x".repeat(120)), 2, "- ");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].chars().count(), 64);
        assert!(lines[1].starts_with("    ö") && lines[2].starts_with("    x"));
        assert_eq!(paragraph("", 0, ""), "\n");
    }
}
