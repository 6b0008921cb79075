//! Seeded episodes of a policy or of a baseline: episode i starts from
//! `seed + i` and draws from streams that training never touches, so the same
//! checkpoint always gives the same returns.

use rlxp_env::{EnvError, MakeError, Sources, Space, StepBatch, VectorEnv};
use rlxp_spec::config::{Config, EnvConfig, WrapperConfig};
use rlxp_types::Stream;
use serde::Serialize;

use crate::LearnError;
use crate::learner::{Agent, BatchActor, Choice};
use crate::parallel;
use crate::policy::TILE;

/// Step cap of an episode where neither config nor environment sets one: a
/// policy that walks in circles must not hang an evaluation.
pub const DEFAULT_STEP_CAP: u64 = 1000;

#[derive(Clone, Copy)]
pub enum Actor<'a> {
    /// An agent's most likely action.
    Deterministic(&'a dyn Agent),
    /// An action that an agent samples.
    Stochastic(&'a dyn Agent),
    /// A uniformly random action.
    Random,
    /// The first action, or zeros.
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Episode {
    pub seed: u64,
    /// Sum of rewards.
    pub total: f64,
    /// Steps.
    pub length: u64,
    /// Whether the step cap cut it.
    pub truncated: bool,
    /// Whether it was successful, where the environment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
}

impl Episode {
    /// An episode before its first step.
    pub(crate) fn begin(seed: u64) -> Self {
        Self { seed, total: 0.0, length: 0, truncated: false, success: None }
    }
}

/// All episodes of an evaluation, in the order of their seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    pub episodes: Vec<Episode>,
}

impl Evaluation {
    pub fn mean_return(&self) -> f64 {
        self.episodes.iter().map(|episode| episode.total).sum::<f64>() / self.episodes.len() as f64
    }

    /// Sample deviation of the returns; 0 for a single episode.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean_return();
        let squares: f64 = self.episodes.iter().map(|episode| (episode.total - mean).powi(2)).sum();
        (squares / (self.episodes.len().max(2) - 1) as f64).sqrt()
    }

    pub fn mean_length(&self) -> f64 {
        let steps: u64 = self.episodes.iter().map(|episode| episode.length).sum();
        steps as f64 / self.episodes.len() as f64
    }

    /// The share of successful episodes, if the environment says of each whether it was.
    pub fn success_rate(&self) -> Option<f64> {
        let known: Option<Vec<bool>> = self.episodes.iter().map(|episode| episode.success).collect();
        let known = known.filter(|known| !known.is_empty())?;
        Some(known.iter().filter(|success| **success).count() as f64 / known.len() as f64)
    }

    /// Episodes that the step cap cut.
    pub fn truncated(&self) -> usize {
        self.episodes.iter().filter(|episode| episode.truncated).count()
    }
}

/// Makes copies of an environment that each play one episode, one per seed.
pub type EpisodeFactory<'a> = &'a dyn Fn(&[u64]) -> Result<Box<dyn VectorEnv>, MakeError>;

/// The environment that a policy is judged in: raw rewards. Its episodes are capped by [`DEFAULT_STEP_CAP`] where
/// nothing else caps them.
/// Scaling of rewards is for training alone; wrappers that change what is
/// observed stay.
pub fn evaluation_env(sources: Sources<'_>, config: &Config) -> EnvConfig {
    let mut env = config.env.clone();
    env.wrappers.retain(|wrapper| {
        !matches!(
            wrapper,
            WrapperConfig::ScaleReward { .. }
                | WrapperConfig::TruncationAsTermination {}
                | WrapperConfig::Python { train_only: true, .. }
        )
    });
    let own_cap = sources.find(&env.id).ok().and_then(|info| info.max_episode_steps);
    env.max_episode_steps = env.max_episode_steps.or(own_cap);
    env
}

/// Plays `episodes` episodes in [`evaluation_env`].
pub fn evaluate(
    sources: Sources<'_>,
    config: &Config,
    actor: Actor<'_>,
    episodes: usize,
    seed: u64,
) -> Result<Evaluation, LearnError> {
    let env = evaluation_env(sources, config);
    evaluate_in(config, &|seeds| sources.episodes(&env, seeds, DEFAULT_STEP_CAP), actor, episodes, seed)
}

