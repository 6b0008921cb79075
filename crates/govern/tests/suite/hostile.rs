//! Values, keys, paths and patches that mean more than they seem to: each is refused, by the code that fits.

use std::collections::BTreeSet;

use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::Phase;
use rlxp_govern::gate::Purpose;
use rlxp_govern::ledger::Event;
use rlxp_govern::machine::RunEnd;
use rlxp_govern::section::Section;
use serde_json::{Value, json};

use super::cases::patched;
use super::common::{World, intent, launched, over};
use super::texts::{Texts, remove, set};

/// The codes by which a candidate is refused whose only change has this done to it.
#[track_caller]
fn refused(what: &str, code: &str, edit: impl FnOnce(&mut Texts)) {
    let mut texts = Texts::supervised();
    edit(&mut texts);
    let mut world = World::opened(&texts);
    world.approve_sections();
    world.run_baseline();
    let codes = world.codes(Purpose::Validate);
    assert!(codes.contains(code), "{what}: {codes:?}, not {code}");
}

fn change(texts: &mut Texts, key: &str, to: Value) {
    set(&mut texts.candidate, &format!("/changes/0/{key}"), to);
}

/// Its range goes from 1e-5 to 1e-2 or so; every one of these would reach another value in some program.
#[test]
fn no_number_slips_past_its_range() {
    let schedules = [
        json!(["0.5", 0.001]),
        json!({ "linear": [0.001, 0.0001], "peak": "9" }),
        json!({ "linear": [0.001, "lin_0.9"] }),
        json!([0.001, "inf"]),
        json!([0.001, ".nan"]),
        json!([0.001, " -Infinity "]),
        json!([0.001, { "deep": [{ "deeper": "1e9" }] }]),
        json!([0.001, "٣"]),
        json!({ "linear": "constant" }),
        json!([0.001, 1e300]),
        json!([0.001, -0.001]),
    ];
    for to in schedules {
        let code = if to.to_string().contains('"') && !to.to_string().contains("1e300") {
            "not_a_number"
        } else {
            "out_of_range"
        };
        refused(&to.to_string(), code, |texts| {
            change(texts, "operation", json!("schedule"));
            change(texts, "to", to.clone());
        });
    }
    for to in [json!("0.001"), json!([0.001]), json!({ "value": 0.001 }), json!(true), json!(null)] {
        let code = if to.is_null() { "no_value" } else { "not_a_number" };
        refused(&to.to_string(), code, |texts| change(texts, "to", to.clone()));
    }
    for to in [json!(1e308), json!(-0.0), json!(5e-324), json!(u64::MAX), json!(i64::MIN)] {
        refused(&to.to_string(), "out_of_range", |texts| change(texts, "to", to.clone()));
    }
    for factor in [json!(1e308), json!(-1), json!(0), json!(-0.0), json!(1e-308)] {
        refused(&factor.to_string(), "out_of_range", |texts| {
            change(texts, "operation", json!("scale"));
            change(texts, "to", factor.clone());
        });
    }
}

/// The same key spelled differently is another key.
#[test]
fn no_key_has_a_second_name() {
    for key in [
        "algo.learning_rate ",
        " algo.learning_rate",
        "algo..learning_rate",
        ".algo.learning_rate",
        "algo.learning_rate.",
        "algo.learning_rate[0]",
        "algo[learning_rate]",
        "Algo.learning_rate",
        "algo.learning\u{2010}rate",
        "algo.learn\u{131}ng_rate",
        "algo.learning_rate\u{200b}",
        "algo",
        "",
    ] {
        refused(key, "key_not_allowed", |texts| change(texts, "key", json!(key)));
    }
}

