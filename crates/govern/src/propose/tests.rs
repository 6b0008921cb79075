use serde_json::json;

use super::*;

fn spec() -> MetricSpec {
    serde_json::from_value(json!({
        "schema": "rlxp.metric_spec/1",
        "primary": {
            "name": "success", "direction": "higher", "aggregation": "mean",
            "source": {"format": "json", "file": "eval/s.json", "pointer": "/s"},
        },
        "failure_score": 0.0, "smallest_effect": 0.05,
        "protocol": {
            "episodes": 20, "deterministic": true, "checkpoint": "last", "environments": "the pole",
            "seeds": {
                "screen": {"from": 1, "to": 9}, "confirm": {"from": 10, "to": 19},
                "audit": {"from": 20, "to": 29}, "evaluation": {"from": 30, "to": 39},
            },
        },
    }))
    .unwrap()
}

fn surface(kind: &str, keys: &Value, operations: &[&str]) -> Surface {
    serde_json::from_value(json!({
        "id": kind.replace('_', "-"), "kind": kind, "paths": ["config.yaml"], "keys": keys, "operations": operations,
    }))
    .unwrap()
}

fn present(surface: &Surface, values: &[Value]) -> Vec<(usize, Value)> {
    assert_eq!(surface.keys.len(), values.len());
    values.iter().cloned().enumerate().collect()
}

fn propose(surface: &Surface, values: &[Value], found: &[Found], earlier: &[Earlier]) -> Vec<Proposal> {
    let present: Vec<PresentValue<'_>> = present(surface, values)
        .into_iter()
        .map(|(index, value)| PresentValue {
            surface,
            key: &surface.keys[index],
            path: "config.yaml".into(),
            value,
        })
        .collect();
    proposals(&present, found, earlier, &["baseline-r1-confirm-7-1".to_owned()], &spec())
}

fn moves(proposals: &[Proposal]) -> Vec<(String, Value)> {
    proposals.iter().map(|proposal| (proposal.name.clone(), proposal.to.clone())).collect()
}

fn ppo() -> Surface {
    let keys = json!([
        {"key": "clip", "min": 0.05, "max": 0.5}, {"key": "learning_rate", "min": 0.01, "max": 10.0},
    ]);
    surface("hyperparameter", &keys, &["set"])
}

fn earlier(key: &str, from: f64, to: f64, outcome: Outcome) -> Earlier {
    let runs = vec![format!("{key}-run")];
    let candidate = "before".parse().unwrap();
    Earlier { candidate, key: key.into(), from: Some(json!(from)), to: json!(to), outcome, runs }
}

#[test]
fn both_directions_the_most_important_key_first() {
    let all = propose(&ppo(), &[json!(0.2), json!(2.0)], &[], &[]);
    let expected = [
        ("learning-rate-down", json!(1.0)),
        ("learning-rate-up", json!(4.0)),
        ("clip-down", json!(0.1)),
        ("clip-up", json!(0.4)),
    ];
    assert_eq!(moves(&all), expected.map(|(name, to)| (name.to_owned(), to)));
    for proposal in &all {
        assert!(!proposal.risk.is_empty() && proposal.hypothesis.contains("raises success"));
        assert_eq!(proposal.evidence, ["baseline-r1-confirm-7-1"]);
    }
}

#[test]
fn what_was_tried_or_made_things_worse_is_not_proposed() {
    let before = [
        earlier("learning_rate", 2.0, 4.0, Outcome::Rejected),
        earlier("clip", 0.2, 0.4, Outcome::Open),
        earlier("clip", 0.3, 0.1, Outcome::Inconclusive),
    ];
    let all = propose(&ppo(), &[json!(0.2), json!(2.0)], &[], &before);
    assert_eq!(moves(&all), [("learning-rate-down".to_owned(), json!(1.0))]);
    assert!(all[0].hypothesis.contains("other direction was rejected"), "{}", all[0].hypothesis);
    assert_eq!(all[0].evidence, ["learning_rate-run"]);
    // The direction of a rejected step stays closed at other sizes too.
    let all = propose(&ppo(), &[json!(0.2), json!(3.0)], &[], &before[..1]);
    assert!(!moves(&all).iter().any(|(name, _)| name == "learning-rate-up"));
}

#[test]
fn a_finding_decides_the_direction_and_comes_first() {
    let found = Found {
        rule: "F03".into(),
        text: "approx-kl is 0.08".into(),
        evidence: vec!["record:12".into()],
        about: About::Updates { are_too_large: true },
    };
    let all = propose(&ppo(), &[json!(0.2), json!(2.0)], &[found], &[]);
    assert_eq!(all[0].name, "learning-rate-down");
    assert_eq!(
        (all[0].evidence.as_slice(), all[0].knowledge.as_slice()),
        (&["record:12".to_owned()][..], &["F03".to_owned()][..])
    );
    assert!(!moves(&all).iter().any(|(name, _)| name == "learning-rate-up"), "{:?}", moves(&all));
}

#[test]
fn rewards_change_only_on_a_finding() {
    let keys = json!([{"key": "weights.alive", "min": 0.0, "max": 10.0}]);
    let reward = surface("reward", &keys, &["set"]);
    assert_eq!(propose(&reward, &[json!(5.0)], &[], &[]), []);
    let dominates = Found {
        rule: "F20".into(),
        text: "alive makes up 77% of the magnitude".into(),
        evidence: vec!["audits/reward_reflection-baseline.json".into()],
        about: About::Component { name: "alive".into(), is_too_large: true },
    };
    let all = propose(&reward, &[json!(5.0)], &[dominates], &[]);
    assert_eq!(moves(&all), [("weights-alive-down".to_owned(), json!(2.5))]);
    assert_eq!(all[0].kind, CandidateKind::RewardTuning);
}

#[test]
fn a_probed_range_becomes_the_ends_of_a_randomised_one() {
    let keys = json!([{"key": "friction.min", "min": 0.0, "max": 2.0}, {"key": "friction.max", "min": 0.0, "max": 2.0}]);
    let randomisation = surface("randomisation", &keys, &["set"]);
    let found = Found {
        rule: "probe".into(),
        text: "works from 0.5 to 1.5".into(),
        evidence: vec!["audits/probe-friction.json".into()],
        about: About::Range { key: "friction".into(), from: 0.5, to: 9.0 },
    };
    let all = propose(&randomisation, &[json!(1.0), json!(1.0)], &[found], &[]);
    let probed: Vec<_> = moves(&all).into_iter().filter(|(name, _)| name.ends_with("probed")).collect();
    // Never beyond the agreed range.
    assert_eq!(
        probed,
        [("friction-min-probed".to_owned(), json!(0.5)), ("friction-max-probed".to_owned(), json!(2.0))]
    );
}

#[test]
fn an_operation_that_was_not_agreed_gives_nothing() {
    let keys = json!([{"key": "learning_rate", "min": 0.01, "max": 10.0}]);
    assert_eq!(
        propose(&surface("hyperparameter", &keys, &["edit_code", "schedule"]), &[json!(2.0)], &[], &[]),
        []
    );
    let order = propose(&ppo(), &[json!(0.2), json!(2.0)], &[], &[]);
    assert_eq!(order, propose(&ppo(), &[json!(0.2), json!(2.0)], &[], &[]));
}