/// Plays `episodes` episodes in an environment of the caller's own, which must
/// cap its episodes.
pub fn evaluate_in(
    config: &Config,
    factory: EpisodeFactory<'_>,
    actor: Actor<'_>,
    episodes: usize,
    seed: u64,
) -> Result<Evaluation, LearnError> {
    let mut played = Vec::with_capacity(episodes);
    for tile in parallel::split(episodes, TILE) {
        let seeds: Vec<u64> = tile.map(|index| seed.wrapping_add(index as u64)).collect();
        let mut env = factory(&seeds)?;
        play(env.as_mut(), actor, &seeds, &mut played).map_err(|error| {
            let first = played.len() - seeds.len();
            LearnError::in_environment(&config.env.id, error.counted_from(first))
        })?;
    }
    Ok(Evaluation { episodes: played })
}

/// Plays one episode in every copy, side by side.
fn play(
    env: &mut dyn VectorEnv,
    actor: Actor<'_>,
    seeds: &[u64],
    played: &mut Vec<Episode>,
) -> Result<(), EnvError> {
    let copies = seeds.len();
    let width = env.observation_space().width();
    let space = env.action_space().clone();
    let mut batch = StepBatch::new(copies, width);
    let mut streams: Vec<Stream> = seeds.iter().map(|seed| Stream::new(*seed, "eval/action", 0)).collect();
    let mut hand = actor.hand(&space, copies);
    let mut actions = vec![0.0; copies * space.width()];
    let start = played.len();
    played.extend(seeds.iter().map(|seed| Episode::begin(*seed)));
    let mut running = vec![true; copies];
    let mut observations = vec![0.0; copies * width];
    env.reset(&mut observations)?;
    for time in 0.. {
        hand.act(time, &mut observations, &mut streams, &mut actions);
        env.step(&actions, &mut batch)?;
        for copy in (0..copies).filter(|copy| running[*copy]).collect::<Vec<_>>() {
            let episode = &mut played[start + copy];
            episode.total += f64::from(batch.rewards[copy]);
            episode.length += 1;
            episode.truncated = batch.truncated[copy] && !batch.terminated[copy];
            episode.success = batch.success[copy];
            running[copy] = !(batch.terminated[copy] || batch.truncated[copy]);
        }
        if !running.contains(&true) {
            break;
        }
        observations.copy_from_slice(&batch.observations);
    }
    Ok(())
}

impl<'a> Actor<'a> {
    /// Room to act in `copies` copies at once.
    pub(crate) fn hand(self, space: &'a Space, copies: usize) -> Box<dyn BatchActor + 'a> {
        match self {
            Self::Deterministic(agent) => agent.hand(copies, Choice::MostLikely),
            Self::Stochastic(agent) => agent.hand(copies, Choice::Sampled),
            Self::Random => Box::new(RandomHand(space)),
            Self::Zero => Box::new(ZeroHand),
        }
    }
}

struct RandomHand<'a>(&'a Space);

impl BatchActor for RandomHand<'_> {
    fn act(&mut self, _: u64, _: &mut [f32], streams: &mut [Stream], actions: &mut [f32]) {
        for (stream, row) in streams.iter_mut().zip(actions.chunks_exact_mut(self.0.width())) {
            random_action(self.0, stream, row);
        }
    }
}

struct ZeroHand;

impl BatchActor for ZeroHand {
    fn act(&mut self, _: u64, _: &mut [f32], _: &mut [Stream], actions: &mut [f32]) {
        actions.fill(0.0);
    }
}

/// A uniformly random action; unbounded numbers are standard normal.
fn random_action(space: &Space, stream: &mut Stream, row: &mut [f32]) {
    match space {
        Space::Discrete { n } => row[0] = stream.below(*n as u32) as f32,
        Space::MultiDiscrete { nvec } => {
            row.iter_mut().zip(nvec).for_each(|(x, n)| *x = stream.below(*n as u32) as f32);
        }
        Space::MultiBinary { .. } => row.iter_mut().for_each(|x| *x = stream.below(2) as f32),
        Space::Box { low, high, .. } => {
            for ((x, low), high) in row.iter_mut().zip(low).zip(high) {
                *x = if low.is_finite() && high.is_finite() {
                    stream.uniform_in(f64::from(*low), f64::from(*high)) as f32
                } else {
                    stream.normal_pair().0 as f32
                };
            }
        }
    }
}
