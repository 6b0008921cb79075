"""Kinds of faults that were held out: data alone, no code.

Written by an author who knew the config reference, the starters, the list of known kinds and an earlier list of held-out
kinds, and neither a rule of the diagnosis nor any finding, and who trained nothing. Magnitudes and environments are as
that author wrote them. `like` names the kind of an earlier list that resembles this one, so that a rule may have been
written for it. Most kinds without one are mistakes in two or three settings at once, which do their harm together.
"""

KINDS = [
    {
        "name": "every brake at once",
        "what": "a careful learning rate, clip range, KL limit and epoch count (or the tail of an annealed run) add up to a policy that stands still",
        "like": None,
        "keys": ["algo.learning_rate", "algo.clip_range", "algo.target_kl"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8"],
        "magnitudes": [
            ["algo.learning_rate=1.0e-5", "algo.clip_range=0.02", "algo.target_kl=1.0e-3", "algo.update_epochs=2"],
            ["algo.learning_rate={schedule: linear, from: 1.0e-5, to: 0}", "algo.clip_range={schedule: linear, from: 0.02, to: 0}", "algo.update_epochs=1"],
            ["algo.learning_rate=3.0e-5", "algo.clip_range=0.01", "algo.target_kl=5.0e-4", "algo.update_epochs=1"],
        ],
    },
    {
        "name": "enormous layer at a constant learning rate",
        "what": "thousands of hidden units at a learning rate for dozens, never annealed: each step moves every output by whole units",
        "like": None,
        "keys": ["policy.hidden_sizes", "algo.learning_rate"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["policy.hidden_sizes=[4096]", "algo.learning_rate=0.01"],
            ["policy.hidden_sizes=[4096]", "policy.activation=relu", "algo.learning_rate=0.01"],
            ["policy.hidden_sizes=[2048]", "algo.learning_rate=0.03"],
        ],
    },
    {
        "name": "more copies than the budget can play",
        "what": "thousands of copies with rollouts of a step or two, as on a GPU: the budget ends before any copy has played far enough to see the goal",
        "like": None,
        "keys": ["env.num_envs", "algo.rollout_steps"],
        "environments": ["mountaincar", "mountaincarcontinuous", "acrobot", "pendulum", "frozenlake8x8"],
        "magnitudes": [
            ["env.num_envs=4096", "algo.rollout_steps=2", "algo.batch_size=512"],
            ["env.num_envs=8192", "algo.rollout_steps=1", "algo.batch_size=1024"],
            ["env.num_envs=16384", "algo.rollout_steps=1", "algo.batch_size=2048"],
        ],
    },
    {
        "name": "robot settings on an exploration task",
        "what": "the usual MuJoCo settings (one copy, 2048 steps, learning rate 3e-4, long horizon, no entropy bonus) on tasks that need many copies or a short horizon",
        "like": None,
        "keys": ["env.num_envs", "algo.rollout_steps", "algo.learning_rate"],
        "environments": ["pendulum", "mountaincar", "frozenlake8x8"],
        "magnitudes": [
            ["env.num_envs=1", "algo.rollout_steps=2048", "algo.batch_size=64", "algo.update_epochs=10", "algo.learning_rate=3.0e-4", "algo.gamma=0.99", "algo.gae_lambda=0.95", "algo.entropy_coef=0.0"],
            ["env.num_envs=1", "algo.rollout_steps=2048", "algo.batch_size=64", "algo.update_epochs=10", "algo.learning_rate={schedule: linear, from: 3.0e-4, to: 0}", "algo.gamma=0.99", "algo.gae_lambda=0.95", "algo.entropy_coef=0.0"],
            ["env.num_envs=1", "algo.rollout_steps=4096", "algo.batch_size=128", "algo.update_epochs=10", "algo.learning_rate=1.0e-4", "algo.gamma=0.995", "algo.gae_lambda=0.95", "algo.entropy_coef=0.0"],
        ],
    },
    {
        "name": "video-game settings on a small task",
        "what": "Procgen or Atari settings (shared ReLU network, large slow updates, a shrinking clip range) that were made for a hundred times the budget",
        "like": None,
        "keys": ["algo.rollout_steps", "algo.learning_rate", "policy.shared_network"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8"],
        "magnitudes": [
            ["env.num_envs=64", "algo.rollout_steps=256", "algo.batch_size=2048", "algo.update_epochs=3", "algo.learning_rate=5.0e-4", "algo.gamma=0.999", "algo.entropy_coef=0.01", "policy.shared_network=true", "policy.activation=relu", "policy.hidden_sizes=[256]"],
            ["env.num_envs=128", "algo.rollout_steps=128", "algo.batch_size=4096", "algo.update_epochs=3", "algo.learning_rate={schedule: linear, from: 2.5e-4, to: 0}", "algo.clip_range={schedule: linear, from: 0.1, to: 0}", "algo.gamma=0.99", "algo.entropy_coef=0.01", "policy.shared_network=true", "policy.activation=relu", "policy.hidden_sizes=[512]"],
            ["env.num_envs=8", "algo.rollout_steps=128", "algo.batch_size=256", "algo.update_epochs=3", "algo.learning_rate={schedule: linear, from: 2.5e-4, to: 0}", "algo.clip_range={schedule: linear, from: 0.1, to: 0}", "algo.gamma=0.99", "algo.entropy_coef=0.01", "algo.value_coef=1.0", "policy.shared_network=true", "policy.activation=relu", "policy.hidden_sizes=[512]"],
        ],
    },
    {
        "name": "KL limit under a hot learning rate",
        "what": "a high learning rate made safe with a KL limit: the first batch overshoots, the limit ends the update, and nothing corrects the one wild step",
        "like": None,
        "keys": ["algo.target_kl", "algo.learning_rate"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["algo.learning_rate=0.03", "algo.target_kl=3.0e-4"],
            ["algo.learning_rate=0.05", "algo.target_kl=1.0e-3"],
            ["algo.learning_rate=0.1", "algo.target_kl=3.0e-3"],
        ],
    },
    {
        "name": "KL limit on tiny batches",
        "what": "batches of a few samples under a tight KL limit: every update stops after a few of them and throws nearly the whole rollout away",
        "like": None,
        "keys": ["algo.target_kl", "algo.batch_size"],
        "environments": ["pendulum", "mountaincar", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["algo.batch_size=4", "algo.target_kl=3.0e-4"],
            ["algo.batch_size=2", "algo.target_kl=1.0e-3"],
            ["algo.batch_size=8", "algo.target_kl=1.0e-4"],
        ],
    },
    {
        "name": "entropy bonus in charge behind a tight clip",
        "what": "a tiny clip range silences the reward's gradient after the first batch but not the entropy bonus, which alone steers the policy from there",
        "like": None,
        "keys": ["algo.clip_range", "algo.entropy_coef"],
        "environments": ["mountaincar", "mountaincarcontinuous", "frozenlake8x8", "pendulum"],
        "magnitudes": [
            ["algo.clip_range=1.0e-3", "algo.entropy_coef=0.5"],
            ["algo.clip_range=1.0e-4", "algo.entropy_coef=0.2"],
            ["algo.clip_range=1.0e-4", "algo.entropy_coef=1.0"],
        ],
    },
    {
        "name": "a few steps learned by heart",
        "what": "few copies, short rollouts and a hundred epochs, meant to be sample-efficient: each update overfits some dozens of neighbouring steps",
        "like": None,
        "keys": ["algo.update_epochs", "algo.rollout_steps", "env.num_envs"],
        "environments": ["mountaincar", "mountaincarcontinuous", "acrobot", "frozenlake8x8"],
        "magnitudes": [
            ["env.num_envs=2", "algo.rollout_steps=16", "algo.batch_size=32", "algo.update_epochs=100"],
            ["env.num_envs=4", "algo.rollout_steps=8", "algo.batch_size=32", "algo.update_epochs=100"],
            ["env.num_envs=2", "algo.rollout_steps=32", "algo.batch_size=16", "algo.update_epochs=50"],
        ],
    },
    {
        "name": "everything turned up to learn faster",
        "what": "learning rate, epochs and clip range raised together in impatience: the policy becomes certain of the first rollouts' noise and stops exploring",
        "like": None,
        "keys": ["algo.learning_rate", "algo.update_epochs", "algo.clip_range"],
        "environments": ["mountaincar", "mountaincarcontinuous", "pendulum", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["algo.learning_rate=0.03", "algo.update_epochs=40", "algo.clip_range=1.0"],
            ["algo.learning_rate=0.05", "algo.update_epochs=30", "algo.clip_range=0.5", "algo.max_grad_norm=null"],
            ["algo.learning_rate=0.02", "algo.update_epochs=60", "algo.clip_range=2.0", "algo.entropy_coef=0.0"],
        ],
    },
    {
        "name": "learning rate scaled with the batch",
        "what": "the linear scaling rule of supervised learning: one huge batch and a learning rate multiplied to match, so a few dozen giant steps are all there is",
        "like": None,
        "keys": ["algo.learning_rate", "algo.batch_size", "env.num_envs"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["env.num_envs=128", "algo.rollout_steps=64", "algo.batch_size=8192", "algo.update_epochs=2", "algo.learning_rate=0.05"],
            ["env.num_envs=256", "algo.rollout_steps=64", "algo.batch_size=16384", "algo.update_epochs=4", "algo.learning_rate=0.1"],
            ["env.num_envs=256", "algo.rollout_steps=32", "algo.batch_size=8192", "algo.update_epochs=1", "algo.learning_rate=0.05"],
        ],
    },
    {
        "name": "credit left to a critic that is tied down",
        "what": "a low lambda leaves all credit to the value function while a small value clip lets it move a hair per update: the policy sees one step ahead",
        "like": None,
        "keys": ["algo.clip_value", "algo.gae_lambda"],
        "environments": ["pendulum", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["algo.clip_value=0.005", "algo.gae_lambda=0.1"],
            ["algo.clip_value=0.01", "algo.gae_lambda=0.05"],
            ["algo.clip_value=0.002", "algo.gae_lambda=0.2"],
        ],
    },
    {
        "name": "tight clip made up for by the learning rate",
        "what": "a small clip range seemed slow, so the learning rate was raised: every first batch leaps far past the clip, which then stops nothing but the following good steps",
        "like": None,
        "keys": ["algo.clip_range", "algo.learning_rate"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8"],
        "magnitudes": [
            ["algo.clip_range=1.0e-3", "algo.learning_rate=0.05"],
            ["algo.clip_range=0.01", "algo.learning_rate=0.1"],
            ["algo.clip_range=3.0e-3", "algo.learning_rate=0.03"],
        ],
    },
    {
        "name": "hot learning rate on tiny batches",
        "what": "batches cut to a few samples to save memory while the learning rate went up: thousands of large steps per rollout along noise",
        "like": None,
        "keys": ["algo.learning_rate", "algo.batch_size"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["algo.batch_size=8", "algo.learning_rate=0.02"],
            ["algo.batch_size=4", "algo.learning_rate=0.01", "algo.update_epochs=10"],
            ["algo.batch_size=16", "algo.learning_rate=0.05"],
        ],
    },
    {
        "name": "batches of one sample",
        "what": "online learning one sample at a time: a single advantage normalised by itself says nothing, and what is left is noise",
        "like": "tiny minibatches",
        "keys": ["algo.batch_size", "algo.normalize_advantages"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "acrobot", "frozenlake8x8"],
        "magnitudes": [
            ["algo.batch_size=1"],
            ["algo.batch_size=1", "algo.learning_rate=0.003"],
            ["algo.batch_size=1", "algo.learning_rate=0.01"],
        ],
    },
    {
        "name": "reward taken for a cost, then normalised",
        "what": "the reward is negated as if it were a cost, and reward normalisation hides the odd scale",
        "like": "reward sign flipped",
        "keys": ["env.wrappers"],
        "environments": ["taxi", "mountaincarcontinuous", "frozenlake8x8", "pendulum", "mountaincar", "cartpole"],
        "magnitudes": [
            ["env.wrappers=[{scale_reward: {factor: -1}}]", "env.normalize_rewards=true"],
            ["env.wrappers=[{scale_reward: {factor: -0.01}}]", "env.normalize_rewards=true"],
            ["env.wrappers=[{scale_reward: {factor: 100}}, {scale_reward: {factor: -1}}]", "env.normalize_rewards=true"],
        ],
    },
    {
        "name": "discount given as its complement",
        "what": "one minus gamma (and one minus lambda) were entered, so nothing beyond the next step counts",
        "like": "discount far too low",
        "keys": ["algo.gamma", "algo.gae_lambda"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["algo.gamma=0.01", "algo.gae_lambda=0.05"],
            ["algo.gamma=0.01"],
            ["algo.gamma=0.05", "algo.gae_lambda=0.02"],
        ],
    },
    {
        "name": "policy and value share a single unit",
        "what": "a shared network that ends in one unit, as if for a scalar output: the value takes it and the policy has nothing to go by",
        "like": "network far too small",
        "keys": ["policy.hidden_sizes", "policy.shared_network"],
        "environments": ["pendulum", "frozenlake8x8", "mountaincar", "acrobot", "cartpole"],
        "magnitudes": [
            ["policy.hidden_sizes=[64, 1]", "policy.shared_network=true"],
            ["policy.hidden_sizes=[64, 64, 1]", "policy.shared_network=true", "policy.activation=relu"],
            ["policy.hidden_sizes=[1]", "policy.shared_network=true", "policy.activation=relu"],
        ],
    },
    {
        "name": "rewards beyond the critic's reach under a low lambda",
        "what": "rewards in thousandths of their unit are so large that the value function never climbs to them, and a low lambda relies on it alone",
        "like": "rewards far too large",
        "keys": ["env.wrappers", "algo.gae_lambda", "env.normalize_rewards"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "acrobot"],
        "magnitudes": [
            ["env.wrappers=[{scale_reward: {factor: 1000}}]", "env.normalize_rewards=false", "algo.gae_lambda=0.1"],
            ["env.wrappers=[{scale_reward: {factor: 300}}]", "env.normalize_rewards=false", "algo.gae_lambda=0.05"],
            ["env.wrappers=[{scale_reward: {factor: 3000}}]", "env.normalize_rewards=false", "algo.gae_lambda=0.2"],
        ],
    },
    {
        "name": "PPO set up as REINFORCE",
        "what": "no critic, whole undiscounted returns and one gradient step per rollout: a hundred very noisy steps in the whole budget",
        "like": "too few gradient steps",
        "keys": ["algo.update_epochs", "algo.batch_size", "algo.value_coef"],
        "environments": ["pendulum", "mountaincar", "mountaincarcontinuous", "frozenlake8x8", "acrobot"],
        "magnitudes": [
            ["env.num_envs=1", "algo.rollout_steps=2000", "algo.batch_size=2000", "algo.update_epochs=1", "algo.value_coef=0.0", "algo.gamma=1.0", "algo.gae_lambda=1.0", "algo.learning_rate=0.001"],
            ["env.num_envs=4", "algo.rollout_steps=1000", "algo.batch_size=4000", "algo.update_epochs=1", "algo.value_coef=0.0", "algo.gamma=1.0", "algo.gae_lambda=1.0", "algo.learning_rate=0.001"],
        ],
    },
]