/// Patches that do more than their change says, or reach where it doesn't.
#[test]
fn no_patch_does_more_than_it_says() {
    let plain = "--- a/envs/reward.py\n+++ b/envs/reward.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    let with = |before: &str| format!("diff --git a/envs/reward.py b/envs/reward.py\n{before}{plain}");
    let twice = format!("{plain}{plain}");
    for (what, patch, code) in [
        ("renames", with("rename from envs/reward.py\nrename to eval/run.py\n"), "patch_not_plain"),
        ("copies", with("copy from eval/run.py\ncopy to envs/reward.py\n"), "patch_not_plain"),
        ("makes a program", with("old mode 100644\nnew mode 100755\n"), "patch_not_plain"),
        ("makes a link", with("new file mode 120000\n"), "patch_not_plain"),
        ("is binary", with("GIT binary patch\n"), "patch_not_plain"),
        (
            "two headers that disagree",
            plain.replace("+++ b/envs/reward.py", "+++ b/eval/run.py"),
            "patch_elsewhere",
        ),
        (
            "git's header disagrees",
            format!("diff --git a/eval/run.py b/eval/run.py\n{plain}"),
            "patch_elsewhere",
        ),
        (
            "a second file",
            format!("{plain}--- a/eval/run.py\n+++ b/eval/run.py\n@@ -1 +1 @@\n-a\n+b\n"),
            "patch_elsewhere",
        ),
        ("the file twice", twice, "change_does_not_apply"),
        ("a quoted path", plain.replace("a/envs/reward.py", "\"a/envs/rew\\141rd.py\""), "patch_not_plain"),
        (
            "a second file hidden behind a hunk that says it is longer",
            "--- a/envs/reward.py\n+++ b/envs/reward.py\n@@ -1,2 +1,4 @@\n-a\n+b\n c\n--- a/eval/run.py\n+++ b/eval/run.py\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
            "change_does_not_apply",
        ),
        ("no hunk", "--- a/envs/reward.py\n+++ b/envs/reward.py\n".to_owned(), "patch_not_plain"),
        ("removes under the name of an edit", plain.replace("+++ b/envs/reward.py", "+++ /dev/null"), "patch_does_other"),
        ("adds under the name of an edit", plain.replace("--- a/envs/reward.py", "--- /dev/null"), "patch_does_other"),
        ("an offset", plain.replace("@@ -1,2 +1,2 @@", "@@ -7,2 +7,2 @@"), "change_does_not_apply"),
        ("another line end", plain.replace('\n', "\r\n"), "change_does_not_apply"),
        ("a lone carriage return in a header", plain.replace("+++ b/envs/reward.py\n", "+++ b/envs/reward.py\r+++ b/eval/run.py\n"), "patch_elsewhere"),
        ("a number too large", plain.replace("-1,2", "-1,99999999999999999999"), "patch_not_plain"),
        ("dots", plain.replace("envs/reward.py", "envs/../eval/run.py"), "patch_elsewhere"),
    ] {
        refused(what, code, |texts| patched(texts, &patch));
    }
    // An empty hunk changes no line, however it is interpreted.
    let empty = plain.replace("@@ -1,2 +1,2 @@\n-a\n+b\n c\n", "@@ -1,0 +1,0 @@\n");
    let after = rlxp_govern::patch::apply(Some("a\nc\n"), &empty);
    assert!(after.is_err() || after == Ok(Some("a\nc\n".into())), "{after:?}");
}

/// What is put in front of a program is agreed to like the program: an adapter is the agent's own file.
#[test]
fn the_words_that_carry_overrides_are_agreed_to() {
    let mut world = World::ready(&Texts::supervised());
    assert!(world.given().contains(&Section::Scope));
    let before = world.study.digests();
    for syntax in ["--set {key}={value}", "--steps 999999999 --set {key}={value}", ""] {
        world.study.files.override_syntax = Some(syntax.into());
        let digests = world.study.digests();
        assert_ne!(digests[&Section::Scope], before[&Section::Scope]);
        assert_eq!(digests[&Section::Budget], before[&Section::Budget]);
        assert!(!world.given().contains(&Section::Scope), "{syntax}");
        assert!(world.codes(Purpose::Launch).contains("approval_void"), "{syntax}");
    }
    // Agreed to, it counts; and from then on taking it away is a change as well.
    world.approve_sections();
    assert!(world.given().contains(&Section::Scope));
    world.study.files.override_syntax = None;
    assert!(!world.given().contains(&Section::Scope));
}

