//! How the policy's own numbers went: entropy, change per update, fit of the
//! value function.

use rlxp_analyze::metrics::{entry, expectation, read};
use rlxp_analyze::story::{Statement, Topic, fold};

use crate::insight::explain::{courses, here};
use crate::insight::run_data::Group;

/// From this share of points inside its bounds on, a metric is as expected.
const MOSTLY: f64 = 0.95;

const NAMES: [&str; 5] = ["entropy", "action_std", "approx_kl", "clip_fraction", "explained_variance"];

pub(super) fn statements(group: &Group) -> Vec<Statement> {
    let here = here(&group.runs[0]);
    let mut told = Vec::new();
    for name in NAMES {
        let seeds = courses(group.seeds().map(|(_, seed)| seed), "train", name);
        let Some(entry) = entry("train", name).filter(|_| !seeds.is_empty()) else { continue };
        let numbers: Vec<u64> = seeds.iter().map(|seed| seed.seed).collect();
        let expected = expectation("train", name, &here);
        let reading = read(entry, name, &fold(&seeds), expected.as_ref(), &numbers);
        // Its values, and where it left what was expected; the rest is for `explain-metrics`.
        let odd = reading.inside.is_some_and(|inside| inside < MOSTLY);
        let kept = reading.statements.into_iter().filter(|statement| match statement.topic {
            Topic::Result | Topic::Unknown => true,
            Topic::Phase => odd,
            _ => false,
        });
        told.extend(kept.map(|statement| Statement {
            topic: Topic::Policy,
            text: format!("{}: {}", entry.title, uncapitalised(&statement.text)),
            ..statement
        }));
    }
    told
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
