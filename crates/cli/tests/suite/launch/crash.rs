//! `kill -9` of launch and of the supervisor at every place that they name, then recovery: one run per key, no result
//! lost, nothing left running, the budget exact. The places are read from the source, so an untested one fails.

mod places;
mod scene;
mod signals;
mod together;

use scene::Scene;

/// The expected result of a run that is killed at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Then {
    /// Nothing is recorded; the next launch starts it as a new run.
    Unseen,
    /// It was recorded but never ran; the next launch starts it again.
    NeverRan,
    /// It was killed as it started; the next launch starts it again.
    MayHaveRun,
    /// It ran but its end was not recorded; the next launch starts it again.
    Ran,
    /// Its result is recorded, and it never runs again.
    ApprovedText,
}

const LAUNCH: [(&str, Then); 14] = [
    ("launch:gates_passed", Then::Unseen),
    ("launch:tree_ready", Then::Unseen),
    ("launch:claiming", Then::Unseen),
    ("launch:claimed", Then::Unseen),
    ("launch:intended", Then::NeverRan),
    ("launch:laid_out", Then::NeverRan),
    ("launch:ordered", Then::NeverRan),
    ("launch:shim_started", Then::NeverRan),
    ("launch:shim_known", Then::NeverRan),
    ("launch:launched", Then::NeverRan),
    ("launch:gone", Then::ApprovedText),
    ("launch:end_seen", Then::ApprovedText),
    ("launch:end_recorded", Then::ApprovedText),
    // The last one: a candidate completes only when nothing is left to run.
    ("launch:completing", Then::ApprovedText),
];

pub(crate) const SHIM: [(&str, Then); 16] = [
    ("shim:started", Then::NeverRan),
    ("shim:order_read", Then::NeverRan),
    ("shim:told_to_go", Then::NeverRan),
    ("shim:train:preparing", Then::NeverRan),
    ("shim:train:limited", Then::NeverRan),
    ("shim:train:running", Then::MayHaveRun),
    ("shim:train:ended", Then::Ran),
    ("shim:train:written", Then::Ran),
    ("shim:eval:preparing", Then::Ran),
    ("shim:eval:limited", Then::Ran),
    ("shim:eval:running", Then::Ran),
    ("shim:eval:ended", Then::Ran),
    ("shim:eval:written", Then::Ran),
    ("shim:steps_over", Then::Ran),
    ("shim:manifest_written", Then::Ran),
    ("shim:end_written", Then::ApprovedText),
];

#[test]
fn every_place_in_the_source_is_tested() {
    let mut tested: Vec<String> = LAUNCH.iter().chain(&SHIM).map(|(place, _)| (*place).to_owned()).collect();
    tested.sort();
    assert_eq!(places::in_the_source(&["train", "eval"]), tested);
}

#[test]
fn launch_killed_at_every_step() {
    let (last, rest) = LAUNCH.split_last().unwrap();
    let mut scene = Scene::new("struck-launch", "short", rest.len() as u64);
    for (number, (place, then)) in rest.iter().enumerate() {
        strike_launch(&scene, place);
        recover(&scene, place, number as u64 + 1, *then);
    }
    scene.is_over();
    // What the next launch has left to do after the end of the last run.
    scene.next_candidate("finished", "smoke");
    strike_launch(&scene, last.0);
    assert_eq!(scene.candidate_state(), "launched");
    recover(&scene, last.0, 1, last.1);
    assert_eq!(scene.candidate_state(), "completed");
    scene.repository.rlx("verify --chain").expect(0);
}

#[test]
fn supervisor_killed_at_every_step() {
    let scene = Scene::new("struck-shim", "short", SHIM.len() as u64);
    for (number, (place, then)) in SHIM.iter().enumerate() {
        let line = scene.launch_one() + " --detach";
        let ran = scene.repository.rlx_where(&[("RLX_CRASH_AT", place)], &line);
        // It is running, or it ended before launch could report it.
        assert!(matches!(ran.code, Some(0 | 4)), "{place}: {:?}\n{}\n{}", ran.code, ran.stdout, ran.stderr);
        recover(&scene, place, number as u64 + 1, *then);
    }
    scene.is_over();
    scene.repository.rlx("verify --chain").expect(0);
}

