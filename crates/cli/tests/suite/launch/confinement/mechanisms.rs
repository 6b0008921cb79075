//! Missing mechanisms: refused where full sandboxing was agreed, recorded where less is enough.

use serde_json::Value;

use super::run_json;
use crate::launch::candidates::{baseline, learning_rate};
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
    repository.ready("steps", learning_rate(1.0));
    let line = repository.execute("baseline", &repository.plan("baseline"));
    let all = "landlock,pid_namespace,network_namespace,mount_namespace";
    for mechanism in all.split(',').chain([all]) {
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
    // These have a substitute with the same guarantee, and the record names it.
    let (end, mechanisms) = end_without(&repository, "baseline", "overlay");
    assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &"full".into()), "{end}");
    assert_eq!(mechanisms["tree"], "copy", "{mechanisms}");
    let (end, mechanisms) = end_without(&repository, "steps", "cgroup");
    assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &"full".into()), "{end}");
    assert_eq!((&mechanisms["memory"], &mechanisms["process_count"]), (&"polling".into(), &"polling".into()));
}

#[test]
fn where_none_was_agreed_the_record_says_what_held() {
    let build = Repository::build().without_baseline();
    let repository = build.agree(|agreed| agreed.contract["confinement"] = "none".into()).approved();
    for (id, without, level) in [
        ("usual", "", "full"),
        ("files", "landlock", "partial"),
        ("processes", "pid_namespace", "partial"),
        ("network", "network_namespace", "partial"),
        ("mounts", "mount_namespace", "partial"),
        ("nothing", "landlock,pid_namespace,network_namespace,overlay,cgroup", "none"),
    ] {
        repository.ready(id, learning_rate(1.0));
        let (end, mechanisms) = end_without(&repository, id, without);
        assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &level.into()), "{id}: {end}");
        let missing = mechanisms["missing"].to_string();
        for name in without.split(',').filter(|name| *name != "cgroup") {
            assert!(missing.contains(name), "{id}: {name} is not among {missing}");
        }
    }
    repository.rlx("verify --chain").expect(0);
}
