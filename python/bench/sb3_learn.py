"""Stable-Baselines3 on the reference work, or on Pendulum as RLtools trains it; prints CPU and wall seconds of learn().

    sb3_learn.py WIDTH STEPS
    sb3_learn.py pendulum STEPS
"""

import sys
import time

import torch

torch.set_num_threads(1)

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

def reference(width):
    return PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=8, seed=0),
        n_steps=128,
        batch_size=256,
        n_epochs=4,
        learning_rate=3e-4,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.01,
        vf_coef=0.5,
        max_grad_norm=0.5,
        policy_kwargs={"net_arch": {"pi": [width, width], "vf": [width, width]}, "activation_fn": torch.nn.Tanh},
        device="cpu",
        seed=0,
    )


def pendulum():
    return PPO(
        "MlpPolicy",
        VecNormalize(make_vec_env("Pendulum-v1", n_envs=4, seed=0), norm_reward=False),
        n_steps=1024,
        batch_size=256,
        n_epochs=2,
        learning_rate=1e-3,
        gamma=0.9,
        gae_lambda=0.95,
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": torch.nn.ReLU},
        device="cpu",
        seed=0,
    )


what, steps = sys.argv[1], int(sys.argv[2])
model = pendulum() if what == "pendulum" else reference(int(what))
cpu, wall = time.process_time(), time.perf_counter()
model.learn(steps)
print(time.process_time() - cpu, time.perf_counter() - wall)
