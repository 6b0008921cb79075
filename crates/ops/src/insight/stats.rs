//! `rlx stats`: verdicts and power for scores of any origin, with no run of
//! rlx's own behind them.

use std::path::Path;

use rlxp_analyze::describe::verdict::{Described, Names};
use rlxp_analyze::power::{Design, Test};
use rlxp_analyze::verdict::{MinimumEffect, Options, Question, verdict};
use rlxp_fs::FsExt;
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::csv_file::CsvFile;
use crate::failure::{Failure, Outcome};

/// Largest file of scores that is read.
const CAP: u64 = 64 << 20;

/// Files have no identity that a second look could be recognised by.
const NOT_REMEMBERED: &str = "`rlx stats compare` remembers no earlier looks: asking again with more seeds, at this \
                              level each time, makes false claims more likely.";

/// Two files to compare.
#[derive(Clone, Debug, Default)]
pub struct CompareRequest {
    /// Scores of A, one per seed.
    pub a: String,
    /// Scores of B.
    pub b: String,
    /// Column of a CSV file or key of JSON objects; by default the only one with numbers.
    pub column: Option<String>,
    /// Less is better.
    pub lower: bool,
    /// Run i of A and run i of B have the same seed.
    pub paired: bool,
    /// Smallest difference that counts, in the scores' unit.
    pub minimum_effect: Option<f64>,
    /// What a failed run (NaN or empty) is scored with.
    pub failure_score: Option<f64>,
}

/// Whether B is better than A.
pub fn compare(context: &Context, request: &CompareRequest) -> Outcome<Described> {
    let a = scores(context, &request.a, request.column.as_deref())?;
    let b = scores(context, &request.b, request.column.as_deref())?;
    let mut options =
        Options { paired: request.paired, failure_score: request.failure_score, ..Options::default() };
    if request.lower {
        options.direction = rlxp_analyze::verdict::Direction::Lower;
    }
    if let Some(effect) = request.minimum_effect {
        options.minimum_effect = MinimumEffect::Absolute(effect);
    }
    let judged = verdict(Question { a: &a, b: &b, guardrails: &[] }, &options)
        .map_err(|invalid| Failure::usage("not_comparable", invalid.to_string()))?;
    let mut described = Described::new(judged, Names::default(), options.look);
    described.statements.push(NOT_REMEMBERED.to_owned());
    Ok(described)
}

/// A question about how many seeds are needed.
#[derive(Clone, Copy, Debug)]
pub struct PowerRequest {
    /// Difference in deviations of the scores.
    pub effect: Option<f64>,
    /// Seeds per group.
    pub seeds: Option<u64>,
    /// Chance to find a difference that is there.
    pub power: f64,
    /// Chance to find one that is not there.
    pub alpha: f64,
    /// Test both directions.
    pub two_sided: bool,
    /// Both groups use the same seeds.
    pub paired: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PowerReport {
    /// Difference in deviations.
    pub effect: Option<f64>,
    /// Seeds per group.
    pub seeds: Option<u64>,
    /// Chance to find the difference with these seeds.
    pub power: f64,
    /// Chance of a false alarm.
    pub alpha: f64,
    /// Whether both directions are tested.
    pub two_sided: bool,
    /// Whether seeds are paired.
    pub paired: bool,
}

/// Seeds for an effect, the smallest effect for some seeds, or the power of both.
pub fn power(request: &PowerRequest) -> Outcome<PowerReport> {
    let PowerRequest { effect, seeds, power, alpha, two_sided, paired } = *request;
    let within = |name: &str, value: f64| {
        if value > 0.0 && value < 1.0 {
            return Ok(());
        }
        Err(Failure::usage("out_of_range", format!("{name} is {value}: it must be between 0 and 1")))
    };
    within("--power", power)?;
    within("--alpha", alpha)?;
    if effect.is_some_and(|effect| !(effect > 0.0 && effect.is_finite())) {
        return Err(Failure::usage(
            "out_of_range",
            "--effect must be above 0, in standard deviations of the scores",
        ));
    }
    if seeds.is_some_and(|seeds| seeds < 2) {
        return Err(Failure::usage("out_of_range", "--seeds must be at least 2: one seed has no variance"));
    }
    let design = if paired { Design::Paired } else { Design::Unpaired };
    let test = Test { design, alpha, two_sided };
    let report = |effect, seeds, power| Ok(PowerReport { effect, seeds, power, alpha, two_sided, paired });
    match (effect, seeds) {
        (Some(effect), None) => report(Some(effect), test.runs_needed(effect, power), power),
        (None, Some(seeds)) => report(test.detectable_effect(seeds, power), Some(seeds), power),
        (Some(effect), Some(seeds)) => report(Some(effect), Some(seeds), test.power(effect, seeds)),
        (None, None) => Err(Failure::usage("nothing_asked", "expected --effect, --seeds or both")
            .hint("rlx stats power --effect 1.0")),
    }
}

/// Scores in a file: one number per line, CSV with a header, a JSON array of
/// numbers or of objects, or JSON Lines. A failed run is NaN, null or empty.
fn scores(context: &Context, name: &str, column: Option<&str>) -> Outcome<Vec<f64>> {
    let path = context.folder.join(Path::new(name));
    let text = context.fs.read_given_text(&path, CAP).map_err(|error| {
        let code = if error.is_not_found() { "file_not_found" } else { "file_unreadable" };
        Failure::usage(code, crate::failure::describe(&error))
    })?;
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
            let values: Vec<Value> = serde_json::from_str(text).map_err(|error| not_json(text, &error))?;
            from_json(&values, column)
        }
        Some('{') => {
            let lines = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let values = lines.collect::<Result<Vec<_>, _>>().map_err(|error| not_json(text, &error))?;
            from_json(&values, column)
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

fn from_json(values: &[Value], column: Option<&str>) -> Result<Vec<f64>, String> {
    let number = |place: usize, value: &Value| match value {
        Value::Null => Ok(f64::NAN),
        Value::Number(number) => number.as_f64().ok_or_else(|| format!("item {place} is {number}")),
        Value::String(text) => cell(text).ok_or_else(|| format!("item {place} is {text:?}, not a number")),
        other => Err(format!("item {place} is {other}, not a number")),
    };
    let mut scores = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let place = index + 1;
        let Value::Object(fields) = value else {
            scores.push(number(place, value)?);
            continue;
        };
        let names = || fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let key =
            column.ok_or_else(|| format!("choose the key with the score with --column: {}", names()))?;
        let field =
            fields.get(key).ok_or_else(|| format!("item {place} has no {key:?}; it has {}", names()))?;
        scores.push(number(place, field)?);
    }
    Ok(scores)
}

fn from_lines(text: &str, column: Option<&str>) -> Result<Vec<f64>, String> {
    // A spreadsheet's error would be taken for a comment, and its run would vanish.
    if let Some(index) = text.lines().position(|line| SPREADSHEET_ERRORS.contains(&line.trim())) {
        let line = text.lines().nth(index).unwrap_or_default().trim();
        return Err(format!("line {}: {line:?} is not a number; write NaN for a run that failed", index + 1));
    }
    let file = CsvFile::read(text)?;
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
    file.numbers(usize::from(is_header), index, |_| true, cell)
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
fn cell(text: &str) -> Option<f64> {
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
