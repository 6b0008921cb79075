//! Tables in plain text: columns as wide as their widest cell.
//!
//! Cells often are names from outside. They are made visible on one line before
//! they are measured, so that none adds a row or moves a column.

use rlxp_types::text::one_line;

/// How a column is lined up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under a header.
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (one_line(name).into_owned(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell).into_owned()).collect());
    }

    /// Lines that begin with `indent`; the header is handed to `heading`.
    pub(crate) fn render(&self, indent: &str, heading: impl Fn(&str) -> String) -> String {
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, (name, _))| {
                let cells = self.rows.iter().map(|row| width(&row[index]));
                cells.chain([width(name)]).max().unwrap_or(0)
            })
            .collect();
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut text = format!("{indent}{}\n", heading(&self.line(&header, &widths)));
        for row in &self.rows {
            text.push_str(indent);
            text.push_str(&self.line(row, &widths));
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let padded = cells.iter().zip(&self.columns).zip(widths).map(|((cell, (_, align)), wide)| {
            let space = " ".repeat(wide - width(cell));
            if *align == Align::Left { format!("{cell}{space}") } else { format!("{space}{cell}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new([("name", Align::Left), ("best", Align::Right)]);
        table.row(["a".to_owned(), "1.50".to_owned()]);
        table.row(["größer".to_owned(), "-".to_owned()]);
        let text = table.render("  ", str::to_uppercase);
        assert_eq!(text, "  NAME    BEST\n  a       1.50\n  größer     -\n");
    }

    #[test]
    fn a_cell_is_one_line_and_measured_as_it_is_shown() {
        let mut table = Table::new([("tag", Align::Left), ("n", Align::Right)]);
        table.row(["a\nverdict: better\u{1b}[2J".to_owned(), "1".to_owned()]);
        table.row(["b".to_owned(), "20".to_owned()]);
        let text = table.render("", str::to_owned);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], r"a\nverdict: better\u{1b}[2J   1");
        assert_eq!(lines[2].len(), lines[1].len(), "{text}");
    }
}
