//! Missing mechanisms: refused where full sandboxing was agreed, recorded where less is enough.

use serde_json::{Value, json};

use super::{log, run_json};
use crate::launch::candidates::{baseline, learning_rate, reward_with};
use crate::launch::repository::Repository;

/// Launches with mechanisms disabled; returns the end of the run.
fn end_without(repository: &Repository, id: &str, without: &str) -> (Value, Value) {
    let line = repository.execute(id, &repository.plan(id));
    repository.rlx_where(&[("RLX_WITHOUT", without)], &line).expect(0);
    let key = &repository.runs_of(id)[0];
    (repository.end_of(key), run_json(repository, key, "train.json")["mechanisms"].clone())
}

#[test]
fn where_full_was_agreed_nothing_less_will_do() {
    let repository = Repository::build().without_baseline().approved();
    repository.ready("baseline", baseline());
    let line = repository.execute("baseline", &repository.plan("baseline"));
    let all = "landlock,pid_namespace,network_namespace,mount_namespace,ipc_namespace,root,seccomp";
    // The last two have a substitute with the same guarantee, but a switch for tests is never full.
    for mechanism in all.split(',').chain([all, "overlay", "cgroup"]) {
        let refused = repository.rlx_where(&[("RLX_WITHOUT", mechanism)], &line).expect(3);
        let answer = refused.json();
        let refusals = answer["refusals"].as_array().unwrap();
        let weak = refusals.iter().find(|refusal| refusal["code"] == "confinement_too_weak");
        let reason = weak.unwrap_or_else(|| panic!("{answer}"))["reason"].as_str().unwrap();
        for name in mechanism.split(',') {
            assert!(reason.contains(name), "{name} is not named: {reason}");
        }
    }
    assert_eq!(repository.runs_of("baseline").len(), 0);
}

#[test]
fn where_none_was_agreed_the_record_says_what_held() {
    let build = Repository::build().without_baseline();
    let repository = build.agree(|agreed| agreed.contract["confinement"] = "none".into()).approved();
    for (number, (id, without, level)) in (1u8..).zip([
        ("usual", "", "full"),
        ("files", "landlock", "partial"),
        ("processes", "pid_namespace", "partial"),
        ("network", "network_namespace", "partial"),
        ("mounts", "mount_namespace", "partial"),
        ("shared_memory", "ipc_namespace", "partial"),
        ("calls", "seccomp", "partial"),
        ("copies", "overlay", "partial"),
        ("polls", "cgroup", "partial"),
        ("nothing", "landlock,pid_namespace,network_namespace,overlay,cgroup", "none"),
    ]) {
        repository.ready(id, learning_rate(f64::from(number) / 2.0 + 0.25));
        let (end, mechanisms) = end_without(&repository, id, without);
        assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &level.into()), "{id}: {end}");
        let substitutes = [("overlay", "tree", "copy"), ("cgroup", "memory", "polling")];
        for (_, kind, substitute) in substitutes.iter().filter(|(name, ..)| without.contains(name)) {
            assert_eq!(mechanisms[kind], *substitute, "{id}: {mechanisms}");
        }
        let missing = mechanisms["missing"].to_string();
        for name in without.split(',').filter(|name| *name != "cgroup") {
            assert!(missing.contains(name), "{id}: {name} is not among {missing}");
        }
    }
    repository.rlx("verify --chain").expect(0);
}

/// Paths that the runbook lists are approved with it, shown in the plan, and there for the run.
#[test]
fn a_listed_path_can_be_read() {
    let data = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = data.path().join("file");
    std::fs::write(&file, "from outside").unwrap();
    let build = Repository::build().without_baseline();
    let repository = build.agree(|agreed| agreed.runbook["read"] = json!([data.path()])).approved();
    repository.ready("reads", reward_with(&format!("print(open('{}').read(), flush=True)", file.display())));
    let plan = repository.rlx("launch reads --json").expect(0).json();
    assert_eq!(plan["read"], json!([data.path()]), "{plan}");
    let shown = repository.rlx("launch reads").expect(0).stdout;
    assert!(shown.contains(&format!("may also read: {}", data.path().display())), "{shown}");
    repository.launch("reads").expect(0);
    assert!(log(&repository, &repository.runs_of("reads")[0], "train").contains("from outside"));
    // Another list needs another approval.
    let text = repository.read("runbook.yaml").replace(data.path().to_str().unwrap(), "/var");
    std::fs::write(repository.file("runbook.yaml"), text).unwrap();
    let refused = repository.rlx("launch reads --json").expect(3);
    assert!(refused.stdout.contains("baseline"), "{}", refused.stdout);
}
