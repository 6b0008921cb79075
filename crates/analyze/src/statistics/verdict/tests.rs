//! The procedure as a whole: answers on small examples, and the properties
//! that a fair judge has.

use super::*;
use crate::statistics::sequential::Boundary;
use proptest::prelude::*;

fn ask(a: &[f64], b: &[f64], options: &Options) -> Verdict {
    verdict(Question { a, b, guardrails: &[] }, options).unwrap()
}

fn plain() -> Options {
    Options { resamples: 0, ..Options::default() }
}

fn rising(from: f64, count: u32) -> Vec<f64> {
    (0..count).map(|i| from + f64::from(i)).collect()
}

fn check(a: &[f64], b: &[f64], answer: Answer, reason: Option<Reason>) -> Verdict {
    let got = ask(a, b, &plain());
    assert_eq!((got.verdict, got.reason), (answer, reason), "{got:#?}");
    got
}

#[test]
fn clear_cases_get_clear_answers() {
    let got = check(&rising(0.0, 5), &rising(5.0, 5), Answer::Better, None);
    assert_eq!((got.effect, got.seeds_needed, got.p_better), (Some(5.0), None, 1.0 / 252.0));
    assert_eq!(got.probability_of_improvement.unwrap().value, 1.0);
    check(&rising(5.0, 5), &rising(0.0, 5), Answer::Worse, None);
    check(&[5.0; 5], &[6.0; 5], Answer::Better, None);
}

#[test]
fn scores_of_success_and_failure_are_judged_too() {
    let group =
        |successes: usize| -> Vec<f64> { (0..40).map(|run| f64::from(u8::from(run < successes))).collect() };
    let got = ask(&group(6), &group(19), &plain());
    // The median difference of two runs is 0, so the means have to say it.
    assert_eq!((got.verdict, got.effect), (Answer::Better, Some(0.0)));
    assert_eq!(ask(&group(10), &group(10), &plain()).verdict, Answer::CannotTell);
}

#[test]
fn lower_is_better_turns_the_answer_and_keeps_the_unit() {
    let options = Options { direction: Direction::Lower, ..plain() };
    let got = ask(&rising(5.0, 5), &rising(0.0, 5), &options);
    assert_eq!((got.verdict, got.effect), (Answer::Better, Some(-5.0)));
    assert!(got.interval.low.unwrap() < got.interval.high.unwrap());
    assert!(got.interval.high.unwrap() < 0.0);
    assert_eq!((got.b.lowest, got.b.highest), (Some(0.0), Some(4.0)));
    assert!(got.effect_in_spreads.unwrap() > 0.0);
}

#[test]
fn four_seeds_never_make_a_claim() {
    for (n_a, n_b) in [(4, 4), (4, 50), (0, 9), (1, 1), (0, 0)] {
        let got = check(&rising(0.0, n_a), &rising(1e3, n_b), Answer::CannotTell, Some(Reason::TooFewSeeds));
        assert_eq!(got.seeds_needed, Some(5 - u64::from(n_a.min(n_b))));
    }
    // Five pairs can't reach .025 (1/32), six can.
    let paired = Options { paired: true, ..plain() };
    let got = ask(&rising(0.0, 5), &rising(10.0, 5), &paired);
    assert_eq!((got.reason, got.seeds_needed), (Some(Reason::TooFewSeeds), Some(1)));
    assert_eq!(ask(&rising(0.0, 6), &rising(10.0, 6), &paired).verdict, Answer::Better);
}

#[test]
fn overlap_is_not_separated_and_says_how_many_seeds_would_do() {
    let got = check(
        &[1.0, 4.0, 2.0, 8.0, 5.0, 7.0],
        &[3.0, 6.0, 2.5, 9.0, 4.5, 7.5],
        Answer::CannotTell,
        Some(Reason::NotSeparated),
    );
    assert!((20..100).contains(&got.seeds_needed.unwrap()), "{:?}", got.seeds_needed);
    // Many seeds already, still undecided: more than there are.
    let a: Vec<f64> = (0..90).map(|i| f64::from(i * 37 % 90)).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 9.0).collect();
    let got = check(&a, &b, Answer::CannotTell, Some(Reason::NotSeparated));
    assert!(got.seeds_needed.unwrap() > 0);
}

