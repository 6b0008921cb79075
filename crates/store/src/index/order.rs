//! The order of runs by one of their values.

use std::cmp::Ordering;

use serde_json::Value;

use super::RunRow;

/// The places of `values` in ascending or descending order; equal ones stay as they are, and those without a value
/// come last either way. Numbers come before text, text is compared without regard to case.
///
/// This is here because listings of ten thousand runs need it fast, and the crate that asks for it is not optimised.
pub fn places_in_order(values: &[Value], descending: bool) -> Vec<usize> {
    let keys: Vec<Key> = values.iter().map(Key::new).collect();
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|a, b| match (&keys[*a], &keys[*b]) {
        (Key::Missing, Key::Missing) => Ordering::Equal,
        (Key::Missing, _) => Ordering::Greater,
        (_, Key::Missing) => Ordering::Less,
        (a, b) if descending => b.compare(a),
        (a, b) => a.compare(b),
    });
    places
}

/// The places of rows by age, oldest first.
pub fn places_by_age(rows: &[&RunRow]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by(|a, b| rows[*a].age().cmp(&rows[*b].age()));
    places
}

enum Key {
    Number(f64),
    Text(String),
    Missing,
}

impl Key {
    fn new(value: &Value) -> Self {
        match value {
            Value::Null => Self::Missing,
            Value::Number(number) => number.as_f64().map_or(Self::Missing, Self::Number),
            Value::String(text) => Self::Text(text.to_lowercase()),
            other => Self::Text(other.to_string()),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), _) => Ordering::Less,
            (_, Self::Number(_)) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_then_text_then_nothing() {
        let values = [json!(null), json!("b"), json!(10), json!(9.5), json!("A"), json!(null), json!(10.0)];
        assert_eq!(places_in_order(&values, false), [3, 2, 6, 4, 1, 0, 5]);
        assert_eq!(places_in_order(&values, true), [1, 4, 2, 6, 3, 0, 5], "missing values stay last");
    }
}
