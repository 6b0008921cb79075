//! Changes that apply, changes that don't, and their results.

use serde_json::json;

use super::*;

const CONFIG: &str = "algo:\n  lr: 3e-4 # tuned\n  steps: 2048\n  layers: [64, 64]\n";
const CODE: &str = "def reward(state):\n    return state.speed\n";
const PATCH: &str = "--- a/reward.py\n+++ b/reward.py\n@@ -1,2 +1,2 @@\n def reward(state):\n-    return state.speed\n+    return 2 * state.speed\n";

fn source(path: &str) -> Option<String> {
    match path {
        "config.yaml" => Some(CONFIG.into()),
        "reward.py" => Some(CODE.into()),
        _ => None,
    }
}

fn change(value: Value) -> Change {
    let mut fields = json!({ "surface": "any", "path": "config.yaml", "operation": "set" });
    for (key, value) in value.as_object().unwrap() {
        fields[key] = value.clone();
    }
    serde_json::from_value(fields).unwrap()
}

fn made(changes: &[Value], syntax: Option<&str>) -> Result<Applied, Vec<(usize, String)>> {
    let changes: Vec<Change> = changes.iter().cloned().map(change).collect();
    apply(&changes, syntax, &source)
}

fn after(changes: &[Value]) -> String {
    made(changes, None).unwrap().files["config.yaml"].after.clone().unwrap()
}

#[track_caller]
fn refused(value: Value, syntax: Option<&str>, words: &str) {
    let said = made(std::slice::from_ref(&value), syntax).unwrap_err();
    assert!(matches!(&said[..], [(0, why)] if why.contains(words)), "{said:?}");
}

#[test]
fn arguments_of_accepted_candidates_give_the_current_value() {
    let earlier =
        ["--set", "algo.lr=0.001", "--set", "algo.name=1e3", "--set", "algo.lr=0.002"].map(str::to_owned);
    let on = |value: Value| apply_after(&[change(value)], Some("--set {key}={value}"), &earlier, &source);
    let arguments = |value: Value| on(value).map(|applied| applied.arguments);
    let set = json!({ "key": "algo.lr", "from": 0.002, "to": 0.004 });
    assert_eq!(arguments(set).unwrap(), ["--set", "algo.lr=0.004"]);
    let scale = json!({ "key": "algo.lr", "operation": "scale", "from": 0.002, "to": 2 });
    assert_eq!(arguments(scale).unwrap(), ["--set", "algo.lr=0.004"]);
    // What the file says, and what the first of them gave, is not the value any more.
    for old in [3e-4, 0.001] {
        let said = on(json!({ "key": "algo.lr", "from": old, "to": 0.004 })).unwrap_err();
        assert!(said[0].1.contains("algo.lr is 0.002"), "{said:?}");
    }
    // Written the same, a text and a number can't be told apart.
    for from in [json!("1e3"), json!(1000.0)] {
        let set = json!({ "key": "algo.name", "from": from, "to": "x", "path": "reward.py" });
        assert_eq!(arguments(set).unwrap(), ["--set", "algo.name=x"]);
    }
    assert_eq!(
        arguments(json!({ "key": "algo.steps", "from": 2048, "to": 1 })).unwrap(),
        ["--set", "algo.steps=1"]
    );
    let said = on(json!({ "key": "algo.lr", "operation": "remove" })).unwrap_err();
    assert!(said[0].1.contains("not remove it"), "{said:?}");
}

