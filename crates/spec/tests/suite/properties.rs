//! What must hold for any input: no panic, problems within the text, and
//! snapshots that read back exactly.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rlxp_spec::config::*;
use rlxp_spec::{
    Known, Problems, SNAPSHOT_FORMAT, Snapshot, Source, from_snapshot, load, render, starters, to_snapshot,
};

const KNOWN: Known<'static> = Known { env_ids: &["CartPole-v1"], cores: 2 };

/// Loads whatever the bytes are and checks that a report points into the text.
fn survive(bytes: Vec<u8>, overrides: &[String]) -> Result<(), Problems> {
    let source = Source::from_bytes("c.yaml", bytes)?;
    let result = load(&source, overrides, &KNOWN);
    let _ = from_snapshot(&source);
    let (problems, sources) = match &result {
        Ok(loaded) => (&loaded.warnings, &loaded.sources),
        Err(problems) => (&problems.problems, &problems.sources),
    };
    assert!(result.is_ok() || !problems.is_empty());
    for problem in problems {
        let source =
            sources.iter().find(|source| source.name == problem.file).expect("a source for each problem");
        let lines: Vec<&str> = source.text.split('\n').collect();
        let line = lines.get(problem.line - 1).unwrap_or_else(|| panic!("{problem}"));
        assert!((1..=line.chars().count() + 1).contains(&problem.column), "{problem} in {line:?}");
    }
    assert!(problems.is_empty() || !render(problems, sources, true).is_empty());
    result.map(|_| ())
}

#[test]
fn a_valid_file_cut_at_any_byte_never_panics() {
    for starter in starters() {
        let bytes = starter.text.as_bytes();
        (0..bytes.len()).for_each(|end| drop(survive(bytes[..end].to_vec(), &[])));
    }
}

fn starter_bytes() -> impl Strategy<Value = Vec<u8>> {
    (0..starters().len()).prop_map(|index| starters()[index].text.as_bytes().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic(
        bytes in starter_bytes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = bytes;
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        drop(survive(bytes, &[]));
    }

    #[test]
    fn moved_pieces_never_panic(
        bytes in starter_bytes(),
        (from, to, length) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..40),
        inserted in prop::sample::select(vec!["\t", "\0", "- ", "? ", ": ", "&a ", "*a", "!t ", "|\n", "[", "{", "\u{85}", "\u{2028}", "é", "\r", "---\n", "%x\n", "<<: "]),
    ) {
        let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
        let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
        let mut bytes = bytes;
        bytes.splice(to..to, inserted.bytes().chain(piece));
        drop(survive(bytes, &[]));
    }

    #[test]
    fn any_text_and_any_override_never_panic(text in "[ -~\n\t\u{e9}\u{7f}]{0,200}", overrides in prop::collection::vec("[a-z.=\\[\\]{}:,0-9 \n\"&*-]{0,40}", 0..4)) {
        drop(survive(text.into_bytes(), &overrides));
        drop(survive(b"env: {id: CartPole-v1}".to_vec(), &overrides));
    }

    #[test]
    fn a_snapshot_reads_back_exactly(config in any_config()) {
        let text = to_snapshot(&config);
        let read = from_snapshot(&Source::new("s.yaml", text.clone()));
        let expected = Snapshot { config: config.clone(), format: SNAPSHOT_FORMAT };
        prop_assert_eq!(read.as_ref().map_err(ToString::to_string), Ok(&expected), "{}", text);
        // A snapshot is a config too, and one that leaves nothing to defaults.
        let loaded = load(&Source::new("s.yaml", text.clone()), &[], &KNOWN).map_err(|p| p.to_string());
        prop_assert_eq!(loaded.map(|loaded| loaded.config), Ok(config));
        prop_assert_eq!(to_snapshot(&read.unwrap().config), text);
    }
}

/// Floats of every size within bounds, not only evenly spread ones.
fn number(low: f64, high: f64) -> BoxedStrategy<f64> {
    let exact = (low..high).boxed();
    let tiny = (-300.0..0.0f64).prop_map(move |e| (10f64.powf(e)).clamp(low, high)).boxed();
    prop_oneof![exact, tiny, Just(high)].boxed()
}

fn schedule(high: f64) -> impl Strategy<Value = Schedule> {
    prop_oneof![
        number(f64::MIN_POSITIVE, high).prop_map(Schedule::Constant),
        (number(f64::MIN_POSITIVE, high), number(0.0, high)).prop_map(|(from, to)| Schedule::Linear {
            schedule: LinearTag::Linear,
            from,
            to
        }),
    ]
}

fn kwarg() -> impl Strategy<Value = Kwarg> {
    let finite = any::<f64>().prop_filter("a config holds finite numbers", |x| x.is_finite());
    prop_oneof![
        any::<bool>().prop_map(Kwarg::Bool),
        any::<i64>().prop_map(Kwarg::Integer),
        finite.prop_map(Kwarg::Number),
        "\\PC{1,20}".prop_map(Kwarg::Text),
        prop::sample::select(vec![
            "null", "true", "1e5", ".nan", "~", "a: b", "- x", "#", " x ", "\"", "yes"
        ])
        .prop_map(|text| Kwarg::Text(text.to_owned())),
    ]
}

