//! `rlx suggest`: what to change in a run's config, and why.
//!
//! `rlxp_analyze::suggest` decides. This module turns a run into its situation and resolves every suggestion like any
//! config before it is shown: one that can't be trained, that changes nothing, or that would be measured differently
//! from the run is never offered.

mod answer;
mod command;

use rlxp_analyze::diagnose::Actions;
use rlxp_analyze::suggest::{self as knowledge, Advice, Reference, Situation};
pub use rlxp_analyze::suggest::{
    Basis, BasisKind, Change, Expectation, Knowledge, Move, Reached, State, Suggestion, Unanswered, written,
};
use rlxp_spec::config::EvalConfig;
use rlxp_spec::{Config, Known, Source, load, to_yaml};
use rlxp_types::RunStatus;
use rlxp_types::text::shell_word;
use serde::Serialize;

use answer::{answer, as_random_as_possible, standing};
use command::{config_path, set, suggested, tries, with_intervals};

use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::compare::origin;
use crate::insight::config_keys::settings_of;
use crate::insight::diagnose::{RuleSet, actions, diagnose_loaded, wanted};
use crate::insight::run_data::{RunData, SeedState, load_run};
use crate::training::config::{Purpose, check_source};
use crate::training::envs::SOURCES;
use crate::training::envs::known_ids;

/// Budgets that differ by no more than this differ by rounding to rollouts.
const ROUNDING: f64 = 0.05;
/// Fewest seeds that a verdict needs.
const SEEDS_FOR_A_VERDICT: usize = 5;

#[derive(Clone, Debug)]
pub struct SuggestRequest {
    pub run: String,
    /// Most suggestions to show.
    pub top: usize,
    /// Ignore the starter, as if there were none for this environment.
    pub rules_alone: bool,
}

/// A suggestion with the commands to try and to judge it.
#[derive(Clone, Debug, Serialize)]
pub struct Suggested {
    /// Its rank: try 1 first.
    pub rank: usize,
    #[serde(flatten)]
    pub suggestion: Suggestion,
    /// The values as `--set` takes them.
    pub set: Vec<String>,
    /// The command that trains with it.
    pub command: String,
    /// The command that compares the two once it has been trained.
    pub check: String,
}

/// Everything to suggest about a run.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestions {
    pub run: String,
    pub status: RunStatus,
    pub env: String,
    pub seeds: Vec<u64>,
    pub answer: String,
    /// What the run reached, and what would be good.
    pub standing: Reached,
    /// Rules that found something, most important first.
    pub findings: Vec<String>,
    /// Changes, most promising first.
    pub suggestions: Vec<Suggested>,
    /// Number of suggestions beyond the requested ones.
    pub more: usize,
    /// Findings that no setting addresses.
    pub unanswered: Vec<Unanswered>,
    /// Commands to continue with that change no setting.
    pub next: Vec<String>,
    /// Version of the rules.
    pub rules_version: String,
    /// Version of the knowledge about settings.
    pub knowledge_version: String,
    /// Problems of the run's record, one sentence each.
    pub notes: Vec<String>,
}

pub fn suggest(context: &Context, request: &SuggestRequest) -> Outcome<Suggestions> {
    suggest_loaded(context, &load_run(context, &request.run, &wanted)?, request)
}

/// Suggests changes to a loaded run, which must have all metrics that [`crate::insight::diagnose::wanted`] accepts.
pub fn suggest_loaded(context: &Context, run: &RunData, request: &SuggestRequest) -> Outcome<Suggestions> {
    let diagnosis = diagnose_loaded(run, RuleSet::built_in())?;
    let settings = settings_of(&run.config);
    let reference = reference(context, &run.config, request.rules_alone);
    let standing = standing(run);
    let Advice { suggestions, unanswered, far_from_starter } = knowledge::suggest(
        &Situation {
            env: &run.config.env.id,
            settings: &settings,
            reference: reference.as_ref(),
            answers: &diagnosis.answers,
            standing: &standing,
            continuous: continuous(&run.config),
            as_random_as_possible: as_random_as_possible(run),
        },
        Knowledge::built_in(),
    );
    let tries = tries(context, run);
    let mut sound: Vec<Suggested> = suggestions
        .into_iter()
        .map(|suggestion| with_intervals(&run.config, suggestion))
        .filter(|suggestion| is_sound(context, &run.config, suggestion))
        .enumerate()
        .map(|(index, suggestion)| suggested(run, index + 1, tries, suggestion))
        .collect();
    let more = sound.len().saturating_sub(request.top);
    sound.truncate(request.top);
    let outcome = answer::Outcome {
        count: sound.len() + more,
        unanswered: &unanswered,
        worst: diagnosis.worst,
        has_starter: reference.as_ref().is_some_and(|reference| reference.is_starter),
        is_far: far_from_starter,
    };
    Ok(Suggestions {
        run: run.name.clone(),
        status: run.status,
        env: run.config.env.id.clone(),
        seeds: run.seeds.iter().map(|seed| seed.seed).collect(),
        answer: answer(&standing, &outcome),
        next: next(run, &standing, sound.is_empty()),
        standing,
        findings: diagnosis.findings,
        suggestions: sound,
        more,
        unanswered,
        rules_version: diagnosis.answers.rules_version.clone(),
        knowledge_version: Knowledge::built_in().version.clone(),
        notes: run.notes.clone(),
    })
}

