//! Studies that run by themselves: from a signed contract to verdicts, without a person in between.

use serde_json::{Value, json};

use crate::governed::study::Ran;
use crate::launch::candidates::{baseline, reward_with};
use crate::launch::repository::{Build, Repository};

/// Trains nothing: what it leaves is the learning rate that it was given and a number from its seed.
const TRAIN: &str = r#"
/^learning_rate:/ { rate = $2 }
END {
    srand(seed); rand()
    printf "%s %s\n", rate, rand() > (out "/policy.json")
    print "{\"step\": 1}" > (out "/metrics.jsonl")
}
"#;

/// Best at a learning rate of 4; seeds differ by at most 0.02.
const EVAL: &str = r#"
{
    srand(seed); rand()
    distance = $1 > 4 ? $1 - 4 : 4 - $1
    printf "{\"success\": %.6f}\n", 1 - distance / 10 + 0.01 * $2 + 0.01 * rand() > (out "/scores.json")
}
"#;

/// An autonomous study of that, with everything signed.
pub(crate) fn study(candidates: u64, runs: u64, incumbent_seeds: u64, looks: &[u64]) -> Build {
    let train = ["awk", "-v", "seed={seed}", "-v", "out={run}", "-f", "train.awk", "configs/ppo.yaml"];
    let eval = ["awk", "-v", "seed={seed}", "-v", "out={run}", "-f", "src/balance_eval/eval.awk"];
    let build = Repository::build()
        .file("train.awk", TRAIN)
        .file("src/balance_eval/eval.awk", EVAL)
        .train_with(&train)
        .eval_with(&[&eval[..], &["{trained}/policy.json"]].concat());
    build.agree(|agreed| {
        agreed.contract["automation"] = "autonomous".into();
        agreed.contract["budget"]["runs"] = runs.into();
        agreed.contract["budget"]["parallel"] = 2.into();
        agreed.contract["budget"]["wall_clock"] = "10h".into();
        agreed.contract["budget"]["disk"] = "50GiB".into();
        agreed.contract["statistics"] = json!({
            "alpha": 0.05, "screen_seeds": 1, "candidates": candidates,
            "incumbent_seeds": incumbent_seeds, "looks": looks,
        });
        agreed.contract["experiment"]["envelope"] = json!({
            "kinds": ["hyperparameter", "reward_engineering"], "surfaces": ["ppo", "reward"],
            "phases": ["smoke", "short", "confirm", "incumbent_validation"], "candidates": 20,
        });
        agreed.contract["stop_rules"] = json!([{"when": "failures_in_a_row", "runs": 20}]);
        agreed.metric_spec["smallest_effect"] = 0.02.into();
        agreed.runbook["inputs"] = json!([]);
        agreed.runbook["import_roots"] = json!([]);
    })
}

/// A key of the config set to another value.
pub(crate) fn set(key: &str, from: f64, to: f64) -> Value {
    json!({
        "schema": "rlxp.candidate/1", "task": "balance", "study": "tuning",
        "kind": "hyperparameter", "hypothesis": format!("{key} of {to} is better than {from}"),
        "changes": [{
            "surface": "ppo", "operation": "set", "path": "configs/ppo.yaml", "key": key, "from": from, "to": to,
        }],
        "rollback": "the value as it was", "risk": "it learns less",
    })
}

/// Verdicts by candidate.
pub(crate) fn verdicts(repository: &Repository) -> Vec<(String, String)> {
    let judged = repository.records("judged");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    judged.iter().map(|one| (word(&one["candidate"]), word(&one["verdict"]))).collect()
}

/// The candidates of a campaign: one better by far, one equal, one worse, and one that builds on the first.
pub(crate) struct Campaign {
    pub(crate) better: Value,
    pub(crate) equal: Value,
    pub(crate) worse: Value,
    pub(crate) builds_on_it: Value,
}

