//! `kill -9` of the loop at random instants, and of supervisors at every place that they name while a loop runs.
//!
//! `RLX_LOOP_KILLS` sets how often the loop is killed (20 by default; `cargo xtask soak` asks for 200), `RLX_KILL_SEED`
//! draws other instants.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rlxp_types::Stream;
use serde_json::Value;

use crate::launch::autoloop::{nothing_ran_twice, set, study, verdicts};
use crate::launch::candidates::baseline;
use crate::launch::crash::{SHIM, Then};
use crate::launch::repository::Repository;

const BUDGET: u64 = 200;
/// The longest time until a loop is killed: a few runs.
const LONGEST: Duration = Duration::from_millis(900);

fn with_candidates() -> Repository {
    let repository = study(2, BUDGET, 5, &[5]).approved();
    repository.candidate("baseline", baseline());
    repository.candidate("a-worse", set("learning_rate", 2.0, 1.0));
    repository.candidate("b-better", set("learning_rate", 2.0, 4.0));
    repository
}

/// How often each seed was lost: once is repeated, twice counts against its candidate.
fn lost(repository: &Repository) -> BTreeMap<String, usize> {
    let intents: BTreeMap<String, Value> = repository
        .records("launch_intent")
        .into_iter()
        .map(|intent| (intent["key"].as_str().unwrap().to_owned(), intent))
        .collect();
    let mut lost = BTreeMap::new();
    for end in repository.records("run_ended").iter().filter(|end| end["end"] == "lost") {
        let intent = &intents[end["key"].as_str().unwrap()];
        let seed = format!("{} {} {}", intent["candidate"], intent["phase"], intent["seed"]);
        *lost.entry(seed).or_insert(0) += 1;
    }
    lost
}

#[test]
fn a_loop_that_is_killed_at_random_instants_ends_the_same() {
    let wanted: u32 = std::env::var("RLX_LOOP_KILLS").map_or(20, |text| text.parse().unwrap());
    let seed: u64 = std::env::var("RLX_KILL_SEED").map_or(0, |text| text.parse().unwrap());
    println!("RLX_KILL_SEED={seed}");
    let mut chance = Stream::new(seed, "kill of loops", 0);
    let mut kills = 0;
    while kills < wanted {
        let repository = with_candidates();
        let mut ended = false;
        while kills < wanted && !ended {
            let mut child = repository.start("autoloop --json", &[]);
            let (begin, delay) = (Instant::now(), LONGEST.mul_f64(chance.uniform()));
            while begin.elapsed() < delay && !ended {
                ended = child.try_wait().unwrap().is_some();
                std::thread::yield_now();
            }
            if !ended {
                child.kill().unwrap();
                kills += 1;
            }
            child.wait_with_output().unwrap();
        }
        let last = repository.rlx("autoloop --json");
        assert_eq!(last.code, Some(0), "{}\n{}", last.stdout, last.stderr);
        nothing_ran_twice(&repository, BUDGET, &last);
        // A seed that was lost twice counts as failed, which may change what is found.
        if lost(&repository).values().all(|times| *times < 2) {
            let expected = [("a-worse", "inconclusive"), ("b-better", "accepted")];
            assert_eq!(verdicts(&repository), expected.map(|(id, verdict)| (id.into(), verdict.into())));
        }
    }
}

#[test]
fn supervisors_killed_at_every_place_within_a_loop_cost_one_attempt() {
    let repository = study(2, BUDGET, 20, &[5]).approved();
    repository.candidate("baseline", baseline());
    // A loop that may start no more runs leaves the last one running.
    let one = |variables: &[(&str, &str)]| {
        let ran = repository.rlx_where(variables, "autoloop --runs 1 --json");
        // Its answer is how the run ended.
        assert!(matches!(repository.rlx("launch adopt --json").code, Some(0 | 4)), "{}", ran.stdout);
        ran
    };
    // The smoke run has other steps.
    one(&[]);
    for (place, then) in SHIM {
        let before = repository.records("run_ended").len();
        let (ran, again) = (one(&[("RLX_CRASH_AT", place)]), one(&[]));
        let ends = repository.records("run_ended");
        let ends: Vec<&str> = ends[before..].iter().map(|end| end["end"].as_str().unwrap()).collect();
        let said = || format!("{place}: {ends:?}\n{}\n{}", ran.stdout, again.stdout);
        // Whatever was lost runs once more on its seed; what had its end written is never lost.
        let lost = ends.iter().filter(|end| **end == "lost").count();
        assert_eq!(lost, usize::from(then != Then::ApprovedText), "{}", said());
        assert!(ends.contains(&"ok"), "{}", said());
    }
    assert!(lost(&repository).values().all(|times| *times == 1), "{:?}", lost(&repository));
    let last = one(&[]);
    nothing_ran_twice(&repository, BUDGET, &last);
}