#[test]
fn keys_are_set_in_their_file() {
    let set = json!({ "key": "algo.lr", "from": 0.0003, "to": 0.001 });
    let applied = made(std::slice::from_ref(&set), None).unwrap();
    let file = &applied.files["config.yaml"];
    assert_eq!(file.before, Some(Digest::hash(CONFIG.as_bytes())));
    assert_eq!(file.after.as_deref(), Some(CONFIG.replace("3e-4", "0.001").as_str()));
    assert_eq!((applied.files.len(), applied.arguments.len()), (1, 0));

    let scale = json!({ "key": "algo.steps", "operation": "scale", "from": 2048.0, "to": 0.5 });
    assert_eq!(after(&[scale]), CONFIG.replace("2048", "1024"));
    let scale = json!({ "key": "algo.lr", "operation": "scale", "to": 2 });
    assert_eq!(after(&[scale]), CONFIG.replace("3e-4", "0.0006"));
    let schedule = json!({ "key": "algo.lr", "operation": "schedule", "to": { "linear": [1e-3, 0] } });
    assert_eq!(after(&[schedule]), CONFIG.replace("3e-4", "{linear: [0.001, 0]}"));
    let add = json!({ "key": "algo.gamma", "operation": "add", "to": 0.9 });
    assert_eq!(after(&[add]), format!("{CONFIG}  gamma: 0.9\n"));
    let remove = json!({ "key": "algo.steps", "operation": "remove", "from": 2048 });
    assert_eq!(after(&[remove]), CONFIG.replace("  steps: 2048\n", ""));
}