#[test]
fn shown_equality_is_no_meaningful_difference() {
    let same: Vec<f64> = (0..200).map(|i| f64::from(i * 7919 % 200)).collect();
    let got = check(&same, &same, Answer::CannotTell, Some(Reason::NoMeaningfulDifference));
    assert_eq!(got.seeds_needed, None);
    check(&[500.0; 10], &[500.0; 10], Answer::CannotTell, Some(Reason::NoMeaningfulDifference));
    let paired = Options { paired: true, ..plain() };
    assert_eq!(ask(&same, &same, &paired).reason, Some(Reason::NoMeaningfulDifference));
}

#[test]
fn a_significant_but_small_effect_is_no_claim() {
    let a: Vec<f64> = (0..400).map(|i| f64::from(i * 7919 % 400) / 100.0).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 0.3).collect();
    let got = check(&a, &b, Answer::CannotTell, Some(Reason::NoMeaningfulDifference));
    assert!(got.p_better < 0.001);
    let options = Options { minimum_effect: MinimumEffect::Absolute(0.0), ..plain() };
    assert_eq!(ask(&a, &b, &options).verdict, Answer::Better);
    let fraction = MinimumEffect::SpreadsOrFraction { spreads: 0.0, fraction: 0.5 };
    let got = ask(&a, &b, &Options { minimum_effect: fraction, ..plain() });
    assert!((got.minimum_effect - 0.5 * got.a.iqm.unwrap()).abs() < 1e-12);
}

#[test]
fn failed_runs_count_and_are_never_dropped() {
    let nan = f64::NAN;
    let a = rising(0.0, 8);
    // Without its failed runs B would be better.
    let b = [20.0, 21.0, 22.0, nan, nan, nan, nan, f64::INFINITY];
    let got = check(&a, &b, Answer::CannotTell, Some(Reason::NotSeparated));
    assert_eq!((got.n_b, got.b.failed, got.failure_score), (8, 5, Some(-got.spread)));
    check(&a, &[nan; 8], Answer::Worse, None);
    check(&[nan; 8], &a, Answer::Better, None);
    check(&[nan; 8], &[nan; 8], Answer::CannotTell, Some(Reason::NoMeaningfulDifference));
    // A failed run of A doesn't make the effect gate unreachable.
    let mut shaky = rising(0.0, 10);
    shaky[0] = nan;
    check(&shaky, &rising(9.0, 10), Answer::Better, None);
}

#[test]
fn guardrails_gate_both_directions() {
    let guard = |a: Vec<f64>, b: Vec<f64>| Guardrail {
        name: "falls".into(),
        a,
        b,
        direction: Direction::Lower,
        margin: MinimumEffect::Spreads(0.5),
        failure_score: None,
    };
    let judge = |a: &[f64], b: &[f64], guardrail: Guardrail| {
        verdict(Question { a, b, guardrails: &[guardrail] }, &plain()).unwrap()
    };
    let (weak, strong) = (rising(0.0, 10), rising(20.0, 10));
    let held = judge(&weak, &strong, guard(rising(30.0, 10), rising(5.0, 10)));
    assert_eq!(held.verdict, Answer::Better);
    let broken = judge(&weak, &strong, guard(rising(5.0, 10), rising(30.0, 10)));
    assert_eq!((broken.verdict, broken.seeds_needed), (Answer::CannotTell, None));
    assert!(broken.guardrails[0].violated && broken.guardrails[0].worst_case.unwrap() < 0.0);
    let unclear = judge(&weak, &strong, guard(rising(5.0, 10), rising(5.5, 10)));
    assert_eq!((unclear.verdict, unclear.reason), (Answer::CannotTell, Some(Reason::NotSeparated)));
    assert!(unclear.seeds_needed.is_some());
    let reversed = judge(&strong, &weak, guard(rising(5.0, 10), rising(30.0, 10)));
    assert_eq!(reversed.verdict, Answer::Worse);
    let traded = judge(&strong, &weak, guard(rising(30.0, 10), rising(5.0, 10)));
    assert_eq!(traded.verdict, Answer::CannotTell);
}

#[test]
fn planned_looks_lower_the_level() {
    let (a, b) = (rising(0.0, 10), rising(5.5, 10));
    let look = |number| Options {
        look: Some(Look { number, planned: 3, boundary: Boundary::OBrienFleming }),
        ..plain()
    };
    assert_eq!(ask(&a, &b, &look(1)).verdict, Answer::CannotTell);
    let last = ask(&a, &b, &look(3));
    assert_eq!(last.verdict, Answer::Better);
    assert!((last.alpha - 0.0225).abs() < 3e-4);
    // Five seeds at the first look can't reach .00026 whatever they score:
    // seven against seven have 3,432 arrangements, eight against eight 12,870.
    let early = ask(&rising(0.0, 5), &rising(50.0, 5), &look(1));
    assert_eq!((early.reason, early.seeds_needed), (Some(Reason::TooFewSeeds), Some(3)));
}

