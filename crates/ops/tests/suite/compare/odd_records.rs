//! Comparing runs whose records are odd: truncated, of other lengths, by other code.

use super::*;

#[test]
fn odd_records_are_read_as_far_as_they_go() {
    let world = two_runs();
    let runs = ["not_finite", "empty", "torn", "gone", "größe_模型"].map(|name| {
        let nan = name == "not_finite";
        world
            .run(name)
            .seeds(&TEN)
            .returns(move |seed, step| {
                Some(if nan && seed == 3 && step == 2048 { f64::NAN } else { 10.0 + seed as f64 })
            })
            .make()
    });
    use rlxp_fs::{Fs, FsExt, RealFs};
    let folder = |index: usize, seed: usize| runs[index].seed_folders().unwrap()[seed].clone();
    RealFs.write_atomic(&folder(1, 0).metrics_path(), b"").unwrap();
    append(&folder(2, 0), "{\"seq\":24,\"step\":99");
    append(&folder(2, 1), "not a record\n");
    RealFs.remove_file(&folder(3, 0).metrics_path()).unwrap();
    for (index, failed) in [(0, 1), (2, 0), (4, 0)] {
        let name = runs[index].name();
        let report = answer(&world, &ask(&["b_001", &name]));
        let verdict = report.comparisons[0].judgement.verdict().unwrap();
        assert_eq!(verdict.verdict, Answer::Worse, "{name}");
        assert_eq!((verdict.b.n, verdict.b.failed), (10, failed), "{name}");
    }
    // What lacks a record did not fail.
    for index in [1, 3] {
        let report = answer(&world, &ask(&["b_001", &runs[index].name()]));
        assert_eq!(reason_of(&report, 0), NoVerdict::MissingScores);
        let said = report.comparisons[0].judgement.statements();
        assert!(said[1].starts_with("Seed 0 of "), "{said:?}");
    }
    let warned = |index: usize, part: &str| {
        let report = answer(&world, &ask(&["b_001", &runs[index].name()]));
        assert!(
            report.warnings.iter().any(|warning| warning.contains(part)),
            "{part}: {:?}",
            report.warnings
        );
    };
    warned(0, "seed 3 of not_finite_001 counts as failed: its eval/mean_return is NaN or infinite");
    warned(2, "seed 0: metrics.jsonl ends in the middle of a record");
    warned(2, "seed 1: metrics.jsonl, byte ");
    warned(3, "seed 0: metrics.jsonl is missing");
    // A run that was never evaluated has no scores; it did not fail.
    world.run("silent").seeds(&TEN).set("eval.every=0").make();
    world.run("silent").seeds(&TEN).set("eval.every=0").set("algo.gamma=0.9").make();
    let report = answer(&world, &ask(&["silent_001", "silent_002"]));
    assert_eq!(reason_of(&report, 0), NoVerdict::MissingScores);
    assert_eq!(report.curves[0].metric, "train/mean_return");
    let training =
        CompareRequest { metric: Some("train/mean_return".into()), ..ask(&["silent_001", "silent_002"]) };
    assert_eq!(answer(&world, &training).answer.verdict, Some(Answer::CannotTell));
}

#[test]
fn different_lengths_meet_where_both_are() {
    let world = World::new();
    world.run("a").seeds(&TEN).make();
    world.run("b").seeds(&TEN).set("algo.total_timesteps=1024").make();
    let report = answer(&world, &CompareRequest { force: true, ..ask(&["a_001", "b_001"]) });
    assert_eq!(report.metrics[0].steps.last(), Some(&1024));
    assert_eq!(report.metrics[0].groups[0].values[3], report.metrics[0].groups[1].values[3]);
    assert_eq!(report.comparisons[0].not_comparable[0].b, "1024 steps");
}

#[test]
fn code_that_differs_is_named_and_a_digest_is_called_one() {
    let world = World::new();
    let state = |commit: &str, dirt: Option<&[u8]>| GitState {
        commit: Some(commit.repeat(40)),
        branch: Some("main".into()),
        dirty: dirt.is_some(),
        dirty_digest: dirt.map(Digest::hash),
        not_covered: None,
    };
    for (name, state) in [("a", state("1", None)), ("b", state("2", Some(b"dirt")))] {
        world
            .run(name)
            .metadata(move |metadata| {
                metadata.git = Some(state.clone());
                metadata.versions.rlx = format!("0.{}", metadata.tags.len());
            })
            .make();
    }
    let changes = answer(&world, &ask(&["a_001", "b_001"])).comparisons.remove(0).changes;
    let what: Vec<&str> = changes.code.iter().map(|change| change.what).collect();
    assert_eq!(what, ["commit", "uncommitted changes"]);
    assert_eq!((changes.code[1].a.as_str(), &changes.code[1].b[..7]), ("none", "digest "));
    assert!(changes.notes[0].contains("recorded only as a digest"));
    // The folder is not a repository, let alone one with these commits.
    assert!(
        changes.files.is_none() && changes.notes[1].contains("can't show what changed"),
        "{:?}",
        changes.notes
    );
}
