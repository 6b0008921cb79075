//! Asking again, and seeds that failed: what is remembered, and what keeps a failed seed from looking good.

use std::path::PathBuf;

use rlxp_fs::{Fs, FsExt, RealFs};

use super::*;

fn recorded(words: &[&str]) -> CompareRequest {
    CompareRequest { record: true, ..ask(words) }
}

/// Runs of the seeds `from..from + count`, one for each group; B is better by `gain`.
fn add_seeds(world: &World, from: u64, count: u64, gain: f64) {
    let seeds: Vec<u64> = (from..from + count).collect();
    let score = |seed: u64| (seed * 7919 % 100) as f64;
    world.run("a").seeds(&seeds).scores(score).make();
    world.run("b").seeds(&seeds).set("algo.gamma=0.9").scores(move |seed| score(seed * 31) + gain).make();
}

fn file(world: &World) -> PathBuf {
    world.path().join("analysis/questions.jsonl")
}

fn lines(world: &World) -> Vec<serde_json::Value> {
    let Ok(text) = RealFs.read_text(&file(world), 1 << 20) else { return Vec::new() };
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn look_of(report: &CompareReport) -> (Option<usize>, usize, bool) {
    let look = report.comparisons[0].look.unwrap();
    (look.number, look.planned, look.recorded)
}

#[test]
fn more_seeds_are_the_next_look_once_the_plan_is_reached() {
    let world = World::new();
    add_seeds(&world, 0, 5, 20.0);
    let first = answer(&world, &recorded(&["a_001", "b_001"]));
    assert_eq!(look_of(&first), (Some(1), 2, true));
    assert_eq!(first.answer.verdict, Some(Answer::CannotTell));
    let verdict = first.comparisons[0].judgement.verdict().unwrap();
    let planned = 5 + verdict.seeds_needed.unwrap();
    assert_eq!(verdict.alpha, 0.0125);
    assert_eq!(first.comparisons[0].look.unwrap().seeds_planned, Some(planned));
    let says = |report: &CompareReport, part: &str| {
        let said = report.comparisons[0].judgement.statements();
        assert!(said.iter().any(|sentence| sentence.contains(part)), "{part}: {said:?}");
    };
    says(&first, "Look 1 of 2: each direction is tested at level 0.0125.");
    says(&first, &format!("The next look is planned with {planned} seeds per group."));
    assert_eq!(lines(&world).len(), 1);

    // The same seeds, in whatever order, are the same look; so is a copy of the training.
    let again = answer(&world, &recorded(&["a_001", "b_001"]));
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&first).unwrap());
    let turned = answer(&world, &recorded(&["b_001", "a_001"]));
    assert_eq!(look_of(&turned), (Some(1), 2, true));
    assert_eq!(lines(&world).len(), 1);

    // More seeds, but not those of the plan: numbers, and the commands for the rest.
    add_seeds(&world, 5, 2, 20.0);
    let words = ["a_001+a_002", "b_001+b_002"];
    let waiting = answer(&world, &recorded(&words));
    assert_eq!(look_of(&waiting), (None, 2, false));
    assert_eq!(waiting.answer.reason.as_deref(), Some("plan_not_reached"));
    assert_eq!(
        (waiting.answer.verdict, waiting.answer.seeds_needed),
        (Some(Answer::CannotTell), Some(planned - 7))
    );
    says(&waiting, &format!("7 of {planned} planned seeds per group"));
    let count = planned - 7;
    assert!(waiting.next[0].contains(&format!("--set seed=7 --set seeds={count} ")), "{:?}", waiting.next);
    let json = serde_json::to_value(&waiting).unwrap();
    assert_eq!(json["comparisons"][0]["reason"], "plan_not_reached");
    assert_eq!(json["comparisons"][0]["verdict"], "cannot_tell");
    assert_eq!(json["comparisons"][0]["look"]["number"], serde_json::Value::Null);
    assert!(json["comparisons"][0]["effect"].is_number());
    assert_eq!(lines(&world).len(), 1);

    // As many seeds as the first look had, but others, add nothing to it.
    add_seeds(&world, 100, 5, 500.0);
    let others = answer(&world, &recorded(&["a_003", "b_003"]));
    assert_eq!(others.answer.reason.as_deref(), Some("no_more_seeds"));

    // The plan is reached.
    add_seeds(&world, 7, planned - 7, 20.0);
    let words = ["a_001+a_002+a_004", "b_001+b_002+b_004"];
    let second = answer(&world, &recorded(&words));
    assert_eq!(look_of(&second), (Some(2), 2, true));
    assert_eq!(lines(&world).len(), 2);
    let first = answer(&world, &recorded(&["a_001", "b_001"]));
    assert_eq!(look_of(&first), (Some(1), 2, true));

    // Everything after that is descriptive, however clear it is.
    let words = ["a_001+a_002+a_003+a_004", "b_001+b_002+b_003+b_004"];
    let third = answer(&world, &recorded(&words));
    assert_eq!(
        (third.answer.verdict, third.answer.reason.as_deref()),
        (Some(Answer::CannotTell), Some("looks_used_up"))
    );
    assert_eq!((third.answer.seeds_needed, third.next.is_empty()), (None, true));
    assert_eq!(lines(&world).len(), 2);
}

