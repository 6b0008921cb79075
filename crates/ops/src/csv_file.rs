//! Writes tables as CSV. `rlxp_store::foreign::csv` reads them.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_taken_for_a_formula() {
        let texts = ["=1+1", "+cmd", "-x", "@SUM(A1)", " =1", "-1.5", "+2", "-1e-9", "a=b", ""];
        let fields = ["'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "' =1", "-1.5", "+2", "-1e-9", "a=b", ""];
        assert_eq!(texts.map(not_a_formula), fields);
    }
}
