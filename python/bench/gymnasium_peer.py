"""What the Gymnasium bridge is compared with.

    gymnasium_peer.py sync ID COPIES BATCHES             steps per second of SyncVectorEnv with random actions
    gymnasium_peer.py dummy|subproc ID STEPS             CPU and wall seconds of learn() of Stable-Baselines3's PPO
"""

import os
import sys
import time


def sync(id, copies, batches):
    import gymnasium as gym

    envs = gym.vector.SyncVectorEnv([lambda: gym.make(id)] * copies)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(64)]
    envs.reset(seed=0)
    begin = time.perf_counter()
    for batch in range(batches):
        envs.step(actions[batch % 64])
    print(copies * batches / (time.perf_counter() - begin))


def cpu_seconds(processes):
    """Of this process and of others that still run."""
    ticks = 0
    for process in processes:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def ppo(kind, id, steps):
    import torch

    torch.set_num_threads(1)
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    envs = make_vec_env(id, n_envs=16, seed=0, vec_env_cls=SubprocVecEnv if kind == "subproc" else DummyVecEnv)
    others = [process.pid for process in getattr(envs, "processes", [])]
    shape = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": torch.nn.Tanh}
    model = PPO("MlpPolicy", envs, n_steps=256, batch_size=64, n_epochs=4, policy_kwargs=shape, device="cpu", seed=0)
    cpu, wall = cpu_seconds(others), time.perf_counter()
    model.learn(steps)
    print(cpu_seconds(others) - cpu, time.perf_counter() - wall)
    envs.close()


if __name__ == "__main__":
    if sys.argv[1] == "sync":
        sync(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        ppo(sys.argv[1], sys.argv[2], int(sys.argv[3]))
