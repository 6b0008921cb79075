"""Stable-Baselines3 on the reference work; prints CPU and wall seconds of learn() alone."""

import sys
import time

import torch

torch.set_num_threads(1)

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402

width, steps = int(sys.argv[1]), int(sys.argv[2])
model = PPO(
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
cpu, wall = time.process_time(), time.perf_counter()
model.learn(steps)
print(time.process_time() - cpu, time.perf_counter() - wall)
