//! What a config resolves to: starters, defaults, overrides, warnings.

use rlxp_spec::config::{Kwarg, LinearTag, PolicyConfig, PpoConfig, Schedule, WrapperConfig};
use rlxp_spec::{
    Config, Known, Loaded, Problems, SNAPSHOT_FORMAT, Severity, Snapshot, Source, from_snapshot, load,
    starters, to_snapshot, to_yaml,
};

const IDS: &[&str] = &[
    "CartPole-v1",
    "Acrobot-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "Taxi-v4",
    "Taxi-v3",
    "CliffWalking-v1",
    "CliffWalkingSlippery-v1",
    "Blackjack-v1",
    "Other-v0",
];

fn try_load(text: &str, overrides: &[&str]) -> Result<Loaded, Problems> {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    load(&Source::new("c.yaml", text), &overrides, &Known { env_ids: IDS, cores: 2 })
}

fn config(text: &str, overrides: &[&str]) -> Config {
    let loaded = try_load(text, overrides).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.warnings, []);
    let snapshot = Source::new("config_snapshot.yaml", to_snapshot(&loaded.config));
    let expected = Snapshot { config: loaded.config.clone(), format: SNAPSHOT_FORMAT };
    assert_eq!(from_snapshot(&snapshot).as_ref(), Ok(&expected), "{}", snapshot.text);
    loaded.config
}

fn ppo(config: &Config) -> &PpoConfig {
    config.algo.ppo().expect("PPO is what these configs choose")
}

#[test]
fn every_starter_loads_and_its_environment_alone_gives_the_same() {
    for starter in starters() {
        let whole = config(starter.text, &[]);
        assert_eq!(whole.env.id, starter.env_id);
        assert_eq!(format!("{}.yaml", whole.run_name), starter.file_name);
        assert_eq!(config(&format!("env: {{id: {}}}", starter.env_id), &[]), whole);
        assert!(whole.rollout_size().is_multiple_of(whole.algo.batch_size() as u64), "{}", starter.env_id);
        assert!(whole.eval.episodes >= 100);
    }
    let mut alias = config("env: {id: Taxi-v3}", &[]);
    alias.env.id = "Taxi-v4".to_owned();
    assert_eq!(alias, config("env: {id: Taxi-v4}", &[]));
}

#[test]
fn general_defaults_are_filled_in_where_there_is_no_starter() {
    insta::assert_snapshot!(to_yaml(&config("env: {id: Other-v0}\nalgo: {total_timesteps: 1e6}", &[])));
}

#[test]
fn every_kind_of_value_is_read() {
    let text = r#"
run_name: läufer-2
seed: 7
seeds: [7, 3, 1_000]
threads: 1
device: cpu
env:
  id: FrozenLake-v1
  num_envs: 4
  kwargs: {is_slippery: false, map_name: 4x4, reward: 1e0, size: -3, note: "3e-4: [x]"}
  max_episode_steps: null
  wrappers:
    - scale_reward: {factor: 2}
    - freeze_observation
    - freeze_observation: {}
    - freeze_observation: {dimensions: null}
    - freeze_observation: {dimensions: [3, 0]}
    - truncation_as_termination: {}
algo:
  total_timesteps: 1e6
  rollout_steps: 1_0
  batch_size: 40
  learning_rate: {schedule: linear, from: 1e-3, to: 0}
  clip_range: .1
  max_grad_norm: null
  target_kl: ~
  clip_value: 1
policy:
  hidden_sizes: [32]
  activation: gelu
eval:
"#;
    let config = config(text, &[]);
    assert_eq!((config.seed, config.seeds.clone()), (7, vec![7, 3, 1000]));
    assert_eq!(config.run_name, "läufer-2");
    let kwargs = [
        ("is_slippery", Kwarg::Bool(false)),
        ("map_name", Kwarg::Text("4x4".to_owned())),
        ("note", Kwarg::Text("3e-4: [x]".to_owned())),
        ("reward", Kwarg::Number(1.0)),
        ("size", Kwarg::Integer(-3)),
    ];
    assert_eq!(config.env.kwargs, kwargs.map(|(name, value)| (name.to_owned(), value)).into());
    let wrappers = vec![
        WrapperConfig::ScaleReward { factor: 2.0 },
        WrapperConfig::FreezeObservation { dimensions: None },
        WrapperConfig::FreezeObservation { dimensions: None },
        WrapperConfig::FreezeObservation { dimensions: None },
        WrapperConfig::FreezeObservation { dimensions: Some(vec![3, 0]) },
        WrapperConfig::TruncationAsTermination {},
    ];
    assert_eq!(config.env.wrappers, wrappers);
    let line = Schedule::Linear { schedule: LinearTag::Linear, from: 1e-3, to: 0.0 };
    let algo = ppo(&config);
    assert_eq!((algo.learning_rate, algo.clip_range), (line, Schedule::Constant(0.1)));
    assert_eq!((algo.total_timesteps, algo.rollout_steps), (1_000_000, 10));
    assert_eq!((algo.max_grad_norm, algo.clip_value), (None, Some(1.0)));
    assert_eq!((config.eval.every, config.checkpoint.save_every), (50_000, 100_000));
}

