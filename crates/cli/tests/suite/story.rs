//! `rlx analyze`, `explain-metrics` and `summarize`: what they report is in the
//! run's own files, and unusual runs are reported as such.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::project::{Project, TINY};

/// Continuous actions, episodes truncated by the cap, everything normalised.
const PENDULUM: &str = "\
run_name: pend
threads: 2
env: {id: Pendulum-v1, num_envs: 2, normalize_observations: true, normalize_rewards: true}
algo:
  name: ppo
  total_timesteps: 1024
  rollout_steps: 256
  batch_size: 128
  update_epochs: 2
  learning_rate: 0.001
  target_kl: 0.02
policy: {type: mlp, hidden_sizes: [8, 8], activation: tanh, use_sde: false}
checkpoint: {save_every: 512, keep: 5}
eval: {every: 512, episodes: 100, deterministic: true}
";

/// Every `kind/name` in a run's metrics; numbered names as their pattern.
fn logged(metrics: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in std::fs::read_to_string(metrics).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let kind = record["kind"].as_str().unwrap();
        for name in record["values"].as_object().unwrap().keys() {
            let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let numbered = stem.len() < name.len() && stem.ends_with('_');
            let name = if numbered { format!("{stem}*") } else { name.clone() };
            names.insert(format!("{kind}/{name}"));
        }
    }
    names
}

