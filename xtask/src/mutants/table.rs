//! The mutants: changes that would make rlx quietly wrong, each with the test
//! that must notice. Sorted by file, so that neighbours share a build.

/// One change to the code and the test that has to fail because of it.
pub(crate) struct Mutant {
    /// What is broken, in a few words; unique.
    pub(crate) name: &'static str,
    /// The file, from the root of the workspace.
    pub(crate) file: &'static str,
    /// Text that stands in the file exactly once.
    pub(crate) find: &'static str,
    /// What stands there instead.
    pub(crate) replace: &'static str,
    /// The package whose tests are run.
    pub(crate) package: &'static str,
    /// Arguments of `cargo test -p package`: which target, and a filter that
    /// names as few tests as possible.
    pub(crate) tests: &'static [&'static str],
}

/// All of them.
pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "gravity is 9.81 instead of 9.8",
        file: "crates/env/src/classic/cart_pole.rs",
        find: "const GRAVITY: f64 = 9.8;",
        replace: "const GRAVITY: f64 = 9.81;",
        package: "rlxp-env",
        tests: &["--test", "alignment", "cart_pole"],
    },
    Mutant {
        name: "a new file is not synced",
        file: "crates/fs/src/extension.rs",
        find: "file.write_all(bytes)?;\n        file.sync()",
        replace: "file.write_all(bytes)",
        package: "rlxp-fs",
        tests: &["--test", "doors", "atomic_write_is_old_or_new_after_any_fault"],
    },
    Mutant {
        name: "the worker shares the supervisor's process group",
        file: "crates/launch/src/child.rs",
        find: "command.process_group(0);",
        replace: "",
        package: "rlxp-launch",
        tests: &["--test", "worker", "the_child_has_a_group_of_its_own_and_no_input"],
    },
    Mutant {
        name: "the worker outlives its supervisor",
        file: "crates/launch/src/child.rs",
        find: "rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;",
        replace: "let _ = Signal::KILL;",
        package: "rlxp-launch",
        tests: &["--test", "orphans", "a_killed_supervisor_leaves_no_worker"],
    },
    Mutant {
        name: "git may run the filters of a repository",
        file: "crates/launch/src/git/ask.rs",
        find: "name.starts_with(b\"filter.\")",
        replace: "name.starts_with(b\"nothing.\")",
        package: "rlxp-launch",
        tests: &["--test", "git", "nothing_that_a_repository_configures_is_run"],
    },
    Mutant {
        name: "a terminated episode bootstraps",
        file: "crates/learn/src/advantage.rs",
        find: "End::Terminated => (0.0, 0.0),",
        replace: "End::Terminated => (next_value, 0.0),",
        package: "rlxp-learn",
        tests: &["--lib", "advantage::tests::a_terminated_episode_has_no_future"],
    },
    Mutant {
        name: "truncation does not bootstrap",
        file: "crates/learn/src/advantage.rs",
        find: "End::Truncated => (final_values[row], 0.0),",
        replace: "End::Truncated => (0.0, 0.0),",
        package: "rlxp-learn",
        tests: &["--lib", "advantage::tests::a_truncated_episode_bootstraps_from_its_final_observation"],
    },
    Mutant {
        name: "the spread between batches is lost from running variances",
        file: "crates/learn/src/normalize.rs",
        find: "let spread = delta * delta * self.count * count / total;",
        replace: "let spread = 0.0;",
        package: "rlxp-learn",
        tests: &["--lib", "normalize::tests::moments_in_pieces_equal_moments_of_the_whole"],
    },
    Mutant {
        name: "advantages are not normalised",
        file: "crates/learn/src/ppo/gradient.rs",
        find: "(mean as f32, (1.0 / (variance.sqrt() + 1e-8)) as f32)",
        replace: "(0.0 * mean as f32, 1.0 + 0.0 * variance as f32)",
        package: "rlxp-learn",
        tests: &["--lib", "ppo::gradient::tests::normalised_advantages_have_no_scale_and_no_offset"],
    },
    Mutant {
        name: "the loss rewards certainty instead of entropy",
        file: "crates/learn/src/ppo/loss.rs",
        find: "d_entropies[row] = -coefficients.entropy * share;",
        replace: "d_entropies[row] = coefficients.entropy * share;",
        package: "rlxp-learn",
        tests: &["--lib", "ppo::loss::tests::gradient_with_discrete_actions"],
    },
    Mutant {
        name: "approximate KL is the plain difference of logarithms",
        file: "crates/learn/src/ppo/loss.rs",
        find: "f64::from((ratio - 1.0) - log_ratio)",
        replace: "f64::from(-log_ratio)",
        package: "rlxp-learn",
        tests: &["--lib", "ppo::loss::tests::kl_is_the_k3_estimator"],
    },
    Mutant {
        name: "Adam's second moment is not corrected for its start",
        file: "crates/nn/src/adam.rs",
        find: "let correction = 1.0 / (1.0 - BETA_SECOND.powi(exponent)).sqrt();",
        replace: "let correction = 1.0_f64;",
        package: "rlxp-nn",
        tests: &["--test", "nn", "adam::the_first_steps_are_the_golden_ones"],
    },
    Mutant {
        name: "the gradient of the categorical entropy has the wrong sign",
        file: "crates/nn/src/head/categorical.rs",
        find: "d_log_prob.add(d_entropy.mul(surprise))",
        replace: "d_log_prob.sub(d_entropy.mul(surprise))",
        package: "rlxp-nn",
        tests: &["--test", "nn", "gradients::every_head"],
    },
    Mutant {
        name: "two weights are swapped when a model is loaded",
        file: "crates/nn/src/named.rs",
        find: "parameters[entry.range()].copy_from_slice(values);",
        replace: "parameters[entry.range()].copy_from_slice(values); if entry.range().len() > 1 { parameters.swap(entry.start, entry.start + 1); }",
        package: "rlxp-learn",
        tests: &["--test", "suite", "exact::a_learner_restored_after_every_update_ends_the_same"],
    },
    Mutant {
        name: "Adam's epsilon is 1e-8 by default",
        file: "crates/spec/starters/defaults.yaml",
        find: "adam_epsilon: 1.0e-5",
        replace: "adam_epsilon: 1.0e-8",
        package: "rlxp-learn",
        tests: &["--test", "suite", "learning::the_usual_constants_are_the_default"],
    },
    Mutant {
        name: "random streams of different seeds are equal",
        file: "crates/types/src/rng.rs",
        find: "hasher.update(&seed.to_le_bytes());",
        replace: "hasher.update(&0u64.to_le_bytes()); let _ = seed;",
        package: "rlxp-types",
        tests: &["--lib", "rng::tests::streams_differ_by_seed_name_and_index_and_repeat_exactly"],
    },
    Mutant {
        name: "a restored random stream starts from its beginning",
        file: "crates/types/src/rng.rs",
        find: "generator.set_word_pos(u128::from_le_bytes(position));",
        replace: "let _ = position;",
        package: "rlxp-types",
        tests: &["--lib", "rng::tests::a_saved_stream_goes_on_where_it_was"],
    },
];
