//! CSV of other programs.
//!
//! Quoted fields may hold commas, quotes and line ends; lines that begin with `#` are comments, as
//! Stable-Baselines3's monitor files have one; a byte order mark and `\r\n` are fine. A row with more or fewer fields
//! than the first one is refused, and so is a second header: a value could belong to another column.

use std::io::{self, Read};

use super::{Column, Reading, Series, Trouble, fail_all, quoted, series_for};

/// The longest row that is read.
const LONGEST_ROW: usize = 16 << 20;
/// Bytes before the current row that are kept until there are as many.
const SLACK: usize = 1 << 18;

/// Reads some columns. A field that is empty is skipped: programs that log several things at different times leave the
/// fields of the others empty.
pub fn read(source: &mut dyn Read, wanted: &[Column<'_>]) -> Vec<Reading> {
    let mut all = series_for(wanted);
    if let Err(why) = read_rows(source, wanted, &mut all) {
        fail_all(&mut all, &Trouble::unreadable(why));
    }
    let missing = |column: &Column<'_>| format!("{} has no value", column.value);
    all.into_iter().zip(wanted).map(|(series, column)| series.finish(|| missing(column))).collect()
}

fn read_rows(source: &mut dyn Read, wanted: &[Column<'_>], all: &mut [Series]) -> Result<(), String> {
    let mut rows = Rows::new(source);
    let Some((_, _, header)) = rows.next()? else {
        fail_all(all, &Trouble::missing("it is empty"));
        return Ok(());
    };
    let header: Vec<String> = header.iter().map(|field| field.trim().to_owned()).collect();
    let mut places = Vec::new();
    for (column, series) in wanted.iter().zip(&mut *all) {
        let place = |name: &str| position(&header, name);
        match (place(column.value), column.step.map(place).transpose()) {
            (Ok(value), Ok(step)) => places.push((value, step)),
            (Err(trouble), _) | (_, Err(trouble)) => {
                series.fail(trouble);
                places.push((0, None));
            }
        }
    }
    while let Some((line, _, row)) = rows.next()? {
        for ((value, step), series) in places.iter().zip(&mut *all) {
            if !series.has_failed()
                && let Err(why) = take(row, *value, *step, series)
            {
                series.fail(Trouble::unreadable(format!("line {line}, {why}")));
            }
        }
    }
    Ok(())
}

fn take(
    row: &csv::StringRecord,
    value: usize,
    step: Option<usize>,
    series: &mut Series,
) -> Result<(), String> {
    let number = |column: usize| {
        let field = row[column].trim();
        field.parse::<f64>().map_err(|_| format!("column {}: {} is not a number", column + 1, quoted(field)))
    };
    if row[value].trim().is_empty() {
        return Ok(());
    }
    let value = number(value)?;
    let step = step.map(|step| number(step).map(|number| (step, number))).transpose()?;
    if let Some((column, step)) = step.filter(|(_, step)| !step.is_finite()) {
        return Err(format!("column {}: the step is {step}", column + 1));
    }
    series.push(step.map(|(_, step)| step), value);
    Ok(())
}

fn position(names: &[String], name: &str) -> Result<usize, Trouble> {
    let found: Vec<usize> = (0..names.len()).filter(|index| names[*index] == name).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let mut available = names.join(", ");
            if let Some((end, _)) = available.char_indices().nth(500) {
                available.replace_range(end.., "…");
            }
            Err(Trouble::missing(format!("no column {name:?}; available: {available}")))
        }
        several => Err(Trouble::ambiguous(format!("{} columns are named {name:?}", several.len()))),
    }
}

/// The rows of a source, all with as many fields as the first.
struct Rows<R: Read> {
    reader: csv::Reader<Recent<R>>,
    record: csv::StringRecord,
    /// Line and fields of the first row.
    first: Option<(u64, usize)>,
    last_line: u64,
}

impl<R: Read> Rows<R> {
    fn new(source: R) -> Self {
        let recent = Recent { source, bytes: Vec::new(), start: 0, row: 0, has_begun: false };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .buffer_capacity(SLACK)
            .from_reader(recent);
        Self { reader, record: csv::StringRecord::new(), first: None, last_line: 1 }
    }

