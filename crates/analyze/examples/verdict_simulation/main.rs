//! How often the procedures are wrong and what they find, on returns that look
//! like those of reinforcement learning and not only on Gaussian ones. Prints
//! Markdown tables for `docs/verdicts.md`. Run with `--release`:
//!
//! ```text
//! verdict_simulation [--scores FILE] [--null N] [--power N]
//! ```
//!
//! FILE has real final scores, one per line, which are then one more kind of
//! returns. Effects are in standard deviations whatever the kind. The decisions are those of the library.
#![expect(clippy::print_stdout, reason = "a measuring program answers on the terminal")]
#![expect(clippy::disallowed_methods, reason = "it reads the scores that it is given and its own arguments")]

mod returns;

use returns::{Returns, all};
use rlxp_analyze::campaign::simulate::{self, Group, Played};
use rlxp_analyze::campaign::{Comparison, batch, sequence};
use rlxp_analyze::power::{Design, Simulation, power, seeds_for};
use rlxp_analyze::proportion::wilson;
use rlxp_analyze::verdict::{Answer, Options, Question, verdict};
use rlxp_types::Stream;

/// Fixed before anything was run.
const SEED: u64 = 20_261_117;
const EFFECTS: [f64; 3] = [0.5, 1.0, 1.5];

struct Settings {
    null: u64,
    power: u64,
    real: Option<Vec<f64>>,
}

impl Settings {
    fn from_arguments() -> Self {
        let mut settings = Self { null: 40_000, power: 4_000, real: None };
        let mut arguments = std::env::args().skip(1);
        while let Some(flag) = arguments.next() {
            let value = arguments.next().expect("every flag has a value");
            let number = || value.parse().expect("a whole number");
            match flag.as_str() {
                "--null" => settings.null = number(),
                "--power" => settings.power = number(),
                "--scores" => {
                    let text = std::fs::read_to_string(&value).expect("a file of scores");
                    let read = text.lines().map(|line| line.trim().parse().expect("a score per line"));
                    settings.real = Some(read.collect());
                }
                other => panic!("unknown flag {other}"),
            }
        }
        settings
    }
}

fn main() {
    let settings = Settings::from_arguments();
    let kinds = all(settings.real.as_deref());
    println!(
        "{} repetitions per cell without a difference, {} with one; shares with 95% Wilson intervals.\n",
        settings.null, settings.power
    );
    batches(&settings, &kinds);
    sequences(&settings, &kinds);
    reliability(&settings);
    seeds(&settings);
    one_comparison(&settings, &kinds);
}

fn batches(settings: &Settings, kinds: &[Returns]) {
    let plan = batch::plan(batch_request(10)).expect("a valid request");
    println!("### A batch of 10 candidates, one better\n");
    println!("Screening 10 × 2, 6 × 1, 3 × 3 seeds, then one finalist; {}.\n", looks(&plan.looks));
    campaign_table(settings, kinds, "batch", 10, |draw| simulate::batch(&plan, draw));
    println!("\n### What else must not be accepted from a batch\n");
    println!("| candidates | returns | accepted |\n| --- | --- | --- |");
    for (name, kinds, shift) in [
        ("five worse by 1, five equal", kinds.to_vec(), 1.0),
        ("all equal, returns rounded so that runs tie", vec![Returns::Rounded], 0.0),
    ] {
        for kind in kinds {
            let played = play(settings.null, "batch/odd", |stream| {
                simulate::batch(&plan, &mut |group: Group| {
                    let worse = matches!(group, Group::Candidate(index) if index < 5);
                    kind.draw(stream, if worse { -shift } else { 0.0 })
                })
            });
            println!("| {name} | {} | {} |", kind.name(), share(played.accepted, settings.null));
        }
    }
    let wide = play(settings.null, "batch/wide", |stream| {
        simulate::batch(&plan, &mut |group: Group| {
            let scale = if group == Group::Incumbent { 1.0 } else { 2.0 };
            scale * stream.normal_pair().0
        })
    });
    println!(
        "| equal mean, twice the spread (reported, not bounded) | Gaussian | {} |",
        share(wide.accepted, settings.null)
    );
    println!("\nPlans of other sizes, simulated on Gaussian returns:\n");
    println!(
        "| candidates | at most runs | accepted, all equal | found, one better by 1 | mean runs then |\n| --- | --- | --- | --- | --- |"
    );
    for (candidates, runs) in [(2, None), (5, None), (20, None), (50, None), (10, Some(60)), (10, Some(200))]
    {
        let plan =
            batch::plan(batch::Request { runs, ..batch_request(candidates) }).expect("a valid request");
        let null = play(settings.null, "batch/sizes", |stream| {
            simulate::batch(&plan, &mut |_: Group| stream.normal_pair().0)
        });
        println!(
            "| {candidates} | {} | {} | {:.2} | {:.0} |",
            plan.largest_runs,
            share(null.accepted, settings.null),
            plan.power.found,
            plan.power.mean_runs
        );
    }
}

