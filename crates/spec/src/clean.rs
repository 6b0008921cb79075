//! Tabs in indentations and control characters: reported, then replaced with
//! spaces, so that they don't hide the problems of the rest of the file behind
//! one syntax error.

use std::borrow::Cow;
use std::ops::Range;

use crate::problem::Collector;
use crate::source::Source;

/// A text that can be parsed, and how its offsets map to the source.
pub(crate) struct Cleaned<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Where the text begins in the source.
    start: usize,
    /// Ends of indentations that grew: the offset here, and how much longer
    /// the text is than the source up to there.
    grown: Vec<(usize, usize)>,
}

impl Cleaned<'_> {
    /// Where in the source an offset of the text lies.
    pub(crate) fn original(&self, offset: usize) -> usize {
        let before = self.grown.partition_point(|(at, _)| *at <= offset);
        let growth = before.checked_sub(1).map_or(0, |last| self.grown[last].1);
        self.start + offset.saturating_sub(growth)
    }
}

/// Reports the characters of `source.text[part]` that YAML can't have, and
/// gives the part without them.
pub(crate) fn clean<'a>(source: &'a Source, part: &Range<usize>, problems: &mut Collector) -> Cleaned<'a> {
    let text = &source.text[part.clone()];
    let mut cleaned = Cleaned { text: Cow::Borrowed(text), start: part.start, grown: Vec::new() };
    let is_bad = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    let tabbed = |line: &str| {
        let content = line.trim_start_matches([' ', '\t']);
        let matters = !content.trim_end().is_empty() && !content.starts_with('#');
        let indent = &line[..line.len() - content.len()];
        indent.find('\t').filter(|_| matters).map(|tab| (tab, indent.len()))
    };
    // 0xC2 leads the control characters above ASCII. Almost every file ends here.
    let suspicious = |byte: u8| matches!(byte, 0..=9 | 11..=12 | 14..=31 | 0x7f | 0xc2);
    if !text.bytes().any(suspicious) {
        return cleaned;
    }
    let unit = " ".repeat(indentation(text));
    let (mut patched, mut growth, mut line_start) = (String::with_capacity(text.len()), 0, part.start);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        if let Some((tab, indent)) = tabbed(line) {
            problems.push(|| {
                let message = "a tab in the indentation; YAML allows only spaces there";
                let hint = "replace the tab with spaces";
                source.problem(line_start + tab..line_start + indent, "", message).with_hint(hint)
            });
            let spaces = line[..indent].replace('\t', &unit);
            growth += spaces.len() - indent;
            patched.push_str(&spaces);
            cleaned.grown.push((patched.len(), growth));
            rest = &line[indent..];
        }
        for (at, character) in rest.char_indices() {
            if is_bad(character) {
                problems.push(|| {
                    let at = line_start + (line.len() - rest.len()) + at;
                    let message = format!("control character U+{:04X} in the text", u32::from(character));
                    source.problem(at..at, "", message).with_hint("delete it")
                });
                patched.extend(std::iter::repeat_n(' ', character.len_utf8()));
            } else {
                patched.push(character);
            }
        }
        line_start += line.len();
    }
    cleaned.text = Cow::Owned(patched);
    cleaned
}

/// What the file's author takes for one level: the first indentation of spaces.
fn indentation(text: &str) -> usize {
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let indented = text.lines().find(|line| {
        spaces(line) > 0
            && !line.trim_start().starts_with('#')
            && !line.trim_start_matches(' ').starts_with('\t')
    });
    indented.map_or(2, |line| spaces(line).min(8))
}
