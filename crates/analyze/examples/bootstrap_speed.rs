//! Measures 10,000 stratified bootstrap resamples of the interquartile mean
//! of a 10 × 10 score matrix. Run with `--release`.
#![expect(clippy::print_stdout, reason = "a measuring program answers on the terminal")]

use std::time::Instant;

use rlxp_analyze::aggregate::Scores;
use rlxp_analyze::bootstrap::{Method, Plan, bootstrap_iqm};
use rlxp_types::Stream;

fn main() {
    let mut stream = Stream::new(7, "example", 0);
    let scores =
        Scores::from_tasks((0..10).map(|_| (0..10).map(|_| stream.normal_pair().0).collect()).collect());
    println!("| method | median ms | fastest ms | interval |\n| --- | --- | --- | --- |");
    for method in [Method::Percentile, Method::Bca] {
        let plan = Plan { method, ..Plan::default() };
        let mut times = Vec::new();
        let mut estimate = bootstrap_iqm(&scores, &plan);
        for _ in 0..21 {
            let start = Instant::now();
            estimate = std::hint::black_box(bootstrap_iqm(std::hint::black_box(&scores), &plan));
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "| {method:?} | {:.2} | {:.2} | {:.4} [{:.4}, {:.4}] |",
            times[10], times[0], estimate.value, estimate.low, estimate.high
        );
    }
}
