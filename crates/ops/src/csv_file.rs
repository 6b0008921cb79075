//! Reads numbers from CSV files of other programs, and writes tables as CSV.
//!
//! Quoted fields may hold commas, quotes and line ends; lines that begin with
//! `#` are comments, as Stable-Baselines3's monitor files have one; a byte order
//! mark and `\r\n` are fine. A row with more or fewer fields than the first one
//! is refused: a value could belong to another column.

/// Rows as CSV, with quotes around the fields that need them.
pub(crate) fn text(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).expect("every row has as many fields, and memory takes them all");
    }
    let bytes = writer.into_inner().expect("memory takes everything");
    String::from_utf8(bytes).expect("fields are text")
}

/// A field that no spreadsheet takes for a formula: text that begins like one has a `'` before it, as spreadsheets
/// themselves write text. Numbers stay as they are.
pub(crate) fn not_a_formula(field: &str) -> String {
    let begins = field.trim_start().starts_with(['=', '+', '-', '@']);
    if begins && field.parse::<f64>().is_err() { format!("'{field}") } else { field.to_owned() }
}

/// The fields of the first row of a text that may be cut anywhere after it.
pub(crate) fn first_row(text: &str) -> Vec<String> {
    let mut reader = reader(text.trim_start_matches('\u{feff}'));
    let first = reader.records().next().and_then(Result::ok);
    first.iter().flat_map(csv::StringRecord::iter).map(|field| field.trim().to_owned()).collect()
}

fn reader(text: &str) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes())
}

/// A file's rows, all with as many fields as the first.
pub(crate) struct CsvFile<'t> {
    text: &'t str,
    rows: Vec<Row>,
}

pub(crate) struct Row {
    /// Where reading it began; blank lines and comments may come first.
    byte: usize,
    fields: Vec<String>,
}

impl<'t> CsvFile<'t> {
    /// Reads all rows.
    pub(crate) fn read(text: &'t str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let mut file = Self { text, rows: Vec::new() };
        for record in reader(text).records() {
            let record = record.map_err(|error| error.to_string())?;
            let byte = record.position().map_or(0, |position| position.byte() as usize);
            // A line of spaces is a blank line; an empty field in quotes is a field.
            let is_blank = record.len() == 1 && !record[0].is_empty() && record[0].trim().is_empty();
            if !is_blank {
                file.rows
                    .push(Row { byte, fields: record.iter().map(|field| field.trim().to_owned()).collect() });
            }
        }
        file.check_fields()?;
        file.check_quotes()?;
        Ok(file)
    }

    /// Fails if a blank line is between rows of a single column: it may be a missing value, which must not be
    /// skipped.
    pub(crate) fn refuse_blank_lines(&self) -> Result<(), String> {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return Ok(()) };
        let between = &self.text[self.begin(first)..self.begin(last)];
        match between.lines().position(|line| line.trim().is_empty()) {
            Some(index) => {
                Err(format!("line {} is empty; write NaN for a run that failed", self.line(first) + index))
            }
            None => Ok(()),
        }
    }

    /// The first row, if there is one.
    pub(crate) fn first(&self) -> Option<&[String]> {
        self.rows.first().map(|row| row.fields.as_slice())
    }

    /// The index of the only column with this name in the first row.
    pub(crate) fn column(&self, name: &str) -> Result<usize, String> {
        let names = self.first().unwrap_or_default();
        let found: Vec<usize> = (0..names.len()).filter(|index| names[*index] == name).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(format!("no column {name:?}; available: {}", names.join(", "))),
            several => Err(format!("{} columns are named {name:?}", several.len())),
        }
    }

    /// The numbers of a column from row `first` on, in fields that `counts` accepts.
    pub(crate) fn numbers(
        &self,
        first: usize,
        column: usize,
        counts: impl Fn(&str) -> bool,
        number: impl Fn(&str) -> Option<f64>,
    ) -> Result<Vec<f64>, String> {
        let rows = self.rows.iter().skip(first).filter(|row| counts(&row.fields[column]));
        rows.map(|row| {
            let field = &row.fields[column];
            number(field).ok_or_else(|| {
                format!("line {}, column {}: {field:?} is not a number", self.line(row), column + 1)
            })
        })
        .collect()
    }

    /// The rows after the first, each with its line.
    pub(crate) fn rows_after_header(&self) -> impl Iterator<Item = (usize, &[String])> {
        self.rows.iter().skip(1).map(|row| (self.line(row), row.fields.as_slice()))
    }

    fn check_fields(&self) -> Result<(), String> {
        let Some(first) = self.rows.first() else { return Ok(()) };
        let wanted = first.fields.len();
        match self.rows.iter().find(|row| row.fields.len() != wanted) {
            None => Ok(()),
            Some(row) => Err(format!(
                "line {} has {}, but line {} has {wanted}",
                self.line(row),
                if row.fields.len() == 1 {
                    "1 field".to_owned()
                } else {
                    format!("{} fields", row.fields.len())
                },
                self.line(first),
            )),
        }
    }

    /// A file truncated within quotes would give a part of a number for the whole.
    fn check_quotes(&self) -> Result<(), String> {
        let Some(last) = self.rows.last() else { return Ok(()) };
        let row = &self.text[self.begin(last)..];
        let quotes = row.bytes().filter(|byte| *byte == b'"').count();
        if quotes % 2 == 0 {
            Ok(())
        } else {
            Err(format!("line {}: unterminated quoted field", self.line(last)))
        }
    }

    /// The line of a row, counted from 1.
    fn line(&self, row: &Row) -> usize {
        1 + self.text[..self.begin(row)].matches('\n').count()
    }

    fn begin(&self, row: &Row) -> usize {
        let mut at = row.byte;
        for line in self.text[at..].split_inclusive('\n') {
            if !line.starts_with('#') && !line.trim().is_empty() {
                break;
            }
            at += line.len();
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str, name: &str) -> Result<Vec<f64>, String> {
        let file = CsvFile::read(text)?;
        file.numbers(1, file.column(name)?, |_| true, |field| field.parse().ok())
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
        }
        assert_eq!(first_row("a,\"b, c\"\n1,\"2"), ["a", "b, c"]);
        assert!(CsvFile::read("").is_ok_and(|file| file.first().is_none()));
    }

    #[test]
    fn text_is_not_taken_for_a_formula() {
        let texts = ["=1+1", "+cmd", "-x", "@SUM(A1)", " =1", "-1.5", "+2", "-1e-9", "a=b", ""];
        let fields = ["'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "' =1", "-1.5", "+2", "-1e-9", "a=b", ""];
        assert_eq!(texts.map(not_a_formula), fields);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("a,score\n1,2\n3\n", "line 3 has 1 field, but line 1 has 2"),
            ("a,score\n1,2,3\n", "line 2 has 3 fields, but line 1 has 2"),
            ("# note\n\na,score\n# note\n1,2\n\n3\n", "line 7 has 1 field, but line 3 has 2"),
            ("a,score\n\"x\ny\",2\n3,much\n", "line 4, column 2: \"much\" is not a number"),
            ("a,score\n1,\"2", "line 2: unterminated quoted field"),
            ("a,score\n1,\n", "line 2, column 2: \"\" is not a number"),
            ("a,b\n1,2\n", "no column \"score\"; available: a, b"),
            ("score,score\n1,2\n", "2 columns are named \"score\""),
        ];
        for (text, expected) in cases {
            assert_eq!(column(text, "score"), Err(expected.to_owned()), "{text:?}");
        }
    }
}
