//! From seeds to what is drawn: the mean and the spread of each value, cell or combination.

use std::collections::BTreeMap;

use rlxp_analyze::aggregate::{Scores, mean};
use rlxp_analyze::bootstrap::{Plan, bootstrap};
use rlxp_analyze::curves::{BOOTSTRAP_SEEDS, Band};
use serde::Serialize;

use super::keys::{DrawnKeys, KeyAxis, axis, value_of};
use super::sample::{Sample, Seed};
use super::{
    Cell, Combination, Drawn, LandscapeReport, LandscapeRequest, Panel, ScoredSeed, ValueSummary, View,
};

/// Resamples of an interval.
const RESAMPLES: usize = 1000;

/// Some seeds together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub seeds: usize,
    /// Of them failed, scored as the worst.
    pub failed: usize,
    pub mean: Option<f64>,
    /// Lower end of the interval, or the lowest seed.
    pub low: Option<f64>,
    /// Upper end of the interval, or the highest seed.
    pub high: Option<f64>,
    /// What low and high are.
    pub interval: Band,
}

impl Summary {
    fn from_seeds(seeds: &[&Seed]) -> Self {
        let scores: Vec<f64> = seeds.iter().map(|seed| seed.score).collect();
        let failed = seeds.iter().filter(|seed| seed.failed).count();
        let (interval, ends) = spread(&scores);
        Self {
            seeds: scores.len(),
            failed,
            mean: (!scores.is_empty()).then(|| mean(&scores)),
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
            interval,
        }
    }
}

/// The interval of the mean; the lowest and the highest score where there are too few for one.
fn spread(scores: &[f64]) -> (Band, Option<(f64, f64)>) {
    match scores.len() {
        0 | 1 => (Band::None, None),
        few if few < BOOTSTRAP_SEEDS => {
            let fold = |start: f64, pick: fn(f64, f64) -> f64| scores.iter().copied().fold(start, pick);
            (Band::Range, Some((fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))))
        }
        _ => {
            let plan = Plan { resamples: RESAMPLES, ..Plan::default() };
            let found = bootstrap(&Scores::single(scores), &plan, |tasks| mean(&tasks[0]));
            (Band::Bootstrap, Some((found.low, found.high)))
        }
    }
}

/// The report without its meaning and its notes.
pub(super) fn report(sample: &Sample, drawn: &DrawnKeys, request: &LandscapeRequest) -> LandscapeReport {
    // Lines of parallel axes are drawn one by one, whatever their number.
    let ranges = !matches!(request.view, View::Parallel(_));
    let axis_of =
        |key: &String| axis(key, sample.seeds.iter().map(|seed| value_of(&seed.settings, key)), ranges);
    let keys: Vec<KeyAxis> = drawn.keys.iter().map(axis_of).collect();
    let content = match &request.view {
        View::Against(_) => Drawn::Against { panels: keys.iter().map(|axis| panel(sample, axis)).collect() },
        View::Heatmap(_) => Drawn::Heatmap { cells: cells(sample, &keys[0], &keys[1]) },
        View::Parallel(_) => Drawn::Parallel { combinations: combinations(sample, &drawn.keys) },
    };
    let seeds = sample.seeds.iter().map(|seed| ScoredSeed {
        run: seed.run.clone(),
        seed: seed.seed,
        score: seed.score,
        failed: seed.failed,
        settings: settings_of(seed, &drawn.keys),
    });
    LandscapeReport {
        title: request.title.clone().unwrap_or_else(|| title(&drawn.keys, &sample.env)),
        env: sample.env.clone(),
        score: sample.score.clone(),
        drawn: content,
        pooled: drawn.pooled.clone(),
        runs: sample.settings.len(),
        seeds: seeds.collect(),
        keys,
        meaning: String::new(),
        intervals: String::new(),
        notes: Vec::new(),
        written: None,
        not_written: None,
    }
}

fn title(keys: &[String], env: &str) -> String {
    let by = match keys {
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        several => format!("{} config keys", several.len()),
    };
    format!("Last evaluation by {by}, {env}")
}

fn settings_of(seed: &Seed, keys: &[String]) -> BTreeMap<String, String> {
    keys.iter().map(|key| (key.clone(), value_of(&seed.settings, key).to_owned())).collect()
}

fn panel(sample: &Sample, axis: &KeyAxis) -> Panel {
    let mut of_value: Vec<Vec<&Seed>> = vec![Vec::new(); axis.values.len()];
    for seed in &sample.seeds {
        if let Some(index) = axis.index(value_of(&seed.settings, &axis.key)) {
            of_value[index].push(seed);
        }
    }
    let summaries = axis.values.iter().zip(of_value);
    let values = summaries
        .map(|(value, seeds)| ValueSummary { value: value.clone(), summary: Summary::from_seeds(&seeds) })
        .collect();
    Panel { key: axis.key.clone(), values }
}