    /// The next row with its line, counted from 1, and the byte that it begins at.
    fn next(&mut self) -> Result<Option<(u64, u64, &csv::StringRecord)>, String> {
        loop {
            if !self.reader.read_record(&mut self.record).map_err(|error| explained(&error))? {
                self.check_quotes()?;
                return Ok(None);
            }
            let (byte, line) = self.record.position().map_or((0, 1), |at| (at.byte(), at.line()));
            let (skipped, lines) = self.reader.get_ref().skipped(byte);
            let (byte, line) = (byte + skipped, line + lines);
            // A line of spaces is a blank line; an empty field in quotes is a field.
            if self.record.len() == 1 && !self.record[0].is_empty() && self.record[0].trim().is_empty() {
                continue;
            }
            self.reader.get_mut().forget_before(byte);
            self.last_line = line;
            let fields = self.record.len();
            let (first_line, wanted) = *self.first.get_or_insert((line, fields));
            if fields != wanted {
                let has = if fields == 1 { "1 field".to_owned() } else { format!("{fields} fields") };
                return Err(format!("line {line} has {has}, but line {first_line} has {wanted}"));
            }
            return Ok(Some((line, byte, &self.record)));
        }
    }

    /// A file truncated within quotes would give a part of a number for the whole.
    fn check_quotes(&self) -> Result<(), String> {
        let quotes = self.reader.get_ref().last_row().iter().filter(|byte| **byte == b'"').count();
        if quotes % 2 == 0 || self.first.is_none() {
            Ok(())
        } else {
            Err(format!("line {}: unterminated quoted field", self.last_line))
        }
    }
}

/// An error without the position that the csv crate counts by itself.
fn explained(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(1, csv::Position::line);
            format!("line {line} is not UTF-8")
        }
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// A source that remembers the bytes since the current row, without a byte order mark at its start.
struct Recent<R> {
    source: R,
    bytes: Vec<u8>,
    /// Where the first remembered byte is in the source.
    start: u64,
    /// Where the current row is.
    row: u64,
    has_begun: bool,
}

impl<R> Recent<R> {
    fn since(&self, byte: u64) -> &[u8] {
        let from = usize::try_from(byte.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.bytes.get(from..).unwrap_or_default()
    }

    fn last_row(&self) -> &[u8] {
        self.since(self.row)
    }

    /// Blank lines and comments from here on, in bytes and lines.
    fn skipped(&self, byte: u64) -> (u64, u64) {
        let (mut bytes, mut lines) = (0, 0);
        for line in self.since(byte).split_inclusive(|byte| *byte == b'\n') {
            if !line.starts_with(b"#") && !line.trim_ascii().is_empty() {
                break;
            }
            bytes += line.len() as u64;
            lines += 1;
        }
        (bytes, lines)
    }

    fn forget_before(&mut self, row: u64) {
        self.row = row;
        let past = usize::try_from(row.saturating_sub(self.start)).unwrap_or(0);
        if past > SLACK {
            self.bytes.drain(..past.min(self.bytes.len()));
            self.start = row;
        }
    }
}

impl<R: Read> Read for Recent<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.last_row().len() > LONGEST_ROW + SLACK {
            return Err(io::Error::other(format!("a row is longer than {} MiB", LONGEST_ROW >> 20)));
        }
        let mut read = self.source.read(buffer)?;
        if !self.has_begun && read > 0 {
            const MARK: &[u8] = b"\xef\xbb\xbf";
            self.has_begun = true;
            // A source may give less than was asked for.
            while read < MARK.len() && MARK.starts_with(&buffer[..read]) && buffer.len() > read {
                match self.source.read(&mut buffer[read..])? {
                    0 => break,
                    more => read += more,
                }
            }
            if buffer[..read].starts_with(MARK) {
                buffer.copy_within(MARK.len()..read, 0);
                read -= MARK.len();
                if read == 0 {
                    return self.read(buffer);
                }
            }
        }
        self.bytes.extend_from_slice(&buffer[..read]);
        Ok(read)
    }
}

/// The fields of the first row of a text that may be cut anywhere after it.
pub fn first_row(text: &str) -> Vec<String> {
    let mut rows = Rows::new(text.as_bytes());
    let first = rows.next().ok().flatten().map(|(_, _, row)| row.clone());
    first.iter().flat_map(csv::StringRecord::iter).map(|field| field.trim().to_owned()).collect()
}

/// A whole file in memory, for callers that need several columns of a row or choose their column by its content.
pub struct Table<'t> {
    text: &'t str,
    rows: Vec<Row>,
}

struct Row {
    line: usize,
    byte: usize,
    fields: Vec<String>,
}

