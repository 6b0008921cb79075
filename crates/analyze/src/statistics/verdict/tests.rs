//! The procedure as a whole: answers on small examples, and the properties
//! that a fair judge has.

use super::*;
use proptest::prelude::*;

fn ask(a: &[f64], b: &[f64], options: &Options) -> Verdict {
    verdict(Question { a, b, guardrails: &[] }, options).unwrap()
}

fn plain() -> Options {
    Options { resamples: 0, repetitions: 0, ..Options::default() }
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
}

#[test]
fn without_spread_the_smallest_effect_has_to_be_given() {
    let got = check(&[5.0; 5], &[6.0; 5], Answer::CannotTell, Some(Reason::MinimumEffectNeeded));
    assert_eq!((got.minimum_effect, got.effect), (None, Some(1.0)));
    let ask_for = |least| {
        ask(&[5.0; 5], &[6.0; 5], &Options { minimum_effect: MinimumEffect::Absolute(least), ..plain() })
    };
    assert_eq!(ask_for(0.5).verdict, Answer::Better);
    assert_eq!(ask_for(2.0).reason, Some(Reason::NoMeaningfulDifference));
    // One run that differs is a spread.
    check(&[5.0; 10], &[6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.5], Answer::Better, None);
}

#[test]
fn reliability_counts_through_mean_and_failed_runs() {
    // Nothing differs but how many runs fail: 12 of 40 against 2 of 40.
    let fails = |failed: usize, worst: f64| -> Vec<f64> {
        (0..40)
            .map(|i| if i < failed { worst } else { f64::from(u8::try_from(i * 7 % 40).unwrap()) / 40.0 })
            .collect()
    };
    let got = check(&fails(12, -10.0), &fails(2, -10.0), Answer::Better, None);
    assert!(got.mean_difference.unwrap() > 2.0);
    let got = check(&fails(12, f64::NAN), &fails(2, f64::NAN), Answer::Better, None);
    assert!(got.basis.is_some());
    assert_eq!(got.failed_share_difference, Some(-0.25));
}

#[test]
fn a_higher_typical_score_with_a_lower_mean_is_no_claim() {
    let a = rising(0.0, 20);
    let mut b: Vec<f64> = a.iter().map(|x| x + 15.0).collect();
    b[..4].fill(-500.0);
    let got = check(&a, &b, Answer::CannotTell, Some(Reason::MixedEffect));
    assert_eq!((got.veto, got.seeds_needed), (Some(Veto::Mean), None));
    assert!(got.p_better <= 0.025 && got.effect.unwrap() > 0.0 && got.mean_difference.unwrap() < 0.0);
    // Four failed runs of twenty, scored so that the mean doesn't say it.
    b[..4].fill(f64::NAN);
    let got = check(&a, &b, Answer::CannotTell, Some(Reason::MixedEffect));
    assert_eq!(got.veto, Some(Veto::FailedRuns));
}

#[test]
fn extreme_scores_get_a_number_or_a_reason() {
    let huge: Vec<f64> = rising(1.0, 6).iter().map(|x| x * 1e149).collect();
    let got = ask(&rising(0.0, 6), &huge, &plain());
    assert_eq!(got.verdict, Answer::Better);
    assert!(got.effect.unwrap().is_finite() && got.b.mean.is_some() && got.mean_difference.is_some());
    let beyond = [1.0, 2.0, 3.0, 4.0, f64::MAX];
    let refused =
        verdict(Question { a: &rising(0.0, 5), b: &beyond, guardrails: &[] }, &plain()).unwrap_err();
    assert!(refused.to_string().contains("1e150"), "{refused}");
    let zero = ask(&[0.0; 6], &[-0.0, 0.0, -0.0, 0.0, -0.0, 0.0], &plain());
    assert!(zero.effect.unwrap().is_sign_positive());
}

#[test]
fn seeds_needed_are_those_of_the_verdict_itself() {
    let options = Options { resamples: 0, repetitions: 500, ..Options::default() };
    // A difference of 0.6 spreads that ten seeds don't show.
    let a: Vec<f64> = [-1.3, -0.8, -0.5, -0.2, 0.0, 0.1, 0.3, 0.6, 0.9, 1.4].to_vec();
    let b: Vec<f64> = a.iter().map(|x| x + 0.6).collect();
    let got = ask(&a, &b, &options);
    assert_eq!(got.reason, Some(Reason::NotSeparated));
    assert!((10..70).contains(&got.seeds_needed.unwrap()), "{:?}", got.seeds_needed);
    assert!((got.seeds_needed_for.unwrap() - 0.6).abs() < 0.05);
    // No difference seen: what is worth finding is planned for.
    let got = ask(&a, &a, &options);
    assert_eq!(got.seeds_needed_for, got.minimum_effect.map(|least| 2.0 * least));
    assert!(got.seeds_needed.unwrap() > 30, "{:?}", got.seeds_needed);
}

