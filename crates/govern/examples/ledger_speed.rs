//! How long it takes to read, to verify and to decide from a ledger of ten thousand records:
//! `cargo run -p rlxp-govern --example ledger_speed`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops when it is wrong"
)]
#![expect(dead_code, reason = "the study comes from the tests, which build more than this")]

#[path = "../tests/suite/common.rs"]
mod common;
#[path = "../tests/suite/texts.rs"]
mod texts;

use std::collections::BTreeMap;
use std::time::Instant;

use rlxp_govern::documents::Phase;
use rlxp_govern::gate::Purpose;
use rlxp_govern::ledger::event::{Completed, Event, Evidence, Judged, Note, Reported, Verdict};
use rlxp_govern::ledger::{problems, read};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::next;
use rlxp_types::Digest;
use serde_json::json;

use common::{World, bytes, intent, slug, validated};
use texts::{Texts, set};

const RECORDS: u64 = 10_000;

fn main() {
    let mut world = study();
    let lines = bytes(&world.study.ledger);
    println!("{} records, {} bytes", world.study.ledger.records.len(), lines.len());
    let ledger = timed("read", || read(&lines));
    assert_eq!(ledger.state, world.study.ledger.state);
    assert!(timed("look for problems", || problems(&ledger, &lines, &[])).is_empty());
    world.study.ledger = ledger;
    let step = timed("next", || next(&world.study));
    println!("{:?}: {}", step.action, step.reason);
    let refusals = timed("gates of a launch", || world.refusals(Purpose::Launch));
    println!("{} refusals", refusals.len());
}

fn timed<T>(what: &str, work: impl Fn() -> T) -> T {
    work();
    let before = Instant::now();
    let result = work();
    println!("{what}: {:.1} ms", before.elapsed().as_secs_f64() * 1000.0);
    result
}

/// A study that has judged one candidate after another, with budget for more.
fn study() -> World {
    let mut texts = Texts::supervised();
    set(&mut texts.contract, "/budget/runs", json!(1_000_000));
    set(&mut texts.contract, "/budget/wall_clock", json!("100000h"));
    set(&mut texts.contract, "/budget/disk", json!("1000TiB"));
    let mut world = World::ready(&texts);
    let sample = validated(&world.study, &world.view).unwrap();
    let digest = Digest::hash(b"something");
    let judge = |world: &mut World, id: &str, key: &str, verdict| {
        let values = BTreeMap::from([(slug("mean-return"), Some(250.25))]);
        let files = BTreeMap::from([("eval.json".to_owned(), digest)]);
        world.push(Event::Evidence(Evidence {
            key: key.into(),
            values,
            files,
            reasons: BTreeMap::new(),
            declared: None,
        }));
        if id != "baseline" {
            world.push(Event::Completed(Completed { candidate: slug(id) }));
        }
        let (candidate, phase, score) = (slug(id), Phase::Smoke, Some(250.25));
        world.push(Event::Judged(Judged {
            candidate,
            phase,
            verdict,
            inputs: digest,
            score,
            reason: String::new(),
            failed_checks: Vec::new(),
            code: None,
        }));
    };
    judge(&mut world, "baseline", "baseline-smoke-0", Verdict::Accepted);
    for number in 0.. {
        let id = format!("candidate-{number}");
        let plan = Digest::hash(id.as_bytes());
        let mut one = sample.clone();
        (one.candidate, one.plan) = (slug(&id), plan);
        let run = intent(&id, Phase::Smoke, number % 100, plan);
        world.push(Event::Validated(one));
        world.run(&run, RunEnd::Ok);
        let verdict = if number % 2 == 0 { Verdict::Rejected } else { Verdict::Accepted };
        judge(&mut world, &id, &run.key, verdict);
        world.push(Event::Note(Note { text: "a remark about it".into() }));
        if world.study.ledger.next_seq() >= RECORDS {
            break;
        }
    }
    world.push(Event::Reported(Reported { digest }));
    world
}
