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