fn cells(sample: &Sample, x: &KeyAxis, y: &KeyAxis) -> Vec<Cell> {
    let mut of_cell: Vec<Vec<&Seed>> = vec![Vec::new(); x.values.len() * y.values.len()];
    for seed in &sample.seeds {
        let index = |axis: &KeyAxis| axis.index(value_of(&seed.settings, &axis.key));
        if let (Some(column), Some(row)) = (index(x), index(y)) {
            of_cell[row * x.values.len() + column].push(seed);
        }
    }
    let places = y.values.iter().flat_map(|y| x.values.iter().map(move |x| (x, y)));
    places
        .zip(of_cell)
        .map(|((x, y), seeds)| Cell {
            x: x.value.clone(),
            y: y.value.clone(),
            summary: Summary::from_seeds(&seeds),
        })
        .collect()
}

/// The best first; of equal ones the first by its settings.
fn combinations(sample: &Sample, keys: &[String]) -> Vec<Combination> {
    let mut of_settings: BTreeMap<Vec<&str>, Vec<&Seed>> = BTreeMap::new();
    for seed in &sample.seeds {
        let values = keys.iter().map(|key| value_of(&seed.settings, key)).collect();
        of_settings.entry(values).or_default().push(seed);
    }
    let mut all: Vec<Combination> = of_settings
        .into_values()
        .map(|seeds| Combination {
            settings: settings_of(seeds[0], keys),
            summary: Summary::from_seeds(&seeds),
        })
        .collect();
    let score = |one: &Combination| one.summary.mean.unwrap_or(f64::NEG_INFINITY);
    all.sort_by(|a, b| score(b).total_cmp(&score(a)));
    all
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::insight::compare::last_evaluations;

    fn sample(rows: &[(&str, &str, f64, bool)]) -> Sample {
        let seeds = rows.iter().enumerate().map(|(index, (rate, gamma, score, failed))| Seed {
            run: format!("run_{index}"),
            seed: index as u64,
            score: *score,
            failed: *failed,
            settings: Rc::new(
                [("algo.learning_rate", *rate), ("algo.gamma", *gamma)]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
            ),
        });
        let seeds: Vec<Seed> = seeds.collect();
        Sample {
            env: "CartPole-v1".to_owned(),
            score: last_evaluations(&[]).unwrap().0,
            settings: seeds.iter().map(|seed| Rc::clone(&seed.settings)).collect(),
            seeds,
            notes: Vec::new(),
        }
    }

    fn axis_of(sample: &Sample, key: &str) -> KeyAxis {
        axis(key, sample.seeds.iter().map(|seed| value_of(&seed.settings, key)), true)
    }

    #[test]
    fn a_value_has_the_mean_of_its_seeds_whatever_else_differs() {
        let sample = sample(&[
            ("0.001", "0.9", 10.0, false),
            ("0.001", "0.99", 30.0, true),
            ("0.01", "0.9", 5.0, false),
        ]);
        let panel = panel(&sample, &axis_of(&sample, "algo.learning_rate"));
        let first = &panel.values[0].summary;
        assert_eq!((first.seeds, first.failed, first.mean), (2, 1, Some(20.0)));
        assert_eq!((first.low, first.high, first.interval), (Some(10.0), Some(30.0), Band::Range));
        let second = &panel.values[1].summary;
        assert_eq!((second.seeds, second.low, second.interval), (1, None, Band::None));
    }

    #[test]
    fn an_interval_needs_five_seeds_and_holds_the_mean() {
        let (kind, ends) = spread(&[1.0, 2.0, 3.0, 4.0, 9.0]);
        let (low, high) = ends.unwrap();
        assert!(
            kind == Band::Bootstrap && low > 1.0 && low < 3.8 && high > 3.8 && high < 9.0,
            "{low} {high}"
        );
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0]), (Band::Range, Some((1.0, 4.0))));
        assert_eq!(spread(&[]), (Band::None, None));
    }

    #[test]
    fn every_pair_of_values_is_a_cell() {
        let sample = sample(&[
            ("0.001", "0.9", 10.0, false),
            ("0.001", "0.9", 20.0, false),
            ("0.01", "0.99", 5.0, false),
        ]);
        let (x, y) = (axis_of(&sample, "algo.learning_rate"), axis_of(&sample, "algo.gamma"));
        let found: Vec<(String, String, usize, Option<f64>)> = cells(&sample, &x, &y)
            .into_iter()
            .map(|cell| (cell.x, cell.y, cell.summary.seeds, cell.summary.mean))
            .collect();
        let cell = |x: &str, y: &str, seeds, mean| (x.to_owned(), y.to_owned(), seeds, mean);
        let expected = [
            cell("0.001", "0.9", 2, Some(15.0)),
            cell("0.01", "0.9", 0, None),
            cell("0.001", "0.99", 0, None),
            cell("0.01", "0.99", 1, Some(5.0)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_settings_are_one_line_and_the_best_is_first() {
        let sample = sample(&[
            ("0.001", "0.9", 10.0, false),
            ("0.001", "0.9", 20.0, false),
            ("0.01", "0.9", 25.0, false),
        ]);
        let keys = ["algo.learning_rate".to_owned(), "algo.gamma".to_owned()];
        let found = combinations(&sample, &keys);
        let means: Vec<(Option<f64>, usize)> =
            found.iter().map(|one| (one.summary.mean, one.summary.seeds)).collect();
        assert_eq!(means, [(Some(25.0), 1), (Some(15.0), 2)]);
        assert_eq!(found[0].settings["algo.learning_rate"], "0.01");
    }
}
