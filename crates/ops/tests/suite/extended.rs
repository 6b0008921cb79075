//! A run and its extension are one training: each seed counts once, with the curve of both.

use rlxp_fs::{FsExt, RealFs};
use rlxp_ops::insight::analyze::{AnalyzeRequest, GroupAnalysis, analyze};
use rlxp_ops::insight::compare::{CompareReport, CompareRequest, Judgement, NoVerdict, compare};
use rlxp_ops::insight::plot::{GroupBy, PlotOptions, PlotReport, PlotRequest, Target, plot};
use rlxp_ops::insight::report::{ReportRequest, report};
use rlxp_ops::insight::summarize::{SetSummary, SummarizeRequest, SummaryReport, summarize};

use crate::common::World;

const SEEDS: [u64; 3] = [0, 1, 2];
const NOTE: &str = "short_001: seeds 0-2 count once, as long_001 continues the same training";

/// `short_001` of three seeds, `long_001` that extends it to twice the steps, and `other_001` of as many steps.
fn world() -> World {
    let world = World::new();
    let rising = |seed: u64, step: u64| Some(seed as f64 + step as f64 / 40.96);
    let short = world.run("short").seeds(&SEEDS).tag("all").returns(rising).make();
    world.run("long").tag("all").returns(rising).extending(&short, 4096).make();
    let other = world.run("other").seeds(&SEEDS).set("algo.total_timesteps=4096");
    other.set("algo.learning_rate=0.01").scores(|seed| 50.0 + seed as f64).make();
    world
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(crate) fn analyzed(world: &World, named: &[&str]) -> Vec<GroupAnalysis> {
    analyze(&world.context, &AnalyzeRequest { words: words(named), no_baseline: true }).unwrap().groups
}

pub(crate) fn compared(world: &World, request: CompareRequest) -> CompareReport {
    compare(&world.context, &request).unwrap()
}

pub(crate) fn ask(named: &[&str]) -> CompareRequest {
    CompareRequest { words: words(named), ..CompareRequest::default() }
}

pub(crate) fn summarized(world: &World, named: &[&str]) -> SetSummary {
    let request = SummarizeRequest { words: words(named), best: None };
    match summarize(&world.context, &request).unwrap() {
        SummaryReport::Set(set) => set,
        SummaryReport::Run(run) => panic!("only {}", run.run),
    }
}

pub(crate) fn plotted(world: &World, runs: &[&str], group_by: GroupBy) -> PlotReport {
    let options = PlotOptions { group_by, ..PlotOptions::default() };
    let request =
        PlotRequest { runs: words(runs), options, target: Target::Nowhere, ..PlotRequest::default() };
    plot(&world.context, &request).unwrap()
}

pub(crate) fn count(notes: &[String], text: &str) -> usize {
    notes.iter().filter(|note| note.contains(text)).count()
}

#[test]
fn analyze_tells_one_story_of_both() {
    let world = world();
    for word in ["short_001+long_001", "long_001+short_001", "tag:all"] {
        let [group] = &analyzed(&world, &[word])[..] else { panic!("one group") };
        assert_eq!(group.story.result.unwrap().seeds, 3, "{word}");
        assert_eq!((group.total_steps, group.runs.len()), (4096, 1), "{word}");
        assert_eq!(count(&group.notes, NOTE), 1, "{:?}", group.notes);
        assert_eq!(count(&group.notes, "long_001 extends short_001"), 1, "{:?}", group.notes);
        // The first evaluation is that of the run that was extended.
        assert_eq!(group.story.phases[0].from_step, 256, "{:?}", group.story.phases);
    }
    assert_eq!(analyzed(&world, &["short_001", "long_001"]).len(), 2, "two words are two stories");
}

#[test]
fn compare_counts_and_judges_the_extension() {
    let world = world();
    let report = compared(&world, ask(&["short_001+long_001", "other_001"]));
    let a = &report.groups[0];
    let counted: Vec<(&str, u64)> = a.seeds.iter().map(|seed| (seed.run.as_str(), seed.seed)).collect();
    assert_eq!(counted, [("long_001", 0), ("long_001", 1), ("long_001", 2)]);
    assert_eq!(a.continued.len(), 3);
    assert_eq!(count(&report.warnings, NOTE), 1, "{:?}", report.warnings);
    assert!(report.comparisons[0].not_comparable.is_empty(), "{:?}", report.comparisons[0].not_comparable);
    // By config, each is the result of its own budget.
    let by_config = CompareRequest { by_config: true, ..ask(&["tag:all"]) };
    let report = compared(&world, by_config);
    assert_eq!(report.groups.iter().map(|group| group.seeds.len()).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(report.comparisons[0].not_comparable[0].key.as_str(), "budget");
}

#[test]
fn a_run_and_its_extension_share_their_first_steps_and_are_not_independent() {
    let world = world();
    let report = compared(&world, ask(&["short_001", "long_001"]));
    let first = &report.metrics[0];
    assert_eq!((first.metric.as_str(), first.steps[3]), ("eval/mean_return", 2048));
    assert_eq!(first.groups[1].differences[3], Some(0.0));
    assert_eq!(report.curves[1].points.len(), 16, "the extension has the whole curve");
    assert_eq!(count(&report.warnings, "long_001 extends short_001"), 1, "{:?}", report.warnings);
    let forced = |paired| CompareRequest { force: true, paired, ..ask(&["short_001", "long_001"]) };
    match &compared(&world, forced(false)).comparisons[0].judgement {
        Judgement::Unjudged(none) => assert_eq!(none.reason, NoVerdict::SharedTrainings),
        judged => panic!("judged: {judged:?}"),
    }
    assert!(compared(&world, forced(true)).comparisons[0].judgement.verdict().is_some());
}

#[test]
fn summarize_counts_the_seeds_of_both_once() {
    let world = world();
    let set = summarized(&world, &["short_001", "long_001"]);
    assert_eq!((set.counts.runs, set.counts.seeds), (2, 3));
    let groups = &set.environments[0].groups;
    let seeds: Vec<(&str, usize)> =
        groups.iter().map(|group| (group.runs[0].as_str(), group.seeds + group.unscored)).collect();
    assert_eq!(seeds, [("long_001", 3), ("short_001", 3)], "each is the result of its own budget");
    assert_eq!(set.notes, [format!("{NOTE}; each has a row, as the result of its own budget")]);
    assert!(!set.environments[0].judgeable);
    assert!(set.next.iter().all(|command| !command.starts_with("rlx compare")), "{:?}", set.next);
    assert_eq!(summarized(&world, &["short_001", "other_001"]).counts.seeds, 6);
}

#[test]
fn a_report_draws_both_as_one_curve() {
    let world = world();
    let request = ReportRequest {
        words: words(&["tag:all"]),
        output: Some("report.html".into()),
        without_videos: true,
        ..ReportRequest::default()
    };
    let made = report(&world.context, &request, &mut |_| {}).unwrap();
    assert_eq!(made.groups.len(), 1);
    let html = String::from_utf8(RealFs.read(&world.path().join("report.html"), 1 << 30).unwrap()).unwrap();
    assert!(html.contains(NOTE) && html.contains("seeds with one: 3 of 3"), "{html}");
    // An axis that ends at 4,096 would begin at 2,304 without the run that was extended.
    let drawn = plotted(&world, &["tag:all"], GroupBy::Word);
    assert_eq!((drawn.groups[0].seeds, drawn.groups[0].points.len()), (3, 16));
}

#[test]
fn a_run_that_is_named_twice_counts_once() {
    let world = world();
    let twice = "other_001 is named more than once and counts once";
    for named in [&["other_001", "other_001"][..], &["other_001", "oth"], &["other_001+other_001"]] {
        let groups = analyzed(&world, named);
        assert_eq!((groups.len(), groups[0].story.result.unwrap().seeds), (1, 3), "{named:?}");
        let drawn = plotted(&world, named, GroupBy::Word);
        assert_eq!((drawn.groups.len(), drawn.groups[0].seeds), (1, 3), "{named:?}");
        assert_eq!(count(&drawn.notes, twice), named.len() - 1, "{:?}", drawn.notes);
    }
    let compared = compared(&world, ask(&["other_001", "long_001", "other_001"]));
    assert_eq!(compared.groups.len(), 2);
    assert_eq!(count(&compared.warnings, twice), 1, "{:?}", compared.warnings);
    // A run within a group and by itself makes two curves that overlap.
    let overlapping = plotted(&world, &["short_001+other_001", "other_001"], GroupBy::Word);
    assert_eq!(overlapping.groups.len(), 2);
    assert_eq!(count(&overlapping.notes, "other_001 is part of more than one curve"), 1);
}

#[test]
fn a_curve_whose_beginning_is_gone_says_so() {
    let world = world();
    let drawn = plotted(&world, &["short_001", "long_001"], GroupBy::None);
    assert_eq!(drawn.groups.len(), 2, "run by run, both have a curve");
    RealFs.remove_dir_all(world.project.run("short_001").path()).unwrap();
    let drawn = plotted(&world, &["long_001"], GroupBy::Word);
    assert_eq!(drawn.groups[0].points.len(), 8);
    let late = "long_001: its curve begins at step 2,048 because short_001, which it extends, is gone.";
    assert_eq!(count(&drawn.notes, late), 1, "{:?}", drawn.notes);
}
