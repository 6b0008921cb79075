//! The power that is quoted is that of the verdict.

use super::*;
use crate::statistics::verdict::{Answer, Options, Question, verdict};
use rlxp_types::Stream;

const FAST: Simulation = Simulation { repetitions: 2_000, seed: 1 };

/// The share of experiments in which the verdict itself says `better`.
fn judged(options: &Options, effect: f64, seeds: usize, repetitions: u32) -> f64 {
    let mut stream = Stream::new(99, "test", seeds as u64);
    let found = (0..repetitions).filter(|_| {
        let a: Vec<f64> = (0..seeds).map(|_| stream.normal_pair().0).collect();
        let b: Vec<f64> = match options.paired {
            true => a.iter().map(|a| a + effect + stream.normal_pair().0).collect(),
            false => (0..seeds).map(|_| effect + stream.normal_pair().0).collect(),
        };
        verdict(Question { a: &a, b: &b, guardrails: &[] }, options).unwrap().verdict == Answer::Better
    });
    found.count() as f64 / f64::from(repetitions)
}

fn plain() -> Options {
    Options { resamples: 0, repetitions: 0, ..Options::default() }
}

#[test]
fn quoted_power_is_the_verdicts_power() {
    for (effect, seeds) in [(0.4, 60), (1.0, 8), (1.0, 17), (2.0, 6), (4.0, 5)] {
        let quoted = power(&Design::default(), Returns::Gaussian, effect, seeds, FAST);
        let seen = judged(&plain(), effect, seeds as usize, 2_000);
        assert!((quoted - seen).abs() < 0.045, "d = {effect}, n = {seeds}: {quoted} quoted, {seen} seen");
    }
    assert_eq!(power(&Design::default(), Returns::Gaussian, 9.0, 4, FAST), 0.0);
}

#[test]
fn the_seeds_named_are_the_fewest() {
    for effect in [0.6, 1.0, 1.5, 2.5] {
        let seeds = seeds_for(&Design::default(), Returns::Gaussian, effect, 0.8, FAST).unwrap();
        let at = |seeds| power(&Design::default(), Returns::Gaussian, effect, seeds, FAST);
        assert!(at(seeds) >= 0.8, "d = {effect}: {}", at(seeds));
        assert!(at(seeds - 1) < 0.8, "d = {effect}: {}", at(seeds - 1));
    }
    assert_eq!(seeds_for(&Design::default(), Returns::Gaussian, 6.0, 0.8, FAST), Ok(5));
    let seeds =
        |looks| seeds_for(&Design { looks, ..Design::default() }, Returns::Gaussian, 1.0, 0.8, FAST).unwrap();
    assert!(seeds(2) >= seeds(1), "{} {}", seeds(2), seeds(1));
}

#[test]
fn some_questions_no_number_of_seeds_settles() {
    let ask = |effect| seeds_for(&Design::default(), Returns::Gaussian, effect, 0.8, FAST);
    assert_eq!(ask(0.2), Err(NoNumber::EffectTooSmall));
    assert_eq!(ask(0.0), Err(NoNumber::EffectTooSmall));
    assert_eq!(ask(f64::NAN), Err(NoNumber::EffectTooSmall));
    assert_eq!(
        seeds_for(
            &Design::default(),
            Returns::Gaussian,
            0.205,
            0.8,
            Simulation { repetitions: 200, seed: 1 }
        ),
        Err(NoNumber::TooMany)
    );
}

#[test]
fn the_detectable_effect_is_found_with_its_power() {
    let effect = detectable_effect(&Design::default(), Returns::Gaussian, 10, 0.8, FAST).unwrap();
    let found = power(&Design::default(), Returns::Gaussian, effect, 10, FAST);
    assert!((0.8..0.81).contains(&found), "{effect}: {found}");
    assert_eq!(detectable_effect(&Design::default(), Returns::Gaussian, 4, 0.8, FAST), None);
}

#[test]
fn pilots_count_with_their_own_shape_and_unit() {
    // Most runs at 500, some far below: ranks find a small shift that a
    // Gaussian of the same deviation would hide.
    let pilot: Vec<f64> = (0..20).map(|i| if i % 5 == 0 { 100.0 } else { 480.0 + f64::from(i) }).collect();
    let skewed = power(&Design::default(), Returns::Pilot(&pilot), 15.0, 20, FAST);
    let deviation = crate::statistics::aggregate::variance(&pilot).sqrt();
    let gaussian = power(&Design::default(), Returns::Gaussian, 15.0 / deviation, 20, FAST);
    assert!(skewed > gaussian + 0.3, "{skewed} {gaussian}");
}

#[test]
fn pairs_need_fewer_seeds_when_they_go_together() {
    let paired = Design { paired: true, ..Design::default() };
    let seeds = seeds_for(&paired, Returns::Gaussian, 1.0, 0.8, FAST).unwrap();
    let seen = judged(&Options { paired: true, ..plain() }, 1.0, seeds as usize, 2_000);
    assert!((0.76..0.87).contains(&seen), "{seeds}: {seen}");
    assert_eq!(fewest_seeds(&paired), 6);
}

#[test]
fn a_smaller_effect_never_seems_easier_to_find_in_pilots() {
    let pilot = [-1.4, -1.1, -0.6, -0.3, -0.1, 0.2, 0.4, 0.7, 0.9, 1.3];
    let seeds: Vec<u64> = [0.3, 0.4, 0.5, 0.7, 1.0]
        .map(|effect| seeds_for(&Design::default(), Returns::Pilot(&pilot), effect, 0.8, FAST).unwrap())
        .to_vec();
    assert!(seeds.windows(2).all(|pair| pair[1] < pair[0]), "{seeds:?}");
    let gaussian = seeds_for(&Design::default(), Returns::Gaussian, 0.3 / 0.88, 0.8, FAST).unwrap();
    assert!(seeds[0] as f64 > 0.7 * gaussian as f64, "{seeds:?} {gaussian}");
}
