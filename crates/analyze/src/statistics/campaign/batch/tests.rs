use super::*;
use rlxp_types::Stream;

fn request(candidates: usize) -> Request {
    Request {
        candidates: (0..candidates).map(|index| format!("c{index}")).collect(),
        runs: None,
        batches: 1,
        error: 0.05,
        effect: 1.0,
        comparison: Comparison::default(),
        first_seed: 100,
    }
}

/// Scores for everything that is wanted; a group's mean is its number times `gain`.
fn train(batch: &Batch, stream: &mut Stream, good: &str, gain: f64) -> Scores {
    let mut scores = Scores::new();
    for Wanted { group, seeds } in batch.wanted() {
        let shift = if group == good { gain } else { 0.0 };
        let own = scores.entry(group).or_default();
        own.extend(seeds.into_iter().map(|seed| (seed, Some(shift + stream.normal_pair().0))));
    }
    scores
}

fn play(plan: &Plan, stream: &mut Stream, good: &str, gain: f64) -> (Batch, Step) {
    let mut batch = Batch::new(plan.clone());
    loop {
        let (next, step) = batch.look(&train(&batch, stream, good, gain)).unwrap();
        batch = next;
        match step {
            Step::MoreSeeds { .. } => assert!(!batch.wanted().is_empty()),
            end => return (batch, end),
        }
    }
}

#[test]
fn ten_candidates_are_planned_as_measured() {
    let plan = plan(request(10)).unwrap();
    let rounds: Vec<(usize, u64)> = plan.rounds.iter().map(|round| (round.candidates, round.seeds)).collect();
    assert_eq!(rounds, [(10, 2), (6, 1), (3, 3)]);
    assert_eq!(plan.looks.iter().map(|look| look.seeds).collect::<Vec<_>>(), [7, 14, 21, 28, 35]);
    assert_eq!(plan.largest_runs, 105);
    assert!((0.62..0.76).contains(&plan.power.found), "{:?}", plan.power);
    assert!((55.0..75.0).contains(&plan.power.mean_runs), "{:?}", plan.power);
}

#[test]
fn a_clear_winner_is_accepted_and_equals_are_not() {
    let plan = plan(request(6)).unwrap();
    let mut stream = Stream::new(5, "test", 0);
    let (batch, step) = play(&plan, &mut stream, "c4", 4.0);
    let Step::Accept { look } = step else { panic!("{step:?}") };
    assert_eq!((look.candidate.as_str(), look.look), ("c4", 1));
    assert!(batch.wanted().is_empty());
    assert!(batch.look(&Scores::new()).is_err());
    let accepted =
        (0..40).filter(|_| matches!(play(&plan, &mut stream, "", 0.0).1, Step::Accept { .. })).count();
    assert!(accepted <= 6, "{accepted}");
}

#[test]
fn confirm_seeds_are_fresh_and_saved_batches_continue() {
    let plan = plan(request(4)).unwrap();
    let mut stream = Stream::new(5, "test", 1);
    let mut batch = Batch::new(plan);
    let mut seen = std::collections::BTreeSet::new();
    loop {
        for wanted in batch.wanted().iter().filter(|wanted| wanted.group != INCUMBENT) {
            assert!(wanted.seeds.iter().all(|seed| seen.insert((wanted.group.clone(), *seed))));
        }
        let text = serde_json::to_string(&batch).unwrap();
        let read: Batch = serde_json::from_str(&text).unwrap();
        assert_eq!(read, batch);
        let (next, step) = read.look(&train(&batch, &mut stream, "c1", 0.5)).unwrap();
        batch = next;
        if !matches!(step, Step::MoreSeeds { .. }) {
            break;
        }
    }
    let screened: Vec<u64> = batch.scores["c0"].keys().copied().collect();
    assert_eq!(&screened[..2], [100, 101]);
    assert!(batch.scores[INCUMBENT].keys().all(|seed| *seed >= 106));
}

#[test]
fn scores_must_be_those_that_were_asked_for() {
    let batch = Batch::new(plan(request(2)).unwrap());
    let mut stream = Stream::new(5, "test", 2);
    let good = train(&batch, &mut stream, "", 0.0);
    let refused = |scores: &Scores, part: &str| {
        let problems = batch.look(scores).unwrap_err();
        assert!(problems.to_string().contains(part), "{problems}");
    };
    let mut missing = good.clone();
    missing.get_mut("c1").unwrap().remove(&101);
    refused(&missing, "c1 has no score for seed 101");
    let mut extra = good.clone();
    extra.get_mut("c0").unwrap().insert(102, Some(1.0));
    refused(&extra, "seed 102 of c0 was not asked for");
    let mut stranger = good.clone();
    stranger.insert("c9".into(), [(100, Some(1.0))].into());
    refused(&stranger, "seed 100 of c9 was not asked for");
    let mut infinite = good.clone();
    infinite.get_mut("c0").unwrap().insert(100, Some(f64::INFINITY));
    refused(&infinite, "beyond 1e150");
    let (next, _) = batch.look(&good).unwrap();
    let mut changed = train(&next, &mut stream, "", 0.0);
    changed.get_mut("c0").unwrap().insert(100, Some(99.0));
    let problems = next.look(&changed).unwrap_err();
    assert!(problems.to_string().contains("seed 100 of c0 has changed"), "{problems}");
}