#[test]
fn impossible_questions_name_every_problem() {
    let options = Options {
        paired: true,
        alpha: 0.7,
        power: 1.0,
        failure_score: Some(f64::NAN),
        minimum_effect: MinimumEffect::Absolute(-1.0),
        look: Some(Look { number: 4, planned: 3, boundary: Boundary::Pocock }),
        ..Options::default()
    };
    let got = verdict(Question { a: &[1.0], b: &[], guardrails: &[] }, &options).unwrap_err();
    assert_eq!(got.problems.len(), 6, "{got}");
}

#[test]
fn pairs_find_what_groups_hide_and_say_how_much_they_go_together() {
    let a = rising(0.0, 12);
    let b: Vec<f64> = a.iter().enumerate().map(|(i, x)| x + 2.5 + 0.01 * i as f64).collect();
    assert_eq!(ask(&a, &b, &plain()).verdict, Answer::CannotTell);
    let paired = Options { paired: true, ..plain() };
    let got = ask(&a, &b, &paired);
    assert_eq!((got.verdict, got.test), (Answer::Better, TestKind::WilcoxonSignedRank));
    assert!(got.correlation.unwrap() > 0.99);
    let turned: Vec<f64> = b.iter().rev().copied().collect();
    let got = ask(&a, &turned, &paired);
    assert!(got.correlation.unwrap() < 0.1);
}

#[test]
fn the_descriptive_interval_is_there_when_asked_for() {
    let got = ask(&rising(0.0, 10), &rising(3.0, 10), &Options::default());
    let described = got.iqm_difference.unwrap();
    assert!((described.value - 3.0).abs() < 1e-12);
    assert!(described.low < 3.0 && 3.0 < described.high);
}

#[test]
fn the_answer_reads_the_same_in_json() {
    let got = ask(&rising(0.0, 3), &rising(1.0, 3), &plain());
    let json = serde_json::to_value(&got).unwrap();
    assert_eq!(json["verdict"], "cannot_tell");
    assert_eq!(json["reason"], "too_few_seeds");
    assert_eq!(json["seeds_needed"], 2);
    assert_eq!(json["test"], "mann_whitney");
    assert_eq!(json["direction"], "higher");
    assert!(json["interval"]["low"].is_null());
    let empty = serde_json::to_value(ask(&[], &[], &plain())).unwrap();
    assert!(empty["effect"].is_null() && empty["probability_of_improvement"].is_null());
    let options: Options = serde_json::from_str(r#"{"paired": true}"#).unwrap();
    assert_eq!(options, Options { paired: true, ..Options::default() });
}

#[test]
fn an_arm_larger_than_exact_counting_takes_is_still_judged() {
    let a: Vec<f64> = (0..5000).map(|i| f64::from(i * 7919 % 5000)).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 2000.0).collect();
    let got = ask(&a, &b, &Options::default());
    assert_eq!(got.verdict, Answer::Better);
    assert!(!got.exact && got.iqm_difference.is_some());
    assert!((got.effect.unwrap() - 2000.0).abs() < 60.0);
}

/// Scores on a coarse grid, so that ties happen; some runs fail.
fn group(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    let score = prop_oneof![8 => (-40i32..40).prop_map(|x| f64::from(x) / 4.0), 1 => Just(f64::NAN)];
    proptest::collection::vec(score, count)
}

fn groups() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, f64)> {
    (group(1..14), group(1..14), prop_oneof![Just(0.0), -20.0..20.0f64])
        .prop_map(|(a, b, shift)| (a, b.iter().map(|x| x + shift).collect(), shift))
}

fn pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (5usize..14)
        .prop_flat_map(|n| (group(n..n + 1), group(n..n + 1), -9i32..9))
        .prop_map(|(a, b, shift)| (a, b.iter().map(|x| x + f64::from(shift)).collect()))
}

fn swapped(answer: Answer) -> Answer {
    match answer {
        Answer::Better => Answer::Worse,
        Answer::Worse => Answer::Better,
        Answer::CannotTell => Answer::CannotTell,
    }
}

fn rank(answer: Answer) -> u8 {
    match answer {
        Answer::Worse => 0,
        Answer::CannotTell => 1,
        Answer::Better => 2,
    }
}

