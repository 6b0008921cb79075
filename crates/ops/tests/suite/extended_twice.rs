//! Trainings that several runs hold parts of: whatever was removed, renamed, copied, retrained or left unfinished, each
//! counts once.

use std::path::Path;

use rlxp_fs::{Fs, FsExt, RealFs};
use rlxp_ops::insight::compare::{CompareRequest, Judgement, NoVerdict, Relation};
use rlxp_ops::insight::plot::GroupBy;
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
