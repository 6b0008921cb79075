//! Attacks on the evaluation: whatever training leaves behind, only the policy that it trained determines the score.

use std::path::Path;

use serde_json::Value;

use super::{attempts, log, run_json, said};
use crate::launch::candidates::reward_with;
use crate::launch::limits::processes_with;
use crate::launch::repository::Repository;

/// What the code wants the evaluation to run. It would be visible: in the log, and by the missing score.
const CHEAT: &str = "print(\"HIJACKED\", flush=True); import os; os._exit(0)";

/// One smoke run and one that is evaluated; the keys of both.
fn run_all(repository: &Repository, id: &str, code: &str) -> Vec<String> {
    repository.ready(id, reward_with(code));
    repository.launch(id);
    if repository.end_of(&repository.runs_of(id)[0])["end"] == "ok" {
        repository.launch(id);
    }
    repository.runs_of(id)
}

fn scores(repository: &Repository, key: &str) -> Vec<u8> {
    let path = repository.run_folder(key).join("eval/scores.json");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn only_the_policy_decides_about_the_score() {
    let repository = Repository::build()
        .without_baseline()
        .screen_seeds(1)
        // Every run has an evaluation seed of its own; here only the policy may differ.
        .agree(|agreed| {
            let argv = agreed.runbook["eval"]["argv"].as_array_mut().unwrap();
            argv.extend(["--seed", "{train_seed}"].map(Into::into));
        });
    let repository = repository.approved();
    let honest = run_all(&repository, "honest", "# As it was.");
    let end = repository.end_of(&honest[1]);
    assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &"full".into()), "{end}");
    let expected = scores(&repository, &honest[1]);
    eval_stands_alone(&repository, &honest[1]);

    // In the places where Python looks, as far as training can write them; the evaluation uses none of them.
    let word = format!("left-{}", repository.home().file_name().unwrap().display());
    let cheat = |path: &str| format!("plant({path})");
    let tried: Vec<(&str, String)> = vec![
        ("patch_evaluator", "patch()".to_owned()),
        ("stay", format!("stay('{word}')")),
        ("plant_tree", cheat("'sitecustomize.py'")),
        ("plant_tree_standard", cheat("'json.py'")),
        ("plant_source", cheat("'src/sitecustomize.py'")),
        ("plant_evaluator", cheat("'src/balance_eval/evaluate.py'")),
        ("plant_package", cheat("'src/balance_eval/__init__.py'")),
        ("plant_environment", cheat("'src/balance/env.py'")),
        ("plant_own_package", cheat("OWN + '/balance_eval/__init__.py'")),
        ("plant_own_site", cheat("OWN + '/sitecustomize.py'")),
        ("plant_home", cheat("site.getusersitepackages() + '/usercustomize.py'")),
        ("plant_home_path", cheat("site.getusersitepackages() + '/left.pth'")),
        ("plant_tmp", cheat("os.environ['TMPDIR'] + '/balance_eval/evaluate.py'")),
        ("plant_shared_memory", cheat(&format!("'/dev/shm/{word}.py'"))),
        ("score_beside", "plant(OWN + '/../eval/scores.json')".to_owned()),
        ("score_absolute", "plant(os.path.dirname(OWN) + '/eval/scores.json')".to_owned()),
        ("eval_home", "plant(OWN + '/../eval/home/x.py')".to_owned()),
        ("eval_tree", "plant(OWN + '/../eval.tree/json.py')".to_owned()),
        ("eval_changed", "plant(OWN + '/../eval.changed/json.py')".to_owned()),
        ("eval_work", "plant(OWN + '/../eval.work/json.py')".to_owned()),
        ("eval_link", "os.symlink(OWN, OWN + '/../eval')".to_owned()),
        ("interpreter", "plant(sys.executable + '.cfg')".to_owned()),
        ("variables", "os.environ.update(PYTHONPATH=OWN, PYTHONHOME=OWN, HOME=OWN)".to_owned()),
        ("installed", "plant(site.getsitepackages()[0] + '/sitecustomize.py')".to_owned()),
    ];
    let helpers = HELPERS.replace("CHEAT", CHEAT);
    let code = attempts(&[]) + &helpers + attempts(&tried).strip_prefix(&attempts(&[])).unwrap();
    let keys = run_all(&repository, "influence", &code);
    assert_eq!(processes_with(&word), Vec::<String>::new());
    assert!(!Path::new(&format!("/dev/shm/{word}.py")).exists());
    for key in &keys {
        let end = repository.end_of(key);
        assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &"full".into()), "{end}");
        let said = said(&repository, key);
        assert_eq!(said.len(), tried.len(), "{said:?}");
        for (what, word) in &said {
            let is_outside = what.starts_with("score") || what.starts_with("eval") || what.starts_with('i');
            assert_eq!(word, if is_outside { "BLOCKED" } else { "DONE" }, "{what}");
        }
    }
    let seed = |key: &str| run_json(&repository, key, "order.json")["steps"][0]["set"]["RLX_SEED"].clone();
    assert_eq!(seed(&keys[1]), seed(&honest[1]), "the same seed, or nothing can be compared");
    assert_eq!(scores(&repository, &keys[1]), expected);
    assert!(!log(&repository, &keys[1], "eval").contains("HIJACKED"));
    eval_stands_alone(&repository, &keys[1]);
    // The process that stayed was killed before the evaluation began.
    let changed = |name: &str| {
        std::fs::metadata(repository.run_folder(&keys[1]).join(name)).unwrap().modified().unwrap()
    };
    assert!(changed("train/alive") <= changed("train.json"));
}