impl Campaign {
    /// Lets the loop run all of them, and one that edits the evaluator.
    pub(crate) fn run(self, repository: &Repository) {
        let before = repository.untouched();
        repository.candidate("baseline", baseline());
        repository.candidate("a-better", self.better);
        repository.candidate("b-equal", self.equal);
        repository.candidate("c-worse", self.worse);
        repository.candidate("d-evaluator", {
            let mut value = reward_with("x = 1");
            value["changes"][0]["path"] = "src/balance_eval/eval.awk".into();
            value
        });
        repository.candidate("e-builds-on-it", self.builds_on_it);
        let ran = repository.rlx("autoloop --json");
        let said = format!("{}\n{}", ran.stdout, ran.stderr);
        let first = verdicts(repository).into_iter().next();
        assert_eq!(first, Some(("a-better".to_owned(), "accepted".to_owned())), "{said}");
        let equal = verdict_of(repository, "b-equal");
        assert!(equal.as_deref().is_some_and(|verdict| verdict != "accepted"), "{equal:?} {said}");
        assert_eq!(verdict_of(repository, "c-worse").as_deref(), Some("rejected"), "{said}");
        // It starts from what was accepted: otherwise its `from` would not be the present value.
        assert!(verdict_of(repository, "e-builds-on-it").is_some(), "{said}");
        let refusals = repository.records("refused");
        let refused = refusals.iter().find(|refused| refused["what"] == "validate d-evaluator").unwrap();
        assert!(refused["codes"].as_array().unwrap().contains(&"protected".into()), "{refused}");
        assert!(repository.runs_of("d-evaluator").is_empty());
        assert_eq!(repository.untouched(), before);
        let verified = repository.rlx("verify --json").expect(0).json();
        let holds = verified["holds"].to_string();
        for what in [
            "are as they were when the runs ended",
            "metrics of",
            "looks and verdicts come out the same",
            "decisions come out the same",
            "follows from what was validated",
        ] {
            assert!(holds.contains(what), "no {what:?}: {verified}");
        }
    }
}

fn verdict_of(repository: &Repository, id: &str) -> Option<String> {
    verdicts(repository).into_iter().find(|(one, _)| one == id).map(|(_, verdict)| verdict)
}

#[test]
fn a_campaign_from_a_signed_contract_to_its_verdicts() {
    let repository = study(5, 150, 15, &[5, 10, 15]).approved();
    let campaign = Campaign {
        better: set("learning_rate", 2.0, 3.0),
        equal: set("clip", 0.2, 0.3),
        worse: set("learning_rate", 3.0, 1.5),
        builds_on_it: set("learning_rate", 3.0, 4.0),
    };
    campaign.run(&repository);
    assert_eq!(verdict_of(&repository, "e-builds-on-it").as_deref(), Some("accepted"));
    every_flipped_byte_is_found(&repository);
    every_forged_record_is_found(&repository);
}

