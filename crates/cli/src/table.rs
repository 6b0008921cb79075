//! Tables in plain text: columns as wide as their widest cell.

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
        let columns = columns.into_iter().map(|(name, align)| (name.to_owned(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
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
}
