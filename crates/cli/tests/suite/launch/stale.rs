//! Stale plans: whatever changes between validating and launching is named, and nothing starts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::governed::study::Ran;
use crate::launch::candidates::{REWARD, baseline, learning_rate, reward_scale};
use crate::launch::mutations::{Before, CANDIDATE, MUTATIONS, Mutation, accept, run_folders};
use crate::launch::repository::Repository;

/// A candidate that can be launched, and its plan.
struct Stage {
    repository: Repository,
    before: Before,
    plan: String,
}

impl Stage {
    fn new() -> Self {
        let repository = Repository::build().without_baseline().approved();
        repository.ready(CANDIDATE, reward_scale(2.5));
        let plan = repository.plan(CANDIDATE);
        Self { before: Before::read(&repository), repository, plan }
    }

    /// Follows the plan, which must be refused without starting anything.
    #[track_caller]
    fn refused(&self) -> Ran {
        let ran = self.repository.rlx(&self.repository.execute(CANDIDATE, &self.plan)).expect(3);
        assert_eq!(self.repository.records("launch_intent").len(), 0, "{}", ran.stdout);
        assert_eq!(run_folders(&self.repository.state()), 0, "{}", ran.stdout);
        ran
    }

    /// Approves everything as it is now.
    fn approve(&self) {
        // Where only the candidate changed, every section is still approved.
        if self.repository.rlx("approve --all --print").code == Some(0) {
            self.repository.sign("--all", "alice").expect(0);
        }
        self.repository.approve(CANDIDATE).expect(0);
    }

    /// Restores everything, after which the same plan can be followed again: immediately, if no approval was voided.
    #[track_caller]
    fn restore(&self, was_agreed: bool, was_audited: bool) {
        self.before.restore(&self.repository);
        if was_audited {
            self.repository.rlx("study audit").expect(0);
        }
        if was_agreed {
            // A void approval stays void, even when the text is the approved one again.
            let ran = self.repository.rlx(&format!("launch {CANDIDATE} --json")).expect(3);
            assert!(ran.codes().iter().any(|code| code == "approval_void"), "{}", ran.stdout);
            self.approve();
        }
        if was_agreed || was_audited {
            // The candidate is a draft again.
            let ran = self.repository.rlx(&format!("launch {CANDIDATE} --json")).expect(3);
            assert_eq!(ran.codes(), ["not_validated"], "{}", ran.stdout);
            self.repository.validate(CANDIDATE).expect(0);
        }
        assert_eq!(self.repository.plan(CANDIDATE), self.plan);
    }
}

/// The parts that a refusal names.
#[track_caller]
fn named(ran: &Ran) -> BTreeSet<String> {
    let answer = ran.json();
    let refusals = answer["refusals"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let stale = refusals.iter().filter(|refusal| refusal["code"] == "stale_plan");
    let reasons = stale.filter_map(|refusal| refusal["reason"].as_str());
    let parts = reasons.filter_map(|reason| reason.strip_prefix("changed since reward was validated: "));
    parts.flat_map(|parts| parts.split(", ")).map(str::to_owned).collect()
}

fn expected<'a>(mutations: impl IntoIterator<Item = &'a Mutation>) -> BTreeSet<String> {
    let differ = mutations.into_iter().flat_map(|mutation| mutation.differ);
    differ.map(|part| (*part).to_owned()).collect()
}

/// Codes that accompany a stale plan and have no other meaning.
fn is_about_the_plan(code: &str) -> bool {
    ["not_validated", "stale_plan", "other_plan"].contains(&code)
}

/// The names are those of a real plan, so that a part that is added has to be added here.
#[test]
fn whatever_changes_is_named() {
    let stage = Stage::new();
    let plan = stage.repository.rlx(&format!("launch {CANDIDATE} --json")).expect(0).json();
    let parts: BTreeSet<&str> = plan["parts"].as_object().unwrap().keys().map(String::as_str).collect();
    let known = MUTATIONS.iter().map(|mutation| mutation.part);
    assert_eq!(parts, known.chain(["incumbent"]).collect());
    for mutation in &MUTATIONS {
        mutation.apply(&stage.repository);
        let ran = stage.refused();
        assert_eq!(named(&ran), expected([mutation]), "{}: {}", mutation.part, ran.stdout);
        assert_eq!(ran.codes().iter().any(|code| code == "approval_void"), mutation.is_approved);
        if mutation.is_approved {
            // Approved as it is now, it still isn't what was validated.
            stage.approve();
            let ran = stage.refused();
            assert_eq!(named(&ran), expected([mutation]), "{}: {}", mutation.part, ran.stdout);
            assert!(
                ran.codes().iter().all(|code| is_about_the_plan(code)),
                "{}: {}",
                mutation.part,
                ran.stdout
            );
        }
        stage.restore(mutation.is_approved, mutation.part == "adapter");
    }
    // After all of that the plan can still be launched.
    stage.repository.rlx(&stage.repository.execute(CANDIDATE, &stage.plan)).expect(0);
    assert_eq!(stage.repository.runs_of(CANDIDATE).len(), 1);
    stage.repository.rlx("verify --chain").expect(0);
}