#[test]
fn changes_to_one_file_build_on_each_other() {
    let first = json!({ "key": "algo.lr", "from": 3e-4, "to": 1e-3 });
    let second = json!({ "key": "algo.lr", "operation": "scale", "from": 1e-3, "to": 10 });
    let third = json!({ "key": "algo.layers[0]", "from": 64, "to": 32 });
    let expected = CONFIG.replace("3e-4", "0.01").replace("[64, 64]", "[32, 64]");
    assert_eq!(after(&[first.clone(), second.clone(), third]), expected);
    // A file restored to its original content is not changed.
    let back = json!({ "key": "algo.steps", "operation": "scale", "to": 0.5 });
    let forth = json!({ "key": "algo.steps", "operation": "scale", "to": 2 });
    assert_eq!(made(&[back, forth], None).unwrap(), Applied::default());
    // The second isn't tried after the first failed, other files are.
    let wrong = json!({ "key": "algo.lr", "from": 5, "to": 1e-3 });
    let code =
        json!({ "path": "reward.py", "operation": "edit_code", "patch": PATCH.replace("speed", "height") });
    let said = made(&[wrong, second, code], None).unwrap_err();
    assert_eq!(said.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(said[0].1, "algo.lr is 0.0003, but the candidate says 5");
    assert!(said[1].1.contains("hunk 1: line 2"), "{said:?}");
}

#[test]
fn patches_change_make_and_remove_files() {
    let edit = json!({ "path": "reward.py", "operation": "edit_code", "patch": PATCH });
    let applied = made(std::slice::from_ref(&edit), None).unwrap();
    assert_eq!(applied.files["reward.py"].after, Some(CODE.replace("return", "return 2 *")));
    // The same with overrides: those are for keys.
    assert_eq!(made(&[edit], Some("--set {key}={value}")), Ok(applied));
    let make = json!({ "path": "new.py", "operation": "add", "patch": "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+a\n" });
    let made_file = FileChange { before: None, after: Some("a\n".into()) };
    assert_eq!(made(&[make], None).unwrap().files["new.py"], made_file);
    let patch =
        "--- a/reward.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def reward(state):\n-    return state.speed\n";
    let remove = json!({ "path": "reward.py", "operation": "remove", "patch": patch });
    let removed = FileChange { before: Some(Digest::hash(CODE.as_bytes())), after: None };
    assert_eq!(made(&[remove], None).unwrap().files["reward.py"], removed);
}

#[test]
fn overrides_become_words() {
    let words = |value: Value, syntax: &str| {
        let applied = made(&[value], Some(syntax)).unwrap();
        assert!(applied.files.is_empty());
        applied.arguments
    };
    let set = json!({ "key": "algo.lr", "from": 3e-4, "to": 0.001 });
    assert_eq!(words(set.clone(), "--set {key}={value}"), ["--set", "algo.lr=0.001"]);
    assert_eq!(words(set, "  --{key}  {value} "), ["--algo.lr", "0.001"]);
    let text = json!({ "key": "algo.new", "to": "two words {key}" });
    assert_eq!(words(text, "{key}={value}"), ["algo.new=two words {key}"]);
    let scale = json!({ "key": "algo.steps", "operation": "scale", "from": 2048, "to": 2 });
    assert_eq!(words(scale, "{key}={value}"), ["algo.steps=4096"]);
    let list = json!({ "key": "algo.layers", "operation": "schedule", "to": [1, 2.5] });
    assert_eq!(words(list, "{key}={value}"), ["algo.layers=[1,2.5]"]);
    // Values in code can't be read, so `from` is trusted.
    let code = json!({ "path": "reward.py", "key": "weight", "operation": "scale", "from": 0.5, "to": 3 });
    assert_eq!(words(code, "{key}={value}"), ["weight=1.5"]);
    let twice =
        [json!({ "key": "algo.lr", "from": 3e-4, "to": 1 }), json!({ "key": "algo.lr", "from": 1, "to": 2 })];
    assert_eq!(made(&twice, Some("{key}={value}")).unwrap().arguments, ["algo.lr=1", "algo.lr=2"]);
    // An argument can't remove a key.
    let remove = json!({ "key": "algo.steps", "operation": "remove" });
    assert_eq!(made(&[remove], Some("{key}={value}")).unwrap().arguments, [] as [&str; 0]);
}

#[test]
fn what_can_not_be_made_is_named() {
    let syntax = Some("{key}={value}");
    for syntax in [None, syntax] {
        refused(
            json!({ "key": "algo.lr", "from": 0.1, "to": 1 }),
            syntax,
            "algo.lr is 0.0003, but the candidate says 0.1",
        );
        refused(
            json!({ "key": "algo.gamma", "from": 0.1, "to": 1 }),
            syntax,
            "config.yaml has no algo.gamma",
        );
        refused(
            json!({ "path": "nowhere.yaml", "key": "a", "to": 1 }),
            syntax,
            "nowhere.yaml does not exist",
        );
        refused(json!({ "key": "algo.lr" }), syntax, "no new value");
        refused(json!({ "key": "algo.layers", "operation": "scale", "to": 2 }), syntax, "needs a number");
        refused(json!({ "key": "algo.steps", "operation": "scale", "to": 1e308 }), syntax, "not finite");
        refused(json!({ "key": "algo.lr", "operation": "edit_code", "to": 1 }), syntax, "by a patch");
        refused(json!({ "key": "a", "patch": PATCH, "path": "reward.py" }), syntax, "not both");
        refused(json!({ "path": "reward.py" }), syntax, "needs a key or a patch");
    }
    refused(json!({ "key": "algo.gamma", "to": 1 }), None, "config.yaml has no algo.gamma");
    refused(json!({ "key": "algo.lr", "operation": "add", "to": 1 }), None, "already");
    refused(json!({ "path": "reward.py", "key": "weight", "from": 1, "to": 2 }), None, "use a patch");
    refused(json!({ "key": "algo.gamma", "operation": "scale", "to": 1 }), syntax, "can't be scaled");
    refused(json!({ "key": "algo.lr", "to": 1 }), Some("--set {key}"), "lacks {key} or {value}");
}

#[test]
fn the_digest_covers_all_of_it() {
    let of = |to: f64, syntax| made(&[json!({ "key": "algo.lr", "to": to })], syntax).unwrap().digest();
    assert_eq!(of(0.1, None), of(0.1, None));
    assert_ne!(of(0.1, None), of(0.2, None));
    assert_ne!(of(0.1, Some("{key}={value}")), of(0.2, Some("{key}={value}")));
    let change = |before: &[u8], after: Option<&str>| {
        let file = FileChange { before: Some(Digest::hash(before)), after: after.map(str::to_owned) };
        Applied { files: BTreeMap::from([("a".to_owned(), file)]), ..Applied::default() }.digest()
    };
    let all = [change(b"x", None), change(b"y", None), change(b"x", Some("")), Applied::default().digest()];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}
