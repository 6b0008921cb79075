//! Trainings that several runs hold parts of: whatever was removed, renamed, copied, retrained or left unfinished, each
//! counts once.

use std::path::Path;

use rlxp_fs::{Fs, FsExt, RealFs};
use rlxp_ops::insight::compare::{CompareRequest, Judgement, NoVerdict, Relation};
use rlxp_ops::insight::diagnose::diagnose;
use rlxp_ops::insight::plot::{GroupBy, PlotOptions, PlotRequest, Target, XAxis, plot};
use rlxp_ops::insight::report::{ReportRequest, report};
use rlxp_ops::insight::suggest::{SuggestRequest, suggest};
use rlxp_ops::insight::summarize::{SummarizeRequest, SummaryReport, summarize};
use rlxp_store::{Metadata, Outcome, Run};
use rlxp_types::Digest;

use crate::common::World;
use crate::extended::{analyzed, ask, compared, count, plotted, summarized};

const SEEDS: [u64; 3] = [0, 1, 2];

fn rising(seed: u64, step: u64) -> Option<f64> {
    Some(seed as f64 + step as f64 / 40.96)
}

/// As every run of one build of rlx records it.
fn built(metadata: &mut Metadata) {
    metadata.versions.binary = Some(Digest::hash(b"rlx"));
}

/// Seeds that `analyze`, `compare` and `plot` count in a group, which must be the same number.
fn seeds_of(world: &World, word: &str) -> usize {
    let [group] = &analyzed(world, &[word])[..] else { panic!("one group") };
    let analyzed: usize = group.runs.iter().map(|run| run.seeds.len()).sum();
    let compared = compared(world, ask(&[word, "other_001"])).groups[0].seeds.len();
    let plotted = plotted(world, &[word], GroupBy::Word).groups[0].seeds;
    assert_eq!((analyzed, analyzed), (compared, plotted), "{word}: {:?}", group.notes);
    analyzed
}

fn counted(world: &World, word: &str) -> Vec<String> {
    let [group] = &analyzed(world, &[word])[..] else { panic!("one group") };
    group.runs.iter().map(|run| run.name.clone()).collect()
}

fn with_other() -> World {
    let world = World::new();
    let other = world.run("other").seeds(&SEEDS).set("algo.learning_rate=0.01");
    other.scores(|seed| 50.0 + seed as f64).make();
    world
}

/// `a_001`, extended by `b_001`, extended by `c_001`.
fn chain() -> (World, Run) {
    let world = with_other();
    let a = world.run("a").seeds(&SEEDS).returns(rising).make();
    let b = world.run("b").returns(rising).extending(&a, 4096).make();
    world.run("c").returns(rising).extending(&b, 6144).make();
    (world, b)
}

fn copy(from: &Path, to: &Path) {
    RealFs.create_dir(to).unwrap();
    for entry in RealFs.list(from).unwrap() {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        if RealFs.is_folder(&from).unwrap() {
            copy(&from, &to);
        } else {
            RealFs.write_atomic(&to, &RealFs.read(&from, 1 << 30).unwrap()).unwrap();
        }
    }
}

#[test]
fn a_training_whose_middle_run_was_removed_counts_once() {
    let (world, b) = chain();
    assert_eq!(seeds_of(&world, "a_001+c_001"), 3);
    RealFs.remove_dir_all(b.path()).unwrap();
    assert_eq!(seeds_of(&world, "a_001+c_001"), 3);
    assert_eq!(counted(&world, "a_001+c_001"), ["c_001"]);
}

#[test]
fn a_run_that_was_renamed_is_found_by_its_id() {
    let (world, b) = chain();
    let renamed = b.path().with_file_name("renamed_001");
    copy(b.path(), &renamed);
    RealFs.remove_dir_all(b.path()).unwrap();
    assert_eq!(seeds_of(&world, "a_001+c_001"), 3);
    let drawn = plotted(&world, &["c_001"], GroupBy::Word);
    assert_eq!(drawn.groups[0].points.len(), 24, "the curve of all three: {:?}", drawn.notes);
    assert_eq!(count(&drawn.notes, "c_001 extends renamed_001 and a_001"), 1, "{:?}", drawn.notes);
}

