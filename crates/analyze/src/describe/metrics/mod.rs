//! The dictionary of metrics: what each logged metric is, why it matters and
//! what a healthy course looks like.
//!
//! The entries are data (`metrics/*.json`), so that other programs can read
//! them. What "well" means for one config is in [`here`], what a run's values
//! mean in [`reading`]. A test trains and checks the entries against the logged
//! metrics, in both directions.

mod here;
mod reading;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use here::{Actions, Expectation, Here, Whole, expectation};
pub use reading::{Reading, read};

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It depends.
    Neither,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Kind of the records that hold it: `train`, `eval`, `timing` or `observations`.
    pub kind: String,
    /// Its name; `mean_*` matches `mean_0`, `mean_1` and so on.
    pub name: String,
    pub title: String,
    /// How it is computed, in plain words.
    pub formula: String,
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
    pub why: String,
    /// What a healthy course looks like in general.
    pub healthy: String,
    pub high: String,
    pub low: String,
    /// When it is logged.
    pub when: String,
    /// The condition under which it is logged; `None` if it always is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
}

#[derive(Deserialize)]
struct File {
    kind: String,
    when: String,
    metrics: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    title: String,
    direction: Direction,
    unit: String,
    formula: String,
    why: String,
    healthy: String,
    high: String,
    low: String,
    present: Option<String>,
}

/// Most names suggested for an unknown one.
const MOST_NEAREST: usize = 3;

impl Entry {
    /// `train/entropy`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// Whether `name` is this metric's, or one of its pattern.
    fn is(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(stem) => dimension_of(stem, name).is_some() || name == self.name,
            None => self.name == name,
        }
    }

    /// The dimension in `name`: 3 for `mean_3`.
    pub fn dimension(&self, name: &str) -> Option<usize> {
        dimension_of(self.name.strip_suffix('*')?, name)
    }
}

fn dimension_of(stem: &str, name: &str) -> Option<usize> {
    let digits = name.strip_prefix(stem)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Every metric, those of evaluations first.
pub fn dictionary() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let files = [
            include_str!("../../../metrics/eval.json"),
            include_str!("../../../metrics/train.json"),
            include_str!("../../../metrics/observations.json"),
            include_str!("../../../metrics/timing.json"),
        ];
        files.into_iter().flat_map(entries_of).collect()
    });
    &ENTRIES
}

fn entries_of(text: &str) -> Vec<Entry> {
    let file: File = serde_json::from_str(text).expect("the embedded dictionary is tested to parse");
    let entry = |written: Written| Entry {
        kind: file.kind.clone(),
        when: file.when.clone(),
        name: written.name,
        title: written.title,
        formula: written.formula,
        unit: written.unit,
        direction: written.direction,
        why: written.why,
        healthy: written.healthy,
        high: written.high,
        low: written.low,
        present: written.present,
    };
    file.metrics.into_iter().map(entry).collect()
}

/// The entry of a logged metric.
pub fn entry(kind: &str, name: &str) -> Option<&'static Entry> {
    dictionary().iter().find(|entry| entry.kind == kind && entry.is(name))
}

/// The entries that a word names: `entropy`, `eval/mean_return`, `std_2`. A
/// name of several kinds names them all.
pub fn named(word: &str) -> Vec<&'static Entry> {
    match word.split_once('/') {
        Some((kind, name)) => entry(kind, name).into_iter().collect(),
        None => dictionary().iter().filter(|entry| entry.is(word)).collect(),
    }
}

/// The names in `known` closest to a word, best first. Each is compared with
/// and without its kind.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let asked = word.to_lowercase().replace([' ', '-'], "_");
    let mut ranked: Vec<(f64, &str)> = known
        .into_iter()
        .map(|full| {
            let name = full.split_once('/').map_or(full, |(_, name)| name);
            // A substring of a name ranks like a typo.
            let part = if asked.len() >= 3 && name.contains(&asked) { 0.9 } else { 0.0 };
            let likeness = strsim::jaro_winkler(&asked, name).max(strsim::jaro_winkler(&asked, full));
            (likeness.max(part), full)
        })
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(MOST_NEAREST).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_entry_is_whole_and_stands_once() {
        let names: Vec<String> = dictionary().iter().map(Entry::full_name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for entry in dictionary() {
            let texts = [
                &entry.title,
                &entry.formula,
                &entry.unit,
                &entry.why,
                &entry.healthy,
                &entry.high,
                &entry.low,
            ];
            assert!(texts.iter().all(|text| !text.trim().is_empty()), "{}", entry.full_name());
            assert!(entry.why.ends_with('.') && entry.healthy.ends_with('.'), "{}", entry.full_name());
        }
    }

    #[test]
    fn patterns_name_their_dimensions_only() {
        assert_eq!(entry("observations", "mean_12").and_then(|entry| entry.dimension("mean_12")), Some(12));
        for other in ["mean_", "mean_x", "mean_return", "mean_99999999999999999999"] {
            assert_eq!(entry("observations", other), None, "{other}");
        }
        assert_eq!(entry("train", "mean_return").map(|entry| entry.title.as_str()), Some("Training return"));
        assert_eq!(named("mean_return").len(), 2);
        assert_eq!(named("eval/mean_return").len(), 1);
        assert_eq!(named("std_2").len(), 1);
        assert!(named("nothing").is_empty() && named("").is_empty());
    }

    #[test]
    fn slips_of_the_finger_find_their_metric() {
        let names: Vec<String> = dictionary().iter().map(Entry::full_name).collect();
        let near = |word: &str| nearest(word, names.iter().map(String::as_str));
        for (word, expected) in [
            ("entrpy", "train/entropy"),
            ("aprox_kl", "train/approx_kl"),
            ("variance", "train/explained_variance"),
            ("Clip Fraction", "train/clip_fraction"),
            ("eval/mean_retrun", "eval/mean_return"),
        ] {
            assert_eq!(near(word)[0], expected, "{word}: {:?}", near(word));
        }
        assert!(near("🦀🦀🦀").is_empty());
    }
}
