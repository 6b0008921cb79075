//! Training one seed into its folder: the loop that joins the learner, which
//! knows no files, with the store, which knows no learning.
//!
//! Everything that is written here, apart from times, is a function of config
//! and seed alone. A scheduled save or evaluation happens at the first update
//! at or past its multiple; a save that only an interrupt caused leaves no
//! trace in the finished run.

use std::time::{Duration, Instant};

use rlxp_env::Sources;
use rlxp_fs::{clock, machine};
use rlxp_learn::{Actor, Algorithm, Evaluation, LearnError, Learner, Resumed, Setup, Update, evaluate};
use rlxp_spec::Config;
use rlxp_store::{
    BEST, Best, CheckpointFacts, Claim, MEAN_RETURN, MODEL_FILE, MetricValue, MetricsWriter, STATE_FILE,
    SaveReason, SeedFolder, TIMING_KIND, recover,
};
use serde_json::{Map, json};

use crate::event::{Event, WorkerOutcome};
use crate::failure::Outcome;
use crate::training::evaluation::record;
use crate::training::initial_checkpoint::InitialCheckpoint;
use crate::training::weights::{tensors, unfit, with_others};

/// Time between progress events.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Time between looks at the memory in use: one takes microseconds, and an
/// update may take no more than that.
const MEMORY_EVERY: Duration = Duration::from_millis(100);
/// How often observations are described in a run that is not evaluated.
const DESCRIPTIONS: u64 = 20;

/// What a seed is trained with.
pub(crate) struct Job<'a> {
    pub(crate) config: &'a Config,
    pub(crate) algorithm: &'a dyn Algorithm,
    pub(crate) sources: Sources<'a>,
    pub(crate) threads: usize,
    pub(crate) stop_at: Option<f64>,
    pub(crate) claim: &'a Claim,
    pub(crate) stop_requested: &'a (dyn Fn() -> bool + Sync),
    pub(crate) emit: &'a (dyn Fn(Event) + Sync),
}

pub(crate) struct SeedEnd {
    pub(crate) outcome: WorkerOutcome,
    pub(crate) steps: u64,
}

struct Session<'a> {
    job: &'a Job<'a>,
    folder: &'a SeedFolder,
    learner: Box<dyn Learner>,
    metrics: MetricsWriter,
    best: Option<Best>,
    last_score: Option<f64>,
    stopped_early: bool,
    saved_at: Option<u64>,
    began: Instant,
    memory_read: Option<Instant>,
    first_step: u64,
}

/// Trains the seed of `folder` from its present state to the end.
pub(crate) fn train_seed(job: &Job<'_>, folder: &SeedFolder) -> Outcome<SeedEnd> {
    let mut session = Session::open(job, folder)?;
    let outcome = session.run()?;
    let (seed, step) = (folder.seed(), session.learner.steps());
    let best = session.best.map(|best| best.score);
    let stopped_early = session.stopped_early && !session.learner.is_finished();
    (job.emit)(Event::SeedEnded { seed, step, outcome, last: session.last_score, best, stopped_early });
    Ok(SeedEnd { outcome, steps: step })
}

impl<'a> Session<'a> {
    /// Brings the folder back to its newest checkpoint and the learner with it.
    fn open(job: &'a Job<'a>, folder: &'a SeedFolder) -> Outcome<Self> {
        let recovery = recover(folder, None)?;
        for note in recovery.notes {
            (job.emit)(Event::Warning { message: note });
        }
        let factory = |streams| job.sources.make(&job.config.env, streams);
        let Job { config, threads, .. } = *job;
        let mut learner =
            job.algorithm.learner(&Setup { config, seed: folder.seed(), threads, factory: &factory })?;
        let mut best = None;
        let (mut last_score, mut stopped_early, mut saved_at) = (None, false, None);
        if let Some(checkpoint) = recovery.checkpoint {
            let place = folder.checkpoints().step_path(checkpoint.step);
            let (model, state) = (place.join(MODEL_FILE), place.join(STATE_FILE));
            tensors(&model, &checkpoint.model)
                .and_then(|model| Ok((model, tensors(&state, &checkpoint.state)?)))
                .and_then(|(model, state)| {
                    learner.continue_from(&model, &state).map_err(|error| unfit(&place, error))
                })
                .map(|resumed| tell_resumed(job, resumed))
                .map_err(|failure| with_others(failure, folder, checkpoint.step))?;
            best = checkpoint.manifest.best;
            last_score = checkpoint.manifest.facts.get("last_score").and_then(serde_json::Value::as_f64);
            stopped_early = checkpoint.manifest.facts.get("stopped_early") == Some(&json!(true));
            saved_at = Some(checkpoint.step);
        } else {
            if let Some(resumed) = InitialCheckpoint::apply(job.claim.run(), folder, learner.as_mut())? {
                tell_resumed(job, resumed);
            }
        }
        let first_step = learner.steps();
        let (seed, total) = (folder.seed(), job.config.total_steps());
        (job.emit)(Event::Started { seed, step: first_step, total });
        Ok(Self {
            job,
            folder,
            metrics: folder.metrics_writer(&recovery.metrics)?,
            learner,
            best,
            last_score,
            stopped_early,
            saved_at,
            began: Instant::now(),
            memory_read: None,
            first_step,
        })
    }

