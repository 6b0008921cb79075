//! Measures planning a campaign and looking at its scores. Run with `--release`.
#![expect(clippy::print_stdout, reason = "a measuring program answers on the terminal")]

use std::time::Instant;

use rlxp_analyze::campaign::sequence::{self, Sequence};
use rlxp_analyze::campaign::{Comparison, Scores};
use rlxp_types::Stream;

fn main() {
    let request = sequence::Request {
        candidates: 10,
        runs: None,
        error: 0.05,
        effect: 1.0,
        comparison: Comparison::default(),
        first_seed: 0,
    };
    let start = Instant::now();
    let plan = sequence::plan(request).expect("a usual campaign can be planned");
    println!("plan: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut stream = Stream::new(7, "example", 0);
    let mut campaign = Sequence::new(plan);
    let mut times = Vec::new();
    loop {
        let wanted = campaign.wanted();
        if wanted.is_empty() {
            if campaign.left() == 0 {
                break;
            }
            let name = format!("candidate {}", campaign.left());
            campaign = campaign.open(&name).expect("its name is new").0;
            continue;
        }
        let scores: Scores = wanted
            .iter()
            .map(|one| {
                (
                    one.group.clone(),
                    one.seeds.iter().map(|seed| (*seed, Some(stream.normal_pair().0))).collect(),
                )
            })
            .collect();
        let start = Instant::now();
        campaign = campaign.look(&scores).expect("these are the scores it asked for").0;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "look: median {:.3} ms, slowest {:.3} ms of {}",
        times[times.len() / 2],
        times[times.len() - 1],
        times.len()
    );
}
