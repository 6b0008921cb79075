//! Curves of real trainings, among them those that were once described
//! falsely: `curves.json` has `[step, value]` pairs as they were logged.

use std::collections::BTreeMap;

use super::oracle::{Raw, check, check_phases, check_story};
use crate::describe::metrics::{entry, read};
use crate::describe::story::*;

type Logged = BTreeMap<String, Vec<Vec<(u64, Option<f64>)>>>;

fn curves() -> Vec<(String, Vec<Raw>)> {
    let logged: Logged = serde_json::from_str(include_str!("curves.json")).unwrap();
    let raw = |points: Vec<(u64, Option<f64>)>| Raw {
        points: points.into_iter().map(|(step, value)| (step, value.unwrap_or(f64::NAN))).collect(),
        errors: Vec::new(),
        failed: false,
    };
    logged.into_iter().map(|(name, seeds)| (name, seeds.into_iter().map(raw).collect())).collect()
}

fn raws(name: &str) -> Vec<Raw> {
    curves().into_iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}")).1
}

fn subject(threshold: Option<f64>) -> Subject {
    Subject { kind: "eval".into(), metric: "mean_return".into(), threshold, baseline: None }
}

fn texts(statements: &[Statement]) -> String {
    statements.iter().map(|statement| statement.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_claim_about_real_trainings_holds() {
    for (name, raws) in curves() {
        let (_, metric) = name.split_once(' ').unwrap();
        let (kind, metric) = metric.split_once('/').unwrap();
        for threshold in [None, Some(475.0), Some(0.0)] {
            check_story(&subject(threshold), &raws);
        }
        let course = fold(&super::oracle::courses(&raws));
        let entry = entry(kind, metric).unwrap();
        let reading = read(entry, metric, &course, None, &[0]);
        let mut statements = reading.statements.clone();
        for statement in &mut statements {
            statement.text = statement.text.replace(&entry.high, "").replace(&entry.low, "");
        }
        check(&raws, &statements, &[reading.phases.len().saturating_sub(5) as f64], &[]);
        check_phases(&reading.phases);
    }
}

#[test]
fn what_was_false_once_is_true_now() {
    // "Fall over steps 15,360 to 20,480, from 500 to 500."
    let told = tell(&subject(Some(475.0)), &super::oracle::courses(&raws("cart eval/mean_return")));
    let said = texts(&told.statements);
    assert!(!said.contains("Fall"), "{said}");
    assert!(said.contains("Rise over steps 5,120 to 15,360, from 167.2 to 500"), "{said}");
    // "Down to 0 until 3,072, up to 0 until 4,096, around 0 until 99,328."
    let course = fold(&super::oracle::courses(&raws("lr3 train/approx_kl")));
    let reading = read(entry("train", "approx_kl").unwrap(), "approx_kl", &course, None, &[0]);
    let said = texts(&reading.statements);
    assert!(!said.contains("p to 0 until"), "{said}");
}
