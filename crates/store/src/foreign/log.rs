//! Printed output: the number after a text, or what a regular expression matches.
//!
//! Bytes that are not UTF-8 do no harm: programs print what they like beside the value.

use std::io::Read;

use regex::bytes::{Regex, RegexBuilder};

use super::json::constant;
use super::lines::{Ends, each_line};
use super::{Reading, Series, Trouble, fail_all, quoted, series_for};

/// The longest line that is read.
const LONGEST_LINE: usize = 1 << 20;
/// Memory that one compiled expression may take.
const LARGEST_EXPRESSION: usize = 1 << 20;

/// How a value is found in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern<'a> {
    /// It follows this text, after spaces.
    After(&'a str),
    /// It is the group `value` of this expression, or else the first group; the group `step` is its step.
    Expression(&'a str),
}

enum Search<'a> {
    After(&'a str, Box<memchr::memmem::Finder<'a>>),
    Expression(Regex),
    Impossible(String),
}

/// Why an expression can't be used.
pub fn bad_expression(pattern: &str) -> Option<String> {
    compiled(pattern).err()
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    // Without Unicode, bytes that are not UTF-8 can be matched too, and `\d` is a digit that numbers can have.
    let regex = RegexBuilder::new(pattern).unicode(false).size_limit(LARGEST_EXPRESSION).build();
    let regex = regex.map_err(|error| {
        let text = error.to_string();
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        last.trim().trim_start_matches("error: ").to_owned()
    })?;
    let has_value = regex.capture_names().skip(1).any(|name| name.is_none_or(|name| name == "value"));
    if has_value {
        Ok(regex)
    } else {
        Err("it has no group for the value, such as (?<value>\\S+)".to_owned())
    }
}

/// Reads what some patterns find in every line, each match in turn.
pub fn read(source: &mut dyn Read, wanted: &[Pattern<'_>]) -> Vec<Reading> {
    let searches: Vec<Search<'_>> = wanted
        .iter()
        .map(|pattern| match pattern {
            Pattern::After("") => Search::Impossible("the text before the value is empty".to_owned()),
            Pattern::After(text) => Search::After(text, Box::new(memchr::memmem::Finder::new(text))),
            Pattern::Expression(pattern) => {
                compiled(pattern).map_or_else(Search::Impossible, Search::Expression)
            }
        })
        .collect();
    let mut all = series_for(wanted);
    for (search, series) in searches.iter().zip(&mut all) {
        if let Search::Impossible(why) = search {
            series.fail(Trouble::unreadable(why.clone()));
        }
    }
    let done = each_line(source, Ends::NewlineOrReturn, LONGEST_LINE, |number, line| {
        for (search, series) in searches.iter().zip(&mut all) {
            if !series.has_failed()
                && let Err(why) = take(line, search, series)
            {
                series.fail(Trouble::unreadable(format!("line {number}: {why}")));
            }
        }
    });
    if let Err(trouble) = done {
        fail_all(&mut all, &trouble);
    }
    let missing = |pattern: &Pattern<'_>| match pattern {
        Pattern::After(text) => format!("no line has {}", quoted(text)),
        Pattern::Expression(pattern) => format!("no line matches {}", quoted(pattern)),
    };
    all.into_iter().zip(wanted).map(|(series, pattern)| series.finish(|| missing(pattern))).collect()
}

fn take(line: &[u8], search: &Search<'_>, series: &mut Series) -> Result<(), String> {
    match search {
        Search::Impossible(_) => {}
        Search::After(text, finder) => {
            for at in finder.find_iter(line) {
                let rest = line[at + text.len()..].trim_ascii_start();
                let value = leading_number(rest).ok_or_else(|| {
                    let seen = String::from_utf8_lossy(&rest[..rest.len().min(80)]).into_owned();
                    format!("{} after {} is not a number", quoted(&seen), quoted(text))
                })?;
                series.push(None, value);
            }
        }
        Search::Expression(regex) => {
            for groups in regex.captures_iter(line) {
                let value = groups.name("value").or_else(|| groups.iter().flatten().nth(1));
                // An optional group that took no part.
                let Some(value) = value else { continue };
                let value = whole_number(value.as_bytes())?;
                let step = groups.name("step").map(|step| whole_number(step.as_bytes())).transpose()?;
                if let Some(step) = step.filter(|step| !step.is_finite()) {
                    return Err(format!("the step is {step}"));
                }
                series.push(step, value);
            }
        }
    }
    Ok(())
}

fn whole_number(bytes: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let is_written_out = text.bytes().any(|byte| byte.is_ascii_digit());
    let parsed = if is_written_out { text.parse().ok() } else { constant(text) };
    parsed.ok_or_else(|| format!("{} is not a number", quoted(text)))
}

/// The number at the start of `bytes`. What follows must not belong to it: `12k` and `1,234` are not 12 and 1.
fn leading_number(bytes: &[u8]) -> Option<f64> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    let end = bytes.iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len());
    let (word, rest) = bytes.split_at(end);
    if matches!(rest, [b',', digit, ..] if digit.is_ascii_digit()) {
        return None;
    }
    // The end of a sentence.
    let word = word.strip_suffix(b".").unwrap_or(word);
    whole_number(word).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_start_of_a_text() {
        for (text, expected) in [
            ("12.5 +/- 3", Some(12.5)),
            ("-1e3, length: 5", Some(-1000.0)),
            ("7.", Some(7.0)),
            ("92%", Some(92.0)),
            ("5)", Some(5.0)),
            ("inf", Some(f64::INFINITY)),
            ("12k", None),
            ("1,234", None),
            ("n/a", None),
            ("", None),
            ("1.2.3", None),
            ("infinite", None),
        ] {
            assert_eq!(leading_number(text.as_bytes()), expected, "{text}");
        }
        assert!(leading_number(b"nan").is_some_and(f64::is_nan));
    }
}
