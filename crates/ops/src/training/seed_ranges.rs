//! Seeds in few words.

use std::collections::BTreeSet;

/// `0-4, 7` for 0, 1, 2, 3, 4, 7.
pub(crate) fn seed_ranges(seeds: impl IntoIterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for seed in seeds.into_iter().collect::<BTreeSet<u64>>() {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(seed) => *last = seed,
            _ => runs.push((seed, seed)),
        }
    }
    let text = |(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    let shown: Vec<String> = runs.iter().take(12).map(text).collect();
    let more = runs.len().saturating_sub(12);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_written_short() {
        assert_eq!(seed_ranges([4, 1, 2, 3, 0, 7, 9, 10]), "0-4, 7, 9, 10");
        assert_eq!(seed_ranges([]), "");
        assert_eq!(seed_ranges([u64::MAX, u64::MAX]), u64::MAX.to_string());
        assert!(seed_ranges((0..100).map(|seed| seed * 2)).ends_with("22 and 88 more"));
    }
}
