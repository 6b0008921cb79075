//! From an approved candidate to a finished run, without mocks.

use serde_json::Value;

use crate::launch::candidates::{baseline, reward_scale};
use crate::launch::repository::Repository;

/// The plan shows what would run; following it runs that, and leaves the repository unchanged.
#[test]
fn the_patched_reward_is_what_ran() {
    let repository = Repository::build().editable().approved();
    let before = repository.untouched();
    repository.ready("baseline", baseline());
    repository.launch_through("baseline", "confirm").expect(0);
    let unchanged = &repository.runs_of("baseline")[0];
    ended_well(&repository, unchanged);
    assert_scale(&repository, unchanged, 1.0);

    repository.ready("reward", reward_scale(2.5));
    let plan = repository.rlx("launch reward --json").expect(0).json();
    assert_eq!((&plan["candidate"], &plan["phase"]), (&"reward".into(), &"smoke".into()), "{plan}");
    assert_eq!(plan["runs"], 1, "{plan}");
    for part in ["plan", "limits", "confinement", "budget_after"] {
        assert!(!plan[part].is_null(), "no {part} in {plan}");
    }
    assert_eq!(repository.runs_of("reward").len(), 0, "a plan starts nothing");
    repository.rlx(&repository.execute("reward", plan["plan"].as_str().unwrap())).expect(0);
    let smoke = repository.runs_of("reward");
    assert_eq!(smoke.len(), 1, "{smoke:?}");
    ended_well(&repository, &smoke[0]);
    assert_scale(&repository, &smoke[0], 2.5);

    // The phase after smoke: two seeds, each evaluated by code that the candidate can't change.
    while repository.runs_of("reward").len() < 3 {
        let ran = repository.runs_of("reward").len();
        repository.launch("reward").expect(0);
        assert!(repository.runs_of("reward").len() > ran, "a launch that ran nothing");
    }
    for key in &repository.runs_of("reward")[1..] {
        ended_well(&repository, key);
        assert_scale(&repository, key, 2.5);
        let scores = std::fs::read_to_string(repository.run_folder(key).join("eval/scores.json")).unwrap();
        let scores: Value = serde_json::from_str(&scores).unwrap();
        assert_eq!(scores["episodes"], 20, "{scores}");
        assert!(scores["success"].as_f64().unwrap() > 0.5, "{scores}");
    }
    assert_eq!(repository.untouched(), before);
    repository.rlx("verify --chain").expect(0);
}

/// The project is installed editable and the runbook doesn't say where its modules are: Python loads those of the working
/// copy, not the patched ones, and such a run proves nothing.
#[test]
fn code_that_was_not_patched_is_no_evidence() {
    let no_roots = |agreed: &mut crate::launch::agreed::Agreed| {
        agreed.runbook["import_roots"] = Vec::<Value>::new().into()
    };
    let repository = Repository::build().editable().without_baseline().agree(no_roots).approved();
    repository.ready("reward", reward_scale(2.5));
    repository.launch("reward");
    let key = &repository.runs_of("reward")[0];
    let end = repository.end_of(key);
    assert_eq!(end["not_evidence"], "not_the_patched_code", "{end}");
    // It really did run something else.
    assert_scale(&repository, key, 1.0);
}

/// A machine that offers less than was agreed starts nothing.
#[test]
fn with_less_confinement_than_agreed_nothing_starts() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    let line = repository.execute("baseline", &repository.plan("baseline"));
    let ran = repository.rlx_where(&[("RLX_WITHOUT", "landlock")], &line).expect(3);
    assert!(ran.codes().contains(&"confinement_too_weak".to_owned()), "{}", ran.stdout);
    assert_eq!(repository.runs_of("baseline").len(), 0);
}

/// The run is recorded from its intent to its end, in this order, and succeeded.
#[track_caller]
fn ended_well(repository: &Repository, key: &str) {
    let of_run = repository.ledger().into_iter().filter(|record| record["body"]["key"] == key);
    let kinds: Vec<String> = of_run.map(|record| record["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds[..3], ["launch_intent", "launched", "run_ended"], "{key}");
    let end = repository.end_of(key);
    assert_eq!(end["end"], "ok", "{end}");
    assert!(end["not_evidence"].is_null(), "{end}");
}

/// Training used this reward, according to its own output.
#[track_caller]
fn assert_scale(repository: &Repository, key: &str, scale: f64) {
    let lines = repository.run_lines(key, "train/metrics.jsonl");
    assert!(!lines.is_empty() && lines.iter().all(|line| line["reward_scale"] == scale), "{lines:?}");
}
