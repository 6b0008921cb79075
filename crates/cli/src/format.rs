//! Numbers as people read them.

use std::time::Duration;

use rlxp_types::text::rounded;
pub(crate) use rlxp_types::text::{grouped as count, score};

/// A number of steps, or a time: whole where it is, with two digits otherwise.
pub(crate) fn amount(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        count(value as u64)
    } else {
        format!("{value:.2}")
    }
}

/// A setting: three digits that count, and no zeros behind them.
pub(crate) fn short(value: f64) -> String {
    rounded(value, 3).to_string()
}

/// A return that may be missing.
pub(crate) fn score_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), score)
}

/// Steps per second, short.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        fast if fast >= 1e6 => format!("{:.1}M/s", fast / 1e6),
        fast if fast >= 1e4 => format!("{:.0}k/s", fast / 1e3),
        slow => format!("{slow:.0}/s"),
    }
}

/// A number with its noun: `1 seed`, `2 seeds`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number as u64))
}

/// "1 seed, 2,048 steps" or "3 seeds, 2,048 steps each".
pub(crate) fn seeds_and_steps(seeds: usize, steps: u64) -> String {
    let each = if seeds == 1 { "" } else { " each" };
    format!("{}, {} steps{each}", counted(seeds, "seed"), count(steps))
}

/// A duration as a clock shows it.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Bytes, short.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["B", "kB", "MB", "GB"];
    let mut number = value as f64;
    let mut unit = 0;
    while number >= 1000.0 && unit + 1 < UNITS.len() {
        number /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{value} B") } else { format!("{number:.1} {}", UNITS[unit]) }
}

/// A point in time without what a person skips: `2026-11-15 22:15`.
pub(crate) fn moment(text: &str) -> String {
    text.get(..16).map_or_else(|| text.to_owned(), |short| short.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 1, 2000].map(|n| counted(n, "seed")), ["0 seeds", "1 seed", "2,000 seeds"]);
        assert_eq!([2048.0, 0.0, 3.24159].map(amount), ["2,048", "0", "3.24"]);
        assert_eq!([312.0, 295_400.0, 2.34e6].map(rate), ["312/s", "295k/s", "2.3M/s"]);
        assert_eq!([5, 75, 3725].map(|s| clock(Duration::from_secs(s))), ["0:05", "1:15", "1:02:05"]);
        assert_eq!([12, 1500, 2_500_000].map(bytes), ["12 B", "1.5 kB", "2.5 MB"]);
        assert_eq!(moment("2026-11-15T22:15:22Z"), "2026-11-15 22:15");
        assert_eq!(moment(""), "");
    }
}
