//! One fault for every code that a gate can refuse with. Tests of gates show each by itself; properties mix them.

use rlxp_govern::documents::{Assurance, Base, Confinement, Phase, Reading};
use rlxp_govern::gate::Purpose;
use rlxp_govern::ledger::event::{Closed, Completed, Judged, Reopened, Verdict, Voided};
use rlxp_govern::ledger::{Event, read};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::section::{Section, Target};
use rlxp_govern::view::{Unprotectable, WhyNot};
use rlxp_types::Digest;
use serde_json::{Value, json};

use super::common::{World, bytes, ended, intent, launched, slug, validated};
use super::texts::{Texts, remove, set};

/// An edit of a launchable study, and the code it must cause.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) code: &'static str,
    pub(crate) purpose: Purpose,
    /// Before anything is approved.
    pub(crate) texts: fn(&mut Texts),
    pub(crate) after: fn(&mut World),
}

pub(crate) const PLAIN_PATCH: &str =
    "--- a/envs/reward.py\n+++ b/envs/reward.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";

/// A change of code.
pub(crate) fn patched(texts: &mut Texts, patch: &str) {
    set(&mut texts.candidate, "/kind", json!("reward_engineering"));
    set(&mut texts.candidate, "/requirements", json!({ "reflection": "reflection.json" }));
    let change =
        json!({ "surface": "reward", "operation": "edit_code", "path": "envs/reward.py", "patch": patch });
    set(&mut texts.candidate, "/changes", json!([change]));
}

fn change(texts: &mut Texts, key: &str, to: Value) {
    set(&mut texts.candidate, &format!("/changes/0/{key}"), to);
}

fn made_environments(texts: &mut Texts) {
    set(&mut texts.candidate, "/kind", json!("environment_generation"));
    let requirements = json!({ "learnability": "solved by the incumbent", "bridge": "steps of ten degrees",
        "diversity": "eight terrains", "held_out": "the evaluation has its own terrains" });
    set(&mut texts.candidate, "/requirements", requirements);
}

fn probe(texts: &mut Texts) {
    set(&mut texts.candidate, "/kind", json!("probe"));
    set(&mut texts.candidate, "/changes", json!([]));
    set(&mut texts.candidate, "/arguments", json!([]));
    let requirements = json!({ "parameter": { "key": "env.gravity", "values": [8.5, 9.5] } });
    set(&mut texts.candidate, "/requirements", requirements);
    set(&mut texts.candidate, "/phases", json!([{ "phase": "short", "seeds": 3, "wall_clock": "2h" }]));
}

fn unprotectable(world: &mut World, found: Unprotectable) {
    world.view.protected = None;
    world.view.unprotectable.push(found);
}

fn facts(world: &mut World, edit: impl FnOnce(&mut rlxp_govern::view::PathFacts)) {
    if let Some(facts) = world.view.paths.values_mut().next() {
        edit(facts);
    }
}

