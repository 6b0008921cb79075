//! Shared by the learning tests.

use rlxp_learn::Ppo;
use rlxp_spec::Config;

/// The config that `yaml` resolves to.
pub(crate) fn config(yaml: &str) -> Config {
    let source = rlxp_spec::Source { name: "test.yaml".into(), text: yaml.into() };
    let ids: Vec<&str> = rlxp_env::NATIVE.catalogue().map(|info| info.id).collect();
    let known = rlxp_spec::Known { env_ids: &ids, cores: 1 };
    rlxp_spec::load(&source, &[], &known).unwrap_or_else(|problems| panic!("{problems}")).config
}

/// Trains to the end.
pub(crate) fn trained(config: &Config, seed: u64, threads: usize) -> Ppo {
    let mut learner = Ppo::new(config, seed, threads).expect("the config is valid");
    while !learner.is_finished() {
        learner.iterate().expect("training goes on");
    }
    learner
}
