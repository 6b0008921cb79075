//! How often the decisions of a study accept a candidate that equals the incumbent, over whole studies: a table for
//! `docs/verdicts.md`. `study_errors [REPETITIONS]`
#![expect(clippy::print_stdout, reason = "the table is its output")]

use rlxp_govern::documents::{MetricSpec, Schedule};
use rlxp_govern::judge::simulate::{Returns, null_studies};
use serde_json::json;

const REPETITIONS: u64 = 12_000;

fn main() {
    let repetitions = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(REPETITIONS);
    let plans: [(u64, u64, &[u64]); 4] =
        [(5, 15, &[5, 10, 15]), (3, 5, &[5]), (10, 50, &[5, 10, 15, 20, 25, 30]), (1, 10, &[5, 10])];
    let returns = [
        ("Gaussian", Returns::Gaussian),
        ("long lower tail", Returns::Skewed),
        ("long lower tail, 20% of seeds fail", Returns::SkewedFailing(0.2)),
    ];
    println!(
        "| candidates | incumbent seeds | looks | returns | studies with a false acceptance | mean runs |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (candidates, incumbent_seeds, looks) in plans {
        let schedule =
            Schedule { alpha: 0.05, screen_seeds: 3, candidates, incumbent_seeds, looks: looks.to_vec() };
        for (name, returns) in returns {
            let played = null_studies(&schedule, &spec(), returns, repetitions, 1);
            let looks: Vec<String> = looks.iter().map(u64::to_string).collect();
            println!(
                "| {candidates} | {incumbent_seeds} | {} | {name} | {:.4} ± {:.4} | {:.0} |",
                looks.join("/"),
                played.error(),
                2.0 * played.standard_error(),
                played.runs as f64 / played.studies as f64
            );
        }
    }
}

/// The smallest effect is as good as none, so that it prevents no false acceptance.
fn spec() -> MetricSpec {
    let range = |from: u64| json!({ "from": from, "to": from + 9 });
    serde_json::from_value(json!({
        "schema": "rlxp.metric_spec/1",
        "primary": {
            "name": "score",
            "source": { "format": "json", "file": "eval/scores.json", "pointer": "/score" },
            "direction": "higher",
            "aggregation": "mean",
        },
        "failure_score": -1000.0,
        "smallest_effect": 1e-9,
        "protocol": {
            "episodes": 1,
            "deterministic": true,
            "checkpoint": "last",
            "environments": "none",
            "seeds": { "screen": range(0), "confirm": range(10), "audit": range(20), "evaluation": range(30) },
        },
    }))
    .expect("this is a metric spec")
}
