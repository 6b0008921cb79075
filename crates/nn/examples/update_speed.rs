//! How fast a forward pass and a whole minibatch update are, and how much of
//! the core's measured peak that is.
//!
//! `cargo run --release -p rlxp-nn --example update_speed [seconds per figure] [part of a figure's name] [avx2]`
//!
//! Every figure is the fastest of many short repetitions, because other work on
//! the machine can only slow one down. With `avx2` a CPU that has AVX-512 leaves it
//! unused. Percentages count the products of the
//! layers alone, not activations, loss or optimiser.
#![expect(clippy::print_stdout, reason = "a program whose output is its purpose")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use rlxp_nn::{Activation, ActorCritic, Adam, Head, Input, Shape, clip_global_norm, kernels, without_avx512};
use rlxp_types::Stream;

const INPUTS: usize = 4;
const ACTIONS: usize = 2;
const STORED: usize = 1024;
const MINIBATCH: usize = 256;

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0.5);
    let only = std::env::args().nth(2).unwrap_or_default();
    if std::env::args().nth(3).as_deref() == Some("avx2") {
        without_avx512();
    }
    let budget = Duration::from_secs_f64(seconds);
    let peak = peak_gflops(budget);
    println!("kernels {}, peak {peak:.1} GFLOP/s", kernels());
    for width in [64, 256] {
        for activation in [Activation::Tanh, Activation::Relu] {
            let mut work = Work::new(width, activation);
            let name = format!("{width}x{width} {activation:?}");
            for rows in [8, 64, 1024] {
                let figure = format!("{name} forward, {rows} rows");
                if !figure.contains(&only) {
                    continue;
                }
                let time = fastest(budget, || work.forward(rows)) / rows as f64;
                report(&figure, time, work.forward_flops(), peak);
            }
            for tile in [64, MINIBATCH] {
                let figure = format!("{name} update of {MINIBATCH}, tiles of {tile}");
                if !figure.contains(&only) {
                    continue;
                }
                let time = fastest(budget, || work.update(tile)) / MINIBATCH as f64;
                report(&figure, time, work.update_flops(), peak);
            }
        }
    }
}

fn report(what: &str, nanoseconds: f64, flops: f64, peak: f64) {
    println!("  {what:45} {nanoseconds:8.1} ns/sample  {:5.1}% of peak", 100.0 * flops / nanoseconds / peak);
}

/// Nanoseconds of the fastest of many runs within the budget.
fn fastest(budget: Duration, mut run: impl FnMut()) -> f64 {
    (0..3).for_each(|_| run());
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed() < budget {
        let begin = Instant::now();
        run();
        best = best.min(begin.elapsed().as_secs_f64() * 1e9);
    }
    best
}

/// Networks, a rollout's worth of data, and everything one update needs.
struct Work {
    network: ActorCritic,
    width: usize,
    parameters: Vec<f32>,
    gradients: Vec<f32>,
    adam: Adam,
    scratch: rlxp_nn::Scratch,
    observations: Vec<f32>,
    actions: Vec<f32>,
    old_log_probs: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    order: Vec<usize>,
    tile: Tile,
}

/// Gathered samples of one tile.
struct Tile {
    observations: Vec<f32>,
    actions: Vec<f32>,
    log_probs: Vec<f32>,
    entropies: Vec<f32>,
    d_log_probs: Vec<f32>,
    d_entropies: Vec<f32>,
}

impl Work {
    fn new(width: usize, activation: Activation) -> Self {
        let network = ActorCritic::new(Shape {
            input: Input::Dense(INPUTS),
            hidden: vec![width, width],
            activation,
            shared: false,
            head: Head::Categorical { n: ACTIONS },
        });
        let mut stream = Stream::new(0, "init", 0);
        let mut parameters = vec![0.0; network.parameter_count()];
        network.init(&mut parameters, 0.0, &mut stream);
        let mut normals = |length: usize| {
            let mut values = vec![0.0; length];
            stream.fill_normal(&mut values);
            values
        };
        let (observations, advantages, returns) =
            (normals(STORED * INPUTS), normals(STORED), normals(STORED));
        let mut order: Vec<usize> = (0..STORED).collect();
        stream.shuffle(&mut order);
        let actions = (0..STORED).map(|_| stream.below(ACTIONS as u32) as f32).collect();
        Self {
            width,
            gradients: vec![0.0; parameters.len()],
            adam: Adam::new(parameters.len()),
            scratch: network.scratch(STORED),
            observations,
            actions,
            old_log_probs: vec![-(ACTIONS as f32).ln(); STORED],
            advantages,
            returns,
            order,
            tile: Tile {
                observations: vec![0.0; MINIBATCH * INPUTS],
                actions: vec![0.0; MINIBATCH],
                log_probs: vec![0.0; MINIBATCH],
                entropies: vec![0.0; MINIBATCH],
                d_log_probs: vec![0.0; MINIBATCH],
                d_entropies: vec![0.0; MINIBATCH],
            },
            network,
            parameters,
        }
    }