/// Only records change the incumbent, after runs.
#[test]
fn another_incumbent_makes_a_plan_stale() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    repository.launch_through("baseline", "confirm").expect(0);
    repository.rlx("launch status --json").expect(0);
    assert_eq!(repository.last("completed")["candidate"], "baseline");
    repository.ready(CANDIDATE, reward_scale(2.5));
    let plan = repository.plan(CANDIDATE);
    accept(&repository, "baseline");
    let ran = repository.rlx(&repository.execute(CANDIDATE, &plan)).expect(3);
    assert_eq!(named(&ran), BTreeSet::from(["incumbent".to_owned()]), "{}", ran.stdout);
    assert!(ran.codes().iter().all(|code| is_about_the_plan(code)), "{}", ran.stdout);
    assert_eq!(repository.runs_of(CANDIDATE).len(), 0);
    // Validated against the new incumbent, it can be launched: its approval covers the candidate, not the incumbent.
    repository.validate(CANDIDATE).expect(0);
    assert_ne!(repository.plan(CANDIDATE), plan);
    repository.launch(CANDIDATE).expect(0);
}

/// The contract can name a commit, and later another one: that changes the code as well as the agreement.
#[test]
fn another_baseline_commit_is_named_as_code_too() {
    let stage = Stage::new();
    let (repository, first) = (&stage.repository, stage.repository.git(&["rev-parse", "HEAD"]));
    repository.git(&["commit", "--quiet", "--allow-empty", "--message", "Nothing at all"]);
    let second = repository.git(&["rev-parse", "HEAD"]);
    assert_eq!(stage.repository.plan(CANDIDATE), stage.plan, "a later commit changes nothing");
    assert_ne!(first, second);
    let mut contract: Value = serde_json::from_str(&repository.read("contract.yaml")).unwrap();
    contract["baseline"]["commit"] = second.trim().into();
    std::fs::write(repository.file("contract.yaml"), contract.to_string()).unwrap();
    stage.approve();
    let names = named(&stage.refused());
    assert!(names.contains("section:baseline") && names.contains("code"), "{names:?}");
}

/// Any of it, in any order: every part that differs is named, and nothing starts.
#[test]
fn whatever_changes_together_is_named() {
    let stage = Stage::new();
    let mut chance = Chance(20_260_731);
    for case in 0..24 {
        let mut left: Vec<&Mutation> = MUTATIONS.iter().collect();
        let chosen: Vec<&Mutation> =
            (0..1 + chance.below(4)).map(|_| left.remove(chance.below(left.len()))).collect();
        let parts: Vec<&str> = chosen.iter().map(|mutation| mutation.part).collect();
        for mutation in &chosen {
            mutation.apply(&stage.repository);
        }
        let ran = stage.refused();
        assert_eq!(named(&ran), expected(chosen.iter().copied()), "case {case}, {parts:?}: {}", ran.stdout);
        let is_void = ran.codes().iter().any(|code| code == "approval_void");
        assert_eq!(is_void, chosen.iter().any(|mutation| mutation.is_approved), "case {case}: {parts:?}");
        stage.restore(is_void, parts.contains(&"adapter"));
    }
}

/// Splitmix: the same cases every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

