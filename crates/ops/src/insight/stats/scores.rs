//! Scores in files of any origin.

use std::path::Path;

use rlxp_fs::FsExt;
use rlxp_store::foreign::csv::Table;
use rlxp_store::foreign::json::{self, Found};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Largest file of scores that is read.
const CAP: u64 = 64 << 20;

/// The text of a file that the user named.
pub(super) fn read(context: &Context, name: &str) -> Outcome<String> {
    let path = context.folder.join(Path::new(name));
    context.fs.read_given_text(&path, CAP).map_err(|error| {
        let code = if error.is_not_found() { "file_not_found" } else { "file_unreadable" };
        Failure::usage(code, crate::failure::describe(&error))
    })
}

/// Scores in a file: one number per line, CSV with a header, a JSON array of
/// numbers or of objects, or JSON Lines. A failed run is NaN, null or empty.
pub(super) fn scores(context: &Context, name: &str, column: Option<&str>) -> Outcome<Vec<f64>> {
    let text = read(context, name)?;
    let bad = |why: String| Failure::usage("bad_scores", format!("{name}: {why}"));
    let found = parse(&text, column).map_err(&bad)?;
    if found.is_empty() {
        return Err(bad("the file has no scores".to_owned()));
    }
    Ok(found)
}

fn parse(text: &str, column: Option<&str>) -> Result<Vec<f64>, String> {
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().chars().next() {
        Some('[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_json(text, &error))?;
            from_json(&items, column)
        }
        Some('{') => {
            let lines = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
            let items = lines.collect::<Result<Vec<_>, _>>().map_err(|error| not_json(text, &error))?;
            from_json(&items, column)
        }
        _ => from_lines(text, column),
    }
}

/// Python's json writes NaN, which JSON doesn't have.
fn not_json(text: &str, error: &serde_json::Error) -> String {
    if text.contains("NaN") {
        return format!("{error}; JSON has no NaN, so write null for a failed run");
    }
    error.to_string()
}

fn from_json(items: &[&RawValue], column: Option<&str>) -> Result<Vec<f64>, String> {
    let score = |(index, item): (usize, &&RawValue)| {
        let place = index + 1;
        let text = item.get();
        let whole = || serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        let names = || {
            whole().map(|value| match value {
                Value::Object(fields) => fields.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
                _ => String::new(),
            })
        };
        let is_object = text.starts_with('{');
        let path = match column {
            _ if !is_object => Vec::new(),
            Some(key) => vec![key],
            None => return Err(format!("choose the key with the score with --column: {}", names()?)),
        };
        match json::find(text.as_bytes(), &path)? {
            Found::Number(score) => Ok(score),
            Found::Null => Ok(f64::NAN),
            Found::Twice(key) => Err(format!("item {place} has {key:?} twice")),
            Found::Absent => Err(format!("item {place} has no {:?}; it has {}", path[0], names()?)),
            Found::Numbers(_) => Err(format!("item {place} is an array, not a number")),
            Found::Other(what) => {
                let value = whole()?;
                let field = path.first().map_or(Some(&value), |key| value.get(key));
                let number = field.and_then(Value::as_str).and_then(cell);
                number.ok_or_else(|| format!("item {place} is {what}, not a number"))
            }
        }
    };
    items.iter().enumerate().map(score).collect()
}

fn from_lines(text: &str, column: Option<&str>) -> Result<Vec<f64>, String> {
    // A spreadsheet's error would be taken for a comment, and its run would vanish.
    if let Some(index) = text.lines().position(|line| SPREADSHEET_ERRORS.contains(&line.trim())) {
        let line = text.lines().nth(index).unwrap_or_default().trim();
        return Err(format!("line {}: {line:?} is not a number; write NaN for a run that failed", index + 1));
    }
    let file = Table::read(text)?;
    let Some(first) = file.first() else { return Ok(Vec::new()) };
    let is_header = first.iter().any(|field| cell(field).is_none());
    if let [only] = first {
        file.refuse_blank_lines()?;
        if is_header && !could_be_a_name(only) {
            return Err(format!(
                "line 1: {only:?} is neither a number nor the name of a column; write NaN for a run that failed"
            ));
        }
    }
    let index = match column {
        Some(name) if is_header => file.column(name)?,
        Some(name) => return Err(format!("no column {name:?}: the file has no header")),
        None if first.len() == 1 => 0,
        None if is_header => {
            return Err(format!("choose the column with the score with --column: {}", first.join(", ")));
        }
        None => return Err("several columns but no header".to_owned()),
    };
    file.numbers(usize::from(is_header), index, cell)
}

