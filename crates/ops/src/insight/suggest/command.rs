//! Suggestions as commands: values as `--set` takes them, intervals that follow the budget, and a name for the new
//! run, so that the comparison finds it whatever else is trained meanwhile.

use rlxp_analyze::suggest::{Change, Suggestion, written};
use rlxp_spec::Config;
use rlxp_types::RunName;
use rlxp_types::text::shell_word;
use serde_json::json;

use super::Suggested;
use crate::context::Context;
use crate::insight::run_data::RunData;
use crate::select::project;

const BUDGET: &str = "algo.total_timesteps";

/// The suggestion with intervals that fit its budget, where the run's own were derived from its budget: 20 evaluations
/// and 10 checkpoints, as a config without these keys has them. The snapshot names them, so they would stay.
pub(super) fn with_intervals(config: &Config, mut suggestion: Suggestion) -> Suggestion {
    let budget = suggestion.changes.iter().find(|change| change.key == BUDGET).and_then(|c| c.to.as_u64());
    // Runs of the same length are evaluated at the same steps.
    let Some(budget) = budget.filter(|_| !suggestion.comparable) else { return suggestion };
    for (key, now, parts) in
        [("eval.every", config.eval.every, 20), ("checkpoint.save_every", config.checkpoint.save_every, 10)]
    {
        let derived = |total: u64| (total / parts).max(1);
        let to = derived(budget);
        if now == derived(config.algo.total_timesteps()) && to != now {
            suggestion.changes.push(Change { key: key.to_owned(), from: json!(now), to: json!(to) });
        }
    }
    suggestion
}

pub(super) fn set(suggestion: &Suggestion) -> Vec<String> {
    suggestion.changes.iter().map(|change| format!("{}={}", change.key, written(&change.to))).collect()
}

/// The highest N of the runs `<run>_tryN` so far.
pub(super) fn tries(context: &Context, run: &RunData) -> usize {
    let names = project(context).ok().and_then(|project| project.run_names().ok()).unwrap_or_default();
    highest_try(&run.name, &names)
}

fn highest_try(run: &str, names: &[String]) -> usize {
    let number = |name: &String| {
        let rest = name.strip_prefix(run)?.strip_prefix("_try")?;
        rest.split('_').next()?.parse().ok()
    };
    names.iter().filter_map(number).max().unwrap_or(0)
}

pub(super) fn suggested(run: &RunData, rank: usize, tries: usize, suggestion: Suggestion) -> Suggested {
    let set = set(&suggestion);
    let mut words: Vec<String> = set.iter().map(|text| format!(" --set {}", shell_word(text))).collect();
    let force = if suggestion.comparable { "" } else { " --force" };
    // A long name has no room for more.
    let name = RunName::parse(&format!("{}_try{}", run.name, tries.saturating_add(rank))).ok();
    let new = match &name {
        Some(name) => {
            words.push(format!(" --set {}", shell_word(&format!("run_name={name}"))));
            shell_word(&format!("{name}_001")).into_owned()
        }
        None => "@last".to_owned(),
    };
    Suggested {
        rank,
        command: format!("rlx train {}{}", config_path(run), words.concat()),
        check: format!("rlx compare {} {new}{force}", shell_word(&run.name)),
        set,
        suggestion,
    }
}

pub(super) fn config_path(run: &RunData) -> String {
    shell_word(&format!("runs/{}/config_snapshot.yaml", run.name)).into_owned()
}

#[cfg(test)]
mod tests {
    use rlxp_spec::Source;

    use super::*;
    use crate::training::config::{Purpose, check_source};

    #[test]
    fn tries_are_counted_by_their_numbers() {
        let names = ["a_001", "a_001_try1_001", "a_001_try3_001", "a_001_tryout_001", "b_001_try9_001"];
        assert_eq!(highest_try("a_001", &names.map(str::to_owned)), 3);
        assert_eq!(highest_try("b_002", &names.map(str::to_owned)), 0);
    }

    #[test]
    fn derived_intervals_follow_the_budget() {
        let context = Context::real(None).unwrap();
        let keys = |own: &[&str], comparable: bool| {
            let text = "env: {id: CartPole-v1}\nalgo: {total_timesteps: 20000}\n".to_owned();
            let own: Vec<String> = own.iter().map(|text| (*text).to_owned()).collect();
            let source = Source::new("c", text);
            let config = check_source(&context, source, &own, Purpose::Train).unwrap().config;
            let change = Change { key: BUDGET.to_owned(), from: json!(20_000), to: json!(100_000) };
            let suggestion = super::super::tests::bare(change, comparable);
            set(&with_intervals(&config, suggestion))[1..].to_vec()
        };
        assert_eq!(keys(&[], false), ["eval.every=5000", "checkpoint.save_every=10000"]);
        assert_eq!(keys(&["eval.every=700"], false), ["checkpoint.save_every=10000"]);
        assert!(keys(&[], true).is_empty());
    }
}
