//! The bootstrap band: which seeds are drawn, and the interval at one place.

use rlxp_types::Stream;

use super::Options;
use crate::statistics::aggregate::{iqm_cut, percentile_of_sorted};

/// Resamples of seeds, drawn once for each number of seeds and used at every
/// place, so that the band is one of whole curves.
pub(super) struct Draws<'o> {
    options: &'o Options,
    /// By number of seeds: how often each seed is in each resample.
    counts: Vec<(usize, Vec<u16>)>,
    distribution: Vec<f64>,
}

impl<'o> Draws<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self { options, counts: Vec::new(), distribution: Vec::new() }
    }

    pub(super) fn interval(&mut self, values: &[f64]) -> (Option<f64>, Option<f64>) {
        let seeds = values.len();
        if !self.counts.iter().any(|(of, _)| *of == seeds) {
            let drawn = draw(seeds, self.options);
            self.counts.push((seeds, drawn));
        }
        let (_, counts) = self.counts.iter().find(|(of, _)| *of == seeds).expect("it has just been drawn");
        let mut order: Vec<usize> = (0..seeds).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let cut = iqm_cut(seeds);
        let kept = seeds - 2 * cut;
        self.distribution.clear();
        for resample in counts.chunks_exact(seeds) {
            let (mut skip, mut left, mut sum) = (cut, kept, 0.0);
            for index in &order {
                let count = usize::from(resample[*index]);
                let skipped = skip.min(count);
                let taken = (count - skipped).min(left);
                skip -= skipped;
                left -= taken;
                sum += values[*index] * taken as f64;
            }
            self.distribution.push(sum / kept as f64);
        }
        self.distribution.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.options.confidence) / 2.0;
        let at = |q| Some(percentile_of_sorted(&self.distribution, q)).filter(|end| end.is_finite());
        (at(tail), at(1.0 - tail))
    }
}

fn draw(seeds: usize, options: &Options) -> Vec<u16> {
    let mut counts = vec![0; seeds * options.resamples];
    let mut stream = Stream::new(options.seed, "bootstrap", 0);
    for resample in counts.chunks_exact_mut(seeds) {
        for _ in 0..seeds {
            resample[stream.below(seeds as u32) as usize] += 1;
        }
    }
    counts
}
