use rlxp_analyze::proportion::wilson;
use rlxp_analyze::verdict::{Question, verdict};
use rlxp_types::Stream;

use super::*;

fn asked(name: &str, seeds: [u64; 2]) -> Asked {
    Asked { question: Digest::ZERO, trainings: Digest::hash(name.as_bytes()), seeds }
}

fn look(name: &str, seeds: [u64; 2], seeds_planned: Option<u64>) -> PastLook {
    PastLook { trainings: Digest::hash(name.as_bytes()), seeds, seeds_planned, level: None }
}

fn check(planned: usize, looks: &[PastLook], asked: &Asked, expected: Role) {
    let history = (!looks.is_empty()).then(|| History { planned, looks: looks.to_vec() });
    let found = place(history.as_ref(), asked, history.is_none().then_some(planned));
    assert_eq!(found, Ok(Place { planned, role: expected }), "{looks:?}, {asked:?}");
}

#[test]
fn levels_add_up_to_that_of_a_single_look() {
    assert_eq!((level(1), level(2)), (0.025, 0.0125));
    assert_eq!(place(None, &asked("a", [5, 5]), None).map(|place| place.level()), Ok(0.0125));
    for planned in 1..=MOST_LOOKS {
        assert!((level(planned) * planned as f64 - 0.025).abs() < 1e-15);
    }
}

#[test]
fn the_same_trainings_are_the_same_look() {
    let looks = [look("a", [5, 5], Some(12)), look("b", [12, 12], None)];
    check(2, &[], &asked("a", [5, 5]), Role::Next { number: 1 });
    let again = |number, seeds_planned| Role::Again { number, seeds_planned, level: None };
    check(2, &looks[..1], &asked("a", [5, 5]), again(1, Some(12)));
    check(2, &looks, &asked("a", [5, 5]), again(1, None));
    check(2, &looks, &asked("b", [12, 12]), again(2, None));
    let used_up = Role::Descriptive(Descriptive::LooksUsedUp { planned: 2 });
    check(2, &looks, &asked("c", [90, 90]), used_up);
    check(1, &looks[..1], &asked("c", [90, 90]), Role::Descriptive(Descriptive::LooksUsedUp { planned: 1 }));
}

#[test]
fn more_seeds_are_a_look_once_the_plan_is_reached() {
    let first = [look("a", [5, 6], Some(12))];
    let waits = |seeds| Role::Descriptive(Descriptive::PlanNotReached { seeds, planned: 12 });
    check(2, &first, &asked("b", [6, 6]), waits(6));
    check(2, &first, &asked("b", [11, 40]), waits(11));
    check(2, &first, &asked("b", [12, 12]), Role::Next { number: 2 });
    check(2, &first, &asked("b", [30, 14]), Role::Next { number: 2 });
    let too_few = Role::Descriptive(Descriptive::NoMoreSeeds { look: 1 });
    for seeds in [[5, 6], [4, 30], [3, 3]] {
        check(2, &first, &asked("b", seeds), too_few);
    }
    // Without a plan any larger number is the next look.
    check(2, &[look("a", [5, 6], None)], &asked("b", [5, 7]), Role::Next { number: 2 });
    check(3, &[first[0].clone(), look("b", [12, 12], Some(20))], &asked("c", [13, 13]), {
        Role::Descriptive(Descriptive::PlanNotReached { seeds: 13, planned: 20 })
    });
}

#[test]
fn the_first_look_fixes_the_number_of_looks() {
    let history = History { planned: 2, looks: vec![look("a", [5, 5], None)] };
    assert_eq!(place(Some(&history), &asked("a", [5, 5]), Some(1)), Err(OtherPlan { planned: 2 }));
    assert!(place(Some(&history), &asked("a", [5, 5]), Some(2)).is_ok());
}

/// Follows the plans of a question without any difference to its end; whether a claim was made.
fn claims_something(stream: &mut Stream, planned: usize, level: f64) -> bool {
    let mut groups: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let mut history: Option<History> = None;
    let mut wanted = 5;
    loop {
        for group in &mut groups {
            while (group.len() as u64) < wanted {
                group.push(stream.normal_pair().0);
            }
        }
        let now = asked(&format!("{wanted} seeds"), [wanted; 2]);
        let place = place(history.as_ref(), &now, history.is_none().then_some(planned)).unwrap();
        let Role::Next { number } = place.role else { return false };
        let options = Options { alpha: level, resamples: 0, repetitions: 0, ..Options::default() };
        let [a, b] = &groups;
        let found = verdict(Question { a, b, guardrails: &[] }, &options).unwrap();
        if found.verdict != Answer::CannotTell {
            return true;
        }
        let seeds_planned = seeds_planned(&found, number, planned);
        let past = PastLook { trainings: now.trainings, seeds: now.seeds, seeds_planned, level: None };
        history.get_or_insert(History { planned, looks: Vec::new() }).looks.push(past);
        // Where nothing is planned, an impatient user doubles the seeds.
        wanted = seeds_planned.unwrap_or(2 * wanted);
    }
}

#[test]
fn following_the_plan_makes_false_claims_in_at_most_five_percent() {
    const ROUNDS: u64 = 4_000;
    let claims = |planned: usize, level: f64| {
        let mut stream = Stream::new(11, "looks", planned as u64);
        (0..ROUNDS).filter(|_| claims_something(&mut stream, planned, level)).count() as u64
    };
    for planned in [1, PLANNED_LOOKS, 3] {
        let (_, high) = wilson(claims(planned, level(planned)), ROUNDS, 0.95);
        assert!(high <= 0.05, "{planned} looks: up to {high}");
    }
    // What the shared level prevents: three looks, each at the level of a single one.
    let (low, _) = wilson(claims(3, level(1)), ROUNDS, 0.95);
    assert!(low > 0.05, "{low}");
}
