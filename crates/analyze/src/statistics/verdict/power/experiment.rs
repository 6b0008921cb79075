//! Simulated experiments: two groups with a known difference, judged as
//! [`crate::statistics::verdict`] would judge them.

use rlxp_types::Stream;

use super::{Design, Returns, Simulation};
use crate::statistics::aggregate::variance;
use crate::statistics::rank_test::signed_rank_sum;
use crate::statistics::shift::{paired_depth, unpaired_depth};
use crate::statistics::verdict::{FEWEST_SEEDS, Gate, SortedPair};

/// Simulated runs of each group: beyond, fewer experiments are simulated, so
/// that thousands of seeds take seconds.
const MOST_RUNS: u64 = 1_500_000;

/// Standard errors from which a share is clearly above or below a power.
const CLEAR: f64 = 4.0;

/// Experiments between two checks of that.
const BLOCK: usize = 100;

/// Many experiments with `seeds` seeds per group.
pub(super) struct Experiments {
    paired: bool,
    gate: Gate,
    repetitions: usize,
    /// Seeds at each look and the statistic that a claim needs there.
    looks: Vec<(usize, f64)>,
}

impl Experiments {
    pub(super) fn new(design: &Design, seeds: u64, repetitions: usize) -> Self {
        let planned = design.looks.max(1);
        let level = design.alpha / planned as f64;
        let looks = (1..=planned)
            .map(|look| (seeds * look).div_ceil(planned))
            .filter(|seeds| *seeds >= FEWEST_SEEDS)
            .filter_map(|seeds| Some((seeds as usize, critical(design.paired, seeds, level)?)))
            .collect();
        let gate = Gate { minimum_effect: design.minimum_effect };
        let repetitions = repetitions.min((MOST_RUNS / seeds.max(1)).max(400) as usize);
        Self { paired: design.paired, gate, repetitions, looks }
    }

    /// The share of experiments in which a true `effect` is found.
    pub(super) fn found(&self, runs: &mut Runs<'_>, effect: f64) -> f64 {
        self.share(runs, effect, |_, _| false)
    }

    /// Whether that share is at least `power`. Stops as soon as this is clear,
    /// which is early for most of the numbers that a search tries.
    pub(super) fn reaches(&self, runs: &mut Runs<'_>, power: f64, effect: f64) -> bool {
        let clear = |share: f64, experiments: usize| {
            (share - power).abs() > CLEAR * (power * (1.0 - power) / experiments as f64).sqrt()
        };
        self.share(runs, effect, clear) >= power
    }

    /// The share of experiments that find `effect`, of all or of those until `stop`.
    fn share(&self, runs: &mut Runs<'_>, effect: f64, stop: impl Fn(f64, usize) -> bool) -> f64 {
        let Some((most, _)) = self.looks.last() else { return 0.0 };
        let (mut a, mut b) = (Vec::with_capacity(*most), Vec::with_capacity(*most));
        let mut hits = 0usize;
        for repetition in 0..self.repetitions {
            let drawn = runs.of(repetition, *most);
            hits += usize::from(self.looks.iter().any(|(seeds, critical)| {
                a.clear();
                b.clear();
                b.extend(drawn.b[..*seeds].iter().map(|run| run + effect));
                if !self.paired {
                    a.extend_from_slice(&drawn.a[..*seeds]);
                }
                self.claims(&mut a, &mut b, *critical)
            }));
            let done = repetition + 1;
            let share = hits as f64 / done as f64;
            if done % BLOCK == 0 && stop(share, done) {
                return share;
            }
        }
        hits as f64 / self.repetitions.max(1) as f64
    }