/// What is changed, in words and as an edit.
pub(crate) type Variation = (&'static str, fn(&mut Texts));

/// Changes that are not faults: with each of them alone, the study can be launched.
pub(crate) fn variations() -> Vec<Variation> {
    vec![
        ("nothing", |_| {}),
        ("a patch", |texts| patched(texts, PLAIN_PATCH)),
        ("a new file", |texts| {
            patched(texts, "--- /dev/null\n+++ b/envs/rewards/new.py\n@@ -0,0 +1 @@\n+a\n");
            change(texts, "operation", json!("add"));
            change(texts, "path", json!("envs/rewards/new.py"));
        }),
        ("a removed file", |texts| {
            patched(texts, "--- a/envs/reward.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
            change(texts, "operation", json!("remove"));
        }),
        ("a factor", |texts| {
            change(texts, "operation", json!("scale"));
            change(texts, "to", json!(0.5));
        }),
        ("a schedule", |texts| {
            change(texts, "operation", json!("schedule"));
            change(texts, "to", json!({ "linear": [0.001, 0.0001] }));
        }),
        ("a listed value", |texts| {
            change(texts, "key", json!("algo.shape"));
            change(texts, "from", json!("linear"));
            change(texts, "to", json!("constant"));
        }),
        ("a probe", probe),
        ("made environments", made_environments),
        ("randomisation", |texts| {
            set(&mut texts.candidate, "/kind", json!("randomisation"));
            set(&mut texts.candidate, "/requirements", json!({ "probe": "probe.json" }));
        }),
        ("two changes, as agreed", |texts| {
            set(&mut texts.contract, "/scope/one_change_at_a_time", json!(false));
            let one = texts.candidate["changes"][0].clone();
            let mut then = one.clone();
            set(&mut then, "/from", one["to"].clone());
            set(&mut then, "/to", json!(0.0005));
            set(&mut texts.candidate, "/changes", json!([one, then]));
        }),
        ("signatures in supervised mode", |texts| set(&mut texts.contract, "/assurance", json!("signature"))),
        ("whatever the agent's client says", |texts| set(&mut texts.contract, "/assurance", json!("host"))),
        ("manual", |texts| set(&mut texts.contract, "/automation", json!("manual"))),
        ("autonomous", |texts| *texts = Texts::autonomous()),
        ("no confinement", |texts| set(&mut texts.contract, "/confinement", json!("none"))),
        ("no exceptions", |texts| remove(&mut texts.contract, "/exceptions")),
        ("excepted baseline", |texts| except(texts, "baseline", "no_baseline")),
        ("excepted requirements", |texts| except(texts, "scope", "requirement_missing")),
    ]
}

/// Adds an exception with a reason.
pub(crate) fn except(texts: &mut Texts, section: &str, code: &str) {
    let exception = json!({ "section": section, "code": code, "reason": "Agreed by telephone" });
    match texts.contract.get_mut("exceptions").and_then(Value::as_array_mut) {
        Some(exceptions) => exceptions.push(exception),
        None => set(&mut texts.contract, "/exceptions", json!([exception])),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    use Purpose::{Launch, Plan, Validate};
    let mut cases = Vec::new();
    let mut texts = |purpose, code, texts: fn(&mut Texts)| {
        cases.push(Case { code, purpose, texts, after: |_| {} });
    };
    texts(Plan, "file_broken", |texts| set(&mut texts.runbook, "/train/argv", json!([])));
    texts(Plan, "files_disagree", |texts| set(&mut texts.contract, "/metrics/primary", json!("speed")));
    texts(Plan, "files_disagree", |texts| set(&mut texts.contract, "/metrics/guardrails", json!([])));
    texts(Plan, "files_disagree", |texts| set(&mut texts.contract, "/scope/surfaces/1", json!("sky")));
    texts(Plan, "files_disagree", |texts| set(&mut texts.surface_map, "/surfaces/1/id", json!("algorithm")));
    texts(Plan, "other_study", |texts| set(&mut texts.contract, "/task/study", json!("second")));
    texts(Validate, "other_study", |texts| set(&mut texts.candidate, "/study", json!("second")));
    texts(Plan, "contract_incomplete", |texts| set(&mut texts.contract, "/task/mission", json!("TODO")));
    texts(Plan, "contract_incomplete", |texts| set(&mut texts.contract, "/stop_rules", json!([])));
    texts(Plan, "contract_incomplete", |texts| {
        set(&mut texts.surface_map, "/surfaces/0/keys/0", json!({ "key": "algo.learning_rate" }));
    });
    texts(Plan, "contract_incomplete", |texts| {
        *texts = Texts::autonomous();
        remove(&mut texts.contract, "/experiment/envelope");
    });
    texts(Plan, "autonomy_needs_signature", |texts| {
        *texts = Texts::autonomous();
        set(&mut texts.contract, "/assurance", json!("terminal"));
    });
    for_envelope(&mut texts);
    texts(Validate, "surface_not_allowed", |texts| change(texts, "surface", json!("sky")));
    texts(Validate, "unexpected_change", |texts| set(&mut texts.candidate, "/kind", json!("smoke")));
    texts(Validate, "candidate_incomplete", |texts| {
        set(&mut texts.candidate, "/hypothesis", json!("TODO: why should this help?"));
    });
    texts(Validate, "evidence_unknown", |texts| {
        set(&mut texts.candidate, "/evidence", json!(["lower-lr-r1-short-7-1"]));
    });
    texts(Validate, "no_change", |texts| set(&mut texts.candidate, "/changes", json!([])));
    texts(Validate, "unexpected_arguments", |texts| {
        probe(texts);
        set(&mut texts.candidate, "/arguments", json!(["--lr=1"]));
    });
    // Beside a patch, arguments would carry what no surface allows.
    texts(Validate, "unexpected_arguments", |texts| {
        patched(texts, PLAIN_PATCH);
        set(&mut texts.candidate, "/arguments", json!(["--reward-scale=9"]));
    });
    texts(Validate, "unexpected_arguments", |texts| {
        set(&mut texts.candidate, "/arguments", json!(["algo.learning_rate=0.5"]));
    });
    texts(Plan, "baseline_commit_missing", |texts| remove(&mut texts.contract, "/baseline/commit"));
    texts(Validate, "operation_not_allowed", |texts| change(texts, "operation", json!("remove")));
    texts(Validate, "key_not_allowed", |texts| change(texts, "key", json!("algo.gamma")));
    texts(Validate, "patch_not_plain", |texts| patched(texts, "rename from a\nrename to b\n"));
    texts(Validate, "patch_elsewhere", |texts| {
        patched(texts, &format!("{PLAIN_PATCH}--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"));
    });
    texts(Validate, "no_patch", |texts| {
        patched(texts, "");
        remove(&mut texts.candidate, "/changes/0/patch");
    });
    texts(Validate, "nothing_named", |texts| remove(&mut texts.candidate, "/changes/0/key"));
    texts(Validate, "patch_does_other", |texts| {
        patched(texts, "--- a/envs/reward.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    });
    texts(Validate, "patch_does_other", |texts| {
        // A value that is set by patch would pass every range.
        let patch = "--- a/configs/ppo.yaml\n+++ b/configs/ppo.yaml\n@@ -1 +1 @@\n-lr: 0.0003\n+lr: 9\n";
        change(texts, "patch", json!(patch));
        remove(&mut texts.candidate, "/changes/0/key");
    });
    texts(Validate, "two_ways", |texts| change(texts, "patch", json!(PLAIN_PATCH)));
    texts(Validate, "bad_path", |texts| change(texts, "path", json!("configs/../eval/x.yaml")));
    texts(Validate, "path_not_allowed", |texts| change(texts, "path", json!("configs/deep/ppo.yaml")));
    texts(Validate, "look_alike", |texts| change(texts, "path", json!("configs/pp\u{43e}.yaml")));
    texts(Validate, "protected", |texts| set(&mut texts.surface_map, "/protected/1", json!("CONFIGS/**")));
    texts(Validate, "range_unknown", |texts| change(texts, "key", json!("algo.gamma")));
    texts(Validate, "no_value", |texts| remove(&mut texts.candidate, "/changes/0/to"));
    texts(Validate, "not_a_number", |texts| change(texts, "to", json!("fast")));
    texts(Validate, "not_a_number", |texts| {
        change(texts, "operation", json!("schedule"));
        change(texts, "to", json!([]));
    });
    texts(Validate, "not_a_number", |texts| {
        change(texts, "operation", json!("scale"));
        remove(&mut texts.candidate, "/changes/0/from");
    });
    texts(Validate, "out_of_range", |texts| change(texts, "to", json!(0.5)));
    texts(Validate, "out_of_range", |texts| {
        change(texts, "operation", json!("scale"));
        change(texts, "to", json!(1000));
    });
    texts(Validate, "out_of_range", |texts| {
        change(texts, "operation", json!("schedule"));
        change(texts, "to", json!([0.001, { "then": 5 }]));
    });
    texts(Validate, "out_of_range", |texts| {
        change(texts, "key", json!("algo.shape"));
        change(texts, "to", json!("cubic"));
    });
    texts(Validate, "changes_nothing", |texts| change(texts, "to", json!(0.0003)));
    texts(Validate, "several_changes", |texts| {
        // Some variations have no change that could be repeated.
        let Some(one) = texts.candidate["changes"].get(0).cloned() else { return };
        set(&mut texts.candidate, "/changes", json!([one.clone(), one]));
    });
    texts(Validate, "change_does_not_apply", |texts| change(texts, "from", json!(0.5)));
    texts(Validate, "change_does_not_apply", |texts| {
        patched(texts, &PLAIN_PATCH.replace("@@ -1,2 +1,2 @@", "@@ -2,2 +2,2 @@"));
    });
    texts(Validate, "base_unknown", |texts| set(&mut texts.contract, "/baseline/commit", json!("main")));
    texts(Validate, "input_changed", |texts| {
        set(&mut texts.runbook, "/inputs/0/digest", json!("cd".repeat(32)));
    });
    texts(Validate, "input_missing", |texts| {
        set(&mut texts.runbook, "/inputs/0/path", json!("data/sky.bin"))
    });
    texts(Validate, "detaches", |texts| set(&mut texts.runbook, "/train/argv/0", json!("nohup")));
    texts(Validate, "shell_string", |texts| {
        set(&mut texts.runbook, "/eval/argv", json!(["bash", "-c", "x {seed}"]));
    });
    texts(Validate, "no_phase", |texts| set(&mut texts.candidate, "/phases", json!([])));
    texts(Validate, "phase_order", |texts| {
        set(&mut texts.candidate, "/phases/2/phase", json!("short"));
    });
    texts(Validate, "run_too_long", |texts| {
        set(&mut texts.candidate, "/phases/0/wall_clock", json!("3h"));
    });
    texts(Validate, "run_too_long", |texts| set(&mut texts.candidate, "/phases/0/wall_clock", json!("0s")));
    texts(Validate, "over_budget", |texts| set(&mut texts.contract, "/budget/runs", json!(14)));
    texts(Validate, "over_budget", |texts| set(&mut texts.contract, "/budget/gpu_time", json!("2h")));
    texts(Validate, "no_gpu_agreed", |texts| set(&mut texts.contract, "/hardware/device", json!("cpu")));
    texts(Launch, "gpu_missing", |texts| set(&mut texts.contract, "/hardware/gpus", json!(2)));
    texts(Validate, "no_seed_slot", |texts| set(&mut texts.runbook, "/eval/argv/3", json!("7")));
    texts(Validate, "pools_overlap", |texts| {
        set(&mut texts.metric_spec, "/protocol/seeds/audit/from", json!(150));
    });
    texts(Validate, "too_few_seeds", |texts| {
        set(&mut texts.metric_spec, "/protocol/seeds/confirm/to", json!(103));
    });
    texts(Validate, "too_few_seeds", |texts| {
        // The baseline took five of them, and every run that is evaluated takes another one.
        set(&mut texts.metric_spec, "/protocol/seeds/evaluation/to", json!(10_011));
    });
    texts(Validate, "other_phases", |texts| {
        set(&mut texts.candidate, "/phases", json!([{ "phase": "confirm", "seeds": 5, "wall_clock": "2h" }]));
    });
    texts(Validate, "other_phases", |texts| {
        let more = json!({ "phase": "incumbent_validation", "seeds": 5, "wall_clock": "2h" });
        if let Some(phases) = texts.candidate["phases"].as_array_mut() {
            phases.push(more);
        }
    });
    texts(Validate, "other_seeds", |texts| set(&mut texts.candidate, "/phases/2/seeds", json!(1)));
    texts(Validate, "other_seeds", |texts| set(&mut texts.candidate, "/phases/1/seeds", json!(4)));
    texts(Validate, "other_seeds", |texts| set(&mut texts.candidate, "/phases/0/seeds", json!(2)));
    texts(Validate, "other_limit", |texts| set(&mut texts.candidate, "/phases/2/wall_clock", json!("1s")));
    texts(Validate, "second_baseline", |texts| {
        let baseline = texts.baseline();
        texts.candidate = baseline;
        set(&mut texts.candidate, "/id", json!("lower-lr"));
    });
    texts(Validate, "exposes_evaluator", |texts| {
        set(&mut texts.surface_map, "/surfaces/2/evaluation_files", json!(["*/run.py"]));
    });
    texts(Validate, "exposes_evaluator", |texts| {
        set(&mut texts.surface_map, "/surfaces/2/evaluation_files", json!(["eval/**"]));
    });
    texts(Validate, "exposes_evaluator", |texts| {
        set(&mut texts.surface_map, "/surfaces/2/kind", json!("reward"));
    });
    texts(Validate, "no_parameter", |texts| {
        probe(texts);
        set(&mut texts.candidate, "/requirements/parameter/values", json!([1]));
    });
    texts(Validate, "requirement_missing", |texts| {
        patched(texts, PLAIN_PATCH);
        remove(&mut texts.candidate, "/requirements");
    });
    texts(Validate, "requirement_missing", |texts| {
        made_environments(texts);
        set(&mut texts.candidate, "/requirements/bridge", json!("TODO"));
    });
    texts(Validate, "requirement_missing", |texts| {
        set(&mut texts.candidate, "/kind", json!("randomisation"));
    });
    // Only what was probed is randomised, and only as far.
    texts(Validate, "not_probed", |texts| {
        set(&mut texts.candidate, "/kind", json!("randomisation"));
        set(&mut texts.candidate, "/requirements", json!({ "probe": "probe.json" }));
        change(texts, "to", json!(0.00002));
    });
    // Without the key, training takes a default that was not probed.
    texts(Validate, "not_probed", |texts| {
        set(&mut texts.candidate, "/kind", json!("randomisation"));
        set(&mut texts.candidate, "/requirements", json!({ "probe": "probe.json" }));
        change(texts, "operation", json!("remove"));
        remove(&mut texts.candidate, "/changes/0/to");
    });
    texts(Validate, "not_probed", |texts| {
        set(&mut texts.candidate, "/kind", json!("randomisation"));
        set(&mut texts.candidate, "/requirements", json!({ "probe": "probe.json" }));
        change(texts, "key", json!("algo.shape"));
        change(texts, "from", json!("linear"));
        change(texts, "to", json!("constant"));
    });
    texts(Validate, "evidence_missing", |texts| {
        patched(texts, PLAIN_PATCH);
        set(&mut texts.candidate, "/requirements/reflection", json!("nowhere.json"));
    });
    texts(Validate, "no_probe_slot", |texts| {
        probe(texts);
        set(&mut texts.runbook, "/probe", json!({ "argv": ["python", "probe.py", "{trained}"] }));
    });
    texts(Validate, "no_trained_run", |texts| {
        probe(texts);
        set(&mut texts.runbook, "/probe", json!({ "argv": ["python", "probe.py", "{trained}", "{value}"] }));
    });
    cases.extend(of_analyses());

    let mut after = |purpose, code, after: fn(&mut World)| {
        cases.push(Case { code, purpose, texts: |_| {}, after });
    };
    after(Plan, "ledger_broken", |world| {
        let mut damaged = bytes(&world.study.ledger);
        damaged.extend(b"{}\n");
        world.study.ledger = read(&damaged);
    });
    after(Plan, "ledger_empty", |world| world.study.ledger = read(b""));
    after(Plan, "file_missing", |world| world.study.files.surface_map = Reading::Missing);
    after(Validate, "other_name", |world| world.view.file_name = "higher-lr".into());
    after(Plan, "study_closed", |world| {
        let _ = world.try_push(Event::Closed(Closed { reason: "done".into() }));
    });
    after(Plan, "approval_missing", |world| {
        *world = world.rechained(|_, event| !matches!(event, Event::Approved(_)));
    });
    after(Plan, "approval_void", |world| {
        let targets = vec![Target::Section(Section::Budget)];
        let _ = world.try_push(Event::Voided(Voided { targets, reason: "seen to be void".into() }));
    });
    after(Launch, "approval_void", |world| {
        world.view.written.explicit["hypothesis"] = json!("Another one");
    });
    after(Plan, "approval_unreadable", |world| world.study.files.runbook = Reading::Missing);
    after(Plan, "approval_too_weak", |world| {
        *world = world.rechained(|_, event| !matches!(event, Event::Approved(_)));
        world.approve(&[Target::Section(Section::Task)], Assurance::Host);
    });
    after(Validate, "adapter_missing", |world| world.study.adapter = None);
    after(Validate, "claim_stale", |world| {
        if let Some(adapter) = &mut world.study.adapter {
            adapter.stale.push("train.py:7".into());
        }
    });
    after(Validate, "adapter_not_audited", |world| {
        if let Some(adapter) = &mut world.study.adapter {
            adapter.digest = Digest::hash(b"another");
        }
    });
    after(Validate, "other_protocol", |world| {
        if let Reading::Read(written) = &mut world.study.files.metric_spec {
            written.explicit["protocol"]["episodes"] = json!(21);
        }
    });
    after(Launch, "stop_rule", |world| {
        let plan = world.view.asked_plan.unwrap_or(Digest::ZERO);
        for seed in 1..=4 {
            let intent = intent("lower-lr", Phase::Smoke, seed, plan);
            let (key, events) = (intent.key.clone(), Event::LaunchIntent(intent));
            for event in [events, launched(&key), ended(&key, RunEnd::Failed)] {
                let _ = world.try_push(event);
            }
        }
    });
    after(Validate, "protocol_unknown", |world| world.view.protected = None);
    after(Validate, "other_programs", |world| {
        let other = ("eval".to_owned(), Digest::hash(b"other"));
        world.view.programs.iter_mut().for_each(|all| all.extend([other.clone()]));
    });
    after(Validate, "path_unknown", |world| world.view.paths.clear());
    after(Validate, "symlink", |world| facts(world, |facts| facts.link = Some("configs".into())));
    after(Validate, "case_twin", |world| {
        facts(world, |facts| facts.same_but_case = Some("configs/PPO.yaml".into()));
    });
    after(Validate, "no_such_file", |world| facts(world, |facts| facts.is_file = false));
    after(Validate, "protected_unknown", |world| world.view.protected = None);
    after(Validate, "protected_link", |world| {
        let why = WhyNot::LinkOutside { target: "/elsewhere/run.py".into() };
        unprotectable(world, Unprotectable { path: "eval/run.py".into(), why });
    });
    after(Validate, "protected_link", |world| {
        let why = WhyNot::LinkToUnprotected { target: "../envs/reward.py".into() };
        unprotectable(world, Unprotectable { path: "eval/run.py".into(), why });
    });
    after(Validate, "protected_too_large", |world| {
        let why = WhyNot::TooLarge { bytes: 60 << 30 };
        unprotectable(world, Unprotectable { path: "eval/states.bin".into(), why });
    });
    after(Validate, "protects_nothing", |world| world.view.protected = Some(Default::default()));
    after(Validate, "protected_changed", |world| {
        if let Some(protected) = &mut world.view.protected {
            protected.insert("eval/more.py".into(), Digest::hash(b"more"));
        }
    });
    after(Validate, "change_does_not_apply", |world| world.view.sources.clear());
    after(Validate, "base_unknown", |world| world.view.base = None);
    after(Validate, "base_changed", |world| world.view.base = Some(Base::Snapshot(Digest::hash(b"files"))));
    after(Validate, "input_missing", |world| world.view.inputs = None);
    after(Validate, "program_missing", |world| world.view.programs = None);
    after(Validate, "program_missing", |world| {
        world.view.programs.iter_mut().for_each(|programs| programs.retain(|name, _| name != "eval"));
    });
    after(Launch, "machine_unknown", |world| world.view.machine = None);
    after(Launch, "gpu_missing", |world| {
        world.view.machine.iter_mut().for_each(|machine| machine.gpus = 0);
    });
    after(Launch, "disk_full", |world| world.view.machine.iter_mut().for_each(|machine| machine.disk = 7));
    after(Launch, "network_open", |world| {
        world.view.machine.iter_mut().for_each(|machine| machine.confinement = Confinement::Partial);
    });
    after(Launch, "confinement_too_weak", |world| {
        world.view.machine.iter_mut().for_each(|machine| machine.confinement = Confinement::Partial);
    });
    after(Validate, "no_baseline", |world| {
        *world = world
            .rechained(|_, event| matches!(event, Event::Opened(_) | Event::Audited(_) | Event::Approved(_)));
    });
    after(Launch, "not_validated", |world| {
        let reopened = Reopened { candidate: slug("lower-lr"), reason: "its text changed".into() };
        let _ = world.try_push(Event::Reopened(reopened));
    });
    after(Launch, "plan_unknown", |world| world.study.adapter = None);
    after(Launch, "stale_plan", |world| world.view.file = Digest::hash(b"other bytes"));
    after(Launch, "stale_plan", |world| {
        if let Some(adapter) = &mut world.study.adapter {
            adapter.digest = Digest::hash(b"another");
        }
    });
    after(Launch, "other_plan", |world| world.view.asked_plan = Some(Digest::hash(b"another")));
    after(Launch, "no_plan", |world| world.view.asked_plan = None);
    after(Launch, "live_run", |world| {
        let plan = world.view.asked_plan.unwrap_or(Digest::ZERO);
        for seed in [1, 2] {
            let _ = world.try_push(Event::LaunchIntent(intent("lower-lr", Phase::Short, seed, plan)));
        }
    });

    for after in [
        |world: &mut World| world.study.signatures.clear(),
        |world: &mut World| world.study.signatures.values_mut().for_each(|text| text.push(' ')),
        // The same words on another head of the ledger.
        |world: &mut World| *world = world.rechained(|_, event| !matches!(event, Event::Audited(_))),
    ] {
        cases.push(Case {
            code: "approval_not_proven",
            purpose: Plan,
            texts: |texts| set(&mut texts.contract, "/assurance", json!("signature")),
            after,
        });
    }
    cases.push(Case {
        code: "outside_envelope",
        purpose: Launch,
        texts: |texts| {
            *texts = Texts::autonomous();
            set(&mut texts.contract, "/experiment/envelope/candidates", json!(1));
        },
        after: |world| {
            if let Some(mut other) = validated(&world.study, &world.view) {
                (other.candidate, other.plan) = (slug("other"), Digest::hash(b"other"));
                let _ = world.try_push(Event::Validated(other));
                let run = intent("other", Phase::Smoke, 1, Digest::hash(b"other"));
                let _ = world.try_push(Event::LaunchIntent(run));
            }
        },
    });
    cases.push(Case {
        code: "tried_before",
        purpose: Validate,
        texts: |_| {},
        after: |world| {
            // The same changes were launched under another name.
            if let Some(mut other) = validated(&world.study, &world.view) {
                (other.candidate, other.plan) = (slug("other"), Digest::hash(b"other"));
                let _ = world.try_push(Event::Validated(other));
                let run = intent("other", Phase::Smoke, 1, Digest::hash(b"other"));
                let _ = world.try_push(Event::LaunchIntent(run));
            }
        },
    });
    cases.push(Case {
        code: "already_there",
        purpose: Validate,
        texts: |texts| {
            patched(texts, "--- /dev/null\n+++ b/envs/rewards/new.py\n@@ -0,0 +1 @@\n+a\n");
            change(texts, "operation", json!("add"));
            change(texts, "path", json!("envs/rewards/new.py"));
        },
        after: |world| facts(world, |facts| facts.exists = true),
    });
    let signed: fn(&mut Texts) = |texts| set(&mut texts.contract, "/assurance", json!("signature"));
    let mut not_here = |after: fn(&mut World)| {
        cases.push(Case { code: "approval_not_provable_here", purpose: Plan, texts: signed, after });
    };
    not_here(|world| world.study.approvers = None);
    not_here(|world| world.study.approvers = Some(super::common::approvers(&[2])));
    cases
}

/// A file that a change builds on and that rlx didn't write, wrote about something else, or wrote about an earlier
/// incumbent.
fn of_analyses() -> Vec<Case> {
    fn rewarded(texts: &mut Texts) {
        patched(texts, PLAIN_PATCH);
    }
    let case = |code, after| Case { code, purpose: Purpose::Validate, texts: rewarded, after };
    vec![
        // Written by hand, or edited.
        case("analysis_unknown", |world| {
            world.view.analyses.insert("reflection.json".into(), Digest::hash(b"by hand"));
        }),
        // A probe is not a reflection.
        case("analysis_unknown", |world| {
            world.view.analyses.insert("reflection.json".into(), Digest::hash(b"probe.json"));
        }),
        case("analysis_unknown", |world| {
            *world = world.rechained(|_, event| !matches!(event, Event::Analyzed(_)));
        }),
        case("analysis_outdated", |world| {
            if let Some(mut other) = validated(&world.study, &world.view) {
                (other.candidate, other.plan) = (slug("other"), Digest::hash(b"other"));
                let _ = world.try_push(Event::Validated(other));
                let run = intent("other", Phase::Confirm, 1, Digest::hash(b"other"));
                let key = run.key.clone();
                let judged = Judged {
                    candidate: slug("other"),
                    phase: Phase::Confirm,
                    verdict: Verdict::Accepted,
                    inputs: Digest::ZERO,
                    score: None,
                    reason: String::new(),
                    failed_checks: Vec::new(),
                    code: None,
                };
                let completed = Completed { candidate: slug("other") };
                for event in [
                    Event::LaunchIntent(run),
                    launched(&key),
                    ended(&key, RunEnd::Ok),
                    Event::Completed(completed),
                    Event::Judged(judged),
                ] {
                    let _ = world.try_push(event);
                }
            }
        }),
    ]
}

/// What lies outside the envelope of an autonomous study.
fn for_envelope(texts: &mut impl FnMut(Purpose, &'static str, fn(&mut Texts))) {
    let mut outside = |edit: fn(&mut Texts)| texts(Purpose::Launch, "outside_envelope", edit);
    outside(|texts| {
        *texts = Texts::autonomous();
        set(&mut texts.contract, "/experiment/envelope/kinds", json!(["policy"]));
    });
    outside(|texts| {
        *texts = Texts::autonomous();
        set(&mut texts.contract, "/experiment/envelope/surfaces", json!(["reward"]));
    });
    outside(|texts| {
        *texts = Texts::autonomous();
        set(&mut texts.contract, "/experiment/envelope/phases", json!(["smoke", "short"]));
    });
}