/// The caller must name the current plan explicitly.
#[test]
fn another_plan_is_not_followed() {
    let stage = Stage::new();
    let repository = &stage.repository;
    repository.ready("steps", learning_rate(1.0));
    let other = repository.plan("steps");
    let code = |words: &str| {
        let ran = repository.rlx(&format!("launch {CANDIDATE} --execute --json {words}")).expect(3);
        assert_eq!(repository.records("launch_intent").len(), 0, "{words}");
        assert_eq!(run_folders(&repository.state()), 0, "{words}");
        let answer = ran.json();
        match answer["refusals"].as_array() {
            Some(refusals) => refusals[0]["code"].as_str().unwrap().to_owned(),
            None => answer["error"].as_str().or(answer["code"].as_str()).unwrap_or_default().to_owned(),
        }
    };
    let plan = &stage.plan;
    assert_eq!(code(&format!("--confirm RUN_CANDIDATE --plan {other}")), "other_plan");
    assert_eq!(code("--confirm RUN_CANDIDATE"), "no_plan");
    assert_eq!(code(&format!("--plan {plan}")), "not_confirmed");
    assert_eq!(code(&format!("--plan {plan} --confirm run_candidate")), "not_confirmed");
    assert_eq!(code(&format!("--plan {plan} --confirm YES")), "not_confirmed");
    // The plan of an earlier validation is refused too, once the candidate was validated again.
    let mut value = reward_scale(2.5);
    value["hypothesis"] = "another reason for the same change".into();
    repository.ready(CANDIDATE, value);
    assert_ne!(repository.plan(CANDIDATE), *plan);
    assert_eq!(code(&format!("--confirm RUN_CANDIDATE --plan {plan}")), "other_plan");
}

/// The commit that the contract names is what runs, and its evaluator is what evaluates. Neither edits nor later commits
/// change anything until the contract names another one.
#[test]
fn only_the_commit_of_the_contract_counts() {
    let repository = Repository::build().without_baseline().approved();
    repository.ready(CANDIDATE, reward_scale(2.5));
    let plan = repository.plan(CANDIDATE);
    let config = std::fs::read_to_string(repository.path("configs/ppo.yaml")).unwrap();
    assert!(config.contains("learning_rate: 2.0"), "{config}");
    repository.write("configs/ppo.yaml", &config.replace("learning_rate: 2.0", "learning_rate: 3.0"));
    for name in [REWARD, "src/balance_eval/evaluate.py"] {
        let text = std::fs::read_to_string(repository.path(name)).unwrap();
        repository.write(name, &format!("raise SystemExit('another evaluator')\n{text}"));
    }
    assert_eq!(repository.plan(CANDIDATE), plan, "edited");
    repository.git(&["commit", "--quiet", "--all", "--message", "Another evaluator"]);
    assert_eq!(repository.plan(CANDIDATE), plan, "committed");
    repository.validate(CANDIDATE).expect(0);
    repository.rlx(&repository.execute(CANDIDATE, &plan)).expect(0);
    repository.launch(CANDIDATE).expect(0);
    let keys = repository.runs_of(CANDIDATE);
    assert!(keys.iter().all(|key| repository.end_of(key)["end"] == "ok"), "{keys:?}");
    for key in &keys {
        let lines = repository.run_lines(key, "train/metrics.jsonl");
        assert!(
            lines.iter().all(|line| line["learning_rate"] == 2.0 && line["reward_scale"] == 2.5),
            "{lines:?}"
        );
    }
    // The short phase was evaluated, by the evaluator of that commit.
    assert!(keys.iter().any(|key| repository.run_folder(key).join("eval/scores.json").exists()), "{keys:?}");
}

/// A contract of an older version names no code: it is read, and validation asks for the commit.
#[test]
fn a_contract_without_a_commit_is_asked_for_one() {
    let repository = Repository::build().without_baseline().approved();
    let mut contract: Value = serde_json::from_str(&repository.read("contract.yaml")).unwrap();
    contract["baseline"].as_object_mut().unwrap().remove("commit");
    std::fs::write(repository.file("contract.yaml"), contract.to_string()).unwrap();
    let checked = repository.rlx("contract check --json").expect(1).json();
    assert_eq!(checked["problems"], serde_json::json!([]), "{checked}");
    assert_eq!(checked["open"][0]["path"], "baseline.commit", "{checked}");
    repository.candidate(CANDIDATE, reward_scale(2.5));
    let codes = repository.validate(CANDIDATE).expect(3).codes();
    assert!(codes.contains(&"baseline_commit_missing".to_owned()), "{codes:?}");
    let refused = repository.rlx("approve baseline --print --json").expect(3).json();
    assert!(refused["message"].as_str().unwrap().contains("git rev-parse HEAD"), "{refused}");
}