fn sequences(settings: &Settings, kinds: &[Returns]) {
    let plan = sequence::plan(sequence_request(10)).expect("a valid request");
    println!("\n### Candidates one after another, 10 planned\n");
    println!("{} seeds of the incumbent, made once; {}.\n", plan.incumbent_seeds, looks(&plan.looks));
    campaign_table(settings, kinds, "sequence", 10, |draw| simulate::sequence(&plan, draw));
}

/// False accepts without a difference, then power and runs for each effect.
fn campaign_table(
    settings: &Settings,
    kinds: &[Returns],
    name: &str,
    candidates: u32,
    mut campaign: impl FnMut(&mut dyn FnMut(Group) -> f64) -> Played,
) {
    println!(
        "| returns | accepted, all equal | runs | found at 0.5 | runs | at 1 | runs | at 1.5 | runs | most runs |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for kind in kinds {
        let null = play(settings.null, name, |stream| campaign(&mut |_: Group| kind.draw(stream, 0.0)));
        let mut row =
            format!("| {} | {} | {:.0}", kind.name(), share(null.accepted, settings.null), null.mean_runs);
        let mut most = null.most_runs;
        for effect in EFFECTS {
            let mut found = 0;
            let played = play(settings.power, &format!("{name}/{effect}"), |stream| {
                // The position of the good one must not matter.
                let good = stream.below(candidates) as usize;
                let ended = campaign(&mut |group: Group| {
                    kind.draw(stream, if group == Group::Candidate(good) { effect } else { 0.0 })
                });
                found += u64::from(ended.accepted.contains(&good));
                ended
            });
            most = most.max(played.most_runs);
            row += &format!(" | {:.2} | {:.0}", found as f64 / settings.power as f64, played.mean_runs);
        }
        println!("{row} | {most} |");
    }
}

struct Summary {
    accepted: u64,
    mean_runs: f64,
    most_runs: u64,
}

fn play(repetitions: u64, name: &str, mut campaign: impl FnMut(&mut Stream) -> Played) -> Summary {
    let mut stream = Stream::new(SEED, name, 0);
    let (mut accepted, mut runs, mut most_runs) = (0, 0, 0);
    for _ in 0..repetitions {
        let played = campaign(&mut stream);
        accepted += u64::from(!played.accepted.is_empty());
        runs += played.runs;
        most_runs = most_runs.max(played.runs);
    }
    Summary { accepted, mean_runs: runs as f64 / repetitions as f64, most_runs }
}

/// Gains and losses of reliability, with each way to fail.
fn reliability(settings: &Settings) {
    println!("\n### Reliability\n");
    println!("| question | how seeds fail | accepted as better |\n| --- | --- | --- |");
    for (seeds, way) in [35, 85].into_iter().flat_map(|seeds| WAYS_TO_FAIL.map(|way| (seeds, way))) {
        let single = batch::Request { runs: Some(2 * seeds), ..batch_request(1) };
        let plan = batch::plan(single).expect("a valid request");
        let confirmed = play(settings.power, &format!("reliability/{seeds}"), |stream| {
            simulate::batch(&plan, &mut |group: Group| {
                let share = if group == Group::Incumbent { 0.3 } else { 0.05 };
                (way.kind)(share).draw_raw(stream, 0.0)
            })
        });
        let found = share(confirmed.accepted, settings.power);
        println!(
            "| 5% failing against 30%, confirmed with up to {seeds} seeds per group | {} | {found} |",
            way.name
        );
    }
    let plan = batch::plan(batch_request(10)).expect("a valid request");
    for way in WAYS_TO_FAIL {
        let mut wrong = 0;
        play(settings.power, "reliability/loss", |stream| {
            // Typically better by 0.8, but a quarter fails: the mean is lower.
            let good = stream.below(10) as usize;
            let ended = simulate::batch(&plan, &mut |group: Group| match group {
                Group::Candidate(index) if index == good => (way.kind)(0.25).draw_raw(stream, 0.8),
                _ => stream.normal_pair().0,
            });
            wrong += u64::from(ended.accepted.contains(&good));
            ended
        });
        println!(
            "| batch with a candidate that is typically 0.8 better, fails in 25% and has a lower mean | {} | {} |",
            way.name,
            share(wrong, settings.power)
        );
    }
}