#[test]
fn an_unfinished_extension_does_not_replace_a_finished_run() {
    let world = with_other();
    let a = world.run("a").seeds(&SEEDS).returns(rising).make();
    world.run("long").returns(rising).extending(&a, 3072).make();
    let until = |last: u64| move |seed: u64, step: u64| rising(seed, step).filter(|_| step <= last);
    for (name, last) in [("never", 0), ("stopped", 3000)] {
        let plan = world.run(name).returns(until(last)).extending(&a, 9216);
        plan.outcome(Some(Outcome::Interrupted)).make();
    }
    assert_eq!(counted(&world, "a_001+never_001"), ["a_001"]);
    assert_eq!(counted(&world, "a_001+stopped_001+never_001+long_001"), ["long_001"]);
    let [group] = &analyzed(&world, &["a_001+stopped_001"])[..] else { panic!("one group") };
    let note = "stopped_001: seeds 0-2 count once, as part of a_001: the extension is unfinished";
    assert_eq!(group.notes, [note]);
    assert_eq!(seeds_of(&world, "a_001+stopped_001"), 3);
    let set = summarized(&world, &["a_001", "stopped_001", "never_001"]);
    assert_eq!(set.counts.seeds, 3, "{:?}", set.notes);
}

#[test]
fn two_extensions_of_one_run_share_their_beginning() {
    let world = with_other();
    let a = world.run("a").seeds(&SEEDS).returns(rising).make();
    world.run("b").returns(rising).extending(&a, 3072).make();
    world.run("c").returns(|seed, step| rising(seed, 2 * step)).extending(&a, 4096).make();
    let [group] = &analyzed(&world, &["b_001+c_001"])[..] else { panic!("one group") };
    assert_eq!(count(&group.notes, "b_001: seeds 0-2 count once, as c_001 shares their beginning"), 1);
    let request = CompareRequest { force: true, ..ask(&["b_001", "c_001"]) };
    match &compared(&world, request).comparisons[0].judgement {
        Judgement::Unjudged(none) => {
            let why = "No verdict: A and B have the beginning of 3 seeds in common and are not independent.";
            assert_eq!((none.reason, none.statements[0].as_str()), (NoVerdict::SharedTrainings, why));
        }
        judged => panic!("judged: {judged:?}"),
    }
    let continued = &compared(&world, ask(&["b_001+c_001", "other_001"])).groups[0].continued;
    assert!(continued.iter().all(|one| one.relation == Relation::SharedBeginning), "{continued:?}");
}

#[test]
fn the_same_training_made_twice_counts_once_also_if_it_was_extended() {
    let world = with_other();
    let [a, again] =
        ["a", "again"].map(|name| world.run(name).seeds(&SEEDS).metadata(built).returns(rising).make());
    for (name, parent) in [("long", &a), ("longer", &again)] {
        world.run(name).metadata(built).returns(rising).extending(parent, 4096).make();
    }
    for word in ["a_001+again_001", "long_001+longer_001", "a_001+longer_001", "again_001+long_001"] {
        assert_eq!(seeds_of(&world, word), 3, "{word}");
    }
    // Trainings that differ are two, whatever their configs.
    world.run("noisy").seeds(&SEEDS).metadata(built).returns(|seed, step| rising(seed + 1, step)).make();
    assert_eq!(seeds_of(&world, "noisy_001+long_001"), 6);
    let set = summarized(&world, &["long_001", "longer_001"]);
    assert_eq!(set.environments[0].groups.len(), 1, "one config");
}

#[test]
fn a_copy_in_the_other_group_makes_them_dependent() {
    let world = with_other();
    let a = world.run("a").seeds(&SEEDS).returns(rising).make();
    copy(a.path(), &a.path().with_file_name("copied_001"));
    world.run("again").seeds(&SEEDS).returns(rising).make();
    for other in ["copied_001", "again_001"] {
        match &compared(&world, ask(&["a_001", other])).comparisons[0].judgement {
            Judgement::Unjudged(none) => {
                assert_eq!(none.reason, NoVerdict::SharedTrainings, "{other}");
                assert!(none.statements[0].contains("3 trainings are in both"), "{:?}", none.statements);
            }
            judged => panic!("{other} is judged: {judged:?}"),
        }
    }
}

