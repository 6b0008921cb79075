//! How often the procedure is wrong and how often it finds real differences, on
//! returns that look like those of reinforcement learning and not only on
//! Gaussian ones. Prints Markdown tables. Run with `--release`; an argument
//! changes the seed.
//!
//! Every distribution is scaled to mean 0 and standard deviation 1 by its own
//! formula, so that an effect of 0.93 means the same everywhere.
#![expect(clippy::print_stdout, reason = "a measuring program answers on the terminal")]

use std::collections::BTreeSet;

use rlxp_analyze::campaign::{Finalist, Rules, Runs, Spending, confirm, screen};
use rlxp_analyze::power::{Design, Test};
use rlxp_analyze::proportion::wilson;
use rlxp_analyze::verdict::{Answer, Options, Question, verdict};
use rlxp_types::Stream;

const REPETITIONS: u64 = 4_000;
const EFFECT: f64 = 0.93;

#[derive(Clone, Copy)]
enum Returns {
    /// The textbook case.
    Gaussian,
    /// Most runs end close to the best possible, some far below: a lognormal
    /// distance (sigma 1) from a ceiling.
    MirroredLognormal,
    /// One run in ten fails and ends five standard deviations of the good
    /// runs lower, with three times their spread.
    FailedSeeds,
    /// One run in ten diverges and has no score at all.
    MissingSeeds,
}

impl Returns {
    const ALL: [Self; 4] = [Self::Gaussian, Self::MirroredLognormal, Self::FailedSeeds, Self::MissingSeeds];

    fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian",
            Self::MirroredLognormal => "mirrored lognormal",
            Self::FailedSeeds => "10% failed seeds",
            Self::MissingSeeds => "10% seeds without score",
        }
    }

    fn draw(self, stream: &mut Stream, shift: f64) -> f64 {
        let (normal, other) = stream.normal_pair();
        let centred = match self {
            Self::Gaussian => normal,
            Self::MirroredLognormal => {
                let e = std::f64::consts::E;
                (e.sqrt() - normal.exp()) / (e * (e - 1.0)).sqrt()
            }
            Self::FailedSeeds => {
                let failed = stream.uniform() < 0.1;
                let value = if failed { 3.0 * other - 5.0 } else { normal };
                // Mean -0.5; variance 0.9 + 0.1 × 9 + 25 × 0.09.
                (value + 0.5) / (0.9f64 + 0.9 + 2.25).sqrt()
            }
            Self::MissingSeeds => {
                if stream.uniform() < 0.1 {
                    f64::NAN
                } else {
                    normal
                }
            }
        };
        centred + shift
    }

    fn many(self, stream: &mut Stream, shift: f64, count: u64) -> Vec<f64> {
        (0..count).map(|_| self.draw(stream, shift)).collect()
    }
}

/// One screening with `shifts.len()` candidates and its confirmation; the
/// candidate that was adopted.
fn round(
    returns: Returns,
    stream: &mut Stream,
    shifts: &[f64],
    screen_seeds: u64,
    confirm_seeds: u64,
    batch: u64,
    rules: &Rules,
) -> Option<usize> {
    let incumbent = returns.many(stream, 0.0, screen_seeds);
    let candidates: Vec<Vec<f64>> =
        shifts.iter().map(|shift| returns.many(stream, *shift, screen_seeds)).collect();
    let screened = screen(&incumbent, &candidates, rules);
    let mut runs = |shift: f64| Runs {
        seeds: (1000 * batch..).take(confirm_seeds as usize).collect(),
        scores: returns.many(stream, shift, confirm_seeds),
    };
    let incumbent = runs(0.0);
    let finalists: Vec<Finalist> = screened
        .finalists
        .iter()
        .map(|candidate| Finalist { runs: runs(shifts[*candidate]), guardrails: Vec::new() })
        .collect();
    let confirmed = confirm(batch, &incumbent, &finalists, &BTreeSet::new(), rules)
        .expect("the simulated question is a valid one");
    confirmed.accepted.map(|place| screened.finalists[place])
}