impl<'t> Table<'t> {
    /// Reads all rows.
    pub fn read(text: &'t str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut table = Self { text, rows: Vec::new() };
        let mut rows = Rows::new(text.as_bytes());
        while let Some((line, byte, record)) = rows.next()? {
            let fields = record.iter().map(|field| field.trim().to_owned()).collect();
            table.rows.push(Row { line: line as usize, byte: byte as usize, fields });
        }
        Ok(table)
    }

    /// Fails if a blank line is between rows of a single column: it may be a missing value, which must not be
    /// skipped.
    pub fn refuse_blank_lines(&self) -> Result<(), String> {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return Ok(()) };
        let between = self.text.get(first.byte..last.byte).unwrap_or_default();
        match between.lines().position(|line| line.trim().is_empty()) {
            Some(index) => {
                Err(format!("line {} is empty; write NaN for a run that failed", first.line + index))
            }
            None => Ok(()),
        }
    }

    /// The first row, if there is one.
    pub fn first(&self) -> Option<&[String]> {
        self.rows.first().map(|row| row.fields.as_slice())
    }

    /// The index of the only column with this name in the first row.
    pub fn column(&self, name: &str) -> Result<usize, String> {
        position(self.first().unwrap_or_default(), name).map_err(|trouble| trouble.detail)
    }

    /// The numbers of a column from row `first` on.
    pub fn numbers(
        &self,
        first: usize,
        column: usize,
        number: impl Fn(&str) -> Option<f64>,
    ) -> Result<Vec<f64>, String> {
        let rows = self.rows.iter().skip(first);
        rows.map(|row| {
            let field = &row.fields[column];
            number(field)
                .ok_or_else(|| format!("line {}, column {}: {field:?} is not a number", row.line, column + 1))
        })
        .collect()
    }

    /// The rows after the first, each with its line.
    pub fn rows_after_header(&self) -> impl Iterator<Item = (usize, &[String])> {
        self.rows.iter().skip(1).map(|row| (row.line, row.fields.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str, name: &str) -> Result<Vec<f64>, String> {
        let table = Table::read(text)?;
        table.numbers(1, table.column(name)?, |field| field.parse().ok())
    }

    #[test]
    fn quotes_comments_marks_and_line_ends_are_understood() {
        let cases = [
            "name,score\n\"a, b\",1\n\"c \"\"d\"\"\",2\n",
            "\u{feff}name,score\r\na,1\r\nb,2\r\n",
            "#{\"t_start\": 1, \"x\": \"}\n\n\"name\",\"score\"\na,1\n   \n# between\nb, 2 \n",
            "score,name\n1,\"two\nlines\"\n2,b",
        ];
        for text in cases {
            assert_eq!(column(text, "score").as_deref(), Ok(&[1.0, 2.0][..]), "{text:?}");
            let wanted = [Column { value: "score", step: None }];
            let points = read(&mut text.as_bytes(), &wanted).remove(0).unwrap();
            let values: Vec<f64> = points.iter().map(|point| point.value).collect();
            assert_eq!(values, [1.0, 2.0], "{text:?}");
        }
        assert_eq!(first_row("a,\"b, c\"\n1,\"2"), ["a", "b, c"]);
        assert!(Table::read("").is_ok_and(|table| table.first().is_none()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("a,score\n1,2\n3\n", "line 3 has 1 field, but line 1 has 2"),
            ("a,score\n1,2,3\n", "line 2 has 3 fields, but line 1 has 2"),
            ("# note\n\na,score\n# note\n1,2\n\n3\n", "line 7 has 1 field, but line 3 has 2"),
            ("a,score\n\"x\ny\",2\n3,much\n", "line 4, column 2: \"much\" is not a number"),
            ("a,score\n1,\"2", "line 2: unterminated quoted field"),
            ("a,b\n1,2\n", "no column \"score\"; available: a, b"),
            ("score,score\n1,2\n", "2 columns are named \"score\""),
        ];
        for (text, expected) in cases {
            assert_eq!(column(text, "score"), Err(expected.to_owned()), "{text:?}");
            let wanted = [Column { value: "score", step: None }];
            let trouble = read(&mut text.as_bytes(), &wanted).remove(0).unwrap_err();
            assert_eq!(trouble.detail, expected, "{text:?}");
        }
        assert_eq!(
            column("a,score\n1,\n", "score"),
            Err("line 2, column 2: \"\" is not a number".to_owned())
        );
    }
}