/// The starter for the environment, or the general defaults without one.
fn reference(context: &Context, config: &Config, rules_alone: bool) -> Option<Reference> {
    let is_starter = !rules_alone && has_starter(&config.env.id);
    // An id without a starter resolves to the general defaults.
    let id = if is_starter { config.env.id.as_str() } else { "none-v0" };
    let source = Source::new("reference", format!("env: {{id: {id}}}\n"));
    let ids = known_ids();
    let loaded = load(&source, &[], &Known { env_ids: &ids, cores: context.cores }).ok()?;
    Some(Reference { settings: settings_of(&loaded.config), is_starter })
}

/// Whether a starter exists for this id or its alias: only then does an empty config differ from the general
/// defaults.
fn has_starter(id: &str) -> bool {
    let Ok(info) = SOURCES.find(id) else { return false };
    rlxp_spec::starters().iter().any(|starter| starter.env_id == info.id)
}

fn continuous(config: &Config) -> Option<bool> {
    Some(matches!(actions(config)?, Actions::Continuous))
}

/// Whether a suggestion can be trained, changes something, and can be compared if it claims so.
fn is_sound(context: &Context, config: &Config, suggestion: &Suggestion) -> bool {
    let source = Source::new("config_snapshot.yaml", to_yaml(config));
    let Ok(checked) = check_source(context, source, &set(suggestion), Purpose::Train) else { return false };
    let changed = checked.config;
    let same_task = changed.env.id == config.env.id
        && changed.env.kwargs == config.env.kwargs
        && changed.env.max_episode_steps == config.env.max_episode_steps
        && measured(&changed, suggestion.comparable) == measured(config, suggestion.comparable);
    let (before, after) = (config.total_steps() as f64, changed.total_steps() as f64);
    let same_budget = (after - before).abs() <= ROUNDING * before;
    changed != *config && same_task && (same_budget || !suggestion.comparable)
}

/// How a run is evaluated. In a run of another length, other steps are evaluated anyway.
fn measured(config: &Config, comparable: bool) -> EvalConfig {
    let mut eval = config.eval.clone();
    eval.every = if comparable { eval.every } else { 0 };
    eval
}

