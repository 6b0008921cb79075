//! JSON Lines: one object per line.

use std::io::Read;

use super::json::{Found, at_pointer, twice};
use super::lines::{Ends, each_line};
use super::{Column, Reading, Series, Trouble, TroubleKind, fail_all, series_for};

/// The longest line that is read.
const LONGEST_LINE: usize = 16 << 20;

/// Reads the numbers at some pointers of every line. A line without the key is skipped; `null` is NaN.
pub fn read(source: &mut dyn Read, wanted: &[Column<'_>]) -> Vec<Reading> {
    let mut all = series_for(wanted);
    let done = each_line(source, Ends::Newline, LONGEST_LINE, |number, line| {
        let line = if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.trim_ascii().is_empty() {
            return;
        }
        for (column, series) in wanted.iter().zip(&mut all) {
            if !series.has_failed()
                && let Err(trouble) = take(line, column, series)
            {
                let detail = format!("line {number}: {}", trouble.detail);
                series.fail(Trouble { detail, ..trouble });
            }
        }
    });
    if let Err(trouble) = done {
        fail_all(&mut all, &trouble);
    }
    let missing = |column: &Column<'_>| format!("no line has a value at {}", column.value);
    all.into_iter().zip(wanted).map(|(series, column)| series.finish(|| missing(column))).collect()
}

fn take(line: &[u8], column: &Column<'_>, series: &mut Series) -> Result<(), Trouble> {
    let Some(value) = number(line, column.value)? else { return Ok(()) };
    let step = match column.step {
        None => None,
        Some(pointer) => match number(line, pointer)? {
            Some(step) if step.is_finite() => Some(step),
            Some(step) => return Err(Trouble::unreadable(format!("the step {pointer} is {step}"))),
            None => {
                return Err(Trouble::unreadable(format!(
                    "a value at {} without a step at {pointer}",
                    column.value
                )));
            }
        },
    };
    series.push(step, value);
    Ok(())
}

fn number(line: &[u8], pointer: &str) -> Result<Option<f64>, Trouble> {
    let found =
        at_pointer(line, pointer).map_err(|why| Trouble::unreadable(format!("it is not JSON: {why}")))?;
    match found {
        Found::Absent => Ok(None),
        Found::Null => Ok(Some(f64::NAN)),
        Found::Number(value) => Ok(Some(value)),
        Found::Twice(key) => Err(twice(&key)),
        Found::Numbers(_) => Err(not_a_number(pointer, "an array")),
        Found::Other(what) => Err(not_a_number(pointer, &what)),
    }
}

fn not_a_number(pointer: &str, what: &str) -> Trouble {
    let detail = format!("{pointer} is {what}, not a number");
    Trouble { kind: TroubleKind::Unreadable, detail }
}