    fn run(&mut self) -> Outcome<WorkerOutcome> {
        let config = self.job.config;
        let mut told = Instant::now();
        if self.finished() {
            // Killed between the last save and what follows it: do that again.
            self.save(SaveReason::Final)?;
        }
        while !self.finished() {
            if (self.job.stop_requested)() {
                if self.saved_at != Some(self.learner.steps()) {
                    self.save(SaveReason::Interrupt)?;
                }
                return Ok(WorkerOutcome::Interrupted);
            }
            let before = self.learner.steps();
            let update = self.iterate()?;
            self.log(&update)?;
            let now = update.step;
            let last = self.learner.is_finished();
            let due = |every: u64| every > 0 && now / every > before / every;
            if last || due(observations_every(config)) {
                self.log_observations(now)?;
            }
            let mut improved = false;
            if due(config.eval.every) || (last && config.eval.every > 0) {
                improved = self.evaluate()?;
            }
            if self.finished() {
                self.save(SaveReason::Final)?;
            } else if due(config.checkpoint.save_every) {
                self.save(SaveReason::Scheduled)?;
            } else if improved {
                self.save(SaveReason::Best)?;
            }
            self.metrics.tick()?;
            if told.elapsed() >= PROGRESS_EVERY || self.finished() {
                told = Instant::now();
                // So that `rlx tail` and `rlx ls` see what the terminal sees.
                self.metrics.flush()?;
                self.tell_progress();
            }
        }
        Ok(WorkerOutcome::Completed)
    }

    fn finished(&self) -> bool {
        self.learner.is_finished() || self.stopped_early
    }

    /// One round of the learner. A post-mortem begins with the metrics of the round in which training diverged, so
    /// they are recorded before the run fails.
    fn iterate(&mut self) -> Outcome<Update> {
        match self.learner.iterate() {
            Ok(update) => Ok(update),
            Err(error) => {
                if let LearnError::Diverged { step, values, .. } = &error {
                    self.log_training(*step, clock::wall_seconds(), values)?;
                    self.metrics.sync()?;
                }
                Err(error.into())
            }
        }
    }