#[test]
fn other_questions_have_looks_of_their_own() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    world.run("c").seeds(&[0, 1, 2, 3, 4]).set("algo.gamma=0.8").scores(|seed| 5.0 + seed as f64).make();
    let both = ["a_001", "b_001"];
    let questions = [
        recorded(&both),
        CompareRequest { score: ScoreKind::Area, ..recorded(&both) },
        CompareRequest { metric: Some("entropy".into()), ..recorded(&both) },
        CompareRequest { lower: true, ..recorded(&both) },
        recorded(&["a_001", "c_001"]),
    ];
    for (index, request) in questions.iter().enumerate() {
        assert_eq!(look_of(&answer(&world, request)), (Some(1), 2, true), "{request:?}");
        assert_eq!(lines(&world).len(), index + 1, "{request:?}");
    }
    // Each pair of several groups is its own question, and these were asked already.
    let all = answer(&world, &recorded(&["a_001", "b_001", "c_001"]));
    assert!(all.comparisons.iter().all(|one| one.judgement.verdict().unwrap().alpha == 0.0125));
    assert!(all.comparisons.iter().all(|one| one.look.unwrap().recorded));
    assert_eq!(lines(&world).len(), questions.len());
    // Showing a question, as a report does, is not a look.
    let shown = answer(&world, &CompareRequest { score: ScoreKind::Best, ..ask(&both) });
    assert_eq!((look_of(&shown), shown.answer.verdict), ((Some(1), 2, false), Some(Answer::Better)));
    assert_eq!(lines(&world).len(), questions.len());
}

#[test]
fn groups_of_one_config_are_looks_at_the_same_question() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    add_seeds(&world, 5, 6, 500.0);
    // A run that is named twice is one group; six other seeds are the second look; five of those add nothing.
    world.run("b").seeds(&[5, 6, 7, 8, 20]).set("algo.gamma=0.9").scores(|seed| seed as f64).make();
    let words = ["a_001", "b_001", "b_001", "b_002", "b_003"];
    let numbers = |report: &CompareReport| -> Vec<Option<usize>> {
        report.comparisons.iter().map(|one| one.look.unwrap().number).collect()
    };
    let first = answer(&world, &recorded(&words));
    assert_eq!(numbers(&first), [Some(1), Some(2), None]);
    assert!(first.comparisons[..2].iter().all(|one| one.look.unwrap().recorded));
    assert_eq!(first.comparisons[0].holm.unwrap().comparisons, 2);
    assert!(first.warnings.iter().any(|warning| warning.contains("b_001 is named more than once")));
    assert_eq!(lines(&world).len(), 2);
    let again = answer(&world, &recorded(&words));
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&first).unwrap());
}

