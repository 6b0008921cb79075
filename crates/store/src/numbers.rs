//! Numbers in names. Anyone can put a folder with any number into a project, so the highest one may be used up.

use std::collections::BTreeSet;

/// The number after the highest one in use; where `highest` is in use, the lowest free one.
pub(crate) fn next_free(used: &BTreeSet<u64>, highest: u64) -> u64 {
    match used.last() {
        Some(last) if *last >= highest => (1..)
            .zip(used.iter().filter(|number| **number > 0))
            .find(|(free, used)| free != *used)
            .map_or_else(|| used.len() as u64 + 1, |(free, _)| free),
        Some(last) => last + 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_run_out() {
        let next = |used: &[u64]| next_free(&used.iter().copied().collect(), 9);
        assert_eq!(next(&[]), 1);
        assert_eq!(next(&[0]), 1);
        assert_eq!(next(&[3, 7]), 8);
        assert_eq!(next(&[3, 9]), 1);
        assert_eq!(next(&[0, 1, 2, 4, 9]), 3);
        assert_eq!(next(&[1, 2, 9]), 3);
    }
}