/// Snapshots of earlier versions have such words without quotes.
#[test]
fn what_readers_of_yaml_disagree_about_means_what_the_key_needs() {
    let config = config(
        "run_name: yes\nseed: 007\nenv: {id: CartPole-v1, kwargs: {a: off, b: 1e0, c: 0x10}}\npolicy: {log_std_init: -0.0}",
        &["env.kwargs.d=no"],
    );
    assert_eq!((config.run_name.as_str(), config.seed), ("yes", 7));
    let text = |text: &str| Kwarg::Text(text.to_owned());
    let kwargs = [("a", text("off")), ("b", Kwarg::Number(1.0)), ("c", text("0x10")), ("d", text("no"))];
    assert_eq!(config.env.kwargs, kwargs.map(|(name, value)| (name.to_owned(), value)).into());
    assert!(to_yaml(&config).contains("  log_std_init: 0.0\n"), "no -0.0");
}

#[test]
fn seeds_are_a_count_from_the_first_or_a_list() {
    let seeds = |text: &str| config(&format!("{text}\nenv: {{id: CartPole-v1}}"), &[]).seeds;
    assert_eq!(seeds(""), [0]);
    assert_eq!(seeds("seed: 5"), [5]);
    assert_eq!(seeds("seed: 5\nseeds: 3"), [5, 6, 7]);
    assert_eq!(seeds("seeds: [4, 2]"), [4, 2]);
    let loaded = try_load("seed: 9\nseeds: [4, 2]\nenv: {id: CartPole-v1}", &[]).unwrap();
    assert_eq!((loaded.config.seed, loaded.warnings.len()), (4, 1));
}

#[test]
fn threads_nought_is_every_core() {
    assert_eq!(config("threads: 0\nenv: {id: CartPole-v1}", &[]).threads, 2);
    assert_eq!(config("threads: 7\nenv: {id: CartPole-v1}", &[]).threads, 7);
}

#[test]
fn a_default_batch_shrinks_to_fit_and_a_chosen_one_does_not() {
    let text = "env: {id: CartPole-v1, num_envs: 2}\nalgo: {rollout_steps: 32}";
    assert_eq!(config(text, &[]).algo.batch_size(), 64);
    let problems = try_load(text, &["algo.batch_size=65"]).unwrap_err().problems;
    assert_eq!(problems.len(), 1);
    for part in ["algo.batch_size` 65", "env.num_envs` 2", "algo.rollout_steps` 32", "= 64"] {
        assert!(problems[0].message.contains(part), "{}", problems[0]);
    }
}

#[test]
fn overrides_win_and_are_recorded() {
    let text = "env: {id: FrozenLake-v1, kwargs: {map_name: 4x4}}\nalgo: {gamma: 0.5}";
    let set = [
        "algo.gamma=0.9",
        "policy.hidden_sizes=[8, 8]",
        " algo.learning_rate = {schedule: linear, from: 1e-2, to: 1e-3}",
        "env.kwargs.is_slippery=false",
        "algo.max_grad_norm=null",
        "run_name=a",
    ];
    let loaded = try_load(text, &set).unwrap();
    let PolicyConfig::Mlp(policy) = &loaded.config.policy;
    assert_eq!(ppo(&loaded.config).gamma, 0.9);
    assert_eq!(policy.hidden_sizes, [8, 8]);
    assert_eq!(loaded.config.algo.learning_rate().at(0.0), 1e-2);
    assert_eq!(loaded.config.env.kwargs.len(), 2);
    assert_eq!(ppo(&loaded.config).max_grad_norm, None);
    let recorded: Vec<_> = loaded.overrides.iter().map(|o| (o.key.as_str(), o.value.as_str())).collect();
    assert_eq!(recorded[0], ("algo.gamma", "0.9"));
    assert_eq!(recorded[2].0, "algo.learning_rate");
    assert_eq!(recorded.len(), set.len());
}

#[test]
fn an_override_completes_a_file_that_lacks_it() {
    assert_eq!(config("algo: {total_timesteps: 5}", &["env.id=CartPole-v1"]).env.id, "CartPole-v1");
}