/// A pattern that names a folder protects what is in it, in whatever case its path is written.
#[test]
fn a_protected_folder_is_protected_with_all_that_is_in_it() {
    for (glob, path) in [("envs", "envs/reward.py"), ("ENVS", "envs/reward.py"), ("*", "envs/reward.py")] {
        refused(glob, "protected", |texts| {
            patched(texts, super::cases::PLAIN_PATCH);
            change(texts, "path", json!(path));
            set(&mut texts.surface_map, "/protected", json!(["metrics.py", "eval/**", glob]));
        });
    }
}

/// A change of the reward builds on a reflection, and one of randomisation on a probe, also when it calls itself
/// something else.
#[test]
fn what_a_change_must_bring_is_not_for_its_author_to_choose() {
    for kind in ["hyperparameter", "policy", "curriculum", "termination", "randomisation"] {
        refused(kind, "requirement_missing", |texts| {
            patched(texts, super::cases::PLAIN_PATCH);
            set(&mut texts.candidate, "/kind", json!(kind));
            set(&mut texts.candidate, "/requirements", json!({ "probe": "probe.json" }));
        });
    }
    for kind in ["hyperparameter", "policy", "reward_tuning"] {
        refused(kind, "requirement_missing", |texts| {
            set(&mut texts.surface_map, "/surfaces/0/kind", json!("randomisation"));
            set(&mut texts.candidate, "/kind", json!(kind));
            set(&mut texts.candidate, "/requirements", json!({ "reflection": "reflection.json" }));
        });
    }
}

/// A stop rule applies even if the next step is never requested.
#[test]
fn a_launch_after_an_agreed_stop_is_refused() {
    let mut texts = Texts::supervised();
    set(&mut texts.contract, "/stop_rules", json!([{ "when": "failures_in_a_row", "runs": 2 }]));
    let mut world = World::ready(&texts);
    let plan = world.view.asked_plan.unwrap();
    world.run(&intent("lower-lr", Phase::Smoke, 1, plan), RunEnd::Failed);
    assert_eq!(world.codes(Purpose::Launch), BTreeSet::new());
    world.run(&intent("lower-lr", Phase::Smoke, 2, plan), RunEnd::Limit);
    assert_eq!(world.codes(Purpose::Launch), BTreeSet::from(["stop_rule"]));
    // Planning continues: the next step may be another contract.
    assert_eq!(world.codes(Purpose::Plan), BTreeSet::new());
}

/// A run that claims to need no GPU time is charged for it, and gets no more than the contract
/// allows.
#[test]
fn gpu_time_that_nobody_asked_for_is_spent_all_the_same() {
    let mut texts = Texts::supervised();
    set(&mut texts.contract, "/budget/gpu_time", json!("1h"));
    remove(&mut texts.candidate, "/phases/2/gpu_time");
    let mut world = World::ready(&texts);
    let plan = world.view.asked_plan.unwrap();
    for (seed, gpu_time, expected) in [(1, 1800, BTreeSet::new()), (2, 1800, BTreeSet::from(["over_budget"]))]
    {
        let intent = intent("lower-lr", Phase::Smoke, seed, plan);
        world.push(Event::LaunchIntent(intent.clone()));
        world.push(launched(&intent.key));
        let spent = Amounts { runs: 1, wall_clock: 1800, gpu_time, disk: 0 };
        world.push(Event::RunEnded(over(&intent.key, RunEnd::Ok, spent)));
        assert_eq!(world.codes(Purpose::Launch), expected, "{seed}");
    }
}
