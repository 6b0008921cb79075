//! Configs for this crate's own tests.

use rlxp_spec::Config;

/// The config that `yaml` resolves to.
pub(crate) fn config(yaml: &str) -> Config {
    let source = rlxp_spec::Source { name: "test.yaml".into(), text: yaml.into() };
    let ids: Vec<&str> = rlxp_env::NATIVE.catalogue().map(|info| info.id).collect();
    let known = rlxp_spec::Known { env_ids: &ids, cores: 1 };
    rlxp_spec::load(&source, &[], &known).unwrap_or_else(|problems| panic!("{problems}")).config
}