fn share(hits: u64) -> String {
    let (low, high) = wilson(hits, REPETITIONS, 0.95);
    format!("{:.3} ({low:.3}–{high:.3})", hits as f64 / REPETITIONS as f64)
}

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(20_260_101);
    let compare = Options { resamples: 0, ..Options::default() };
    let endless = Rules { compare: compare.clone(), ..Rules::default() };
    let planned = Rules { spending: Spending::Planned(1), ..endless.clone() };
    println!("{REPETITIONS} repetitions, seed {seed}; shares with 95% Wilson intervals.\n");

    println!("### False accepts over a campaign of 10 null candidates\n");
    println!(
        "| returns | one batch of 10 | one planned batch of 10 | 10 batches of one |\n| --- | --- | --- | --- |"
    );
    for (index, returns) in Returns::ALL.into_iter().enumerate() {
        let count = |name: &str, mut trial: Box<dyn FnMut(&mut Stream) -> bool>| {
            let mut stream = Stream::new(seed, name, index as u64);
            share((0..REPETITIONS).filter(|_| trial(&mut stream)).count() as u64)
        };
        let (rules, once) = (endless.clone(), planned.clone());
        let many = endless.clone();
        println!(
            "| {} | {} | {} | {} |",
            returns.name(),
            count(
                "null/batch",
                Box::new(move |stream| round(returns, stream, &[0.0; 10], 3, 10, 1, &rules).is_some())
            ),
            count(
                "null/planned",
                Box::new(move |stream| round(returns, stream, &[0.0; 10], 3, 10, 1, &once).is_some())
            ),
            count(
                "null/row",
                Box::new(move |stream| {
                    // There is no early stopping: every batch is a chance for a false claim.
                    (1..=10).filter(|k| round(returns, stream, &[0.0], 3, 10, *k, &many).is_some()).count()
                        > 0
                })
            ),
        );
    }

    println!("\n### Finding one candidate of 5 that is {EFFECT} standard deviations better\n");
    println!(
        "3 screening seeds, 10 confirming seeds per group, 35 runs in total. Seeds without score fail as often in \
         every group, and the effect is in standard deviations of the others.\n"
    );
    println!(
        "| returns | found | found, if screening had kept it | another accepted |\n| --- | --- | --- | --- |"
    );
    for (index, returns) in Returns::ALL.into_iter().enumerate() {
        let mut stream = Stream::new(seed, "power", index as u64);
        let (mut found, mut wrong) = (0, 0);
        for _ in 0..REPETITIONS {
            // The position of the good one must not matter.
            let mut shifts = [0.0; 5];
            let good = stream.below(5) as usize;
            shifts[good] = EFFECT;
            match round(returns, &mut stream, &shifts, 3, 10, 1, &endless) {
                Some(accepted) if accepted == good => found += 1,
                Some(_) => wrong += 1,
                None => {}
            }
        }
        let mut stream = Stream::new(seed, "power/kept", index as u64);
        let kept = (0..REPETITIONS)
            .filter(|_| round(returns, &mut stream, &[EFFECT], 3, 10, 1, &endless).is_some())
            .count() as u64;
        println!("| {} | {} | {} | {} |", returns.name(), share(found), share(kept), share(wrong));
    }
    let ceiling = Test { design: Design::Unpaired, alpha: 0.025, two_sided: false }.power(EFFECT, 10);
    println!(
        "\nOn Gaussian returns no unbiased test of 10 against 10 finds {EFFECT} deviations at 0.025 more \
         often than the t test does: {ceiling:.3}, before screening has lost any."
    );

    println!("\n### One comparison of two equal groups\n");
    println!(
        "| returns | seeds per group | not `cannot_tell` | paired, not `cannot_tell` |\n| --- | --- | --- | --- |"
    );
    for (index, returns) in Returns::ALL.into_iter().enumerate() {
        for seeds in [5, 10, 20] {
            let claims = |paired: bool, name: &str| {
                let mut stream = Stream::new(seed, name, 100 * index as u64 + seeds);
                let options = Options { paired, ..compare.clone() };
                let claimed = |_: &u64| {
                    let (a, b) =
                        (returns.many(&mut stream, 0.0, seeds), returns.many(&mut stream, 0.0, seeds));
                    let got = verdict(Question { a: &a, b: &b, guardrails: &[] }, &options)
                        .expect("the simulated question is a valid one");
                    got.verdict != Answer::CannotTell
                };
                share((0..REPETITIONS).filter(claimed).count() as u64)
            };
            println!(
                "| {} | {seeds} | {} | {} |",
                returns.name(),
                claims(false, "null/one"),
                claims(true, "null/pairs")
            );
        }
    }
}