/// An argument of an environment of Python, which may be nested.
fn nested_kwarg() -> impl Strategy<Value = Kwarg> {
    kwarg().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Kwarg::List),
            prop::collection::btree_map("[A-Za-z0-9_ -]{1,6}", inner, 0..3).prop_map(Kwarg::Table),
        ]
    })
}

fn env() -> impl Strategy<Value = EnvConfig> {
    let wrapper = prop_oneof![
        number(-1e6, 1e6).prop_map(|factor| WrapperConfig::ScaleReward { factor }),
        prop::option::of(prop::collection::btree_set(0usize..65_536, 1..4))
            .prop_map(|held| { WrapperConfig::FreezeObservation { dimensions: held.map(Vec::from_iter) } }),
        Just(WrapperConfig::TruncationAsTermination {}),
        (
            "[a-z.]{1,8}:[A-Z][a-z]{0,8}",
            prop::collection::btree_map("[a-z]{1,4}", nested_kwarg(), 0..3),
            any::<bool>()
        )
            .prop_map(|(class, kwargs, train_only)| WrapperConfig::Python {
                class,
                kwargs,
                train_only
            }),
    ];
    let python = (
        prop::option::of("\\PC{1,30}"),
        1u64..=86_400,
        prop::sample::select(vec![EnvSeeding::Episode, EnvSeeding::Once]),
        any::<bool>(),
    );
    (
        "\\PC{1,30}",
        1usize..=64,
        prop::collection::btree_map("[A-Za-z_][A-Za-z0-9_]{0,8}", nested_kwarg(), 0..5),
        prop::option::of(1u64..=1_000_000_000),
        prop::collection::vec(wrapper, 0..4),
        any::<(bool, bool)>(),
        python,
    )
        .prop_map(
            |(id, num_envs, kwargs, max_episode_steps, wrappers, (observations, rewards), python)| {
                let (python, timeout, seed, recreate) = python;
                EnvConfig {
                    id,
                    num_envs,
                    kwargs: BTreeMap::from_iter(kwargs),
                    max_episode_steps,
                    wrappers,
                    normalize_observations: observations,
                    normalize_rewards: rewards,
                    python,
                    workers: 0,
                    timeout,
                    seed,
                    recreate,
                }
            },
        )
}

fn algo() -> impl Strategy<Value = AlgoConfig> {
    let counts = (1u64..=1_000_000_000_000, 2usize..=1_000_000, 2usize..=64, 1usize..=1000);
    let schedules = (schedule(100.0), schedule(100.0));
    let numbers =
        (number(1e-300, 1.0), number(0.0, 1.0), number(0.0, 10.0), number(0.0, 100.0), number(1e-12, 1.0));
    let options = (
        prop::option::of(number(1e-300, 1e6)),
        prop::option::of(number(1e-300, 100.0)),
        prop::option::of(number(1e-300, 1e6)),
        any::<bool>(),
    );
    (counts, schedules, numbers, options).prop_map(|(counts, schedules, numbers, options)| {
        AlgoConfig::Ppo(PpoConfig {
            total_timesteps: counts.0,
            rollout_steps: counts.1,
            batch_size: counts.2.min(counts.1),
            update_epochs: counts.3,
            learning_rate: schedules.0,
            clip_range: schedules.1,
            gamma: numbers.0,
            gae_lambda: numbers.1,
            entropy_coef: numbers.2,
            value_coef: numbers.3,
            max_grad_norm: options.0,
            target_kl: options.1,
            normalize_advantages: options.3,
            clip_value: options.2,
            adam_epsilon: numbers.4,
        })
    })
}

fn any_config() -> impl Strategy<Value = Config> {
    let activation = prop::sample::select(vec![
        ActivationName::Tanh,
        ActivationName::Relu,
        ActivationName::Elu,
        ActivationName::Gelu,
    ]);
    let policy = (
        prop::collection::vec(1usize..=4096, 1..=8),
        activation,
        any::<(bool, bool)>(),
        number(-20.0, 5.0),
        prop::option::of(1u64..=1_000_000_000),
    )
        .prop_map(|(hidden_sizes, activation, flags, log_std_init, sde_sample_freq)| {
            PolicyConfig::Mlp(MlpConfig {
                hidden_sizes,
                activation,
                shared_network: flags.0,
                log_std_init,
                use_sde: flags.1,
                sde_sample_freq,
            })
        });
    let seeds = prop::collection::btree_set(0u64..(1 << 53), 1..20).prop_map(Vec::from_iter).prop_shuffle();
    let rest = (
        1u64..=1_000_000_000_000,
        prop::option::of(1usize..=10_000),
        0u64..=1_000_000_000_000,
        1usize..=100_000,
        any::<bool>(),
        0u64..1 << 40,
    );
    ("[a-zA-Z0-9_é][a-zA-Z0-9_.é-]{0,30}", seeds, 1usize..=1024, (env(), algo(), policy), rest).prop_map(
        |(run_name, seeds, threads, (env, algo, policy), rest)| Config {
            run_name,
            seed: seeds[0],
            seeds,
            threads,
            device: "cpu".to_owned(),
            env,
            algo,
            policy,
            checkpoint: CheckpointConfig { save_every: rest.0, keep: rest.1 },
            eval: EvalConfig { every: rest.2, episodes: rest.3, deterministic: rest.4, seed: rest.5 },
        },
    )
}