/// A policy file that is something else.
#[test]
fn a_policy_that_leads_elsewhere_or_is_code_gets_no_score() {
    let repository = Repository::build().without_baseline().screen_seeds(1).approved();
    let elsewhere = repository.home().join("good.json");
    std::fs::write(&elsewhere, r#"{"weights": [-3.0, -3.0, 0.0], "noise": 1.0}"#).unwrap();
    let swap = |body: &str| {
        format!(
            "import atexit\nimport os\nimport sys\n\nOWN = sys.argv[sys.argv.index('--out') + 1]\nPOLICY = OWN + '/policy.json'\n\n\ndef swap():\n    {body}\n    print('DONE swap', flush=True)\n\n\natexit.register(swap)"
        )
    };
    let link = swap(&format!("os.remove(POLICY), os.symlink('{}', POLICY)", elsewhere.display()));
    for key in run_all(&repository, "link", &link) {
        let end = repository.end_of(&key);
        assert_eq!(end["end"], "failed", "{end}");
        assert!(end["reason"].as_str().unwrap().contains("policy.json"), "{end}");
        assert!(log(&repository, &key, "train").contains("DONE swap"));
    }
    let mark = repository.home().join("executed");
    let code = swap(&format!("open(POLICY, 'w').write('__import__(\"os\").mkdir(\"{}\")')", mark.display()));
    let keys = run_all(&repository, "code", &code);
    // Trying the evaluation is enough to notice.
    assert_eq!(keys.len(), 1, "{keys:?}");
    let end = repository.end_of(&keys[0]);
    assert_eq!(end["end"], "failed", "{end}");
    assert!(end["reason"].as_str().unwrap().contains("JSONDecodeError"), "{end}");
    assert!(!repository.run_folder(&keys[0]).join("eval/scores.json").exists());
    assert!(!mark.exists());
}

/// Nothing that the evaluation runs or imports can be written by training: checked in its order and in its files.
#[track_caller]
fn eval_stands_alone(repository: &Repository, key: &str) {
    let order = run_json(repository, key, "order.json");
    let steps = order["steps"].as_array().unwrap();
    let step = |name: &str| steps.iter().find(|step| step["name"] == name).unwrap();
    let (train, eval) = (step("train"), step("eval"));
    let folder = repository.run_folder(key);
    let tree = folder.join("eval.tree");
    for place in eval["set"]["PYTHONPATH"].as_str().unwrap().split(':') {
        assert!(Path::new(place).starts_with(&tree), "{place}");
    }
    let trained = [folder.join("train"), folder.join("train.tree"), folder.join("train.changed")];
    for (name, value) in eval["set"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        assert!(trained.iter().all(|path| !value.contains(path.to_str().unwrap())), "{name}={value}");
    }
    assert_eq!(eval["tree"]["at"], tree.to_str().unwrap());
    assert_eq!(eval["tree"]["base"], train["tree"]["base"]);
    assert_eq!(eval["tree"]["removed"], Value::Array(Vec::new()));
    assert_eq!(eval["watched"], Value::Array(Vec::new()));
    assert_eq!(eval["environment"], Value::Array(Vec::new()));
    // On top of the base there are at most the files that training needs and git ignores.
    let laid_over = super::files(&folder.join("eval.changed"), Path::new(""));
    let names = laid_over.keys().filter(|path| !path.is_dir());
    let other: Vec<_> = names.filter(|path| !path.ends_with("data/start_states.json")).collect();
    assert!(other.is_empty(), "{other:?}");
    let own = super::files(&folder.join("eval"), Path::new(""));
    let left: Vec<_> = own.keys().filter(|path| !path.is_dir()).collect();
    assert_eq!(left, [&folder.join("eval/scores.json")]);
}

/// `plant` writes code that would take over any program that loads it; `stay` starts a process that tries to outlive
/// training.
const HELPERS: &str = "\
import site
import subprocess
import time


def plant(path):
    if '/../' not in path and 'eval/' not in path.replace('balance_eval/', ''):
        os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'w') as file:
        file.write('CHEAT')


def patch():
    import balance_eval.evaluate

    balance_eval.evaluate.main = lambda: print('HIJACKED', flush=True)
    balance_eval.evaluate.episode = lambda policy, chance: (60, 60.0)
    sys.modules['balance_eval.evaluate'] = balance_eval.evaluate


def stay(word):
    code = 'import sys, time' + chr(10) + 'while True:' + chr(10) + '  open(sys.argv[2], \"w\").close(); time.sleep(0.005)'
    subprocess.Popen([sys.executable, '-c', code, word, OWN + '/alive'], start_new_session=True)
    while not os.path.exists(OWN + '/alive'):
        time.sleep(0.001)


";
