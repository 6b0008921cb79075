//! Which ids are environments of Python.

use super::*;

#[test]
fn an_id_that_looks_like_a_misspelt_built_in_one_is_not_asked_of_python() {
    for id in [
        "LunarLander-v3",
        "HalfCheetah-v5",
        "Hopper-v5",
        "BipedalWalker-v3",
        "ALE/Pong-v5",
        "envs:Mine",
        "gymnasium:CartPole-v1",
        "MiniGrid-Empty-Random-5x5-v0",
        "CarRacing-v3",
        "InvertedPendulum-v5",
        "Ant-v5",
    ] {
        assert!(is_foreign(id), "{id}");
    }
    for id in ["CartPole-v1", "CartPol-v1", "cartpole", "", "Pendulum-v0"] {
        assert!(!is_foreign(id), "{id}");
    }
}