const SPREADSHEET_ERRORS: [&str; 7] = ["#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"];

/// Whether a first line names its column. A failed run must not be taken for a
/// header and vanish.
fn could_be_a_name(text: &str) -> bool {
    const FAILED: [&str; 10] =
        ["none", "n/a", "nil", "fail", "failed", "failure", "error", "crash", "crashed", "missing"];
    let starts_as_one = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    starts_as_one && !FAILED.contains(&text.to_lowercase().as_str())
}

/// A number; what is missing is a failed run.
pub(super) fn cell(text: &str) -> Option<f64> {
    match text.trim() {
        "" | "null" | "NA" => Some(f64::NAN),
        other => other.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, column: Option<&str>, expected: Result<&[f64], &str>) {
        match (parse(text, column), expected) {
            (Ok(got), Ok(wanted)) => assert_eq!(format!("{got:?}"), format!("{wanted:?}"), "{text}"),
            (Err(got), Err(part)) => assert!(got.contains(part), "{text}: {got}"),
            (got, wanted) => panic!("{text}: {got:?}, where {wanted:?} is right"),
        }
    }

    #[test]
    fn scores_are_read_from_every_common_form() {
        check("1\n2.5\n# a note\n-3e2\n", None, Ok(&[1.0, 2.5, -300.0]));
        check("score\n1\nNaN\n", None, Ok(&[1.0, f64::NAN]));
        check("seed,score\n0,1\n1,\n2,3\n", Some("score"), Ok(&[1.0, f64::NAN, 3.0]));
        check("[1, null, 2.5]", None, Ok(&[1.0, f64::NAN, 2.5]));
        check("[{\"r\": 1}, {\"r\": \"NaN\"}]", Some("r"), Ok(&[1.0, f64::NAN]));
        check("{\"r\": 1}\n{\"r\": 2}\n", Some("r"), Ok(&[1.0, 2.0]));
        check("name,score\n\"a, b\",1\nc,2\n", Some("score"), Ok(&[1.0, 2.0]));
        check("\u{feff}score\r\n1\r\n\"\"\r\n2\r\n", None, Ok(&[1.0, f64::NAN, 2.0]));
        check("", None, Ok(&[]));
    }

    #[test]
    fn what_can_not_be_read_is_named() {
        check("1\ntwo\n", None, Err("line 2, column 1: \"two\" is not a number"));
        check("seed,score\n0,1\n1\n", Some("score"), Err("line 3 has 1 field, but line 1 has 2"));
        check("seed,score\n0,1\n", None, Err("--column: seed, score"));
        check("seed,score\n0,1\n", Some("scor"), Err("available: seed, score"));
        check("1,2\n3,4\n", None, Err("no header"));
        check("[1, [2]]", None, Err("item 2"));
        check("[{\"r\": 1}]", None, Err("--column: r"));
        check("[1, 2", None, Err("EOF"));
        check("[{\"r\": 1, \"r\": 2}]", Some("r"), Err("item 1 has \"r\" twice"));
    }

    #[test]
    fn a_failed_run_never_vanishes() {
        assert!(parse("score\n1\n\n3\n", None).is_err_and(|why| why.starts_with("line 3 is empty")));
        assert_eq!(parse("score\n1\n3\n\n\n", None).map(|scores| scores.len()), Ok(2));
        for first in ["None", "N/A", "failed", "#DIV/0!", "0x10", "-"] {
            let read = parse(&format!("{first}\n1\n2\n3\n"), None);
            assert!(read.as_ref().is_err_and(|why| why.starts_with("line 1")), "{first}: {read:?}");
        }
        assert_eq!(parse("return\n1\n2\n", None).map(|scores| scores.len()), Ok(2));
    }
}
