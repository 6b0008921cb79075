//! Colour that only rlx can produce.
//!
//! Screen text mixes rlx's own words with names, tags, reasons and notes that may come from anywhere. Styles are
//! therefore not passed as escape sequences but as marks with a key that is new in every process. When text is
//! written, everything in it that could control a terminal is escaped, and only then marks with the right key become
//! colour: a name that contains an escape sequence, or a mark of its own, is shown and does nothing.

use std::hash::{BuildHasher, Hasher, RandomState};

use rlxp_types::text::{one_line, visible};

/// Noncharacters: no text uses them, and outside marks they are escaped.
const BEGIN: char = '\u{fdd0}';
const END: char = '\u{fdd1}';

/// Sets marks and turns them into colour.
pub(crate) struct Ink {
    /// The prefix of this process's marks.
    begin: String,
}

impl Ink {
    pub(crate) fn new() -> Self {
        // The standard library seeds this from the system, so no text can predict it.
        Self { begin: format!("{BEGIN}{:016x}", RandomState::new().build_hasher().finish()) }
    }

    /// `text` in the style that SGR parameters such as `1;31` name.
    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        format!("{}{text}{}", self.mark(code), self.mark("0"))
    }

    /// Text that one of our renderers wrote for a terminal, with its colours as marks. Only for text whose external
    /// parts were escaped before: afterwards they are indistinguishable.
    pub(crate) fn adopt(&self, rendered: &str) -> String {
        let mut pieces = rendered.split("\x1b[");
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            match piece.split_once('m') {
                Some((code, text)) if is_code(code) => {
                    out.push_str(&self.mark(code));
                    out.push_str(text);
                }
                _ => {
                    out.push_str("\x1b[");
                    out.push_str(piece);
                }
            }
        }
        out
    }

    /// The text as it is written: lines as they are.
    pub(crate) fn written(&self, text: &str) -> String {
        self.clean(text, |part| visible(part).into_owned())
    }

    /// The text as it is written on a single line.
    pub(crate) fn written_in_line(&self, text: &str) -> String {
        self.clean(text, |part| one_line(part).into_owned())
    }

    fn mark(&self, code: &str) -> String {
        format!("{}{code}{END}", self.begin)
    }

    fn clean(&self, text: &str, visible: impl Fn(&str) -> String) -> String {
        let mut pieces = text.split(self.begin.as_str());
        let mut out = visible(pieces.next().unwrap_or_default());
        for piece in pieces {
            match piece.split_once(END) {
                Some((code, rest)) if is_code(code) => {
                    out.push_str(&format!("\x1b[{code}m{}", visible(rest)));
                }
                // A truncated mark is not a colour.
                _ => out.push_str(&visible(piece)),
            }
        }
        out
    }
}

/// Whether these are parameters of a colour or weight, and nothing else.
fn is_code(code: &str) -> bool {
    code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rlxp_types::text::is_hidden;

    use super::*;

    /// The text without the colours in `codes`.
    fn without_colour(text: &str, codes: &[&str]) -> String {
        codes.iter().fold(text.to_owned(), |text, code| text.replace(&format!("\x1b[{code}m"), ""))
    }

    #[test]
    fn own_styles_become_colour_and_foreign_ones_are_shown() {
        let ink = Ink::new();
        let painted = ink.paint("1;31", "a\x1b[32mb\u{9b}2J\x07");
        assert_eq!(ink.written(&painted), "\x1b[1;31ma\\u{1b}[32mb\\u{9b}2J\\u{7}\x1b[0m");
        assert_eq!(ink.written("one\ntwo\r\n\tthree\r"), "one\ntwo\n\tthree\\r");
        assert_eq!(ink.written_in_line("one\ntwo"), "one\\ntwo");
    }

    #[test]
    fn a_mark_of_another_process_is_no_colour() {
        let (ink, other) = (Ink::new(), Ink::new());
        let forged = other.paint("31", "red");
        let shown = ink.written(&forged);
        assert!(!shown.contains('\x1b') && shown.contains("\\u{fdd0}"), "{shown:?}");
    }

    #[test]
    fn a_renderers_colours_are_taken_over() {
        let ink = Ink::new();
        let adopted = ink.adopt("\x1b[1m\x1b[91merror\x1b[0m: text \x1b[2J");
        assert_eq!(ink.written(&adopted), "\x1b[1m\x1b[91merror\x1b[0m: text \\u{1b}[2J");
    }

    proptest! {
        /// Whatever a text contains, only newlines, tabs and rlx's own colours reach the terminal.
        #[test]
        fn nothing_foreign_gets_through(before in any::<String>(), inside in "(\\PC|\\pC|\x1b\\[[0-9;]*[mJKH]|\u{fdd0}|\u{fdd1}|\u{202e}|\r\n){0,40}", after in any::<String>()) {
            let ink = Ink::new();
            let text = format!("{before}{}{after}", ink.paint("1;36", &inside));
            let lines = without_colour(&ink.written(&text), &["1;36", "0"]);
            prop_assert!(!lines.chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')), "{lines:?}");
            let line = without_colour(&ink.written_in_line(&text), &["1;36", "0"]);
            prop_assert!(!line.chars().any(is_hidden), "{line:?}");
        }
    }
}