#[test]
fn the_first_look_fixes_how_many_there_are() {
    let world = World::new();
    add_seeds(&world, 0, 5, 20.0);
    let single = CompareRequest { looks: Some(1), ..recorded(&["a_001", "b_001"]) };
    let report = answer(&world, &single);
    assert_eq!((look_of(&report), report.comparisons[0].look.unwrap().level), ((Some(1), 1, true), 0.025));
    assert_eq!((report.answer.verdict, report.next.len()), (Some(Answer::CannotTell), 0));
    assert_eq!(look_of(&answer(&world, &recorded(&["a_001", "b_001"]))), (Some(1), 1, true));
    let other = compare(&world.context, &CompareRequest { looks: Some(2), ..single.clone() }).unwrap_err();
    assert_eq!((other.code, other.exit), ("looks_are_planned", rlxp_types::Exit::Usage));
    assert!(other.message.contains("1 look for A and B"), "{}", other.message);
    for looks in [0, 6] {
        let wrong = compare(&world.context, &CompareRequest { looks: Some(looks), ..single.clone() });
        assert_eq!(wrong.unwrap_err().code, "out_of_range");
    }
    add_seeds(&world, 5, 5, 20.0);
    let later = answer(&world, &recorded(&["a_001+a_002", "b_001+b_002"]));
    assert_eq!(later.answer.reason.as_deref(), Some("looks_used_up"));
}

#[test]
fn too_few_seeds_are_no_look() {
    let world = World::new();
    add_seeds(&world, 0, 3, 500.0);
    let few = answer(&world, &recorded(&["a_001", "b_001"]));
    assert_eq!((look_of(&few), few.answer.reason.as_deref()), ((Some(1), 2, false), Some("too_few_seeds")));
    assert!(few.next[0].contains("--set seed=3 --set seeds=2 "), "{:?}", few.next);
    assert_eq!(lines(&world).len(), 0);
    add_seeds(&world, 3, 2, 500.0);
    let enough = answer(&world, &recorded(&["a_001+a_002", "b_001+b_002"]));
    assert_eq!((look_of(&enough), enough.answer.verdict), ((Some(1), 2, true), Some(Answer::Better)));
}

#[test]
fn where_looks_can_not_be_read_there_is_no_verdict() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    let request = recorded(&["a_001", "b_001"]);
    let folder = world.path().join("analysis");
    let check = || {
        let report = answer(&world, &request);
        assert_eq!(reason_of(&report, 0), NoVerdict::LooksUnknown);
        let said = report.comparisons[0].judgement.statements();
        assert_eq!(said[0], "No verdict: earlier looks at this question can't be read.");
    };
    // A link is not followed out of the project, neither as the file nor as its folder.
    let outside = tempfile::tempdir().unwrap();
    RealFs.symlink(outside.path(), &folder).unwrap();
    check();
    RealFs.remove_file(&folder).unwrap();
    RealFs.create_dir(&folder).unwrap();
    let target = outside.path().join("x");
    RealFs.write_atomic(&target, b"").unwrap();
    RealFs.symlink(&target, &file(&world)).unwrap();
    check();
    assert_eq!(RealFs.read_text(&target, 10).unwrap(), "");
    RealFs.remove_file(&file(&world)).unwrap();
    RealFs.create_dir(&file(&world)).unwrap();
    check();
    // The file can't exist, so there were no earlier looks; this one can't be recorded.
    RealFs.remove_dir(&file(&world)).unwrap();
    RealFs.remove_dir(&folder).unwrap();
    RealFs.write_atomic(&folder, b"a file where the folder should be").unwrap();
    let report = answer(&world, &request);
    assert_eq!((look_of(&report), report.answer.verdict), ((Some(1), 2, false), Some(Answer::Better)));
    assert!(report.warnings[0].contains("this look is not recorded"), "{:?}", report.warnings);
}

#[test]
fn garbage_and_torn_lines_hide_no_look() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    let request = recorded(&["a_001", "b_001"]);
    answer(&world, &request);
    let first = RealFs.read_text(&file(&world), 1 << 20).unwrap();
    let garbage = format!("not JSON\n{first}{{\"schema\": 7}}\n{}", &first[..first.len() / 2]);
    RealFs.write_atomic(&file(&world), garbage.as_bytes()).unwrap();
    let report = answer(&world, &request);
    assert_eq!(look_of(&report), (Some(1), 2, true));
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.contains("2 lines in analysis/questions.jsonl can't be read")),
        "{:?}",
        report.warnings
    );
    // The next look follows after what was complete; the torn bytes are set aside.
    add_seeds(&world, 5, 5, 500.0);
    assert_eq!(look_of(&answer(&world, &recorded(&["a_001+a_002", "b_001+b_002"]))), (Some(2), 2, true));
    let text = RealFs.read_text(&file(&world), 1 << 20).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(text.starts_with("not JSON\n") && text.ends_with('\n'));
}