#[test]
fn scores_at_a_ceiling_do_not_tell_how_many_seeds_it_takes() {
    let options = Options { resamples: 0, repetitions: 500, ..Options::default() };
    let got = ask(&[500.0; 5], &[405.9, 500.0, 500.0, 500.0, 500.0], &options);
    assert_eq!((got.verdict, got.seeds_needed, got.seeds_needed_for), (Answer::CannotTell, None, None));
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
    let options = Options { repetitions: 500, ..plain() };
    let got = ask(&[1.0, 4.0, 2.0, 8.0, 5.0, 7.0], &[3.0, 6.0, 2.5, 9.0, 4.5, 7.5], &options);
    assert_eq!((got.verdict, got.reason), (Answer::CannotTell, Some(Reason::NotSeparated)));
    assert!((60..200).contains(&got.seeds_needed.unwrap()), "{:?}", got.seeds_needed);
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
    let b: Vec<f64> = a.iter().map(|x| x + 0.2).collect();
    let got = check(&a, &b, Answer::CannotTell, Some(Reason::NotSeparated));
    assert!(got.p_better < 0.025);
    let options = Options { minimum_effect: MinimumEffect::Absolute(0.0), ..plain() };
    assert_eq!(ask(&a, &b, &options).verdict, Answer::Better);
    let fraction = MinimumEffect::SpreadsOrFraction { spreads: 0.0, fraction: 0.5 };
    let got = ask(&a, &b, &Options { minimum_effect: fraction, ..plain() });
    assert!((got.minimum_effect.unwrap() - 0.5 * got.a.iqm.unwrap()).abs() < 1e-12);
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
fn impossible_questions_name_every_problem() {
    let options = Options {
        paired: true,
        alpha: 0.7,
        power: 1.0,
        failure_score: Some(f64::NAN),
        minimum_effect: MinimumEffect::Absolute(-1.0),
        failure_limit: Some(f64::INFINITY),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_quick_decision_is_the_verdicts(
        a in proptest::collection::vec((-40i32..40).prop_map(|x| f64::from(x) / 4.0), 5..16),
        b in proptest::collection::vec((-40i32..60).prop_map(|x| f64::from(x) / 4.0), 5..16),
        coarse in 1i32..20,
        absolute in proptest::option::of(0.0..6.0f64),
    ) {
        // Few distinct values now and then, so that most runs of a group tie.
        let grid = |values: Vec<f64>| -> Vec<f64> {
            let mut values: Vec<f64> = values.iter().map(|x| (x / f64::from(coarse)).round()).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (a, b) = (grid(a), grid(b));
        let minimum_effect = absolute.map_or(MinimumEffect::Spreads(0.2), MinimumEffect::Absolute);
        let got = ask(&a, &b, &Options { minimum_effect, ..plain() });
        let pair = SortedPair { a: &a, b: &b };
        let quick = got.p_better <= 0.025 && Gate { minimum_effect }.admits(pair);
        prop_assert_eq!(quick, got.verdict == Answer::Better, "{:#?}", got);
        let wins = crate::statistics::aggregate::pairwise_wins(&b, &a);
        prop_assert_eq!(pair.doubled_wins().0 as f64, 2.0 * wins);
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
                // Planning is left out here, so only minima are named.
                let minimum = got.reason == Some(Reason::TooFewSeeds);
                prop_assert_eq!(got.seeds_needed.is_some_and(|seeds| seeds > 0), minimum);
                prop_assert_eq!(got.veto.is_some(), got.reason == Some(Reason::MixedEffect));
            }
            claim => {
                prop_assert_eq!((got.reason, got.seeds_needed), (None, None));
                prop_assert!(got.n_a.min(got.n_b) >= FEWEST_SEEDS);
                let p = if claim == Answer::Better { got.p_better } else { got.p_worse };
                let sign = if claim == Answer::Better { 1.0 } else { -1.0 };
                let gain = match got.basis.unwrap() {
                    Basis::TypicalScore => got.effect.unwrap(),
                    Basis::Mean => got.mean_difference.unwrap(),
                    Basis::FailedRuns => -got.failed_share_difference.unwrap(),
                };
                let least = match got.basis.unwrap() {
                    Basis::FailedRuns => FAILED_SHARE,
                    _ => got.minimum_effect.unwrap(),
                };
                prop_assert!(p <= 0.025 && sign * gain >= least * (1.0 - 1e-9) - 1e-9);
                prop_assert!(sign * got.mean_difference.unwrap() >= -1e-9);
            }
        }
    }
}
