//! Every claim holds on random curves, and every number in a sentence is a
//! claim's.

use proptest::prelude::*;

use super::oracle::{Raw, check, check_phases, check_story};
use crate::describe::metrics::{Expectation, Whole, dictionary, read};
use crate::describe::story::*;

/// Values of one curve. `noise` holds standard normal-like draws.
fn shape(kind: usize, length: usize, noise: &[f64], scale: f64, offset: f64) -> Vec<f64> {
    let at = |index: usize| index as f64 / length.max(2).saturating_sub(1) as f64;
    let value = |index: usize| {
        let (x, e) = (at(index), noise[index % noise.len()]);
        let rise = ((x - 0.4) / 0.2).clamp(0.0, 1.0);
        match kind {
            0 => 0.0,
            1 => 1e-6 * e,
            2 => e,
            3 => x + 0.05 * e,
            4 => 1.0 - x + 0.05 * e,
            5 => f64::from(x > 0.5) + 0.01 * e,
            6 => {
                if e > 1.3 {
                    10.0
                } else {
                    0.01 * e
                }
            }
            7 => {
                if e > 1.0 {
                    f64::NAN
                } else if e < -1.2 {
                    f64::INFINITY
                } else {
                    x
                }
            }
            8 => f64::from(index as u32 % 2) + 0.01 * e,
            9 => rise + 0.02 * e,
            10 => {
                if x > 0.8 {
                    0.02 * e
                } else {
                    (3.0 * x).min(1.0)
                }
            }
            11 => (x * std::f64::consts::PI).sin(),
            12 => (3.0 * x).min(1.0),
            13 => (3.0 * x).min(1.0).powi(3) + 1e-5 * e,
            14 => {
                if index == 0 {
                    1.0
                } else {
                    0.0
                }
            }
            15 => (e * 2.0).round(),
            16 => x * x * (1.0 + 0.3 * e),
            _ => f64::NAN,
        }
    };
    (0..length).map(|index| offset + scale * value(index)).collect()
}

const KINDS: usize = 18;

prop_compose! {
    fn raw()(
        kind in 0..KINDS,
        length in prop_oneof![0..6usize, 5..40usize, 40..300usize],
        noise in proptest::collection::vec(-1.6..1.6f64, 41),
        scale in prop_oneof![
            Just(1.0), Just(500.0), Just(-200.0), Just(1e-3), Just(5e-324), Just(1e-310), Just(1e150), 0.01..1000.0f64
        ],
        offset in prop_oneof![Just(0.0), Just(1e9), Just(-1600.0), Just(0.1), -500.0..500.0f64],
        stride in prop_oneof![Just(1024u64), Just(1), 1..5000u64],
        uneven in any::<bool>(),
        repeated in 0..10usize,
        errors in prop_oneof![Just(None), (0.0..2.0f64).prop_map(Some)],
        failed in prop::bool::weighted(0.15),
    ) -> Raw {
        let values = shape(kind, length, &noise, scale, offset);
        let step = |index: usize| stride * (index as u64 + 1) + if uneven { (index as u64 * 7) % stride.max(2) / 2 } else { 0 };
        let mut points: Vec<(u64, f64)> = values.iter().enumerate().map(|(index, value)| (step(index), *value)).collect();
        // A resumed run may log a step twice.
        if repeated == 0 && points.len() > 3 {
            points.push((points[1].0, points[2].1));
        }
        let errors = errors.map_or_else(Vec::new, |error| {
            points.iter().enumerate().map(|(index, (step, _))| (*step, error * scale.abs() * noise[index % 41].abs())).collect()
        });
        Raw { points, errors, failed }
    }
}

fn subject(threshold: Option<f64>, random: Option<f64>) -> Subject {
    let baseline = random.map(|mean| Baseline { mean, standard_error: 0.5, episodes: 50 });
    Subject { kind: "eval".into(), metric: "mean_return".into(), threshold, baseline }
}

/// A level somewhere between the values, or at one of them.
fn level(raws: &[Raw], place: f64) -> Option<f64> {
    let mut values: Vec<f64> = raws
        .iter()
        .flat_map(|raw| &raw.points)
        .map(|(_, value)| *value)
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f64::total_cmp);
    values
        .get(((values.len() as f64) * place.clamp(0.0, 0.999)) as usize)
        .map(|value| value + (place - 0.5).min(0.0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_claim_about_a_seed_holds(one in raw(), place in 0.0..1.4f64, random in prop::option::of(0.0..1.0f64)) {
        let raws = [one];
        let told = subject(level(&raws, place), random.and_then(|place| level(&raws, place)));
        check_story(&told, &raws);
    }

    #[test]
    fn every_claim_about_a_metric_holds(
        one in raw(),
        entry in 0..dictionary().len(),
        low in prop::option::of(0.0..1.0f64),
        high in prop::option::of(0.5..1.4f64),
        whole in prop::option::of(0.5..500.0f64),
    ) {
        let raws = [one];
        let expected = Expectation {
            text: String::new(),
            low: low.and_then(|place| level(&raws, place)),
            high: high.and_then(|place| level(&raws, place)),
            unless: None,
            whole: whole.map(|value| Whole { name: "the maximum".into(), value }),
        };
        let course = Course::new(raws[0].points.iter().copied());
        let entry = &dictionary()[entry];
        let reading = read(entry, "m", &course, Some(&expected), &[0]);
        // The dictionary's own texts may have numbers.
        let mut statements = reading.statements.clone();
        for statement in &mut statements {
            statement.text = statement.text.replace(&entry.high, "").replace(&entry.low, "");
        }
        let known = [reading.phases.len().saturating_sub(5) as f64];
        check(&raws, &statements, &known, &[]);
        check_phases(&reading.phases);
        let says = |part: &str| statements.iter().any(|statement| statement.text.contains(part));
        let moves = reading.phases.iter().any(|phase| matches!(phase.kind, PhaseKind::Rise | PhaseKind::Fall));
        prop_assert!(!(says("No clear trend") && moves), "{:#?}", statements);
        if let [only] = reading.phases.as_slice() {
            prop_assert!(!(says("Decreased") && only.kind == PhaseKind::Rise), "{:#?}", statements);
            prop_assert!(!(says("Increased") && only.kind == PhaseKind::Fall), "{:#?}", statements);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_claim_about_several_seeds_holds(
        mut raws in proptest::collection::vec(raw(), 2..7),
        aligned in any::<bool>(),
        place in 0.0..1.4f64,
        random in prop::option::of(0.0..1.0f64),
    ) {
        if aligned {
            let length = raws[0].points.len();
            for raw in &mut raws {
                raw.errors.clear();
                raw.points.truncate(length);
                raw.points.iter_mut().enumerate().for_each(|(at, point)| point.0 = 1024 * (at as u64 + 1));
            }
        }
        let told = subject(level(&raws, place), random.and_then(|place| level(&raws, place)));
        check_story(&told, &raws);
    }
}
