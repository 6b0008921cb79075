use proptest::prelude::*;

use super::*;

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn course(count: u32, value: impl Fn(f64) -> f64) -> Vec<Point> {
    (0..count)
        .map(|step| {
            let at = f64::from(step) / f64::from(count - 1);
            Point { step: Some(f64::from(step) * 100.0), value: value(at) }
        })
        .collect()
}

fn run(number: u64, components: &[(&str, Vec<Point>)]) -> RunSeries {
    let components =
        components.iter().map(|(name, points)| ((*name).to_owned(), Ok(points.clone()))).collect();
    RunSeries { run: format!("run-{number}"), components, ..RunSeries::default() }
}

fn rules(reflection: &Reflection) -> Vec<(&str, Severity, Option<&str>)> {
    reflection
        .findings
        .iter()
        .map(|finding| (finding.rule.as_str(), finding.severity, finding.component.as_deref()))
        .collect()
}

/// Alive pays 5 of 6.5: a share of .769, between the two thresholds.
#[test]
fn a_component_that_dominates() {
    let of = |number| run(number, &[("alive", course(20, |_| 5.0)), ("progress", course(20, |at| 3.0 * at))]);
    let runs: Vec<RunSeries> = (0..5).map(of).collect();
    let reflection = reflect(&names(&["alive", "progress"]), &runs, &[]);
    let alive = &reflection.components[0];
    let share = alive.share.unwrap();
    assert!((share.value - 5.0 / 6.5).abs() < 1e-12, "{share:?}");
    assert_eq!((share.low, share.high, share.seeds), (Some(share.value), Some(share.value), 5));
    assert_eq!(
        rules(&reflection),
        [("F20", Severity::Warning, Some("alive")), ("F21", Severity::Warning, Some("alive"))]
    );
    assert_eq!((alive.trend, reflection.components[1].trend), (Trend::Flat, Trend::Rises));
    assert_eq!(reflection.components[1].course[9], 3.0);
    // With only one component, a share says nothing.
    let alone = reflect(&names(&["alive"]), &runs, &[]);
    assert!(rules(&alone).iter().all(|(rule, ..)| *rule != "F20"));
}

#[test]
fn a_dominating_component_that_is_the_task_is_a_note() {
    let mut one = run(1, &[("goal", course(20, |at| 9.0 * at)), ("effort", course(20, |at| -0.1 * at))]);
    one.task = Some(course(20, |at| at));
    let reflection = reflect(&names(&["goal", "effort"]), &[one], &[]);
    assert_eq!(rules(&reflection)[0], ("F20", Severity::Note, Some("goal")));
    let goal = &reflection.components[0];
    assert_eq!(goal.with_task.unwrap().value, 1.0);
    // One seed: an estimate without an interval.
    assert_eq!((goal.share.unwrap().low, goal.share.unwrap().seeds), (None, 1));
    assert!(reflection.not_measured.iter().any(|text| text.contains("only one run")));
    assert!(reflection.not_measured.iter().any(|text| text.starts_with("episode length")));
}

#[test]
fn dead_constant_and_saturated_components() {
    let saturating = |at: f64| (at * 20.0).min(1.0);
    let of = |number| {
        run(
            number,
            &[
                ("zero", course(30, |_| 0.0)),
                ("same", course(30, |at| 2.0 + 0.01 * at)),
                ("full", course(30, saturating)),
                ("free", course(30, |at| at)),
            ],
        )
    };
    let runs: Vec<RunSeries> = (0..3).map(of).collect();
    let reflection = reflect(&names(&["zero", "same", "full", "free"]), &runs, &[]);
    let found = rules(&reflection);
    for expected in [("F21", "zero"), ("F21", "same"), ("F22", "full")] {
        assert!(
            found.iter().any(|(rule, _, component)| (*rule, *component) == (expected.0, Some(expected.1))),
            "{expected:?} in {found:?}"
        );
    }
    assert!(!found.iter().any(|(_, _, component)| *component == Some("free")), "{found:?}");
    assert_eq!(reflection.components[0].zero_in, 3);
    assert_eq!(reflection.components[2].saturated_in, 3);
}

#[test]
fn a_reward_that_rises_while_the_task_falls() {
    let gamed = |number| RunSeries {
        task: Some(course(40, |at| 1.0 - at)),
        ..run(number, &[("speed", course(40, |at| 1.0 + at)), ("effort", course(40, |_| -0.1))])
    };
    let honest = |number| RunSeries {
        task: Some(course(40, |at| at)),
        ..run(number, &[("speed", course(40, |at| 1.0 + at)), ("effort", course(40, |_| -0.1))])
    };
    let all = names(&["speed", "effort"]);
    let of = |runs: Vec<RunSeries>| {
        let reflection = reflect(&all, &runs, &[]);
        reflection.findings.iter().find(|finding| finding.rule == "F19").cloned()
    };
    let found = of((0..4).map(gamed).collect()).unwrap();
    assert_eq!((found.severity, found.seeds, found.of), (Severity::Error, 4, 4));
    assert!(found.value < 0.0 && found.text.contains("falls"), "{found:?}");
    assert_eq!(of((0..4).map(honest).collect()), None);
    // Half of the seeds are not most of them.
    assert_eq!(of((0..2).map(gamed).chain((2..4).map(honest)).collect()), None);
    // Without the task metric, nothing is claimed.
    let unknown = RunSeries { task: None, ..gamed(0) };
    assert_eq!(of(vec![unknown]), None);
}