#[test]
fn looks_at_the_same_moment_are_one_look() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    add_seeds(&world, 5, 5, 500.0);
    let five = recorded(&["a_001", "b_001"]);
    let ten = recorded(&["a_001+a_002", "b_001+b_002"]);
    std::thread::scope(|scope| {
        for request in [&five, &ten, &five, &ten, &five, &ten] {
            let world = &world;
            scope.spawn(move || answer(world, request));
        }
    });
    // Five seeds first and then ten, or ten first, after which five add nothing.
    let found = lines(&world);
    let numbers: Vec<u64> = found.iter().map(|line| line["look"].as_u64().unwrap()).collect();
    let seeds: Vec<u64> = found.iter().map(|line| line["seeds"][0].as_u64().unwrap()).collect();
    assert!((numbers == [1, 2] && seeds == [5, 10]) || (numbers == [1] && seeds == [10]), "{found:?}");
}

#[test]
fn diverged_seeds_are_no_better_than_where_they_were_last_seen() {
    let world = World::new();
    world.run("a").seeds(&TEN).scores(|seed| -200.0 - seed as f64).make();
    // Five seeds of B are good; five diverged after an evaluation at -1490.
    let returns = |seed: u64, step: u64| match (seed < 5, step < 600) {
        (true, _) => Some(-180.0 - seed as f64),
        (false, true) => Some(-1490.0),
        (false, false) => None,
    };
    world
        .run("b")
        .seeds(&TEN)
        .returns(returns)
        .failed(Some(EndCause::Diverged), "diverged: the loss is NaN")
        .make();
    let found = |request: &CompareRequest| {
        answer(&world, request).comparisons[0].judgement.verdict().unwrap().clone()
    };
    let verdict = found(&ask(&["a_001", "b_001"]));
    assert_eq!((verdict.b.failed, verdict.failure_score), (5, Some(-1490.0)));
    assert_eq!(verdict.b.mean, Some((5.0 * -182.0 + 5.0 * -1490.0) / 10.0));
    // A random policy is worse still.
    let random = |metadata: &mut rlxp_store::Metadata| metadata.random_return = Some(-1600.0);
    world
        .run("c")
        .seeds(&TEN)
        .returns(returns)
        .metadata(random)
        .failed(Some(EndCause::Diverged), "diverged")
        .make();
    assert_eq!(found(&ask(&["a_001", "c_001"])).failure_score, Some(-1600.0));
    // It has no return to be compared with where the score is another metric.
    let other = CompareRequest { metric: Some("eval/mean_length".into()), ..ask(&["a_001", "c_001"]) };
    assert_eq!(found(&other).failure_score, Some(-1490.0));
    // Where less is better, the worst is the highest; a good last evaluation doesn't help.
    let lower = CompareRequest { lower: true, ..ask(&["a_001", "b_001"]) };
    assert!(found(&lower).failure_score.unwrap() > -180.0);
    let high = |metadata: &mut rlxp_store::Metadata| metadata.random_return = Some(900.0);
    world
        .run("d")
        .seeds(&TEN)
        .returns(returns)
        .metadata(high)
        .failed(Some(EndCause::Diverged), "diverged")
        .make();
    let lower = CompareRequest { lower: true, ..ask(&["a_001", "d_001"]) };
    assert_eq!(found(&lower).failure_score, Some(900.0));
    // A high last evaluation is no merit either: a failed seed is below every finished one.
    let high =
        |seed: u64, step: u64| (seed < 5 || step < 600).then_some(if seed < 5 { -180.0 } else { 500.0 });
    world.run("e").seeds(&TEN).returns(high).failed(Some(EndCause::Diverged), "diverged").make();
    assert!(found(&ask(&["a_001", "e_001"])).failure_score.unwrap() < -209.0);
}

