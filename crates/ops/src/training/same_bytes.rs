//! Whether two runs are the same: every checkpoint's model, every evaluation
//! made by training, and the metrics without times.

use rlxp_fs::{Fs, FsExt};
use rlxp_store::{Record, Run, SeedFolder, TIMING_KIND};
use serde::Serialize;

use crate::failure::Outcome;

/// Largest evaluation that is compared.
const CAP: u64 = 1 << 30;

/// One place where two runs differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub seed: u64,
    /// Which file, relative to the seed's folder.
    pub file: String,
    pub what: String,
}

/// Everything that differs between two runs; empty if they are the same.
pub fn differences(one: &Run, other: &Run) -> Outcome<Vec<Difference>> {
    let mut found = Vec::new();
    for (a, b) in one.seed_folders()?.iter().zip(other.seed_folders()?.iter()) {
        let mut note = |file: String, what: String| found.push(Difference { seed: a.seed(), file, what });
        compare_models(a, b, &mut note)?;
        compare_evaluations((one.fs().as_ref(), a), (other.fs().as_ref(), b), &mut note)?;
        compare_metrics(a, b, &mut note)?;
    }
    Ok(found)
}

type Note<'a> = &'a mut dyn FnMut(String, String);

/// Says what only one side has; gives what both have.
fn paired<T: PartialEq + Clone>(a: &[T], b: &[T], file: impl Fn(&T) -> String, note: Note<'_>) -> Vec<T> {
    for only in a.iter().filter(|item| !b.contains(item)) {
        note(file(only), "missing in the reproduction".into());
    }
    for only in b.iter().filter(|item| !a.contains(item)) {
        note(file(only), "missing in the original".into());
    }
    a.iter().filter(|item| b.contains(item)).cloned().collect()
}

fn compare_models(a: &SeedFolder, b: &SeedFolder, note: Note<'_>) -> Outcome<()> {
    let (first, second) = (a.checkpoints(), b.checkpoints());
    let file = |step: &u64| format!("checkpoints/step_{step}/model.safetensors");
    for step in paired(&first.steps()?, &second.steps()?, file, note) {
        let (_, one) = first.load_model(step)?;
        let (_, other) = second.load_model(step)?;
        if one != other {
            note(file(&step), "different weights".into());
        }
    }
    Ok(())
}

/// Each run is read through its own file system, which sees no other folder.
fn compare_evaluations(
    (first, a): (&dyn Fs, &SeedFolder),
    (second, b): (&dyn Fs, &SeedFolder),
    note: Note<'_>,
) -> Outcome<()> {
    // What `rlx eval` added later is not part of training.
    let names = |folder: &SeedFolder| -> Outcome<Vec<String>> {
        let all = folder.evaluations()?.into_iter().map(|evaluation| evaluation.name);
        Ok(all.filter(|name| name.starts_with("step_")).collect())
    };
    let file = |name: &String| format!("eval/{name}.json");
    for name in paired(&names(a)?, &names(b)?, file, note) {
        if first.read(&a.evaluation_path(&name)?, CAP)? != second.read(&b.evaluation_path(&name)?, CAP)? {
            note(file(&name), "different returns".into());
        }
    }
    Ok(())
}

fn compare_metrics(a: &SeedFolder, b: &SeedFolder, note: Note<'_>) -> Outcome<()> {
    let records = |folder: &SeedFolder| -> Outcome<Vec<Record>> {
        let content = folder.metrics()?;
        Ok(content.records.into_iter().filter(|record| record.kind != TIMING_KIND).collect())
    };
    let (one, other) = (records(a)?, records(b)?);
    let file = || "metrics.jsonl".to_owned();
    for (x, y) in one.iter().zip(&other) {
        if (x.seq, x.step, &x.kind) != (y.seq, y.step, &y.kind) {
            note(file(), format!("record {} has a different kind or step", x.seq));
            return Ok(());
        }
        if let Some((key, value)) =
            x.values.iter().find(|(key, value)| y.values.get(key.as_str()) != Some(value))
        {
            let instead = y.values.get(key).map_or("nothing".to_owned(), ToString::to_string);
            note(
                file(),
                format!(
                    "step {}: {key} is {value} in the original and {instead} in the reproduction",
                    x.step
                ),
            );
            return Ok(());
        }
        if x.values.len() != y.values.len() {
            note(file(), format!("step {}: the reproduction has more values", x.step));
            return Ok(());
        }
    }
    if one.len() != other.len() {
        note(
            file(),
            format!("{} records in the original and {} in the reproduction", one.len(), other.len()),
        );
    }
    Ok(())
}
