//! `rlx eval`

use clap::{Args, ValueEnum};
use rlxp_ops::training::eval::{EvalRequest, FIRST_SEED, eval};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::format;
use crate::screen::Screen;
use crate::summary;

const EXAMPLES: &str = "\
Examples:
  rlx eval --run @last
  rlx eval --run @last --all-checkpoints --episodes 20
  rlx eval --run @best:CartPole-v1 --stochastic --baseline random --baseline zero
  rlx eval runs/ppo_cartpole_001/checkpoints/latest
  rlx eval --env CartPole-v1 --baseline random";

/// Evaluate checkpoints and baselines on seeded episodes
///
/// Episode i starts from seed + i. The default seeds are never used in training
/// or to choose the best checkpoint. Every episode's return is saved in eval/.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
#[command(override_usage = "rlx eval [OPTIONS] <CHECKPOINT>\n       rlx eval [OPTIONS] --run <RUN>\n       \
                            rlx eval [OPTIONS] --env <ID> --baseline <NAME>")]
pub(crate) struct Eval {
    /// A checkpoint of every seed: RUN (its best), RUN:latest, RUN:SEED:step_N, or a checkpoint's folder
    #[arg(conflicts_with_all = ["run", "env"], add = complete::runs())]
    checkpoint: Option<String>,
    /// Evaluate the best and latest checkpoint of every seed of this run
    #[arg(long, conflicts_with = "env", add = complete::runs())]
    run: Option<String>,
    /// Evaluate baselines in this environment, without a run
    #[arg(long, value_name = "ID")]
    env: Option<String>,
    /// Evaluate every checkpoint of the run
    #[arg(long, requires = "run")]
    all_checkpoints: bool,
    /// Episodes per policy
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    episodes: u64,
    /// Seed of the first episode
    #[arg(long, value_name = "SEED", default_value_t = FIRST_SEED)]
    seed: u64,
    /// Sample actions instead of taking the most likely one
    #[arg(long)]
    stochastic: bool,
    /// Also evaluate a baseline; can be repeated
    #[arg(long = "baseline", value_name = "NAME")]
    baselines: Vec<Baseline>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Baseline {
    /// Actions drawn uniformly from the action space
    Random,
    /// Action 0, or a continuous action of zeros
    Zero,
}

impl Eval {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = EvalRequest {
            checkpoint: self.checkpoint.clone(),
            run: self.run.clone(),
            all_checkpoints: self.all_checkpoints,
            env: self.env.clone(),
            episodes: self.episodes as usize,
            seed: self.seed,
            stochastic: self.stochastic,
            random: self.baselines.contains(&Baseline::Random),
            zero: self.baselines.contains(&Baseline::Zero),
        };
        let report = eval(context, &request, &mut |_| {})?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let of = report.run.as_ref().map_or(String::new(), |run| format!("{run} on "));
        let last_seed = self.seed.wrapping_add(self.episodes - 1);
        screen.line(format!("{of}{}, episode seeds {} to {last_seed}", report.env, self.seed));
        screen.answer(summary::evaluation(screen, &report));
        if let Some(threshold) = report.threshold {
            screen.note(&format!("solved at a mean return of {}", format::score(threshold)));
        }
        Ok(Exit::Yes)
    }
}
