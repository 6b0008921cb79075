//! Numbers of a config that training rounds. They are valid, so they are notes and not warnings.

use rlxp_spec::Config;

/// A sentence for each number that training rounds.
pub(crate) fn notes(config: &Config) -> Vec<String> {
    total(config).into_iter().chain(config.algo.notes(config.rollout_size())).collect()
}

/// Training collects whole rollouts.
fn total(config: &Config) -> Option<String> {
    let (asked, steps, rollout) =
        (config.algo.total_timesteps(), config.total_steps(), config.rollout_size());
    (asked != steps).then(|| {
        let (envs, each) = (config.env.num_envs, config.algo.rollout_steps());
        let rollouts = steps / rollout;
        let plural = if rollouts == 1 { "" } else { "s" };
        format!(
            "algo.total_timesteps {asked} rounds up to {steps} steps: {rollouts} rollout{plural} of {envs} × {each} = {rollout}"
        )
    })
}

#[cfg(test)]
mod tests {
    use rlxp_spec::{Known, Source, load};

    use super::*;

    #[test]
    fn only_what_is_rounded_is_noted() {
        let of = |total: u64, batch: u64| {
            let text = format!(
                "{{env: {{id: CartPole-v1, num_envs: 4}}, \
                 algo: {{total_timesteps: {total}, rollout_steps: 64, batch_size: {batch}}}}}"
            );
            let known = Known { env_ids: &["CartPole-v1"], cores: 1 };
            notes(&load(&Source::new("c.yaml", text), &[], &known).unwrap().config)
        };
        assert!(of(2048, 64).is_empty());
        assert_eq!(
            of(2000, 64),
            ["algo.total_timesteps 2000 rounds up to 2048 steps: 8 rollouts of 4 × 64 = 256"]
        );
        assert_eq!(of(1, 256), ["algo.total_timesteps 1 rounds up to 256 steps: 1 rollout of 4 × 64 = 256"]);
        let batch = "algo.batch_size 100 doesn't divide a rollout of 256 samples: the last batch of each epoch has 56 samples";
        assert_eq!(of(2048, 100), [batch]);
        assert!(of(2048, 255)[0].ends_with("has 1 sample, whose normalised advantage is always 0"));
        assert_eq!(of(2000, 100).len(), 2);
    }
}
