//! HTML that is safe whatever text it contains: every text goes through [`Html::text`], and tags are only ever
//! literals of this crate.

use std::fmt::Write;

use rlxp_types::text::is_hidden;

/// A piece of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Adds markup that this crate wrote.
    pub(crate) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds a picture; the caller guarantees that it is SVG of `rlxp-draw`.
    pub(crate) fn picture(&mut self, svg: &str) -> &mut Self {
        self.0.push_str(svg);
        self
    }

    /// Adds bytes as base64, for a `data:` URL.
    pub(crate) fn base64(&mut self, bytes: &[u8]) -> &mut Self {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode_string(bytes, &mut self.0);
        self
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(character),
                // As on a terminal: a direction mark would reorder the page around it.
                hidden if is_hidden(hidden) => self.0.extend(hidden.escape_default()),
                other => self.0.push(other),
            }
        }
        self
    }

    /// Adds a number or another plain value.
    pub(crate) fn value(&mut self, value: impl std::fmt::Display) -> &mut Self {
        let mut text = String::new();
        write!(text, "{value}").expect("writing into a string can't fail");
        self.text(&text)
    }

    /// Adds `<tag>text</tag>`; the tag may carry attributes.
    pub(crate) fn element(&mut self, open: &'static str, text: &str, close: &'static str) -> &mut Self {
        self.markup(open).text(text).markup(close)
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: &Table) -> &mut Self {
        self.markup("<div class=\"scroll\"><table><thead><tr>");
        for head in &table.head {
            self.element("<th>", head, "</th>");
        }
        self.markup("</tr></thead><tbody>");
        for row in &table.rows {
            self.markup("<tr>");
            for cell in row {
                let open = if is_number(cell) { "<td class=\"number\">" } else { "<td>" };
                self.element(open, cell, "</td>");
            }
            self.markup("</tr>");
        }
        self.markup("</tbody></table></div>")
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|text| (*text).to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// Whether a cell is a number, which is right-aligned.
fn is_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-', '−']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || ",.e-+%k×s ".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_become_markup() {
        let mut html = Html::default();
        html.element("<b>", "<script>alert('x')</script> & \"quoted\" \u{202e}\u{7}", "</b>");
        let text = html.finish();
        assert!(!text.contains("<script") && !text.contains('\u{7}'), "{text}");
        assert!(text.contains("&lt;script&gt;alert(&#39;x&#39;)"), "{text}");
        assert!(!text.chars().any(is_hidden) && text.contains(r"\u{202e}\u{7}"), "{text}");
    }

    #[test]
    fn numbers_are_told_from_words() {
        for number in ["1", "-3.5", "+12,345", "1.5e-4", "99%", "4.3 s", "−0.2"] {
            assert!(is_number(number), "{number}");
        }
        for word in ["", "-", "cartpole_001", "0x1", "1 of 3 seeds", "yes"] {
            assert!(!is_number(word), "{word}");
        }
    }
}