/// What to do without changing a setting: finish what is unfinished, and train enough seeds for a verdict.
fn next(run: &RunData, standing: &Reached, is_empty: bool) -> Vec<String> {
    if run.seeds.iter().any(|seed| seed.state == SeedState::Unfinished) {
        let verb = if run.status == RunStatus::Running { "tail" } else { "resume" };
        return vec![format!("rlx {verb} {}", shell_word(&run.name))];
    }
    let few = run.seeds.len() < SEEDS_FOR_A_VERDICT;
    let wanted = match (few, is_empty && standing.state != State::Poor) {
        (true, _) => SEEDS_FOR_A_VERDICT - run.seeds.len(),
        (false, true) => SEEDS_FOR_A_VERDICT,
        (false, false) => return Vec::new(),
    };
    let fresh = run.seeds.iter().map(|seed| seed.seed).max().and_then(|seed| seed.checked_add(1));
    let why = if few { "a verdict needs 5 seeds per group" } else { "more seeds" };
    fresh
        .zip(origin(run))
        .map(|(fresh, origin)| {
            format!(
                "rlx train {} --set seed={fresh} --set seeds={wanted}{origin}    # {why}",
                config_path(run)
            )
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use rlxp_analyze::diagnose::{Answer, Answers, Citation, Finding, RuleOutcome, Severity};

    use super::*;

    fn finding(rule: &rlxp_analyze::diagnose::Rule, severity: Severity) -> Answers {
        let citation = Citation {
            metric: "train.approx_kl".to_owned(),
            seed: None,
            from_step: 0,
            to_step: 1,
            value: 1.0,
            threshold: None,
        };
        let finding = Finding {
            rank: 1,
            severity,
            sentence: "train.approx_kl is 1 over steps 0 to 1".to_owned(),
            meaning: String::new(),
            seeds_showing: 1,
            seeds_judged: 1,
            evidence: vec![citation],
            exclusions: Vec::new(),
            explained_by: Vec::new(),
            keys: Vec::new(),
            strength: 2.0,
            next: None,
            suggestions: rule.suggestions.clone(),
        };
        let outcome = RuleOutcome {
            rule: rule.id.clone(),
            title: rule.title.clone(),
            answer: Answer::Finding(Box::new(finding)),
        };
        Answers { rules_version: "1".to_owned(), outcomes: vec![outcome] }
    }

    /// Unusual settings; each is valid for every starter.
    const ODD: [&[&str]; 9] = [
        &[],
        &["algo.learning_rate=1", "algo.max_grad_norm=null"],
        &["algo.learning_rate=1.0e-7", "algo.entropy_coef=1"],
        &["algo.rollout_steps=4", "env.num_envs=1", "algo.batch_size=4", "algo.update_epochs=1"],
        &["algo.gamma=0.01", "algo.gae_lambda=0", "algo.clip_range=0.001", "policy.hidden_sizes=[1]"],
        &["env.wrappers=[{scale_reward: {factor: 1000}}, freeze_observation, truncation_as_termination]"],
        &["algo.update_epochs=100", "policy.activation=relu", "policy.log_std_init=-5"],
        &["algo.total_timesteps=100", "algo.batch_size=1", "algo.normalize_advantages=false"],
        &["env.normalize_observations=true", "env.normalize_rewards=true", "algo.target_kl=0.000001"],
    ];

    #[test]
    fn every_suggestion_for_every_rule_and_starter_can_be_trained() {
        let context = Context::real(None).unwrap();
        let mut seen = 0;
        for starter in rlxp_spec::starters() {
            for odd in ODD {
                let source = Source::new(starter.file_name, starter.text.to_owned());
                let odd: Vec<String> = odd.iter().map(|text| (*text).to_owned()).collect();
                let config = check_source(&context, source, &odd, Purpose::Train).unwrap().config;
                let settings = settings_of(&config);
                for rules_alone in [false, true] {
                    let reference = reference(&context, &config, rules_alone).unwrap();
                    assert_eq!(reference.is_starter, !rules_alone);
                    for rule in &RuleSet::built_in().rules {
                        let good = Knowledge::built_in().good_return(&config.env.id);
                        let standing = Reached::new(Some(-1e9), 1, (1, 0), good, true);
                        let advice = knowledge::suggest(
                            &Situation {
                                env: &config.env.id,
                                settings: &settings,
                                reference: Some(&reference),
                                answers: &finding(rule, Severity::Error),
                                standing: &standing,
                                continuous: continuous(&config),
                                as_random_as_possible: false,
                            },
                            Knowledge::built_in(),
                        );
                        for suggestion in &advice.suggestions {
                            let what = format!("{} {odd:?} {}: {suggestion:?}", config.env.id, rule.id);
                            assert!(is_sound(&context, &config, suggestion), "{what}");
                            seen += 1;
                        }
                        let is_answered = !advice.suggestions.is_empty() || !advice.unanswered.is_empty();
                        assert!(is_answered, "{} {odd:?} {}", config.env.id, rule.id);
                    }
                }
            }
        }
        assert!(seen > 5_000, "{seen}");
    }

    /// A suggestion of one change, without words.
    pub(super) fn bare(change: Change, comparable: bool) -> Suggestion {
        Suggestion {
            id: String::new(),
            title: String::new(),
            changes: vec![change],
            reason: String::new(),
            evidence: Vec::new(),
            rules: Vec::new(),
            expect: Vec::new(),
            risk: String::new(),
            basis: Basis { kind: BasisKind::Rule, sentence: String::new() },
            comparable,
        }
    }

    #[test]
    fn an_unsound_suggestion_is_noticed() {
        let context = Context::real(None).unwrap();
        let source = Source::new("c", "env: {id: CartPole-v1}\n".to_owned());
        let config = check_source(&context, source, &[], Purpose::Train).unwrap().config;
        let suggestion = |key: &str, to: serde_json::Value, comparable: bool| {
            bare(Change { key: key.to_owned(), from: serde_json::Value::Null, to }, comparable)
        };
        let sound =
            |key: &str, to: serde_json::Value| is_sound(&context, &config, &suggestion(key, to, true));
        assert!(sound("algo.gamma", 0.9.into()));
        assert!(!sound("algo.gamma", 1.5.into()), "invalid");
        assert!(!sound("algo.gamma", config.get("algo.gamma").unwrap()), "changes nothing");
        assert!(!sound("env.max_episode_steps", 20.into()), "another task");
        assert!(!sound("eval.episodes", 7.into()), "another evaluation");
        assert!(!sound("algo.total_timesteps", 300_000.into()), "another budget");
        assert!(is_sound(&context, &config, &suggestion("algo.total_timesteps", 300_000.into(), false)));
    }
}
