//! Groups of runs in compare, plot, summarize and report: their names, their order, what `--best` keeps, and hundreds
//! of runs on one page.

use rlxp_fs::{FsExt, RealFs};
use rlxp_ops::insight::compare::{CompareReport, CompareRequest, compare};
use rlxp_ops::insight::group_order::BestOf;
use rlxp_ops::insight::plot::{GroupBy, PlotOptions, PlotReport, PlotRequest, Target, plot};
use rlxp_ops::insight::report::{ReportRequest, report};
use rlxp_store::{Lineage, LineageKind, Metadata};

use crate::common::World;

/// Three learning rates with two seeds each; the middle one is best.
fn rates() -> World {
    let world = World::new();
    for (rate, score) in [("0.001", 10.0), ("0.003", 30.0), ("0.0001", 20.0)] {
        for seed in 0..2 {
            let plan =
                world.run("rate").set(&format!("seed={seed}")).set(&format!("algo.learning_rate={rate}"));
            plan.tag("rates").scores(move |seed| score + seed as f64).make();
        }
    }
    world
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn compared(world: &World, request: CompareRequest) -> CompareReport {
    compare(&world.context, &request).unwrap()
}

fn labels(report: &CompareReport) -> Vec<&str> {
    report.groups.iter().map(|group| group.label.as_str()).collect()
}

fn plotted(world: &World, runs: &[&str], options: PlotOptions) -> PlotReport {
    let request =
        PlotRequest { runs: words(runs), options, target: Target::Nowhere, ..PlotRequest::default() };
    plot(&world.context, &request).unwrap()
}

#[test]
fn compare_keeps_the_reference_first_and_the_others_best_first() {
    let world = rates();
    let by_config = |words_: &[&str]| CompareRequest {
        words: words(words_),
        by_config: true,
        ..CompareRequest::default()
    };
    let all = compared(&world, by_config(&["tag:rates"]));
    assert_eq!(labels(&all), ["learning_rate=0.001", "learning_rate=0.003", "learning_rate=0.0001"]);
    let letters: Vec<&str> = all.groups.iter().map(|group| group.group.as_str()).collect();
    assert_eq!((letters, all.best_of), (vec!["A", "B", "C"], None));
    let reference = CompareRequest { reference: Some("rate_003".to_owned()), ..by_config(&["tag:rates"]) };
    assert_eq!(labels(&compared(&world, reference))[0], "learning_rate=0.003");
    let lower = CompareRequest { lower: true, ..by_config(&["rate_003", "tag:rates"]) };
    assert_eq!(labels(&compared(&world, lower))[1], "learning_rate=0.001");
    // One of the words, a run within one of them, and a run beside them.
    for (reference, first) in
        [("rate_005", "rate_005"), ("rate_004", "rate_003+rate_004"), ("rate_006", "rate_006")]
    {
        let request = CompareRequest {
            words: words(&["rate_001", "rate_003+rate_004", "rate_005"]),
            reference: Some(reference.to_owned()),
            ..CompareRequest::default()
        };
        let report = compared(&world, request);
        let names: Vec<&str> = first.split('+').collect();
        let runs: Vec<&str> = report.groups[0].runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(runs, names, "{reference}");
    }
}

#[test]
fn the_best_are_kept_and_judged_as_strictly_as_all() {
    let world = rates();
    let request = |best| CompareRequest {
        words: words(&["tag:rates"]),
        by_config: true,
        best,
        ..CompareRequest::default()
    };
    let all = compared(&world, request(None));
    let best = compared(&world, request(Some(1)));
    assert_eq!(labels(&best), ["learning_rate=0.001", "learning_rate=0.003"]);
    assert_eq!(best.best_of, Some(BestOf { shown: 2, left_out: 1 }));
    assert_eq!(
        best.comparisons[0].holm, all.comparisons[0].holm,
        "choosing the best must not make it easier"
    );
    assert_eq!(compare(&world.context, &request(Some(0))).unwrap_err().code, "out_of_range");
}

#[test]
fn curves_are_named_by_what_differs_and_the_best_comes_first() {
    let world = rates();
    let by_config = || PlotOptions { group_by: GroupBy::Config, ..PlotOptions::default() };
    let labels =
        |report: &PlotReport| report.groups.iter().map(|group| group.label.clone()).collect::<Vec<_>>();
    let report = plotted(&world, &["tag:rates"], by_config());
    assert_eq!(labels(&report), ["learning_rate=0.003", "learning_rate=0.0001", "learning_rate=0.001"]);
    assert_eq!(report.groups[0].also.as_deref(), Some("rate_003 and 1 more"));
    let best = plotted(&world, &["tag:rates"], PlotOptions { best: Some(2), ..by_config() });
    assert_eq!((labels(&best).len(), best.best_of), (2, Some(BestOf { shown: 2, left_out: 1 })));
    // The order is that of the score, whatever is drawn.
    let entropy = PlotOptions { metric: Some("entropy".to_owned()), ..by_config() };
    assert_eq!(labels(&plotted(&world, &["tag:rates"], entropy))[0], "learning_rate=0.003");
    let typed = plotted(&world, &["rate_001", "tag:rates"], PlotOptions::default());
    assert_eq!(labels(&typed), ["tag:rates", "rate_001"]);
}

#[test]
fn a_report_says_how_values_at_common_steps_were_read() {
    let world = rates();
    let request = ReportRequest {
        words: words(&["rate_001", "rate_003"]),
        output: Some("report.html".into()),
        without_videos: true,
        ..ReportRequest::default()
    };
    report(&world.context, &request, &mut |_| {}).unwrap();
    let html = String::from_utf8(RealFs.read(&world.path().join("report.html"), 1 << 30).unwrap()).unwrap();
    for part in [
        "<th>at 25%</th>",
        "704 · 1,152 · 1,600 · 2,048",
        "eval: interpolated between the nearest evaluations",
        "train, timing: mean over the preceding 10% of the shared steps",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
}

#[test]
fn more_seeds_are_trained_for_every_config_with_its_tags() {
    let world = World::new();
    let flat = |of: f64| move |seed: u64| of + seed as f64;
    for gamma in ["0.9", "0.95"] {
        world.run("mixed").set(&format!("algo.gamma={gamma}")).tag("mine").scores(flat(0.0)).make();
    }
    world.run("other").tag("theirs").scores(flat(1.0)).make();
    let request = CompareRequest { words: words(&["tag:mine", "tag:theirs"]), ..CompareRequest::default() };
    let next = compared(&world, request).next;
    let starts =
        |name: &str| next.iter().filter(|one| one.starts_with(&format!("rlx train runs/{name}"))).count();
    assert_eq!((starts("mixed_001/"), starts("mixed_002/"), starts("other_001/")), (1, 1, 1), "{next:?}");
    assert!(next.iter().filter(|one| one.contains(" --tag mine ")).count() == 2, "{next:?}");
    assert!(next.iter().any(|one| one.contains(" --tag theirs ")), "{next:?}");
    // No seed is trained twice in one group.
    let first_seed = |one: &str| one.split("seed=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert_ne!(first_seed(&next[0]), first_seed(&next[1]), "{next:?}");
}

#[test]
fn a_tag_that_begins_with_a_dash_is_carried_over_as_a_tag() {
    let world = World::new();
    for (name, rate) in [("a", "0.001"), ("b", "0.01")] {
        world
            .run(name)
            .set(&format!("algo.learning_rate={rate}"))
            .tag("-x")
            .scores(|seed| seed as f64)
            .make();
    }
    let request = CompareRequest { words: words(&["a_001", "b_001"]), ..CompareRequest::default() };
    let next = compared(&world, request).next;
    assert!(!next.is_empty() && next.iter().all(|one| one.contains(" --tag=-x ")), "{next:?}");
}

#[test]
fn more_seeds_of_a_warm_start_begin_where_it_did() {
    let world = World::new();
    let lineage = Lineage {
        kind: LineageKind::WarmStart,
        parent: "old_001".to_owned(),
        parent_id: None,
        checkpoint: Some(1024),
        seed: Some(3),
        checkpoints: Default::default(),
        ancestors: Vec::new(),
    };
    let warm = move |metadata: &mut Metadata| metadata.lineage = Some(lineage.clone());
    world.run("a").scores(|seed| seed as f64).make();
    world.run("b").metadata(warm).scores(|seed| 1.0 + seed as f64).make();
    let request = CompareRequest { words: words(&["a_001", "b_001"]), ..CompareRequest::default() };
    let next = compared(&world, request).next;
    let of = |name: &str| next.iter().find(|one| one.contains(&format!("runs/{name}/"))).unwrap();
    assert!(of("b_001").contains(" --from old_001:3:step_1024 "), "{next:?}");
    assert!(!of("a_001").contains("--from"), "{next:?}");
}

#[test]
fn five_hundred_runs_are_one_page() {
    let world = World::new();
    for index in 0..500_u64 {
        let (gamma, rate) = (0.5 + (index / 10 % 10) as f64 / 100.0, 0.001 * (1 + index / 100) as f64);
        let plan =
            world.run("sweep").set(&format!("seed={}", index % 10)).set(&format!("algo.gamma={gamma}"));
        let plan = plan.set(&format!("algo.learning_rate={rate}")).tag("sweep");
        plan.returns(move |seed, step| Some((step / 256 + seed) as f64 + gamma * 100.0)).make();
    }
    let request = |best| ReportRequest {
        words: words(&["tag:sweep"]),
        output: Some("report.html".into()),
        without_videos: true,
        best,
        ..ReportRequest::default()
    };
    let made = report(&world.context, &request(None), &mut |_| {}).unwrap();
    assert_eq!(made.groups.len(), 50);
    assert!(made.bytes < 2_000_000, "the page has {} bytes", made.bytes);
    let html = String::from_utf8(RealFs.read(&world.path().join("report.html"), 1 << 30).unwrap()).unwrap();
    // A row for each group, a collapsed list of its runs, and cards for the best few.
    assert_eq!(html.matches("<details class=\"card slim\">").count(), 50);
    assert!((1..=500).all(|run| html.contains(&format!("sweep_{run:03}"))), "every run is listed");
    assert_eq!(html.matches("class=\"card verdict").count(), 6);
    assert!(
        html.contains("gamma=0.59, learning_rate=0.005") || html.contains("learning_rate=0.005, gamma=0.59")
    );
    assert!(html.contains(">and 36 more<"));
    let best = report(&world.context, &request(Some(3)), &mut |_| {}).unwrap();
    assert_eq!(best.best_of, Some(BestOf { shown: best.groups.len(), left_out: 50 - best.groups.len() }));
    assert!(best.groups.len() <= 4, "the three best and the reference");
}