#[test]
fn seeds_that_got_to_different_steps_are_described_by_their_range() {
    let world = World::new();
    let until = |seed: u64, step: u64| rising(seed, step).filter(|_| seed < 2 || step <= 512);
    let partly = world.run("partly").seeds(&SEEDS).returns(until);
    partly.outcome(Some(Outcome::Interrupted)).make();
    let [group] = &analyzed(&world, &["partly_001"])[..] else { panic!("one group") };
    assert_eq!((group.fewest_steps, group.steps, group.total_steps), (512, 2048, 2048));
    let diagnosis = diagnose(&world.context, "partly_001").unwrap();
    assert_eq!((diagnosis.fewest_steps, diagnosis.steps), (512, 2048));
    let request = SummarizeRequest { words: vec!["partly_001".to_owned()], best: None };
    let SummaryReport::Run(run) = summarize(&world.context, &request).unwrap() else { panic!("one run") };
    assert!(run.paragraph.contains("512 to 2,048 of 2,048 steps per seed"), "{}", run.paragraph);
    let request = SuggestRequest { run: "partly_001".to_owned(), top: 1, rules_alone: false };
    let answer = suggest(&world.context, &request).unwrap().answer;
    assert!(answer.contains("at steps 512 to 2048 over 3 seeds"), "{answer}");
}

#[test]
fn a_report_of_a_run_and_its_extension_counts_seeds_and_steps_once() {
    let world = with_other();
    let a = world.run("a").seeds(&SEEDS).returns(rising).make();
    world.run("long").returns(rising).extending(&a, 4096).make();
    let request = ReportRequest {
        words: vec!["a_001".to_owned(), "long_001".to_owned()],
        output: Some("report.html".into()),
        without_videos: true,
        ..ReportRequest::default()
    };
    report(&world.context, &request, &mut |_| {}).unwrap();
    let html = String::from_utf8(RealFs.read(&world.path().join("report.html"), 1 << 30).unwrap()).unwrap();
    assert!(html.contains("3 seeds, 12,288 training steps in total"));
}

#[test]
fn pairs_that_are_not_independent_are_not_advised_to_be_compared_unpaired() {
    let world = with_other();
    let up = |seed: u64, step: u64| rising(seed, step);
    let a = world.run("a").seeds(&[0, 1, 2, 3, 4]).returns(up).make();
    world.run("long").returns(|seed, step| rising(10 - seed, step)).extending(&a, 4096).make();
    let request = CompareRequest { force: true, paired: true, ..ask(&["a_001", "long_001"]) };
    let report = compared(&world, request);
    let said = format!("{:?}", report.comparisons[0].judgement);
    assert!(said.contains("statements") && !said.contains("an unpaired comparison"), "{said}");
}

#[test]
fn time_between_a_run_and_its_extension_is_not_training() {
    let world = World::new();
    let a = world.run("a").returns(rising).make();
    let long = world.run("long").returns(rising).extending(&a, 4096).make();
    // The extension's records are of the next day.
    for folder in long.seed_folders().unwrap() {
        let text = String::from_utf8(RealFs.read(&folder.metrics_path(), 1 << 30).unwrap()).unwrap();
        // They are of updates 9 to 16.
        let later = text.replace("\"wall\":9", "\"wall\":86409").replace("\"wall\":1", "\"wall\":8641");
        RealFs.write_atomic(&folder.metrics_path(), later.as_bytes()).unwrap();
    }
    let options = PlotOptions { x: XAxis::Time, ..PlotOptions::default() };
    let runs = vec!["long_001".to_owned()];
    let request = PlotRequest { runs, options, target: Target::Nowhere, ..PlotRequest::default() };
    let drawn = plot(&world.context, &request).unwrap();
    let last = drawn.groups[0].points.last().unwrap().x;
    assert!(last < 1000.0 && drawn.x_unit == "s", "{last} {}", drawn.x_unit);
}

#[test]
fn runs_of_two_projects_with_the_same_name_are_two() {
    let world = with_other();
    let a = world.run("a").seeds(&SEEDS).returns(rising).make();
    world.run("long").returns(rising).extending(&a, 4096).make();
    let elsewhere = World::new();
    elsewhere.run("a").seeds(&SEEDS).returns(|seed, step| rising(seed, 3 * step)).make();
    let folder = elsewhere.path().display().to_string();
    let set = summarized(&world, &["a_001", "long_001", &folder]);
    assert_eq!(set.counts.seeds, 6, "{:?}", set.notes);
}