/// A seed whose runs the host loses twice stays without a result, and that is reported.
#[test]
fn lost_twice_is_lost() {
    let scene = Scene::new("lost", "short", 1);
    for attempt in 1..=2 {
        let line = scene.launch_one();
        scene.repository.rlx_where(&[("RLX_CRASH_AT", "shim:train:ended")], &line).expect(4);
        let runs = scene.runs();
        assert_eq!(runs.len(), attempt);
        assert_eq!(runs.last().unwrap().end, "lost");
    }
    scene.is_over();
    scene.check("lost twice");
}

fn strike_launch(scene: &Scene, place: &str) {
    let ran = scene.repository.rlx_where(&[("RLX_CRASH_AT", place)], &scene.launch_one());
    assert_eq!(ran.code, None, "{place} was not reached\n{}\n{}", ran.stdout, ran.stderr);
}

/// Whether training had succeeded when the supervisor was killed at `place`.
fn has_trained(place: &str) -> bool {
    ["shim:train:written", "shim:steps_over", "shim:manifest_written"].contains(&place)
        || place.starts_with("shim:eval:")
}

/// Recovers after a kill at `place`, runs the seed to its end, and checks everything after each step.
fn recover(scene: &Scene, place: &str, seed: u64, then: Then) {
    // A run that was never started, and one that lost its supervisor, ends by itself before recovery.
    if then != Then::ApprovedText || place.starts_with("shim:") {
        scene.nothing_is_left(place);
    }
    scene.repository.rlx("launch status --json").expect(0);
    scene.repository.rlx("launch adopt --json").expect(0);
    scene.check(place);
    let runs = scene.runs_of(seed);
    let first = runs.first();
    match then {
        Then::Unseen => assert!(first.is_none(), "{place}: {runs:?}"),
        Then::ApprovedText => {
            assert_eq!(runs.len(), 1, "{place}: {runs:?}");
            assert_eq!(runs[0].end, "ok", "{place}: {runs:?}");
        }
        _ => {
            assert_eq!(runs.len(), 1, "{place}: {runs:?}");
            let may_be_blocked = place == "shim:started" || place == "shim:order_read";
            let end = runs[0].end.as_str();
            assert!(end == "lost" || (may_be_blocked && end == "blocked"), "{place}: {runs:?}");
            if end == "lost" {
                let ended = scene.repository.end_of(&runs[0].key);
                assert_eq!(ended["after_training"], has_trained(place), "{place}: {ended}");
            }
            let starts = scene.starts(&runs[0].key, "train");
            match then {
                Then::NeverRan => assert_eq!(starts, 0, "{place}: {runs:?}"),
                Then::Ran => assert_eq!(starts, 1, "{place}: {runs:?}"),
                _ => assert!(starts <= 1, "{place}: {runs:?}"),
            }
        }
    }
    // Lost after training, a candidate's run counts as failed: its seed doesn't run again.
    if then == Then::ApprovedText || has_trained(place) {
        assert!(scene.unfinished_claims().is_empty(), "{place}: {:?}", scene.unfinished_claims());
        return;
    }
    scene.repository.rlx(&scene.launch_one()).expect(0);
    let attempts = if then == Then::Unseen { 1 } else { 2 };
    let runs = scene.runs_of(seed);
    assert_eq!(runs.len(), attempts, "{place}: {runs:?}");
    let last = &runs[attempts - 1];
    assert!(last.end == "ok" && last.key.ends_with(&format!("-{seed}-{attempts}")), "{place}: {runs:?}");
    assert_eq!((scene.starts(&last.key, "train"), scene.starts(&last.key, "eval")), (1, 1), "{place}");
    scene.nothing_is_left(place);
    scene.check(place);
    assert!(scene.unfinished_claims().is_empty(), "{place}: {:?}", scene.unfinished_claims());
}
