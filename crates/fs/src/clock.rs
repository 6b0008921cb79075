//! Time. Wall time is a label and never decides an order; durations come from
//! the monotonic clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970 by the wall clock.
#[expect(clippy::disallowed_methods, reason = "this is the door itself")]
pub fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Seconds since 1970 by the wall clock, to the millisecond.
pub fn wall_seconds() -> f64 {
    wall().as_millis() as f64 / 1000.0
}

/// The wall clock as RFC 3339 text in UTC, to the millisecond.
pub fn wall_text() -> String {
    rfc3339(wall())
}

/// A point on the monotonic clock, for durations.
pub fn monotonic() -> std::time::Instant {
    std::time::Instant::now()
}

/// Time since 1970 as RFC 3339 text in UTC, to the millisecond.
pub fn rfc3339(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of year 0, so that the leap day is the
    // last of its year; a cycle of 400 years has 146,097 days.
    let shifted = days + 719_468;
    let (cycle, day_of_cycle) = (shifted / 146_097, shifted % 146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second_of_day / 3600,
        second_of_day / 60 % 60,
        second_of_day % 60,
        since_1970.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_come_out_right_around_leap_days_and_centuries() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(Duration::from_millis(1_234_567)), "1970-01-01T00:20:34.567Z");
    }
}
