//! Files larger than memory, and endless lines.

use super::edit::{manifest, sparse, text};
use super::kinds::files;
use crate::received::attack::{Case, attack};
use crate::received::project::Base;

#[test]
fn a_terabyte_of_zeros_costs_neither_time_nor_memory() {
    let cases = files().into_iter().map(|place| {
        Case::new(Base::Alone, format!("{place} is a terabyte long"), move |to| sparse(&to.run(&place)))
    });
    attack(cases.collect());
}

/// The manifest has the same length, so that the length alone doesn't reveal it.
#[test]
fn a_terabyte_that_the_manifest_announces_is_not_read() {
    let tensors = ["model", "state"].map(|which| {
        Case::new(Base::Alone, format!("{which} is a terabyte long and the manifest says so"), move |to| {
            for step in ["step_64", "step_128"] {
                let checkpoint = to.run("checkpoints").join(step);
                if checkpoint.is_dir() {
                    sparse(&checkpoint.join(format!("{which}.safetensors")));
                    manifest(&checkpoint, &format!("/{which}/size"), &(1_u64 << 40).to_string());
                }
            }
        })
    });
    let metrics = Case::new(Base::Alone, "metrics are a terabyte long and the manifest says so", |to| {
        sparse(&to.run("metrics.jsonl"));
        for step in ["step_64", "step_128"] {
            manifest(&to.run("checkpoints").join(step), "/metrics/length", &(1_u64 << 40).to_string());
        }
    });
    attack(tensors.into_iter().chain([metrics]).collect());
}

#[test]
fn a_line_without_end_costs_neither_time_nor_memory() {
    const LONG: usize = 40 << 20;
    let one = Case::new(Base::Alone, "metrics end in a line of 40 MB", |to| {
        text(&to.run("metrics.jsonl"), |text| format!("{text}{{\"kind\":\"{}", "a".repeat(LONG)));
    });
    let brackets = Case::new(Base::Alone, "metrics begin with a line of 4 MB of brackets", |to| {
        text(&to.run("metrics.jsonl"), |text| format!("{}\n{text}", "[".repeat(LONG / 10)));
    });
    let lines = Case::new(Base::Alone, "metrics are a million empty lines", |to| {
        text(&to.run("metrics.jsonl"), |text| format!("{text}{}", "\n".repeat(1_000_000)));
    });
    attack(vec![one, brackets, lines]);
}

#[test]
fn ten_thousand_entries_are_read_in_time() {
    const MANY: usize = 10_000;
    let many = |folder: &'static str, name: fn(usize) -> String| {
        Case::new(Base::Alone, format!("{folder} has {MANY} entries"), move |to| {
            std::fs::create_dir_all(to.run(folder)).unwrap();
            for number in 0..MANY {
                drop(std::fs::File::create(to.run(folder).join(name(number + 1000))).unwrap());
            }
        })
    };
    attack(vec![many("eval", |number| format!("step_{number}.json"))]);
}
