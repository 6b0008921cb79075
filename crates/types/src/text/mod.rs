//! Text for people: what comes from outside made safe to show, numbers with
//! the digits that count, and words for a shell.
//!
//! A run, a study or a repository that was received can hold any characters in
//! its names, tags, reasons and notes. Shown as they are, control characters
//! drive the terminal, direction marks reorder what is read, and invisible ones
//! make two names look the same. Here such characters become visible escapes.

mod number;
mod shell;

use std::borrow::Cow;
use std::fmt::Write;

pub use number::{
    between, four_digits, grouped, measure, number, report_number, rounded, score, significant, steps,
    trimmed, typeset, yaml_number,
};
pub use shell::shell_word;

/// Whether a character acts on what is around it, or can't be seen, instead of
/// being a letter: controls, direction marks, line and paragraph separators,
/// everything that Unicode calls default-ignorable, and noncharacters.
pub fn is_hidden(character: char) -> bool {
    let code = u32::from(character);
    character.is_control()
        || matches!(
            code,
            0x00AD // soft hyphen
            | 0x034F // grapheme joiner
            | 0x061C // Arabic letter mark
            | 0x115F..=0x1160 // Hangul fillers
            | 0x17B4..=0x17B5 // Khmer inherent vowels
            | 0x180B..=0x180F // Mongolian selectors and separator
            | 0x200B..=0x200F // zero-width space and joiners, direction marks
            | 0x2028..=0x202E // line and paragraph separators, embeddings and overrides
            | 0x2060..=0x206F // word joiner, invisible operators, isolates
            | 0x3164 // Hangul filler
            | 0xFDD0..=0xFDEF // noncharacters
            | 0xFE00..=0xFE0F // variation selectors
            | 0xFEFF // byte order mark
            | 0xFFA0 // half-width Hangul filler
            | 0xFFF0..=0xFFFB // ignorable specials, interlinear annotation
            | 0x1BCA0..=0x1BCA3 // shorthand controls
            | 0x1D173..=0x1D17A // musical controls
            | 0xE0000..=0xE0FFF // tags, further variation selectors
        )
        || code & 0xFFFE == 0xFFFE
}

/// `text` on as many lines as it has, with every other hidden character as an
/// escape such as `\u{1b}`. Tabs stay, and `\r\n` is the end of a line.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |character, next| match character {
        '\n' | '\t' => Shown::AsIs,
        '\r' if next == Some('\n') => Shown::Dropped,
        _ => Shown::Escaped,
    })
}

/// `text` on a single line: line ends and tabs are escapes too, so that a name
/// can't add lines to what it is shown in.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_, _| Shown::Escaped)
}

enum Shown {
    AsIs,
    Dropped,
    Escaped,
}

fn escaped(text: &str, decide: impl Fn(char, Option<char>) -> Shown) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !is_hidden(character) {
            out.push(character);
            continue;
        }
        match decide(character, characters.peek().copied()) {
            Shown::AsIs => out.push(character),
            Shown::Dropped => {}
            Shown::Escaped => out.extend(character.escape_default()),
        }
    }
    Cow::Owned(out)
}

/// JSON text with its hidden characters escaped: the same value, made visible.
/// Hidden characters of JSON are always part of a string,
/// except for the line ends and tabs between its tokens, which stay.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let passes = |character: char| matches!(character, '\n' | '\t') || !is_hidden(character);
    if json.chars().all(passes) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    for character in json.chars() {
        if passes(character) {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing into a string can't fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stay_and_hidden_characters_are_shown() {
        assert_eq!(visible("größe 走 ⠿░ é 🦀"), "größe 走 ⠿░ é 🦀");
        assert_eq!(visible("a\u{1b}[31mb\u{7}\u{9b}c"), "a\\u{1b}[31mb\\u{7}\\u{9b}c");
        assert_eq!(visible("one\r\ntwo\tx\rthree\n"), "one\ntwo\tx\\rthree\n");
        assert_eq!(
            visible("a\u{202e}b\u{2066}c\u{200b}d\u{2028}e"),
            "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{2028}e"
        );
        assert_eq!(one_line("tag\nerror: no\t\u{0}"), "tag\\nerror: no\\t\\u{0}");
    }

    #[test]
    fn every_scalar_value_is_shown_or_escaped() {
        let hidden = |text: &str| text.chars().any(is_hidden);
        for character in (0..=0x0010_FFFF).filter_map(char::from_u32) {
            let text = character.to_string();
            assert!(!hidden(&one_line(&text)), "{character:?}");
            assert!(!hidden(&shell_word(&text)), "{character:?}");
            assert!(!hidden(&visible(&text)) || matches!(character, '\n' | '\t'), "{character:?}");
        }
    }

    #[test]
    fn json_keeps_its_value() {
        assert_eq!(
            visible_json("{\"a\":\"x\u{9b}\u{202e}\u{7f}\"}\n"),
            "{\"a\":\"x\\u009b\\u202e\\u007f\"}\n"
        );
        assert_eq!(visible_json("\"\u{e0041}\""), "\"\\udb40\\udc41\"");
    }
}
