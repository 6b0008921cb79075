//! Words that sentences share.

/// `1 seed`, `5 seeds`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// With a capital first letter.
pub(in crate::describe) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `3`, `3 and 4`, `3, 4 and 7`; of many the first few.
pub(super) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<String> = items.iter().take(SHOWN).map(T::to_string).collect();
    if items.len() > SHOWN {
        return format!("{} and {} more", shown.join(", "), items.len() - SHOWN);
    }
    match shown.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => shown.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_counts_read_well() {
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[3, 4, 7]), "3, 4 and 7");
        assert_eq!(list(&[0, 1, 2, 3, 4, 5, 6, 7]), "0, 1, 2, 3, 4, 5 and 2 more");
        assert_eq!(count(1, "seed"), "1 seed");
    }
}