#[test]
fn ending_early_pays() {
    let one = RunSeries {
        length: Some(course(30, |at| 200.0 - 150.0 * at)),
        ..run(1, &[("effort", course(30, |at| -10.0 + 8.0 * at))])
    };
    let found = reflect(&names(&["effort"]), std::slice::from_ref(&one), &[]);
    assert!(rules(&found).contains(&("F29", Severity::Error, None)), "{:?}", found.findings);
    let longer = RunSeries { length: Some(course(30, |at| 50.0 + 150.0 * at)), ..one };
    assert!(!rules(&reflect(&names(&["effort"]), &[longer], &[])).iter().any(|(rule, ..)| *rule == "F29"));
}

#[test]
fn missing_nan_and_uneven_series() {
    let mut damaged =
        run(1, &[("a", course(50, |at| at)), ("b", vec![Point { step: None, value: f64::NAN }])]);
    damaged.components.insert("c".to_owned(), Err("train/metrics.jsonl: no /c".to_owned()));
    let mut whole =
        run(2, &[("a", course(7, |at| at)), ("b", course(500, |at| -at)), ("c", course(3, |_| 1.0))]);
    if let Some(Ok(points)) = whole.components.get_mut("a") {
        points[3].value = f64::INFINITY;
    }
    let reflection = reflect(&names(&["a", "b", "c", "d"]), &[damaged, whole], &[]);
    let [a, b, c, d] = reflection.components.as_slice() else { panic!("four were asked for") };
    assert_eq!((a.runs, a.non_finite), (2, 1));
    assert_eq!((b.runs, b.missing["run-1"].as_str()), (1, "all values are NaN or infinite"));
    assert_eq!((c.runs, c.missing["run-1"].as_str()), (1, "train/metrics.jsonl: no /c"));
    assert_eq!((d.runs, d.trend, d.max, d.share), (0, Trend::Unknown, None, None));
    // The share of a component is unknown while another one is.
    assert_eq!(a.share, None);
    assert_eq!(rules(&reflection)[0], ("F01", Severity::Error, Some("a")));
    assert!(
        reflection.not_measured.iter().any(|text| text.starts_with("d: ")),
        "{:?}",
        reflection.not_measured
    );
}

#[test]
fn the_incumbent_is_what_a_component_is_compared_with() {
    let with = |number, size: f64| {
        run(number, &[("a", course(20, |at| size * at)), ("b", course(20, |at| 1.0 - at))])
    };
    let old: Vec<RunSeries> = (0..5).map(|number| with(number, 1.0)).collect();
    let new: Vec<RunSeries> = (0..5).map(|number| with(number, 3.0)).collect();
    let reflection = reflect(&names(&["a", "b"]), &new, &old);
    let a = &reflection.components[0];
    assert!((a.share_against_incumbent.unwrap().value - 0.25).abs() < 1e-9, "{a:?}");
    assert!(a.late_mean_against_incumbent.unwrap().low.is_some_and(|low| low > 1.0));
    assert_eq!(reflection.incumbent_runs, 5);
}

proptest! {
    /// Whatever the numbers are, nothing panics, and everything that is written is finite.
    #[test]
    fn every_number_is_finite(
        values in prop::collection::vec(prop::collection::vec(prop::num::f64::ANY, 0..40), 1..6),
        task in prop::collection::vec(prop::num::f64::ANY, 0..40),
    ) {
        let points = |values: &[f64]| values.iter().map(|value| Point { step: None, value: *value }).collect::<Vec<_>>();
        let runs: Vec<RunSeries> = values
            .iter()
            .enumerate()
            .map(|(number, values)| RunSeries {
                task: Some(points(&task)),
                length: Some(points(values)),
                ..run(number as u64, &[("a", points(values)), ("b", points(&task))])
            })
            .collect();
        let reflection = reflect(&names(&["a", "b"]), &runs, &runs);
        let text = serde_json::to_value(&reflection).unwrap();
        // NaN and infinity become null in JSON, and only optional numbers may be.
        for finding in text["findings"].as_array().unwrap() {
            prop_assert!(finding["value"].is_number(), "{}", finding);
        }
        for component in text["components"].as_array().unwrap() {
            prop_assert!(component["course"].as_array().unwrap().iter().all(serde_json::Value::is_number));
            for name in ["share", "change", "with_task"] {
                prop_assert!(component[name].is_null() || component[name]["value"].is_number());
            }
        }
    }
}