    fn forward_flops(&self) -> f64 {
        let (w, outputs) = (self.width, ACTIONS + 1);
        2.0 * (2 * (INPUTS * w + w * w) + outputs * w) as f64
    }

    /// Forward, weight gradients, and input gradients of all but the first layer.
    fn update_flops(&self) -> f64 {
        3.0 * self.forward_flops() - 2.0 * (2 * INPUTS * self.width) as f64
    }

    fn forward(&mut self, rows: usize) {
        self.network.forward(&self.parameters, &self.observations, rows, &mut self.scratch);
        black_box(&self.scratch.policy);
    }

    /// One minibatch, its samples in tiles.
    fn update(&mut self, tile_rows: usize) {
        self.gradients.fill(0.0);
        self.network.prepare(&self.parameters, MINIBATCH, &mut self.scratch);
        for first in (0..MINIBATCH).step_by(tile_rows) {
            self.tile_gradients(first, tile_rows);
        }
        clip_global_norm(&mut self.gradients, 0.5);
        self.adam.step(&mut self.parameters, &self.gradients, 3e-6, 1e-5);
        black_box(&self.parameters);
    }

    fn tile_gradients(&mut self, first: usize, rows: usize) {
        let tile = &mut self.tile;
        let samples = &self.order[first..first + rows];
        for (row, &sample) in samples.iter().enumerate() {
            tile.observations[row * INPUTS..][..INPUTS]
                .copy_from_slice(&self.observations[sample * INPUTS..][..INPUTS]);
            tile.actions[row] = self.actions[sample];
        }
        let scratch = &mut self.scratch;
        self.network.forward_prepared(&self.parameters, &tile.observations, rows, scratch);
        let head = &self.network.shape().head;
        head.evaluate(
            &[],
            &scratch.policy,
            &[],
            &tile.actions,
            rows,
            &mut tile.log_probs,
            &mut tile.entropies,
        );
        let scale = 1.0 / MINIBATCH as f32;
        for (row, &sample) in samples.iter().enumerate() {
            let ratio = (tile.log_probs[row] - self.old_log_probs[sample]).exp();
            let advantage = self.advantages[sample];
            let clipped = (advantage > 0.0 && ratio > 1.2) || (advantage < 0.0 && ratio < 0.8);
            tile.d_log_probs[row] = if clipped { 0.0 } else { -advantage * ratio * scale };
            tile.d_entropies[row] = -0.01 * scale;
            scratch.d_values[row] = 0.5 * (scratch.values[row] - self.returns[sample]) * scale;
        }
        head.gradient(
            &[],
            &scratch.policy,
            &[],
            &tile.actions,
            rows,
            &tile.d_log_probs,
            &tile.d_entropies,
            &mut scratch.d_policy,
            &mut [],
        );
        self.network.backward_prepared(
            &self.parameters,
            &tile.observations,
            rows,
            scratch,
            &mut self.gradients,
        );
    }
}

/// Fused multiply-adds in registers only: what the core could do at most.
fn peak_gflops(budget: Duration) -> f64 {
    const ROUNDS: usize = 20_000;
    #[cfg(target_arch = "x86_64")]
    if kernels() == "own+avx512" {
        // SAFETY: these kernels are only in use where the CPU has AVX-512.
        let time = fastest(budget, || unsafe { wide_fma_loop(ROUNDS) });
        return (ROUNDS * 12 * 16 * 2) as f64 / time;
    }
    #[cfg(target_arch = "x86_64")]
    if kernels() == "own+avx2-fma" {
        // SAFETY: these kernels are only in use where the CPU has both.
        let time = fastest(budget, || unsafe { fma_loop(ROUNDS) });
        return (ROUNDS * 12 * 8 * 2) as f64 / time;
    }
    let time = fastest(budget, || {
        let mut sums = black_box([1.0_f32; 64]);
        for _ in 0..ROUNDS {
            sums.iter_mut().for_each(|sum| *sum = *sum * 0.999 + 0.001);
        }
        black_box(sums);
    });
    (ROUNDS * 64 * 2) as f64 / time
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn wide_fma_loop(rounds: usize) {
    use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_set1_ps};
    let factor = _mm512_set1_ps(black_box(0.999));
    let term = _mm512_set1_ps(black_box(0.001));
    let mut sums = [_mm512_set1_ps(black_box(1.0)); 12];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, factor, term);
        }
    }
    black_box(sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fma_loop(rounds: usize) {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps};
    let factor = _mm256_set1_ps(black_box(0.999));
    let term = _mm256_set1_ps(black_box(0.001));
    let mut sums = [_mm256_set1_ps(black_box(1.0)); 12];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, factor, term);
        }
    }
    black_box(sums);
}