#[test]
fn a_device_and_an_environment_that_are_not_here_are_warnings() {
    let text = "
run_name: boss_ppo
seed: 42
device: cuda

env:
  id: BossFight-v0
  num_envs: 8

algo:
  name: ppo
  total_timesteps: 500000
  rollout_steps: 128
  batch_size: 256
  learning_rate: 0.0003
  gamma: 0.99
  gae_lambda: 0.95
  clip_range: 0.2
  entropy_coef: 0.01
  value_coef: 0.5
  update_epochs: 4

policy:
  type: mlp
  hidden_sizes: [256, 256]

checkpoint:
  save_every: 50000

eval:
  every: 25000
  episodes: 20
  deterministic: true
";
    let loaded = try_load(text, &[]).unwrap();
    let found: Vec<_> =
        loaded.warnings.iter().map(|w| (w.severity, w.path.as_str(), w.line, w.column)).collect();
    assert_eq!(found, [(Severity::Warning, "device", 4, 9), (Severity::Warning, "env.id", 7, 7)]);
    // The resolved value is what will happen: training runs on the CPU.
    assert_eq!(loaded.config.device, "cpu");
    assert_eq!(loaded.config.seed, 42);
}

#[test]
fn a_caller_can_add_problems_at_a_key_or_its_nearest_parent() {
    let text = "env:\n  id: CartPole-v1\n  kwargs:\n    gravity: 3\n";
    let loaded = try_load(text, &["env.kwargs.length=2"]).unwrap();
    let at = |path| {
        let problem = loaded.problem(path, "no such argument".to_owned(), None);
        assert_eq!(problem.path, path);
        (problem.file, problem.line, problem.column, problem.text)
    };
    assert_eq!(at("env.kwargs.gravity"), ("c.yaml".to_owned(), 4, 14, "3".to_owned()));
    assert_eq!(at("env.kwargs.length"), ("--set".to_owned(), 1, 19, "2".to_owned()));
    assert_eq!((at("env.num_envs").1, at("env.num_envs").2), (1, 1));
    assert_eq!((at("policy.use_sde").1, at("policy.use_sde").2), (1, 1));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_fine() {
    assert_eq!(config("\u{feff}env:\r\n  id: CartPole-v1\r\n", &[]).env.id, "CartPole-v1");
}

#[test]
fn a_snapshot_must_be_whole() {
    let text = "env: {id: CartPole-v1, num_envs: 8}\nalgo: {rollout_steps: 32, batch_size: 256}";
    let text = to_yaml(&config(text, &[]));
    let refused = |text: String| from_snapshot(&Source::new("s.yaml", text)).unwrap_err().problems;
    for line in text.lines().filter(|line| !line.ends_with(':')) {
        let cut = text.replace(&format!("{line}\n"), "");
        let problems = refused(cut);
        assert_eq!(problems.len(), 1, "{line}: {problems:?}");
        assert!(problems[0].message.contains("is missing"), "{}", problems[0]);
    }
    assert_eq!(refused(text.replace("threads: 2", "threads: 0"))[0].path, "threads");
    assert_eq!(refused(text.replace("seeds: [0]", "seeds: 1"))[0].path, "seeds");
    assert_eq!(refused(text.replace("seeds: [0]", "seeds: [1]"))[0].path, "seed");
    assert_eq!(refused(text.replace("batch_size: 256", "batch_size: 257"))[0].path, "algo.batch_size");
}

#[test]
fn a_snapshot_says_its_format_and_a_later_one_is_refused() {
    let config = config("env: {id: CartPole-v1}\neval: {episodes: 7}", &[]);
    let text = to_snapshot(&config);
    assert!(text.starts_with("snapshot: 2\n") && text.contains("\n  episodes: 7\n"), "{text}");
    let format = |text: &str| from_snapshot(&Source::new("s.yaml", text)).map(|snapshot| snapshot.format);
    assert_eq!(format(&text), Ok(2));
    // Snapshots of older versions have no such line.
    assert_eq!(format(&to_yaml(&config)), Ok(1));
    let later = text.replace("snapshot: 2", "snapshot: 3");
    let problems = format(&later).unwrap_err().problems;
    assert_eq!((problems.len(), problems[0].path.as_str(), problems[0].line), (1, "snapshot", 1));
    assert!(problems[0].message.contains("format 3"), "{}", problems[0]);
    // A snapshot can be used as a config, but users can't set its format.
    assert_eq!(try_load(&text, &[]).unwrap().config, config);
    assert_eq!(try_load(&later, &[]).unwrap_err().problems[0].path, "snapshot");
    assert!(try_load(&text, &["snapshot=1"]).is_err());
    assert!(try_load("snapshot: two\nenv: {id: CartPole-v1}", &[]).is_err());
}