/// A chain that was computed again hides nothing: each kind of record follows from something else.
fn every_forged_record_is_found(repository: &Repository) {
    let replace = |body: &mut Value, field: &str, to: Value| {
        let is_other = body[field] != to;
        body[field] = to;
        is_other
    };
    let check = |kind: &str, code: &str, edit: &dyn Fn(&mut Value) -> bool| {
        let found = repository.forged(kind, edit);
        assert!(found.iter().any(|one| one == code), "{kind}: {found:?} without {code}");
    };
    check("decided", "decision_differs", &|body| replace(body, "decision", "stop".into()));
    check("decided", "decision_differs", &|body| replace(body, "reason", "because".into()));
    check("judged", "verdict_differs", &|body| replace(body, "reason", "because".into()));
    // A verdict whose reason was removed is not one of an earlier version, because looks came before it.
    check("judged", "verdict_differs", &|body| body.as_object_mut().unwrap().remove("reason").is_some());
    check("judged", "accepted_code_differs", &|body| {
        body["verdict"] == "accepted" && replace(&mut body["code"]["base"], "commit", "0".repeat(40).into())
    });
    check("looked", "look_differs", &|body| replace(body, "z", 9.0.into()));
    check("evidence", "metrics_differ", &|body| replace(&mut body["values"], "success", 0.123.into()));
    // Evidence of a run whose list of files isn't recorded proves nothing.
    check("run_ended", "file_list_not_recorded", &|body| {
        body["end"] == "ok" && body.as_object_mut().unwrap().remove("manifest").is_some()
    });
    repository.rlx("verify").expect(0);

    // The ref of what was accepted is checked, and the content of its commit.
    let name = "refs/rlxp/balance/tuning/a-better";
    let commit = repository.git(&["rev-parse", name]).trim().to_owned();
    repository.git(&["update-ref", name, "HEAD"]);
    let found = repository.rlx("verify --json").expect(1).json();
    assert!(found["problems"].to_string().contains("accepted_ref_differs"), "{found}");
    repository.git(&["update-ref", name, &commit]);
    let blob = repository.git(&["rev-parse", &format!("{commit}:configs/ppo.yaml")]).trim().to_owned();
    let object = repository.path(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let before = std::fs::read(&object).unwrap();
    let mut after = before.clone();
    *after.last_mut().unwrap() ^= 1;
    rewrite(&object, &after);
    let found = repository.rlx("verify --json");
    assert!(found.stdout.contains("a-better"), "{}\n{}", found.stdout, found.stderr);
    assert_ne!(found.code, Some(0), "{}", found.stdout);
    rewrite(&object, &before);
    repository.rlx("verify").expect(0);

    // What was cleaned up is not missing, and can't be checked.
    repository.rlx("study clean --execute").expect(0);
    let cleaned = repository.rlx("verify --json").expect(0).json();
    assert!(cleaned["not_checked"].to_string().contains("which rlx study clean removed"), "{cleaned}");
    assert!(cleaned["holds"].to_string().contains("come out the same"), "{cleaned}");

    // Run folders that were deleted: what can't be computed any more is named, and the rest still holds.
    let runs = repository.run_folder(&repository.runs_of("a-better")[2]);
    std::fs::remove_dir_all(runs.parent().unwrap()).unwrap();
    let gone = repository.rlx("verify --json").expect(0).json();
    assert!(gone["not_checked"].to_string().contains("because their files are gone"), "{gone}");
    assert!(gone["holds"].to_string().contains("in one chain"), "{gone}");
    repository.rlx("study next").expect(0);
    repository.rlx("study report").expect(0);
}

/// One changed byte in what training left, in what evaluation wrote, and in a verdict.
fn every_flipped_byte_is_found(repository: &Repository) {
    let key = &repository.runs_of("a-better")[2];
    for name in ["train/policy.json", "eval/scores.json", "manifest.json"] {
        let path = repository.run_folder(key).join(name);
        let before = std::fs::read(&path).unwrap();
        let mut after = before.clone();
        let place = after.iter().rposition(u8::is_ascii_digit).unwrap();
        after[place] = if after[place] == b'1' { b'2' } else { b'1' };
        let permissions = std::fs::metadata(&path).unwrap().permissions();
        rewrite(&path, &after);
        let found = repository.rlx("verify --json").expect(1).json();
        assert!(found["problems"].to_string().contains(key.as_str()), "{name}: {found}");
        rewrite(&path, &before);
        std::fs::set_permissions(&path, permissions).unwrap();
    }
    repository.rlx("verify").expect(0);
}

/// Writes a file that may be read-only.
fn rewrite(path: &std::path::Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The loop is killed after every record that it appends: the next one continues, no key runs twice, the budget is exact, and
/// the verdicts are those of a loop that was never killed.
#[test]
fn a_loop_that_is_killed_after_every_record_ends_the_same() {
    let repository = study(2, 60, 5, &[5]).approved();
    repository.candidate("baseline", baseline());
    repository.candidate("a-worse", set("learning_rate", 2.0, 1.0));
    repository.candidate("b-better", set("learning_rate", 2.0, 4.0));
    let mut kills = 0;
    let last = loop {
        let ran = repository.rlx_where(&[("RLX_CRASH_AT", next_kill(&repository))], "autoloop --json");
        match ran.code {
            None => kills += 1,
            Some(_) => break ran,
        }
        assert!(kills < 400, "{:?}", repository.ledger().last());
    };
    assert_eq!(last.code, Some(0), "{}\n{}", last.stdout, last.stderr);
    assert!(kills > 60, "only {kills} kills");
    // One look is the last one, and what isn't shown to be better at the last look is inconclusive.
    let expected = [("a-worse", "inconclusive"), ("b-better", "accepted")];
    let expected = expected.map(|(id, verdict)| (id.to_owned(), verdict.to_owned()));
    assert_eq!(verdicts(&repository), expected);
    nothing_ran_twice(&repository, 60, &last);
}

/// One run per key, one end per run, a budget that is exact, and a ledger that can be recomputed.
pub(crate) fn nothing_ran_twice(repository: &Repository, budget: u64, last: &Ran) {
    let intents = repository.records("launch_intent");
    let mut keys: Vec<&str> = intents.iter().map(|intent| intent["key"].as_str().unwrap()).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count, "a key ran twice");
    let ends = repository.records("run_ended");
    assert_eq!(ends.len(), count, "every run has one end");
    let spent: u64 = ends.iter().map(|end| end["spent"]["runs"].as_u64().unwrap()).sum();
    let left = last.json()["left"]["runs"].as_u64().unwrap();
    assert_eq!(spent + left, budget, "the budget is exact");
    repository.rlx("verify").expect(0);
}

/// After which record the next loop is killed: any, but a seed that was lost because of a kill gets through once, because a
/// second loss would count against it.
fn next_kill(repository: &Repository) -> &'static str {
    let ledger = repository.ledger();
    let last_of = |kind: &str| ledger.iter().rfind(|record| record["kind"] == kind);
    let last_end = last_of("run_ended").filter(|record| record["body"]["end"] == "lost");
    let is_live = |record: &&Value| matches!(record["kind"].as_str(), Some("launch_intent" | "launched"));
    match (ledger.last().as_ref().filter(|record| is_live(record)), last_end) {
        (Some(_), _) | (None, Some(_)) => "ledger:run_ended",
        (None, None) => "ledger:any",
    }
}
