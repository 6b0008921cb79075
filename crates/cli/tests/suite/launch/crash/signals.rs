//! Signals from outside, to launch and to supervisors of runs that refuse to end.

use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::scene::Scene;

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), signal).unwrap();
}

fn found(scene: &Scene, key: &str) -> String {
    let status = scene.repository.rlx("launch status --json").expect(0).json();
    let runs = status["runs"].as_array().unwrap_or_else(|| panic!("{status}"));
    let run = runs.iter().find(|run| run["key"] == key).unwrap_or_else(|| panic!("{status}"));
    run["found"].as_str().unwrap_or_default().to_owned()
}

fn launch(scene: &Scene) -> (Child, String) {
    let child = scene.repository.start(&scene.launch_one(), &[]);
    let key = scene.works();
    (child, key)
}

/// A run outlives a launch that is killed, and adopting it records its result.
#[test]
fn a_killed_launch_leaves_its_run() {
    let scene = Scene::with("orphaned", "short", 1, 1, "hold");
    let (mut child, key) = launch(&scene);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    assert_eq!(found(&scene, &key), "running");
    let again = scene.repository.rlx(&scene.launch_one()).expect(3);
    assert!(again.codes().contains(&"live_run".to_owned()), "{}", again.stdout);
    let adopting = scene.repository.start("launch adopt --json", &[]);
    scene.let_end(&key);
    assert!(adopting.wait_with_output().unwrap().status.success());
    assert_eq!(scene.repository.end_of(&key)["end"], "ok");
    scene.is_over();
    scene.nothing_is_left("after adopt");
    scene.check("after adopt");
}

/// Ctrl-C doesn't affect the run; `cancel` also ends a run that ignores SIGTERM, and such a run isn't started again.
#[test]
fn interrupted_then_called_off() {
    let scene = Scene::with("called-off", "short", 1, 1, "hold");
    let (mut child, key) = launch(&scene);
    signal(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(found(&scene, &key), "running");
    let cancelled = scene.repository.rlx(&format!("launch cancel {key} --json")).expect(0).json();
    assert_eq!(cancelled["state"], "ended (cancelled)", "{cancelled}");
    scene.nothing_is_left("after cancel");
    assert_eq!(scene.repository.end_of(&key)["end"], "cancelled");
    scene.is_over();
    scene.check("after cancel");
}

/// Everything that a run started dies with its supervisor, even a process that left its session and ignores SIGTERM.
#[test]
fn nothing_survives_its_supervisor() {
    let scene = Scene::with("unattended", "short", 1, 1, "hold");
    scene.repository.rlx(&(scene.launch_one() + " --detach")).expect(0);
    let key = scene.works();
    signal(scene.supervisor(&key), Signal::KILL);
    scene.nothing_is_left("the supervisor was killed");
    let status = scene.repository.rlx("launch status --json").expect(0).json();
    assert_eq!(status["settled"][0], *key, "{status}");
    assert_eq!(scene.repository.end_of(&key)["end"], "lost");
    scene.check("the supervisor was killed");
    let (child, again) = launch(&scene);
    assert_eq!(again, format!("{}-2", key.strip_suffix("-1").unwrap()));
    scene.let_end(&again);
    assert!(child.wait_with_output().unwrap().status.success());
    scene.is_over();
    scene.check("after the second try");
}

/// Killed at any instant: launch and supervisors in turn, after waits that are independent of what they do.
#[test]
fn killed_at_any_instant() {
    const SEEDS: u64 = 12;
    let scene = Scene::new("any-instant", "short", SEEDS);
    for round in 0..16u64 {
        let mut child = scene.repository.start(&scene.launch_one(), &[]);
        std::thread::sleep(Duration::from_millis(round * 37 % 280));
        if round % 2 == 0 {
            child.kill().unwrap();
        } else {
            let supervisors = scene.processes().into_iter().filter(|line| line.contains(" __run "));
            for line in supervisors {
                let number = line.split(' ').next().unwrap().parse().unwrap();
                // It may have ended since it was seen.
                let _ = kill_process(Pid::from_raw(number).unwrap(), Signal::KILL);
            }
        }
        child.wait().unwrap();
        scene.repository.rlx("launch status --json").expect(0);
        scene.repository.rlx("launch adopt --json").expect(0);
        scene.nothing_is_left("killed at any instant");
        scene.check_runs("killed at any instant");
    }
    // Whatever happened to them, every seed gets its result, or was lost after training, or twice.
    let left = |scene: &Scene| {
        let done = |seed: &u64| {
            let runs = scene.runs_of(*seed);
            let lost: Vec<_> = runs.iter().filter(|run| run.end == "lost").collect();
            let has_trained = |key: &str| scene.repository.end_of(key)["after_training"] == true;
            runs.iter().any(|run| run.end == "ok")
                || lost.len() == 2
                || lost.iter().any(|run| has_trained(&run.key))
        };
        !(1..=SEEDS).all(|seed| done(&seed))
    };
    while left(&scene) {
        scene.repository.rlx(&scene.launch_one()).expect(0);
    }
    scene.is_over();
    scene.check_runs("killed at any instant");
    scene.check_budget("killed at any instant");
    scene.repository.rlx("verify --chain").expect(0);
}