#[test]
fn failed_runs_are_worse_than_all_others() {
    let batch = Batch::new(plan(request(3)).unwrap());
    let mut stream = Stream::new(5, "test", 3);
    let mut scores = train(&batch, &mut stream, "c0", 50.0);
    scores.get_mut("c0").unwrap().values_mut().for_each(|score| *score = None);
    let (next, _) = batch.look(&scores).unwrap();
    assert!(next.wanted().iter().all(|wanted| wanted.group != "c0"));
}

#[test]
fn lower_can_be_better() {
    let comparison =
        Comparison { direction: crate::statistics::verdict::Direction::Lower, ..Comparison::default() };
    let plan = plan(Request { comparison, ..request(3) }).unwrap();
    assert!(plan.power.found > 0.6);
    let (_, step) = play(&plan, &mut Stream::new(5, "test", 4), "c2", -4.0);
    assert!(matches!(step, Step::Accept { look } if look.candidate == "c2"));
}

#[test]
fn a_cap_on_runs_is_kept_or_refused() {
    for (candidates, runs) in [(2, 30), (10, 60), (10, 80), (50, 120), (50, 300), (1, 10), (20, 200)] {
        let plan = plan(Request { runs: Some(runs), ..request(candidates) }).unwrap();
        assert!(plan.largest_runs <= runs, "{candidates} {runs}: {}", plan.largest_runs);
        assert!(plan.looks[0].seeds >= FEWEST_SEEDS);
    }
    let refused = plan(Request { runs: Some(18), ..request(10) }).unwrap_err();
    assert!(refused.to_string().contains("at least 20"), "{refused}");
    let odd = Request { batches: 0, error: 0.9, effect: -1.0, ..request(51) };
    assert_eq!(plan(odd).unwrap_err().problems.len(), 4);
    let names = Request { candidates: vec!["a".into(), "a".into(), "incumbent".into()], ..request(1) };
    assert_eq!(plan(names).unwrap_err().problems.len(), 2);
}

#[test]
fn more_planned_batches_are_stricter() {
    let last = |batches| plan(Request { batches, ..request(2) }).unwrap().looks.last().unwrap().accept;
    assert!(last(3) > last(1) + 0.2);
}

#[test]
fn an_edited_batch_does_not_follow_from_its_scores() {
    let mut stream = Stream::new(5, "test", 6);
    let mut batch = Batch::new(plan(request(3)).unwrap());
    for _ in 0..2 {
        batch = batch.look(&train(&batch, &mut stream, "c1", 1.0)).unwrap().0;
        let replayed = Batch::replayed(batch.plan.request.clone(), &batch.scores).unwrap();
        assert_eq!(replayed, batch);
    }
    let mut edited = batch.clone();
    edited.plan.looks[0].accept = -99.0;
    assert_ne!(Batch::replayed(edited.plan.request.clone(), &edited.scores).unwrap(), edited);
    edited = batch.clone();
    edited.stage = Stage::Confirm { finalist: "c2".into(), look: 50 };
    assert_ne!(Batch::replayed(edited.plan.request.clone(), &edited.scores).unwrap(), edited);
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let refused = |request: Request, part: &str| {
        let problems = plan(request).unwrap_err().to_string();
        assert!(problems.contains(part), "{problems}");
    };
    let comparing = |minimum_effect, failure_score| Request {
        comparison: Comparison { minimum_effect, failure_score, ..Comparison::default() },
        ..request(2)
    };
    use crate::statistics::verdict::MinimumEffect::{Absolute, Spreads};
    refused(comparing(Absolute(f64::NAN), None), "minimum effect must be finite");
    refused(comparing(Absolute(-5.0), None), "minimum effect must be finite");
    refused(comparing(Spreads(0.2), Some(f64::INFINITY)), "failure score must be finite");
    refused(Request { first_seed: u64::MAX, ..request(2) }, "first seed is 18446744073709551615");
    refused(Request { candidates: vec![String::new()], ..request(2) }, "no name");
}