struct WayToFail {
    name: &'static str,
    kind: fn(f64) -> Returns,
}

const WAYS_TO_FAIL: [WayToFail; 3] = [
    WayToFail { name: "no score", kind: Returns::Unscored },
    WayToFail { name: "10 standard deviations lower", kind: Returns::Failing },
    WayToFail { name: "5 lower, with 3 times the spread", kind: Returns::Scattered },
];

/// The seeds that `rlx stats power` names, against the verdict itself.
fn seeds(settings: &Settings) {
    println!("\n### Seeds for a power of 80%\n");
    println!("| effect | seeds per group | `better` with them | with one fewer |\n| --- | --- | --- | --- |");
    let options = Options { resamples: 0, repetitions: 0, ..Options::default() };
    let quoted = Simulation::default();
    let repetitions = 4 * settings.power;
    for effect in [0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0] {
        let design = Design::default();
        let Ok(seeds) = seeds_for(&design, rlxp_analyze::power::Returns::Gaussian, effect, 0.8, quoted)
        else {
            println!("| {effect} | none | | |");
            continue;
        };
        let seen = |seeds: u64| {
            let mut stream = Stream::new(SEED, "seeds", seeds);
            let found = (0..repetitions).filter(|_| {
                let mut group =
                    |shift| -> Vec<f64> { (0..seeds).map(|_| shift + stream.normal_pair().0).collect() };
                let (a, b) = (group(0.0), group(effect));
                judge(&a, &b, &options) == Answer::Better
            });
            found.count() as f64 / repetitions as f64
        };
        let fewer = if seeds > 5 {
            let quoted = power(&design, rlxp_analyze::power::Returns::Gaussian, effect, seeds - 1, quoted);
            format!("{:.3} (quoted {quoted:.3})", seen(seeds - 1))
        } else {
            "the minimum".to_owned()
        };
        println!("| {effect} | {seeds} | {:.3} | {fewer} |", seen(seeds));
    }
}

fn one_comparison(settings: &Settings, kinds: &[Returns]) {
    println!("\n### One comparison of two equal groups\n");
    println!(
        "Ranks of equal groups have the same distribution whatever the returns, so rows with the same number of seeds \
         differ by chance.\n"
    );
    println!("| returns | seeds per group | claims | paired, claims |\n| --- | --- | --- | --- |");
    for kind in kinds {
        for seeds in [5, 10, 20] {
            let claims = |paired: bool| {
                let mut stream = Stream::new(SEED, if paired { "null/pairs" } else { "null/one" }, seeds);
                let options = Options { paired, resamples: 0, repetitions: 0, ..Options::default() };
                let claimed = (0..settings.power).filter(|_| {
                    let mut group =
                        || -> Vec<f64> { (0..seeds).map(|_| kind.draw(&mut stream, 0.0)).collect() };
                    let (a, b) = (group(), group());
                    judge(&a, &b, &options) != Answer::CannotTell
                });
                share(claimed.count() as u64, settings.power)
            };
            println!("| {} | {seeds} | {} | {} |", kind.name(), claims(false), claims(true));
        }
    }
}

fn judge(a: &[f64], b: &[f64], options: &Options) -> Answer {
    verdict(Question { a, b, guardrails: &[] }, options).expect("a valid question").verdict
}

fn share(hits: u64, of: u64) -> String {
    let (low, high) = wilson(hits, of, 0.95);
    format!("{:.4} ({low:.4}–{high:.4})", hits as f64 / of as f64)
}

fn looks(looks: &[rlxp_analyze::campaign::bounds::Look]) -> String {
    let list = |of: &dyn Fn(&rlxp_analyze::campaign::bounds::Look) -> Option<String>| {
        looks.iter().filter_map(of).collect::<Vec<_>>().join("/")
    };
    format!(
        "looks at {} seeds; accepts from z = {}; drops below z = {}",
        list(&|look| Some(look.seeds.to_string())),
        list(&|look| Some(format!("{:.2}", look.accept))),
        list(&|look| look.drop.map(|drop| format!("{drop:.2}")))
    )
}

fn batch_request(candidates: usize) -> batch::Request {
    batch::Request {
        candidates: (0..candidates).map(|index| format!("c{index}")).collect(),
        runs: None,
        batches: 1,
        error: 0.05,
        effect: 1.0,
        comparison: Comparison::default(),
        first_seed: 0,
    }
}

fn sequence_request(candidates: u64) -> sequence::Request {
    sequence::Request {
        candidates,
        runs: None,
        error: 0.05,
        effect: 1.0,
        comparison: Comparison::default(),
        first_seed: 0,
    }
}
