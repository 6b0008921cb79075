//! What a reader must know: what the marks mean, what was pooled, summarised or left out.

use rlxp_analyze::curves::{BOOTSTRAP_SEEDS, Band};

use super::keys::DrawnKeys;
use super::sample::Sample;
use super::{Drawn, LandscapeReport};

/// What the marks mean.
pub(super) fn meaning(report: &LandscapeReport) -> String {
    match &report.drawn {
        Drawn::Against { .. } => {
            let bar = match report.intervals.is_empty() {
                true => "One seed per value: seed-to-seed variation is unknown.".to_owned(),
                false => format!("Bar: {}.", report.intervals),
            };
            format!("Dot: a seed. Bold dot: mean of the n seeds with that value. {bar}")
        }
        Drawn::Heatmap { cells } => {
            let scored = cells.iter().filter(|cell| cell.summary.seeds > 0).count();
            let hatched = if scored < cells.len() { " Hatched: no run." } else { "" };
            let outlined = match scored {
                0 | 1 => String::new(),
                many => format!(
                    " Outlined: the highest of {many}, which is partly luck; `rlx compare` gives a verdict."
                ),
            };
            format!("Cell: mean of its n seeds; darker is higher.{hatched}{outlined}")
        }
        Drawn::Parallel { combinations } => {
            let luck = match combinations.len() {
                0 | 1 => String::new(),
                many => format!(" The best of {many} is partly luck; `rlx compare` gives a verdict."),
            };
            format!(
                "Line: mean of the seeds with these values; darker is higher, the best are thicker. Lines that share \
                 a value are spread around it.{luck}"
            )
        }
    }
}

/// What the ends of intervals are; empty if there are none.
pub(super) fn intervals(report: &LandscapeReport) -> String {
    let (interval, range) = ("95% bootstrap interval of the mean, descriptive", "lowest to highest seed");
    let said = match (report.has(Band::Bootstrap), report.has(Band::Range)) {
        (true, true) => format!("{interval}; {range} where there are fewer than {BOOTSTRAP_SEEDS} seeds"),
        (true, false) => interval.to_owned(),
        (false, true) => format!("{range} (an interval needs {BOOTSTRAP_SEEDS} seeds)"),
        (false, false) => return String::new(),
    };
    if report.has(Band::None) { format!("{said}; none for a single seed") } else { said }
}

pub(super) fn notes(sample: &Sample, report: &LandscapeReport, drawn: &DrawnKeys) -> Vec<String> {
    let mut notes = Vec::new();
    let pooled: Vec<&str> = drawn.pooled.iter().map(String::as_str).collect();
    let several_panels = matches!(report.drawn, Drawn::Against { .. }) && drawn.keys.len() > 1;
    match (several_panels, pooled.is_empty()) {
        (true, true) => notes.push("Each panel pools runs that differ in the keys of the others.".to_owned()),
        (true, false) => notes.push(format!(
            "Each panel pools runs that differ in the keys of the others and in {}.",
            listed(&pooled)
        )),
        (false, false) => notes.push(format!("Runs that differ in {} are pooled.", listed(&pooled))),
        (false, true) => {}
    }
    match drawn.without_room {
        0 => {}
        1 => notes.push("1 more key differs; name keys to choose which are shown.".to_owned()),
        more => notes.push(format!("{more} more keys differ; name keys to choose which are shown.")),
    }
    let in_ranges: Vec<&str> =
        report.keys.iter().filter(|axis| axis.has_ranges()).map(|axis| axis.key.as_str()).collect();
    if !in_ranges.is_empty() {
        let has = if in_ranges.len() == 1 { "has" } else { "have" };
        let which = listed(&in_ranges);
        notes.push(format!(
            "{which} {has} too many values to show one by one; they are summarised in ranges."
        ));
    }
    for axis in &report.keys {
        if let [only] = axis.values.as_slice() {
            notes.push(format!("{} is {} in all runs.", axis.key, only.value));
        }
    }
    notes.extend(sample.notes.iter().cloned());
    notes
}

/// `a, b and c`; the first few of many.
pub(super) fn listed(names: &[&str]) -> String {
    const MOST: usize = 6;
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if names.len() <= MOST => format!("{} and {last}", first.join(", ")),
        many => format!("{} and {} more", many[..MOST - 1].join(", "), many.len() - (MOST - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_short() {
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a"; 40]), "a, a, a, a, a and 35 more");
    }
}
