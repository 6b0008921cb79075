use super::*;

fn request() -> Request {
    Request {
        candidates: 10,
        runs: None,
        error: 0.05,
        effect: 1.0,
        comparison: Comparison::default(),
        first_seed: 0,
    }
}

fn train(row: &Sequence, stream: &mut Stream, gain: f64) -> Scores {
    let mut scores = Scores::new();
    for Wanted { group, seeds } in row.wanted() {
        let shift = if group == INCUMBENT { 0.0 } else { gain };
        scores
            .entry(group)
            .or_default()
            .extend(seeds.into_iter().map(|seed| (seed, Some(shift + stream.normal_pair().0))));
    }
    scores
}

/// Trains what is wanted until there is a decision.
fn decide(mut row: Sequence, stream: &mut Stream, gain: f64) -> (Sequence, Step) {
    loop {
        let (next, step) = row.look(&train(&row, stream, gain)).unwrap();
        row = next;
        if !matches!(step, Step::MoreSeeds { .. }) {
            return (row, step);
        }
    }
}

#[test]
fn ten_candidates_are_planned_as_measured() {
    let plan = plan(request()).unwrap();
    assert_eq!(plan.incumbent_seeds, 50);
    assert_eq!(plan.looks.iter().map(|look| look.seeds).collect::<Vec<_>>(), [5, 10, 15, 20, 25, 30]);
    assert!((0.86..0.96).contains(&plan.power.found), "{:?}", plan.power);
    assert!((140.0..200.0).contains(&plan.power.mean_runs), "{:?}", plan.power);
}

#[test]
fn an_accepted_candidate_becomes_the_incumbent_and_is_topped_up() {
    let mut stream = Stream::new(5, "test", 0);
    let row = Sequence::new(plan(request()).unwrap());
    assert!(row.open("a").is_err());
    assert_eq!(row.wanted()[0].seeds.len(), 50);
    let (row, step) = decide(row, &mut stream, 0.0);
    assert_eq!(step, Step::NextCandidate { left: 10 });
    let (row, _) = row.open("a").unwrap();
    let (row, step) = decide(row, &mut stream, 3.0);
    let Step::Accept { look } = step else { panic!("{step:?}") };
    assert_eq!((look.candidate.as_str(), row.incumbent.as_str(), row.effect), ("a", "a", None));
    let used = look.seeds.0;
    let wanted = row.wanted();
    assert_eq!((wanted[0].group.as_str(), wanted[0].seeds.len() as u64), ("a", 50 - used));
    let (row, step) = decide(row, &mut stream, 3.0);
    assert_eq!(step, Step::NextCandidate { left: 9 });
    // Reported from the seeds that had no part in accepting it.
    let effect = row.effect.unwrap();
    assert_eq!(effect.seeds, 50 - used);
    assert!((2.0..4.0).contains(&effect.typical) && (2.0..4.0).contains(&effect.mean), "{effect:?}");
    assert!(row.open("a").is_err());
    // A candidate that only equals the new incumbent is not accepted.
    let (row, _) = row.open("b").unwrap();
    let text = serde_json::to_string(&row).unwrap();
    let row: Sequence = serde_json::from_str(&text).unwrap();
    let (row, step) = decide(row, &mut stream, 3.0);
    assert!(matches!(step, Step::Drop { .. } | Step::Undecided { .. }), "{step:?}");
    assert_eq!((row.incumbent.as_str(), row.left()), ("a", 8));
}

#[test]
fn the_planned_number_of_candidates_is_all_there_is() {
    let mut stream = Stream::new(5, "test", 1);
    let (mut row, _) =
        decide(Sequence::new(plan(Request { candidates: 2, ..request() }).unwrap()), &mut stream, 0.0);
    for name in ["a", "b"] {
        row = row.open(name).unwrap().0;
        row = decide(row, &mut stream, -3.0).0;
    }
    assert!(row.open("c").unwrap_err().to_string().contains("all 2 planned candidates"));
}

#[test]
fn groups_have_seeds_of_their_own() {
    let mut stream = Stream::new(5, "test", 2);
    let (mut row, _) = decide(Sequence::new(plan(request()).unwrap()), &mut stream, 0.0);
    for name in ["a", "b", "c"] {
        row = row.open(name).unwrap().0;
        row = decide(row, &mut stream, -1.0).0;
    }
    let seeds: Vec<u64> = row.scores.values().flat_map(|scores| scores.keys().copied()).collect();
    let distinct: std::collections::BTreeSet<u64> = seeds.iter().copied().collect();
    assert_eq!(seeds.len(), distinct.len());
}

#[test]
fn a_cap_on_runs_sets_the_sizes() {
    let sized = |candidates, runs| plan(Request { candidates, runs: Some(runs), ..request() });
    for (candidates, runs) in [(10, 120), (10, 700), (1, 12), (50, 400)] {
        let plan = sized(candidates, runs).unwrap();
        assert!(plan.largest_runs <= runs, "{candidates}, {runs}: {}", plan.largest_runs);
    }
    assert!(sized(10, 20).unwrap_err().to_string().contains("at least 58"));
    assert!(
        plan(Request { candidates: 0, error: 7.0, effect: f64::NAN, ..request() })
            .unwrap_err()
            .problems
            .len()
            == 3
    );
}
