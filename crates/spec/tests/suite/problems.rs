//! Each kind of problem: where it is placed, what it says, what it suggests.

use rlxp_spec::{Known, Source, load, render};

const IDS: &[&str] = &["CartPole-v1", "Pendulum-v1"];

fn problems(text: &str, overrides: &[&str]) -> rlxp_spec::Problems {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    let known = Known { env_ids: IDS, cores: 2 };
    match load(&Source::new("c.yaml", text), &overrides, &known) {
        Ok(loaded) => panic!("no errors in {text:?}: {:?}", loaded.warnings),
        Err(problems) => problems,
    }
}

/// Expects exactly these problems: line:column path | part of the message | part of the hint.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    compare(&problems(text, &[]), expected);
}

#[track_caller]
fn check_set(overrides: &[&str], expected: &[&str]) {
    compare(&problems("env: {id: CartPole-v1}", overrides), expected);
}

#[track_caller]
fn compare(problems: &rlxp_spec::Problems, expected: &[&str]) {
    let found = &problems.problems;
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{all:#?}");
    for (problem, expected) in found.iter().zip(expected) {
        let mut parts = expected.split(" | ");
        let place = format!("{}:{} {}", problem.line, problem.column, problem.path);
        assert_eq!(place.trim_end(), parts.next().unwrap_or_default(), "{all:#?}");
        for (part, has) in parts.zip([problem.message.as_str(), problem.hint.as_deref().unwrap_or("")]) {
            assert!(has.contains(part), "{part:?} is not in {has:?}");
        }
    }
    assert!(!render(found, &problems.sources, true).is_empty());
}

const ENV: &str = "env: {id: CartPole-v1}\n";

#[test]
fn unknown_keys_offer_the_nearest() {
    check(
        "sed: 1\nenv:\n  id: CartPole-v1\n  n_envs: 2\nalgo:\n  gama: 1\n  policy: 3\nqwertz: {a: 1}\ngamma: 1",
        &[
            "1:1 sed | unknown key `sed` | `seed`",
            "4:3 env.n_envs | unknown key `n_envs` in `env` | `num_envs`",
            "6:3 algo.gama | unknown key `gama` in `algo` | `gamma`",
            "7:3 algo.policy | unknown key",
            "8:1 qwertz | unknown key | valid keys here",
            "9:1 gamma | unknown key | under `algo`",
        ],
    );
}

#[test]
fn wrong_types() {
    check(
        "run_name: 12\nseed: x\nseeds: {a: 1}\nthreads: 1.5\nenv:\n  id: [a]\n  num_envs: \"8\"\n  kwargs: 3\n  wrappers: scale_reward\n  normalize_rewards: yes\n  max_episode_steps: \nalgo:\n  learning_rate: \"3e-4\"\n  clip_range: [1]\n  gamma: null\n  total_timesteps: {}\npolicy: 3\n",
        &[
            "1:11 run_name | must be text; this is the whole number 12 | quotes: \"12\"",
            "2:7 seed | must be a whole number; this is the text \"x\"",
            "3:8 seeds | must be a whole number or a list; this is a mapping | a list, or how many",
            "4:10 threads | must be a whole number; this is the number 1.5",
            "6:7 env.id | must be text; this is a list",
            "7:13 env.num_envs | must be a whole number; this is the text \"8\" | write 8 without quotes",
            "8:11 env.kwargs | must be a mapping or null; this is the whole number 3 | Arguments of the environment by name",
            "9:13 env.wrappers | must be a list; this is the text \"scale_reward\" | brackets",
            "10:22 env.normalize_rewards | must be true or false; this is the text \"yes\" | write true",
            "13:18 algo.learning_rate | must be a number or a mapping with `schedule`, `from`, `to`; this is the text \"3e-4\" | write 3e-4 without quotes",
            "14:15 algo.clip_range | must be a number or a mapping with `schedule`, `from`, `to`; this is a list",
            "15:10 algo.gamma | must be a number; this is nothing",
            "16:20 algo.total_timesteps | must be a whole number; this is a mapping",
            "17:9 policy | must be a mapping; this is the whole number 3 | keys of `policy`: type, hidden_sizes",
        ],
    );
}

#[test]
fn out_of_range() {
    check(
        "seed: -1\nseeds: 0\nthreads: 1e99\nenv: {id: CartPole-v1, num_envs: 65537}\nalgo:\n  gamma: 0\n  gae_lambda: 1.01\n  rollout_steps: 1000001\n  learning_rate: 0\n  clip_range: {schedule: linear, from: 0, to: 0.0}\n  entropy_coef: -0.1\n  adam_epsilon: 0\npolicy:\n  hidden_sizes: [0, 4097, 64]\n  log_std_init: -21\ncheckpoint: {keep: 0, save_every: 0}\neval: {episodes: 100001}\n",
        &[
            "1:7 seed | must be 0 to 9007199254740991; this is -1",
            "2:8 seeds | must be 1 to 1000; this is 0",
            "3:10 threads | must be 0 to 1024; this is 1e99",
            "4:34 env.num_envs | must be 1 to 65536; this is 65537",
            "6:10 algo.gamma | must be above 0 and at most 1; this is 0",
            "7:15 algo.gae_lambda | must be 0 to 1; this is 1.01",
            "8:18 algo.rollout_steps | must be 1 to 1000000",
            "9:18 algo.learning_rate | must be above 0 and at most 100; this is 0",
            "10:15 algo.clip_range | would be 0 throughout",
            "11:17 algo.entropy_coef | must be 0 to 10; this is -0.1",
            "12:17 algo.adam_epsilon | must be",
            "14:18 policy.hidden_sizes[0] | must be 1 to 4096; this is 0",
            "14:21 policy.hidden_sizes[1] | must be 1 to 4096; this is 4097",
            "15:17 policy.log_std_init | must be -20 to 5; this is -21",
            "16:20 checkpoint.keep | must be 1 to 10000; this is 0",
            "16:35 checkpoint.save_every | must be 1 to",
            "17:18 eval.episodes | must be 1 to 100000; this is 100001",
        ],
    );
    let list =
        |n: usize| format!("{ENV}seeds: [{}]", (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(","));
    check(&list(1001), &["2:8 seeds | must have 1 to 1000 items; this has 1001"]);
    check(&list(0), &["2:8 seeds | is empty; it must have 1 to 1000 items"]);
    check(&format!("{ENV}policy: {{hidden_sizes: []}}"), &["2:24 policy.hidden_sizes | 1 to 8 items"]);
    check(&format!("{ENV}algo: {{gamma: 1e-400}}"), &["2:15 algo.gamma | above 0"]);
}

#[test]
fn duplicate_keys_and_seeds() {
    check(
        "env:\n  id: CartPole-v1\n  kwargs: {a: 1, a: 2}\nseeds: [1, 2, 1]\nalgo:\n  gamma: 0.9\n  gamma: 0.9\nenv: 3\n",
        &[
            "3:18 env.kwargs.a | duplicate key `a`; it is already on line 3",
            "4:15 seeds[2] | `seeds[2]` is the same as `seeds[0]` | delete one",
            "7:3 algo.gamma | duplicate key `gamma`; it is already on line 6",
            "8:1 env | duplicate key `env`; it is already on line 1",
        ],
    );
}

#[test]
fn tabs_do_not_hide_the_rest() {
    check(
        "env:\n\tid: CartPole-v1\n  \t# a comment may\n\nalgo:\n\tgama: 1\n",
        &[
            "2:1 | a tab in the indentation | with spaces",
            "6:1 | a tab",
            "6:2 algo.gama | unknown key | `gamma`",
        ],
    );
    check(
        "env:\n    id: CartPole-v1\n\tnum_envs: 0\n\tkwargs:\n\t\tfür: [1]\n",
        &[
            "3:1 | a tab in the indentation",
            "3:12 env.num_envs | must be 1 to 65536",
            "4:1 | a tab",
            "5:1 | a tab",
            "5:3 env.kwargs.für | can't name",
        ],
    );
    check("env:\n  id: CartPole-v1\n\t  seed: [\n", &["3:1 | a tab in the indentation"]);
}

#[test]
fn numbers_that_are_not_finite() {
    check(
        &format!(
            "{ENV}algo: {{gamma: .nan, gae_lambda: NaN, learning_rate: .inf, total_timesteps: -.inf, target_kl: 1e999}}"
        ),
        &[
            "2:15 algo.gamma | finite",
            "2:33 algo.gae_lambda | finite",
            "2:53 algo.learning_rate | finite",
            "2:76 algo.total_timesteps | finite",
            "2:94 algo.target_kl | finite",
        ],
    );
    check("env: {id: CartPole-v1, kwargs: {x: inf}}", &["1:36 env.kwargs.x | finite"]);
    check_set(&["algo.gamma=.nan"], &["1:12 algo.gamma | `algo.gamma`: `.nan` is not a finite number"]);
}

#[test]
fn files_that_are_no_mapping_or_nothing() {
    for empty in ["", "  \n\n", "# only a comment\n", "---\n", "---\n...\n"] {
        let found = problems(empty, &[]).problems;
        assert_eq!(found.len(), 1, "{empty:?}: {found:?}");
        assert!(found[0].message.contains("file is empty"), "{empty:?}: {}", found[0]);
    }
    check("- a\n- b\n", &["1:1 | a config is a mapping of keys to values; this is a list"]);
    check("hello", &["1:1 | this is the text \"hello\""]);
    check("seed: 1", &["1:1 env.id | missing"]);
    check("seed: 1\nenv:\n  num_envs: 3", &["2:1 env.id | missing"]);
    check(&format!("{ENV}---\nseed: 1"), &["2:1 | a second document"]);
}

#[test]
fn syntax_errors_are_one_problem_with_a_place() {
    for (text, line) in [
        ("env: {id: CartPole-v1\nseed: [1, 2\n", 2),
        ("env:\n  id: CartPole-v1\n bad: 3\n", 3),
        ("env: \"CartPole\n", 1),
        ("env: a: b\n", 1),
        ("a: @b", 1),
        ("%YAML 1.2\n---\nseed: 1", 1),
    ] {
        let found = problems(text, &[]).problems;
        assert_eq!(found.len(), 1, "{text:?}: {found:?}");
        assert!(found[0].message.starts_with("this is not YAML: "), "{}", found[0]);
        assert!(found[0].line >= line, "{text:?}: {}", found[0]);
    }
}

#[test]
fn anchors_aliases_tags_and_odd_keys_are_refused() {
    check(
        "env: &e {id: CartPole-v1}\neval: *e\nalgo: *nowhere\nseed: !!int 3\n? [a, b]\n: 1\n",
        &["1:9 | anchors", "2:7 | aliases", "3:7 | aliases", "4:13 | tags", "5:3 | a key must be plain text"],
    );
    check(
        &format!("{ENV}run_name: a\0b"),
        &["2:11 run_name | can't name a run", "2:12 | control character U+0000 | delete"],
    );
}

#[test]
fn schedules_wrappers_and_kwargs() {
    check(
        "env:\n  id: CartPole-v1\n  wrappers:\n    - scale_rewards: {factor: 2}\n    - scale_reward\n    - scale_reward: {facto: 2}\n    - freeze_observation: {x: 1}\n    - [a]\n    - freeze\n  kwargs: {1a: 2, b: [1], c: null, d: 99999999999999999999}\nalgo:\n  learning_rate: {schedule: cosine, from: 1}\n  clip_range: {schedule: linear, form: 1, to: -1}\n",
        &[
            "4:7 env.wrappers[0].scale_rewards | unknown key `scale_rewards` | `scale_reward`",
            "5:7 env.wrappers[1] | `scale_reward` needs a value | {scale_reward: {factor: ...}}",
            "6:22 env.wrappers[2].scale_reward.facto | unknown key `facto` | `factor`",
            "7:28 env.wrappers[3].freeze_observation.x | unknown key `x` | dimensions",
            "8:7 env.wrappers[4] | one of scale_reward, freeze_observation, truncation_as_termination",
            "9:7 env.wrappers[5] | can't be `freeze` | `freeze_observation`",
            "10:12 env.kwargs.1a | can't name an argument",
            "10:30 env.kwargs.c | nothing (null) | delete the line",
            "10:39 env.kwargs.d | too large",
            "12:3 algo.learning_rate.to | `to` is missing in `algo.learning_rate`",
            "12:29 algo.learning_rate.schedule | can't be `cosine`; valid: linear",
            "13:34 algo.clip_range.form | unknown key | `from`",
            "13:47 algo.clip_range.to | must be 0 to 100",
        ],
    );
}

#[test]
fn dimensions_that_are_held() {
    check(
        "env:\n  id: CartPole-v1\n  wrappers:\n    - freeze_observation: {dimensions: []}\n    - freeze_observation: {dimensions: 2}\n    - freeze_observation: {dimensions: [1, -1, 0.5]}\n    - freeze_observation: {dimensions: [4, 4]}\n    - truncation_as_termination: {dimensions: [1]}\n",
        &[
            "4:40 env.wrappers[0].freeze_observation.dimensions | is empty; it must have 1 to 65536 items",
            "5:40 env.wrappers[1].freeze_observation.dimensions | must be a list",
            "6:44 env.wrappers[2].freeze_observation.dimensions[1] | 0 to 65535",
            "6:48 env.wrappers[2].freeze_observation.dimensions[2] | whole number",
            "7:44 env.wrappers[3].freeze_observation.dimensions[1] | is the same as",
            "8:35 env.wrappers[4].truncation_as_termination.dimensions | unknown key `dimensions` | no key",
        ],
    );
}

#[test]
fn keys_that_do_not_fit_together() {
    check(
        "env: {id: CartPole-v1, num_envs: 2}\nalgo: {rollout_steps: 16, batch_size: 64}",
        &[
            "2:39 algo.batch_size | `algo.batch_size` 64 is larger than a rollout: `env.num_envs` 2 × `algo.rollout_steps` 16 = 32 | batch_size: 32",
        ],
    );
    check(
        "env: {id: CartPole-v1, num_envs: 65536}\nalgo: {rollout_steps: 1000000}",
        &["2:23 algo.rollout_steps | 65536000000 samples"],
    );
    check(&format!("{ENV}algo: {{batch_size: 1}}"), &["2:20 algo.batch_size | can't be normalised"]);
    check(&format!("{ENV}seed: 9007199254740991\nseeds: 2"), &["3:8 seeds | exceeds the largest seed"]);
    check(&format!("{ENV}run_name: ../x"), &["2:11 run_name | can't name a run"]);
}

#[test]
fn overrides_are_checked_like_the_file() {
    check_set(
        &["algo.gama=1", "lr=1e-3", "algo.gamma=2", "algo", "env=3", "seed=1", "seed=2", "algo.target_kl="],
        &[
            "1:1 algo.gama | unknown key | `algo.gamma`",
            "2:1 lr | unknown key | `algo.learning_rate`",
            "3:12 algo.gamma | must be above 0",
            "4:1 | not of the form key=value",
            "5:1 env | unknown key | `env.id`",
            "7:1 seed | set twice",
            "8:1 algo.target_kl | set to an empty value",
        ],
    );
    check_set(&["policy.hidden_sizes=[1,"], &["1:21 | this is not YAML"]);
    check_set(&["env.kwargs.9=1"], &["1:1 env.kwargs.9 | can't name an argument"]);
    check_set(&["run_name=\"a\nb\""], &["1:10 run_name | can't name a run"]);
    check_set(&["env.id=*x"], &["1:8 | aliases"]);
    let both = problems("env: {id: CartPole-v1}\nsed: 1", &["algo.gamma=2"]).problems;
    let files: Vec<&str> = both.iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(files, ["c.yaml", "--set"]);
}

#[test]
fn bytes_that_are_not_text() {
    let refused = Source::from_bytes("c.yaml", b"seed: 1\nrun_name: \xff\n".to_vec()).unwrap_err();
    compare(&refused, &["2:11 | not UTF-8 text: byte 0xff | UTF-8"]);
    let large = Source::from_bytes("c.yaml", vec![b' '; rlxp_spec::MAX_BYTES]).unwrap_err();
    compare(&large, &["1:1 | 262144 bytes"]);
}

#[test]
fn a_report_shows_every_line_and_marks_the_place() {
    let text = "run_nam: x\nenv:\n\tid: CartPol-v1\n  num_envs: 0\nalgo:\n  läuft: [1, 2]\n  gamma: \"0.9\" # quoted\n";
    let found = problems(text, &["algo.gae_lamda=2", "policy.activation=tan"]);
    insta::assert_snapshot!(found.to_string());
    insta::assert_snapshot!("colored", render(&found.problems[..1], &found.sources, true));
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&found.problems[..2]).unwrap());
}

#[test]
fn a_report_can_not_steer_a_terminal() {
    let found = problems("env: {id: CartPole-v1}\n\"a\\e[31mb\": 1\nrun_name: a\u{1b}[2Jb\n", &[]);
    assert_eq!(found.problems.len(), 3, "{found}");
    assert!(found.problems.iter().all(|problem| !problem.text.contains('\u{1b}')));
    assert!(!found.to_string().contains('\u{1b}'), "{found}");
}