#[test]
fn the_dictionary_has_what_is_logged_and_nothing_else() {
    let project = Project::trained();
    project.write("pend.yaml", PENDULUM);
    project.rlx("train pend.yaml").expect(0);
    let mut found = logged(&project.path("runs/tiny_001/metrics.jsonl"));
    found.extend(logged(&project.path("runs/pend_001/metrics.jsonl")));
    let dictionary = project.rlx("explain-metrics --json").expect(0).json();
    let known: BTreeSet<String> = dictionary["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| format!("{}/{}", metric["kind"].as_str().unwrap(), metric["name"].as_str().unwrap()))
        .collect();
    let unexplained: Vec<&String> = found.difference(&known).collect();
    assert!(unexplained.is_empty(), "logged and not in the dictionary: {unexplained:?}");
    // Not every system reports how much memory is in use.
    let may_lack = ["timing/resident_bytes"];
    let never: Vec<&String> =
        known.difference(&found).filter(|name| !may_lack.contains(&name.as_str())).collect();
    assert!(never.is_empty(), "in the dictionary and never logged: {never:?}");
}

/// A metric's finite values by step, as they are in the file.
fn series(metrics: &Path, kind: &str, name: &str) -> BTreeMap<u64, f64> {
    let text = std::fs::read_to_string(metrics).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let values = records
        .filter(|record| record["kind"] == kind)
        .filter_map(|record| Some((record["step"].as_u64().unwrap(), record["values"].get(name)?.as_f64()?)));
    values.collect()
}

/// Checks the claims of a report about single seeds against the raw files;
/// returns how many there were.
fn check_claims(statements: &Value, seeds: &[PathBuf]) -> usize {
    let mut checked = 0;
    for statement in statements.as_array().unwrap() {
        let text = |key: &str| statement[key].as_str().unwrap();
        for claim in statement["claims"].as_array().unwrap() {
            let step = |key: &str| claim[key].as_u64().unwrap();
            let seed = match &claim["over"] {
                Value::String(over) if over == "curve" && seeds.len() == 1 => 0,
                Value::Object(over) => over["seed"].as_u64().unwrap() as usize,
                _ => continue,
            };
            let all = series(&seeds[seed], text("kind"), text("metric"));
            let points: Vec<f64> =
                all.range(step("from_step")..=step("to_step")).map(|(_, value)| *value).collect();
            let found = match claim["statistic"].as_str().unwrap() {
                "first" => points[0],
                "last" | "finished_last" => points[points.len() - 1],
                "lowest" => points.iter().copied().fold(f64::MAX, f64::min),
                "highest" => points.iter().copied().fold(f64::MIN, f64::max),
                "mean" => points.iter().sum::<f64>() / points.len() as f64,
                "points" => points.len() as f64,
                _ => continue,
            };
            if let Some(claimed) = claim["value"].as_f64() {
                assert!((found - claimed).abs() <= 1e-9 * found.abs(), "{found}: {claim} of {statement}");
            }
            let than = claim["is"]["than"].as_f64().unwrap_or(f64::NAN);
            let holds = match claim["is"]["relation"].as_str() {
                None => true,
                Some("above") => found > than,
                Some("at_least") => found >= than,
                Some("below") => found < than,
                Some("at_most") => found <= than,
                Some(other) => panic!("{other}"),
            };
            assert!(holds, "{found}: {claim} of {statement}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn every_claim_holds_in_the_files_of_the_run() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=2 --set eval.every=256").expect(0);
    let report = project.rlx("analyze @last --json").expect(0).json();
    let group = &report["groups"][0];
    assert_eq!(
        (group["metric"].as_str(), group["env"].as_str()),
        (Some("eval/mean_return"), Some("CartPole-v1"))
    );
    let statements = group["statements"].as_array().unwrap();
    let topics: BTreeSet<&str> =
        statements.iter().map(|statement| statement["topic"].as_str().unwrap()).collect();
    for topic in ["result", "baseline", "onset", "best", "stability", "seeds", "efficiency", "policy"] {
        assert!(topics.contains(topic), "{topic} is missing in {topics:?}");
    }
    let files = [0, 1].map(|seed| project.path(&format!("runs/tiny_001/seeds/{seed}/metrics.jsonl")));
    let names: BTreeSet<String> = files.iter().flat_map(|file| logged(file)).collect();
    for statement in statements {
        let metric =
            format!("{}/{}", statement["kind"].as_str().unwrap(), statement["metric"].as_str().unwrap());
        assert!(names.contains(&metric), "{statement}");
        assert!(
            statement["from_step"].as_u64().unwrap() <= statement["to_step"].as_u64().unwrap(),
            "{statement}"
        );
        assert!(!statement["seeds"].as_array().unwrap().is_empty(), "{statement}");
    }
    assert!(check_claims(&group["statements"], &files) >= 4);
    // The result is the interquartile mean of the last evaluations: of two seeds, their mean.
    let last = |file: &Path| *series(file, "eval", "mean_return").last_key_value().unwrap().1;
    let expected = (last(&files[0]) + last(&files[1])) / 2.0;
    assert!((group["result"]["iqm"].as_f64().unwrap() - expected).abs() < 1e-9, "{}", group["result"]);
    // One seed, every metric.
    project.rlx("train tiny.yaml --set eval.every=256 --set run_name=one").expect(0);
    let file = [project.path("runs/one_001/metrics.jsonl")];
    let report = project.rlx("analyze @last --json").expect(0).json();
    assert!(check_claims(&report["groups"][0]["statements"], &file) >= 20);
    let report = project.rlx("explain-metrics @last --json").expect(0).json();
    let readings = report["metrics"].as_array().unwrap().iter().filter(|metric| !metric["reading"].is_null());
    let checked = readings.map(|metric| check_claims(&metric["reading"]["statements"], &file)).sum::<usize>();
    assert!(checked >= 200, "{checked}");
}

#[test]
fn a_threshold_that_a_shorter_episode_cannot_reach_is_not_missed() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set env.max_episode_steps=100").expect(0);
    for line in ["analyze @last", "summarize @last", "summarize"] {
        let said = project.rlx(line).expect(0).stdout;
        assert!(!said.contains("475"), "{line}: {said}");
    }
}

#[test]
fn runs_fold_into_groups_and_one_seed_says_what_it_cannot_know() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set seed=7").expect(0);
    let one = project.rlx("analyze tiny_001").expect(0);
    assert!(one.stdout.contains("With one seed, the variation between seeds is unknown"), "{}", one.stdout);
    assert!(one.stderr.contains("--set seed=1 --set seeds=4"), "{}", one.stderr);
    let both = project.rlx("analyze tiny_001+tiny_002 --json").expect(0).json();
    let seeds: Vec<u64> = both["groups"][0]["seeds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seed| seed["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [0, 7]);
    let apart = project.rlx("analyze tiny_001 tiny_002 --json").expect(0).json();
    assert_eq!(apart["groups"].as_array().unwrap().len(), 2);
    for line in one.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn the_same_training_twice_counts_once() {
    let project = Project::trained();
    project.rlx("train tiny.yaml").expect(0);
    project.rlx("train tiny.yaml --set seed=3").expect(0);
    let ran = project.rlx("analyze tiny_001+tiny_002+tiny_003").expect(0);
    assert!(ran.stderr.contains("seed 0 of tiny_002 repeats tiny_001 exactly"), "{}", ran.stderr);
    let report = project.rlx("analyze tiny_001+tiny_002+tiny_003 --json").expect(0).json();
    assert_eq!(report["groups"][0]["result"]["seeds"], 2);
    let report = project.rlx("summarize --json").expect(0).json();
    assert_eq!(report["environments"][0]["groups"][0]["seeds"], 2);
    // The intervals of saves and evaluations follow from the length here, and are not a separate difference.
    let short = TINY.replace("save_every: 1024, ", "").replace("every: 1024, ", "");
    project.write("short.yaml", &short);
    project.rlx("train short.yaml --set run_name=a").expect(0);
    project.rlx("train short.yaml --set run_name=b --set algo.total_timesteps=4096").expect(0);
    let report = project.rlx("summarize a_001 b_001 --json").expect(0).json();
    assert_eq!(report["environments"][0]["varied"][0]["key"], "algo.total_timesteps");
    assert_eq!(report["environments"][0]["varied"].as_array().unwrap().len(), 1);
}

#[test]
fn healthy_is_what_this_config_makes_it() {
    let project = Project::trained();
    let entropy = project.rlx("explain-metrics @last entropy").expect(0).stdout;
    assert!(entropy.contains("ln(2) = 0.693"), "{entropy}");
    let several = project.rlx("explain-metrics @last mean_return std_1 --json").expect(0).json();
    let names: Vec<(&str, &str)> = several["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| (metric["kind"].as_str().unwrap(), metric["name"].as_str().unwrap()))
        .collect();
    assert_eq!(names, [("eval", "mean_return"), ("train", "mean_return"), ("observations", "std_1")]);
    assert!(several["metrics"][2]["expected"]["text"].as_str().unwrap().contains("cart velocity"));
    let all = project.rlx("explain-metrics @last").expect(0);
    for part in ["train/approx_kl", "timing/steps_per_second", "pole angular velocity"] {
        assert!(all.stdout.contains(part), "{part}");
    }
    // The dictionary of metrics needs no project.
    let nowhere = tempfile::tempdir().unwrap();
    let output = project
        .command(crate::project::RLX)
        .current_dir(nowhere.path())
        .args(["explain-metrics", "entropy"])
        .output()
        .unwrap();
    assert!(output.status.success());
}

#[test]
fn a_run_becomes_a_paragraph() {
    let project = Project::trained();
    let said = project.rlx("summarize @last").expect(0).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["tiny_001: PPO on CartPole-v1, seed 0, 2,048 of 2,048 steps", "Last evaluation:", "Best checkpoint:"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let report = project.rlx("summarize @last --json").expect(0).json();
    assert_eq!(report["of"], "run");
    let unusual: Vec<&str> =
        report["unusual"].as_array().unwrap().iter().map(|change| change["key"].as_str().unwrap()).collect();
    assert!(
        unusual.contains(&"algo.total_timesteps") && unusual.contains(&"policy.hidden_sizes"),
        "{unusual:?}"
    );
    assert!(!unusual.contains(&"run_name") && !unusual.contains(&"threads"), "{unusual:?}");
}

#[test]
fn sets_and_folders_are_grouped_by_config() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set seed=1 --tag sweep").expect(0);
    project.rlx("train tiny.yaml --set algo.learning_rate=0.01 --tag sweep").expect(0);
    let report = project.rlx("summarize --json").expect(0).json();
    assert_eq!((report["of"].as_str(), report["counts"]["runs"].as_u64()), (Some("set"), Some(3)));
    let env = &report["environments"][0];
    let groups = env["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    let folded = groups.iter().find(|group| group["seeds"] == 2).unwrap();
    assert_eq!(folded["runs"], serde_json::json!(["tiny_001", "tiny_002"]));
    assert_eq!(
        env["varied"],
        serde_json::json!([{"key": "algo.learning_rate", "values": ["0.001", "0.01"]}])
    );
    assert_eq!(env["comparisons"], 1);
    assert!(env["luck_of_the_best"].as_f64().is_some(), "{env}");
    assert!(report["next"][0].as_str().unwrap().starts_with("rlx compare "), "{}", report["next"]);
    assert_eq!(project.rlx("summarize tag:sweep --json").expect(0).json()["counts"]["runs"], 2);
    assert_eq!(project.rlx("summarize tiny_001 tiny_003 --json").expect(0).json()["counts"]["runs"], 2);
    let root = project.folder().display().to_string();
    for folder in [".", "runs", root.as_str()] {
        let found = project.rlx(&format!("summarize {folder} --json")).expect(0).json();
        assert_eq!(found["counts"]["runs"], 3, "{folder}");
    }
    let shown = project.rlx("summarize").expect(0);
    assert!(shown.stdout.contains("Varied: algo.learning_rate (2 values)."), "{}", shown.stdout);
}

#[test]
fn broken_runs_are_told_as_such() {
    let project = Project::trained();
    let metrics = project.path("runs/tiny_001/metrics.jsonl");
    let whole = std::fs::read_to_string(&metrics).unwrap();
    let all = ["analyze tiny_001", "explain-metrics tiny_001", "summarize tiny_001", "summarize"];
    let holey = whole.replace("\"mean_return\":", "\"mean_return\":\"NaN\",\"old\":");
    let cut = &whole[..whole.len() - 30];
    for (name, text) in
        [("torn", cut), ("empty", ""), ("NaN", holey.as_str()), ("short", whole.lines().next().unwrap())]
    {
        std::fs::write(&metrics, text).unwrap();
        for line in all {
            for how in ["", " --json"] {
                let ran = project.rlx(&format!("{line}{how}"));
                assert_eq!(ran.code, Some(0), "{name}, {line}: {}", ran.stderr);
            }
        }
    }
    std::fs::write(&metrics, &holey).unwrap();
    let said = project.rlx("analyze tiny_001").expect(0).stdout;
    assert!(said.contains("are NaN or infinite"), "{said}");
    std::fs::write(&metrics, "").unwrap();
    let said = project.rlx("analyze tiny_001").expect(0).stdout;
    assert!(said.contains("No finite values"), "{said}");
    // A run that can't be read is counted and named, and hides no other.
    project.rlx("train tiny.yaml").expect(0);
    std::fs::write(project.path("runs/tiny_001/config_snapshot.yaml"), "{").unwrap();
    let ran = project.rlx("summarize").expect(0);
    assert!(
        ran.stdout.contains("1 unknown or unreadable") && ran.stderr.contains("tiny_001"),
        "{}",
        ran.stdout
    );
}

#[test]
fn failed_seeds_count_as_worse_than_every_other() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set run_name=weiß-größe").expect(0);
    // 10^42 is more than single precision holds.
    let scaled = ["scale_reward: {factor: 1000000}"; 7].join(", ");
    let huge = TINY.replace("num_envs: 4", &format!("num_envs: 4, wrappers: [{scaled}]"));
    let huge = huge.replace("run_name: tiny", "run_name: bad");
    project.write("huge.yaml", &huge);
    project.rlx("train huge.yaml").expect(4);
    let said = project.rlx("analyze bad_001").expect(0);
    assert!(said.stdout.contains("bad_001 failed: "), "{}", said.stdout);
    let report = project.rlx("summarize --json").expect(0).json();
    assert_eq!(report["counts"]["failed"], 1);
    let said = project.rlx("summarize bad_001").expect(0).stdout;
    assert!(said.contains("Failed seeds"), "{said}");
    project.rlx("analyze weiß-größe_001").expect(0);
}

#[test]
fn what_does_not_exist_is_named() {
    let project = Project::trained();
    std::fs::create_dir(project.path("hollow")).unwrap();
    for (line, part) in [
        ("analyze nothing", "nothing"),
        ("analyze tag:nothing", "no run has the tag"),
        ("analyze", "<RUN>"),
        ("explain-metrics @last entrpy", "train/entropy"),
        ("explain-metrics entrpy", "rlx explain-metrics train/entropy"),
        ("explain-metrics @last action_std", "has not logged action_std"),
        ("explain-metrics entropy 🦀", "unknown metric"),
        ("summarize nothing", "nothing"),
        ("summarize tag:nothing", "no run has the tag"),
        ("summarize hollow", "no runs in"),
    ] {
        let failed = project.rlx(line).expect(2);
        assert!(failed.stderr.contains(part), "{line}: {}", failed.stderr);
        assert_eq!(failed.stdout, "", "{line}");
    }
    let empty = Project::new();
    assert!(empty.rlx("summarize").expect(2).stderr.contains("no runs found"));
}

#[test]
fn two_hundred_runs_are_one_readable_page() {
    let project = Project::trained();
    let first = project.path("runs/tiny_001");
    for number in 2..=200 {
        let copy = project.path(&format!("runs/tiny_{number:03}"));
        copy_folder(&first, &copy);
        // Ten configs.
        let config = std::fs::read_to_string(copy.join("config_snapshot.yaml")).unwrap();
        let other = format!("gamma: 0.9{}", number % 10);
        std::fs::write(copy.join("config_snapshot.yaml"), config.replace("gamma: 0.98", &other)).unwrap();
    }
    let said = project.rlx("summarize").expect(0).stdout;
    // Copies of a config are one training.
    assert!(said.contains("200 runs, 10 seeds"), "{said}");
    assert!(said.lines().count() < 40, "{said}");
    let report = project.rlx("summarize --json").expect(0).json();
    assert_eq!(report["environments"][0]["groups"].as_array().unwrap().len(), 10);
    assert_eq!(report["environments"][0]["comparisons"], 45);
    let best = project.rlx("summarize --best 3 --json").expect(0).json();
    let env = &best["environments"][0];
    assert_eq!(env["best_of"], serde_json::json!({"shown": 3, "left_out": 7}));
    assert_eq!((env["groups"].as_array().unwrap().len(), &env["scored_groups"]), (3, &10.into()));
    let label = env["groups"][0]["label"].as_str().unwrap();
    assert!(label.starts_with("gamma=0.9"), "{label}");
    let page = project.rlx("report tiny_* --no-videos --output all.html --json").expect(0).json();
    assert_eq!(page["groups"].as_array().unwrap().len(), 10);
    assert!(page["bytes"].as_u64().unwrap() < 2_000_000, "{}", page["bytes"]);
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&path).unwrap(), place).unwrap();
        } else if kind.is_dir() {
            copy_folder(&path, &place);
        } else {
            std::fs::copy(&path, place).unwrap();
        }
    }
}
