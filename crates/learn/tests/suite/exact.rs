//! Same seed, same bytes: whatever the thread count, however often the learner
//! was saved and restored.

use crate::common::{config, trained};
use rlxp_learn::Ppo;
use rlxp_nn::Tensors;

const SMALL: &str = "env: {id: CartPole-v1, num_envs: 8}\n\
    algo: {total_timesteps: 4096, rollout_steps: 64, batch_size: 128, update_epochs: 3}\n\
    policy: {hidden_sizes: [16, 16]}\n";
const NORMALIZED: &str = "env: {id: Pendulum-v1, num_envs: 4, normalize_observations: true, normalize_rewards: true}\n\
    algo: {total_timesteps: 2048, rollout_steps: 64, batch_size: 64, update_epochs: 2}\n\
    policy: {hidden_sizes: [16], use_sde: true, sde_sample_freq: 4}\n";
/// Wide enough that rollout and minibatches are cut into shards.
const WIDE: &str = "env: {id: CartPole-v1, num_envs: 600}\n\
    algo: {total_timesteps: 28800, rollout_steps: 16, batch_size: 4096, update_epochs: 2}\n\
    policy: {hidden_sizes: [16, 16]}\n";

fn bytes(learner: &Ppo) -> (Vec<u8>, Vec<u8>) {
    (learner.policy().tensors().to_bytes(), learner.state().unwrap().to_bytes())
}

#[test]
fn threads_do_not_change_a_bit() {
    for yaml in [SMALL, WIDE] {
        let config = config(yaml);
        let one = bytes(&trained(&config, 1, 1));
        for threads in [2, 3] {
            assert_eq!(bytes(&trained(&config, 1, threads)), one, "{threads} threads");
        }
        assert_ne!(bytes(&trained(&config, 2, 1)).0, one.0, "another seed gives another policy");
    }
}

#[test]
fn a_learner_restored_after_every_update_ends_the_same() {
    for yaml in [SMALL, NORMALIZED, WIDE] {
        let config = config(yaml);
        let mut straight = Ppo::new(&config, 7, 1).unwrap();
        let mut broken = Ppo::new(&config, 7, 1).unwrap();
        while !straight.is_finished() {
            let a = straight.iterate().unwrap();
            let (model, state) = bytes(&broken);
            let load = |bytes: &[u8]| Tensors::from_bytes(bytes).unwrap();
            broken = Ppo::restore(&config, 7, 1, &load(&model), &load(&state)).unwrap();
            let b = broken.iterate().unwrap();
            assert_eq!(a.values, b.values, "step {}", a.step);
            assert_eq!(straight.observed(), broken.observed(), "step {}", a.step);
        }
        assert_eq!(bytes(&straight), bytes(&broken));
    }
}

#[test]
fn a_checkpoint_of_another_shape_is_refused_by_name() {
    let small = trained_once(SMALL);
    let other = config(&SMALL.replace("[16, 16]", "[16, 8]"));
    let error = Ppo::restore(&other, 0, 1, &small.policy().tensors(), &small.state().unwrap()).err().unwrap();
    assert!(error.to_string().contains("policy.1.weight"), "{error}");
}

fn trained_once(yaml: &str) -> Ppo {
    let mut learner = Ppo::new(&config(yaml), 0, 1).expect("the config is valid");
    learner.iterate().expect("training goes on");
    learner
}