    fn log_training(&mut self, step: u64, wall: f64, values: &[(&'static str, f64)]) -> Outcome<()> {
        let values: Vec<(&str, MetricValue<'_>)> =
            values.iter().map(|(name, value)| (*name, MetricValue::Float(*value))).collect();
        self.metrics.append(step, wall, "train", &values)?;
        Ok(())
    }

    fn log_observations(&mut self, step: u64) -> Outcome<()> {
        let observed = self.learner.observed();
        let values: Vec<(&str, MetricValue<'_>)> =
            observed.iter().map(|(name, value)| (name.as_str(), MetricValue::Float(*value))).collect();
        self.metrics.append(step, clock::wall_seconds(), "observations", &values)?;
        Ok(())
    }

    fn log(&mut self, update: &Update) -> Outcome<()> {
        let wall = clock::wall_seconds();
        self.log_training(update.step, wall, &update.values)?;
        let mut times = vec![("steps_per_second", MetricValue::Float(self.steps_per_second()))];
        times.extend(update.times.iter().map(|(name, time)| (*name, MetricValue::Float(time.as_secs_f64()))));
        times.extend(self.resident_bytes().map(|bytes| ("resident_bytes", MetricValue::Count(bytes))));
        self.metrics.append(update.step, wall, TIMING_KIND, &times)?;
        Ok(())
    }

    /// The memory in use, if it is time to look again.
    fn resident_bytes(&mut self) -> Option<u64> {
        if self.memory_read.is_some_and(|read| read.elapsed() < MEMORY_EVERY) {
            return None;
        }
        self.memory_read = Some(Instant::now());
        machine::resident_bytes()
    }

    /// Plays the periodic evaluation; true when it is the best so far.
    fn evaluate(&mut self) -> Outcome<bool> {
        let config = self.job.config;
        let episodes = config.eval.episodes;
        let agent = self.learner.agent();
        let actor =
            if config.eval.deterministic { Actor::Deterministic(agent) } else { Actor::Stochastic(agent) };
        let played = evaluate(self.job.sources, config, actor, episodes, config.eval.seed)?;
        let step = self.learner.steps();
        let score = played.mean_return();
        // A tie keeps the earlier policy.
        let improved = self.best.is_none_or(|best| score > best.score);
        if improved {
            self.best = Some(Best { step, score });
        }
        self.last_score = Some(score);
        self.stopped_early = self.job.stop_at.is_some_and(|wanted| score >= wanted);
        self.log_evaluation(step, &played)?;
        self.folder.write_evaluation(
            &format!("step_{step}"),
            &record(step, config.eval.deterministic, config.eval.seed, &played),
        )?;
        let seed = self.folder.seed();
        (self.job.emit)(Event::Evaluated { seed, step, mean_return: score, episodes, best: improved });
        Ok(improved)
    }

    fn log_evaluation(&mut self, step: u64, played: &Evaluation) -> Outcome<()> {
        let values = [
            (MEAN_RETURN, MetricValue::Float(played.mean_return())),
            ("deviation", MetricValue::Float(played.deviation())),
            ("mean_length", MetricValue::Float(played.mean_length())),
            ("episodes", MetricValue::Count(played.episodes.len() as u64)),
            ("truncated", MetricValue::Count(played.truncated() as u64)),
        ];
        let mut values = values.to_vec();
        values.extend(played.success_rate().map(|rate| ("success_rate", MetricValue::Float(rate))));
        self.metrics.append(step, clock::wall_seconds(), "eval", &values)?;
        Ok(())
    }

    fn save(&mut self, reason: SaveReason) -> Outcome<()> {
        self.job.claim.ensure_mine()?;
        let step = self.learner.steps();
        let mut facts = Map::new();
        facts.insert("env".into(), json!(self.job.config.env.id));
        facts.insert("seed".into(), json!(self.folder.seed()));
        facts.insert("last_score".into(), json!(self.last_score));
        facts.insert("stopped_early".into(), json!(self.stopped_early));
        let metrics = self.metrics.sync()?;
        let checkpoints = self.folder.checkpoints();
        let model = self.learner.agent().model().to_bytes();
        let state = self.learner.state()?.to_bytes();
        let facts = CheckpointFacts { reason, metrics, best: self.best, facts };
        checkpoints.save(step, &model, &state, &facts)?;
        if let Some(best) = self.best {
            // With evaluation at this very step the checkpoint is `best` itself;
            // otherwise the link already points at an earlier one.
            if best.step == step {
                checkpoints.set_link(BEST, step)?;
            }
        }
        if let Some(keep) = self.job.config.checkpoint.keep
            && reason != SaveReason::Interrupt
        {
            let protect: Vec<u64> = self.best.iter().map(|best| best.step).collect();
            checkpoints.prune(keep, &protect)?;
        }
        self.saved_at = Some(step);
        (self.job.emit)(Event::Saved { seed: self.folder.seed(), step });
        Ok(())
    }

    fn steps_per_second(&self) -> f64 {
        let steps = (self.learner.steps() - self.first_step) as f64;
        steps / self.began.elapsed().as_secs_f64().max(1e-9)
    }

    fn tell_progress(&self) {
        (self.job.emit)(Event::Progress {
            seed: self.folder.seed(),
            step: self.learner.steps(),
            total: self.job.config.total_steps(),
            steps_per_second: self.steps_per_second(),
            mean_return: self.learner.mean_return(),
            best: self.best.map(|best| best.score),
        });
    }
}

/// A warning where a saved state could not bring back everything.
fn tell_resumed(job: &Job<'_>, resumed: Resumed) {
    match resumed {
        Resumed::Exactly => {}
        Resumed::WithNewEpisodes => (job.emit)(Event::Warning {
            message: format!(
                "{} can't save its state: every copy starts a new episode, so results differ from an \
                 uninterrupted run",
                job.config.env.id
            ),
        }),
        Resumed::Diverged { copies, copy, step } => (job.emit)(Event::Warning {
            message: format!(
                "{} did not come back exactly: {}; {copies} of {} copies start a new episode, so results differ from \
                 an uninterrupted run",
                job.config.env.id,
                match step {
                    Some(0) => format!("copy {copy} gave another first observation for the same seed"),
                    Some(step) => format!("copy {copy} differs at step {step} of its episode"),
                    None => format!("the episode of copy {copy} is too long to repeat"),
                },
                job.config.env.num_envs
            ),
        }),
    }
}

/// Steps between descriptions of the observations: where a run is evaluated,
/// it is described too.
fn observations_every(config: &Config) -> u64 {
    match config.eval.every {
        0 => (config.total_steps() / DESCRIPTIONS).max(1),
        every => every,
    }
}