/// Both ways of asking about the same groups.
fn both_designs((a, b): &(Vec<f64>, Vec<f64>), test: impl Fn(&[f64], &[f64], &Options)) {
    test(a, b, &plain());
    test(a, b, &Options { paired: true, ..plain() });
    test(a, b, &Options { paired: true, direction: Direction::Lower, ..plain() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn moving_b_up_never_makes_it_look_worse((a, b, _) in groups(), up in 0.0..30.0f64) {
        let moved: Vec<f64> = b.iter().map(|x| x + up).collect();
        let (before, after) = (ask(&a, &b, &plain()), ask(&a, &moved, &plain()));
        prop_assert!(rank(after.verdict) >= rank(before.verdict), "{before:#?} {after:#?}");
        prop_assert!(after.p_better <= before.p_better + 1e-12);
    }

    #[test]
    fn moving_b_up_never_turns_better_into_worse_in_pairs(both in pairs(), up in 0.0..30.0f64) {
        let moved: Vec<f64> = both.1.iter().map(|x| x + up).collect();
        let options = Options { paired: true, ..plain() };
        let (before, after) = (ask(&both.0, &both.1, &options), ask(&both.0, &moved, &options));
        prop_assert!(!(before.verdict == Answer::Better && after.verdict == Answer::Worse));
        prop_assert!(!(before.verdict == Answer::CannotTell && after.verdict == Answer::Worse));
    }

    #[test]
    fn swapping_the_arms_swaps_the_answer(both in pairs()) {
        both_designs(&both, |a, b, options| {
            let (forth, back) = (ask(a, b, options), ask(b, a, options));
            assert_eq!(back.verdict, swapped(forth.verdict));
            assert_eq!((back.reason, back.seeds_needed), (forth.reason, forth.seeds_needed));
            assert_eq!(back.effect, forth.effect.map(|effect| 0.0 - effect));
        });
    }

    #[test]
    fn the_order_of_the_seeds_changes_nothing(both in pairs(), by in 0usize..14) {
        both_designs(&both, |a, b, options| {
            let options = Options { resamples: 50, ..options.clone() };
            let turn = |group: &[f64]| {
                let (first, last) = group.split_at(by % group.len());
                [last, first].concat()
            };
            assert_eq!(ask(a, b, &options), ask(&turn(a), &turn(b), &options));
        });
    }

    #[test]
    fn units_and_zero_points_change_nothing(both in pairs(), add in -50i32..50, power in -3i32..6) {
        both_designs(&both, |a, b, options| {
            // Powers of two and quarters: arithmetic without rounding.
            let change = |group: &[f64]| -> Vec<f64> {
                group.iter().map(|x| (x + f64::from(add)) * 2f64.powi(power)).collect()
            };
            let (before, after) = (ask(a, b, options), ask(&change(a), &change(b), options));
            assert_eq!(before.verdict, after.verdict);
            assert_eq!((before.reason, before.seeds_needed), (after.reason, after.seeds_needed));
        });
    }

    #[test]
    fn rounding_in_a_change_of_units_changes_nothing((a, b, _) in groups(), scale in 0.01..100.0f64) {
        let change = |group: &[f64]| -> Vec<f64> { group.iter().map(|x| x * scale).collect() };
        let (before, after) = (ask(&a, &b, &plain()), ask(&change(&a), &change(&b), &plain()));
        prop_assert_eq!(before.p_better, after.p_better);
        prop_assert_eq!(rank(before.verdict), rank(after.verdict));
    }

    #[test]
    fn a_claim_has_everything_that_a_claim_needs((a, b, _) in groups()) {
        let got = ask(&a, &b, &plain());
        match got.verdict {
            Answer::CannotTell => {
                prop_assert!(got.reason.is_some());
                let wants_seeds = got.reason != Some(Reason::NoMeaningfulDifference);
                prop_assert_eq!(got.seeds_needed.is_some_and(|seeds| seeds > 0), wants_seeds);
            }
            claim => {
                prop_assert_eq!((got.reason, got.seeds_needed), (None, None));
                prop_assert!(got.n_a.min(got.n_b) >= FEWEST_SEEDS);
                let p = if claim == Answer::Better { got.p_better } else { got.p_worse };
                prop_assert!(p <= 0.025 && got.effect.unwrap().abs() >= got.minimum_effect * (1.0 - 1e-9) - 1e-12);
            }
        }
    }
}
