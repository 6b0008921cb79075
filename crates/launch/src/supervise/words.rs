//! Text for people: sizes and times next to their limits, and untrusted text of a run.

use std::time::Duration;

use rlxp_types::text::is_hidden;

/// A longer text of a run is cut here when it becomes part of a sentence.
const LONGEST: usize = 2000;

/// `text` on one line, without characters that move the cursor, change colours or turn the direction of writing.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == LONGEST {
            clean.push('…');
            break;
        }
        match character {
            '\n' | '\t' => clean.push(' '),
            other if is_hidden(other) => {}
            other => clean.push(other),
        }
    }
    clean
}

/// `513 MiB of 512 MiB`: both in the largest unit in which the limit is a whole number, so that an exceeded limit
/// looks exceeded.
pub(super) fn bytes_of(seen: u64, limit: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("bytes", 0)];
    let (unit, shift) = units
        .into_iter()
        .find(|(_, shift)| limit > 0 && limit.is_multiple_of(1 << shift))
        .unwrap_or(("bytes", 0));
    format!("{} {unit} of {} {unit}", seen.div_ceil(1 << shift), limit >> shift)
}

/// `2.1 s of 2 s`.
pub(super) fn seconds_of(seen: Duration, limit: u64) -> String {
    format!("{:.1} s of {limit} s", seen.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_above_a_limit_reads_so() {
        assert_eq!(bytes_of((512 << 20) + 1, 512 << 20), "513 MiB of 512 MiB");
        assert_eq!(bytes_of(5 << 30, 2 << 30), "5 GiB of 2 GiB");
        assert_eq!(bytes_of(1001, 1000), "1001 bytes of 1000 bytes");
        assert_eq!(bytes_of(1, 0), "1 bytes of 0 bytes");
        assert_eq!(seconds_of(Duration::from_millis(2130), 2), "2.1 s of 2 s");
    }

    #[test]
    fn text_of_a_run_can_only_be_read() {
        assert_eq!(clean("a\x1b[31mb\r\n\u{202e}c\0 "), "a[31mb c");
        assert_eq!(clean(&"x".repeat(3000)).chars().count(), LONGEST + 1);
        assert_eq!(clean("übung"), "übung");
        // Soft hyphens, variation selectors and tags can't be seen either.
        assert_eq!(clean("a\u{ad}b\u{fe0f}c\u{e0041}"), "abc");
    }
}