    fn claims(&self, a: &mut [f64], b: &mut [f64], critical: f64) -> bool {
        if self.paired {
            if signed_rank_sum(b).is_none_or(|sum| sum < critical) {
                return false;
            }
            b.sort_unstable_by(f64::total_cmp);
            // Against a single zero the typical difference is the median, close to
            // the pseudomedian, and the spread is that of the differences.
            return self.gate.admits(SortedPair { a: &[0.0], b });
        }
        a.sort_unstable_by(f64::total_cmp);
        b.sort_unstable_by(f64::total_cmp);
        let pair = SortedPair { a, b };
        pair.z() >= critical && self.gate.admits(pair)
    }
}

/// The simulated runs before any effect, kept from one number of seeds or
/// effect that a search tries to the next.
pub(super) struct Runs<'p> {
    paired: bool,
    returns: Returns<'p>,
    /// How far a resampled pilot run is moved at random.
    blur: f64,
    seed: u64,
    experiments: Vec<Drawn>,
}

/// The runs of one experiment so far; of paired ones only the differences, as b.
struct Drawn {
    stream: Stream,
    a: Vec<f64>,
    b: Vec<f64>,
}

impl<'p> Runs<'p> {
    pub(super) fn new(design: &Design, returns: Returns<'p>, simulation: Simulation) -> Self {
        let (blur, seed) = (blur(returns), simulation.seed);
        Self { paired: design.paired, returns, blur, seed, experiments: Vec::new() }
    }

    /// At least `seeds` runs per group of an experiment. Pairs are drawn one
    /// after the other, so that an experiment with more seeds begins with the
    /// runs of the one with fewer.
    fn of(&mut self, repetition: usize, seeds: usize) -> &Drawn {
        while self.experiments.len() <= repetition {
            let stream = Stream::new(self.seed, "power", self.experiments.len() as u64);
            self.experiments.push(Drawn { stream, a: Vec::new(), b: Vec::new() });
        }
        let drawn = &mut self.experiments[repetition];
        while drawn.b.len() < seeds {
            let (a, b) = pair(&mut drawn.stream, self.returns, self.blur);
            if self.paired {
                // A difference has the returns' distribution by itself.
                drawn.b.push(a);
            } else {
                drawn.a.push(a);
                drawn.b.push(b);
            }
        }
        drawn
    }
}

fn pair(stream: &mut Stream, returns: Returns<'_>, blur: f64) -> (f64, f64) {
    match returns {
        Returns::Gaussian => stream.normal_pair(),
        Returns::Pilot(runs) => {
            let mut draw = || runs[stream.below(runs.len() as u32) as usize];
            let (a, b) = (draw(), draw());
            let (move_a, move_b) = if blur > 0.0 { stream.normal_pair() } else { (0.0, 0.0) };
            (a + blur * move_a, b + blur * move_b)
        }
    }
}

/// The width of the kernel that resampled runs are smoothed with (Silverman,
/// 1986). Without it only effects that cross a gap between two pilot runs would
/// change any rank, so that a small effect seemed as easy to find as a larger
/// one. None where half of the runs are equal: such ties are real.
fn blur(returns: Returns<'_>) -> f64 {
    let Returns::Pilot(runs) = returns else { return 0.0 };
    let mut sorted = runs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quartile = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let range = (quartile(0.75) - quartile(0.25)) / 1.349;
    0.9 * variance(runs).sqrt().min(range) * (runs.len() as f64).powf(-0.2)
}

/// The statistic from which on the test rejects at this level: z of the wins,
/// or the rank sum of positive differences. `None` where it never does. With
/// ties the exact bound is approximated by the same z.
pub(super) fn critical(paired: bool, seeds: u64, level: f64) -> Option<f64> {
    let n = seeds as f64;
    if paired {
        let depth = paired_depth(seeds as usize, level);
        return (depth > 0).then(|| n * (n + 1.0) / 2.0 - depth as f64 + 1.0 - 1e-9);
    }
    let depth = unpaired_depth(seeds as usize, seeds as usize, level);
    let wins = n * n - depth as f64 + 1.0;
    let deviation = (n * n * (2.0 * n + 1.0) / 12.0).sqrt();
    (depth > 0).then(|| (wins - n * n / 2.0) / deviation - 1e-9)
}
