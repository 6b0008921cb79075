//! Eight launches of the same candidate at the same moment, some of which are killed on the way.

use super::scene::Scene;

const SEEDS: u64 = 4;

/// Starts eight launches, the first of which are killed at `places`, and waits for all; returns how many succeeded.
fn eight(scene: &Scene, places: &[&str]) -> usize {
    let line = scene.repository.execute(&scene.candidate, &scene.plan);
    let start = |number: usize| {
        let place = places.get(number).map(|place| ("RLX_CRASH_AT", *place));
        scene.repository.start(&line, place.as_slice())
    };
    let children: Vec<_> = (0..8).map(start).collect();
    let mut well = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let said: serde_json::Value =
            serde_json::from_str(stdout.lines().last().unwrap_or_default()).unwrap_or_default();
        match output.status.code() {
            Some(0) => {
                assert!(said["runs"].as_array().is_some_and(|runs| !runs.is_empty()), "{stdout}\n{stderr}");
                well += 1;
            }
            Some(3) => {
                let known = ["gates", "run_claimed", "nothing_to_run", "ledger_moved", "ledger_locked"];
                assert!(known.iter().any(|code| said["code"] == *code), "{stdout}\n{stderr}");
            }
            code => assert!(code.is_none() && !places.is_empty(), "{code:?}\n{stdout}\n{stderr}"),
        }
    }
    well
}

/// Never more at once than agreed, and later launches run all seeds to their end.
fn finish(scene: &Scene, parallel: u64) {
    let mut live = 0u64;
    for record in scene.repository.ledger() {
        match record["kind"].as_str().unwrap() {
            "launch_intent" => live += 1,
            "run_ended" => live -= 1,
            _ => {}
        }
        assert!(live <= parallel, "{record}");
    }
    scene.repository.rlx("launch status --json").expect(0);
    scene.repository.rlx("launch adopt --json").expect(0);
    let good = || scene.runs().iter().filter(|run| run.end == "ok").count();
    while good() < SEEDS as usize {
        scene.repository.rlx(&scene.launch_one()).expect(0);
    }
    scene.is_over();
    scene.nothing_is_left("eight at once");
    scene.check("eight at once");
    assert!(scene.unfinished_claims().is_empty(), "{:?}", scene.unfinished_claims());
    scene.repository.rlx("verify --chain").expect(0);
}

#[test]
fn eight_launches_share_one_place() {
    let scene = Scene::with("alone", "short", SEEDS, 1, "at once");
    assert!(eight(&scene, &[]) > 0, "nobody ran anything");
    finish(&scene, 1);
    assert_eq!(scene.runs().len(), SEEDS as usize, "{:?}", scene.runs());
}

#[test]
fn eight_launches_share_two_places() {
    let scene = Scene::with("in-pairs", "short", SEEDS, 2, "at once");
    assert!(eight(&scene, &[]) > 0, "nobody ran anything");
    finish(&scene, 2);
    assert_eq!(scene.runs().len(), SEEDS as usize, "{:?}", scene.runs());
}

/// Some are killed with a claim, with an intent, with a running run; the others find what they left.
#[test]
fn eight_launches_of_which_some_are_killed() {
    let scene = Scene::with("dying", "short", SEEDS, 2, "at once");
    let places = ["launch:claiming", "launch:claimed", "launch:claimed", "launch:laid_out", "launch:gone"];
    eight(&scene, &places);
    finish(&scene, 2);
}