#[test]
fn a_look_taken_again_beside_fewer_groups_keeps_its_level() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    world.run("c").seeds(&[0, 1, 2, 3, 4]).set("algo.gamma=0.8").scores(|seed| 5.0 + seed as f64).make();
    let levels = |report: &CompareReport| -> Vec<f64> {
        report.comparisons.iter().map(|one| one.judgement.verdict().unwrap().alpha).collect()
    };
    let three = answer(&world, &recorded(&["a_001", "b_001", "c_001"]));
    assert!(levels(&three)[0] < 0.0125, "{:?}", levels(&three));
    let two = answer(&world, &recorded(&["a_001", "b_001"]));
    assert_eq!(levels(&two), levels(&three)[..1]);
    assert_eq!(two.comparisons[0].judgement.verdict(), three.comparisons[0].judgement.verdict());
}

#[test]
fn another_smallest_effect_or_evaluation_interval_is_no_other_question() {
    let world = World::new();
    add_seeds(&world, 0, 5, 20.0);
    answer(&world, &recorded(&["a_001", "b_001"]));
    add_seeds(&world, 100, 5, 20.0);
    let request = CompareRequest { minimum_effect: Some(1.0), ..recorded(&["a_002", "b_002"]) };
    assert_eq!(answer(&world, &request).answer.reason.as_deref(), Some("no_more_seeds"));
    // The same trainings, evaluated more often, are the same look, and count once.
    let curve = |seed: u64, step: u64| Some((seed * 7919 % 100) as f64 + step as f64 / 100.0);
    for (name, every) in [("seldom", "eval.every=256"), ("often", "eval.every=512")] {
        world.run(name).seeds(&[0, 1, 2, 3, 4]).set("algo.gamma=0.7").set(every).returns(curve).make();
    }
    let first = answer(&world, &recorded(&["seldom_001", "b_001"]));
    assert_eq!((look_of(&first), lines(&world).len()), ((Some(1), 2, true), 2));
    let again = answer(&world, &recorded(&["often_001", "b_001"]));
    assert_eq!((look_of(&again), lines(&world).len()), ((Some(1), 2, true), 2));
    let pooled = answer(&world, &recorded(&["seldom_001+often_001", "b_001"]));
    assert_eq!(pooled.comparisons[0].judgement.verdict().unwrap().n_a, 5);
}

#[test]
fn a_training_in_both_groups_is_not_compared_with_itself() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    for words in [["a_001", "a_001"], ["a_001", "a_001+b_001"]] {
        let report = answer(&world, &recorded(&words));
        assert_eq!(reason_of(&report, 0), NoVerdict::SharedTrainings, "{words:?}");
    }
    assert!(lines(&world).is_empty());
}

#[test]
fn a_finished_seed_without_a_record_is_no_failure() {
    let world = World::new();
    add_seeds(&world, 0, 5, 500.0);
    RealFs.remove_file(&world.path().join("runs/a_001/seeds/3/metrics.jsonl")).unwrap();
    let report = answer(&world, &recorded(&["a_001", "b_001"]));
    assert_eq!(reason_of(&report, 0), NoVerdict::MissingScores);
    let said = report.comparisons[0].judgement.statements();
    assert_eq!(said[1], "Seed 3 of a_001 (A) finished, but its record has no eval/mean_return.");
    assert!(lines(&world).is_empty());
}

#[test]
fn a_look_without_its_final_newline_still_counts() {
    let world = World::new();
    add_seeds(&world, 0, 5, 20.0);
    let planned = answer(&world, &recorded(&["a_001", "b_001"])).comparisons[0].look.unwrap().seeds_planned;
    let text = RealFs.read_text(&file(&world), 1 << 20).unwrap();
    RealFs.write_atomic(&file(&world), text.trim_end().as_bytes()).unwrap();
    add_seeds(&world, 100, 5, 20.0);
    let others = answer(&world, &recorded(&["a_002", "b_002"]));
    assert_eq!(others.answer.reason.as_deref(), Some("no_more_seeds"));
    // The next look is appended after it.
    add_seeds(&world, 200, planned.unwrap(), 20.0);
    let second = answer(&world, &recorded(&["a_003", "b_003"]));
    assert_eq!(look_of(&second), (Some(2), 2, true));
    assert_eq!(lines(&world).len(), 2);
}
