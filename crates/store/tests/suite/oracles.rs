//! Log files written by the real TensorBoard and W&B packages: every series is read exactly as these packages read it.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test runs the packages and reads what they wrote itself"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use rlxp_fs::RealFs;
use rlxp_store::foreign::{Column, DigestedFile, Reading, csv, tensorboard, wandb};
use rlxp_types::Digest;
use serde_json::Value;

/// Lets the script write below `folder`; what the packages read.
fn ask(folder: &Path) -> Value {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python =
        std::env::var_os("RLX_TEST_PYTHON").map_or_else(|| workspace.join(".venv/bin/python"), PathBuf::from);
    let output = Command::new(&python)
        .arg(workspace.join("python/oracles/logs.py"))
        .arg(folder)
        .output()
        .unwrap_or_else(|problem| panic!("can't run {} ({problem}): cargo xtask setup", python.display()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "has {} tensorboard and wandb? cargo xtask setup\n{errors}",
        python.display()
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn series_are_read_as_the_real_packages_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let files = ask(folder.path());
    let files = files.as_object().unwrap();
    assert_eq!(files.len(), 4);
    for (name, file) in files {
        let path = folder.path().join(name);
        let series = file["series"].as_object().unwrap();
        let names: Vec<&str> = series.keys().map(String::as_str).collect();
        let mut progress = |_| {};
        let mut source = DigestedFile::new(&RealFs, &path, u64::MAX - 1, &mut progress);
        let readings: Vec<Reading> = match file["format"].as_str().unwrap() {
            "tensorboard" | "restarted" => tensorboard::read(&mut source, &names),
            "wandb" => wandb::read(&mut source, &names),
            _ => {
                let column = |value| Column { value, step: Some("time/total_timesteps") };
                csv::read(&mut source, &names.iter().copied().map(column).collect::<Vec<_>>())
            }
        };
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(source.finish().unwrap(), (bytes.len() as u64, Digest::hash(&bytes)), "{name}");
        assert!(series.len() > 1, "{name}: {names:?}");
        for ((series_name, expected), reading) in series.iter().zip(readings) {
            let points = reading.unwrap_or_else(|trouble| panic!("{name}, {series_name}: {trouble:?}"));
            let expected: Vec<(Option<f64>, u64)> = expected
                .as_array()
                .unwrap()
                .iter()
                .map(|point| (point[0].as_f64(), point[1].as_u64().unwrap()))
                .collect();
            let read: Vec<(Option<f64>, u64)> =
                points.iter().map(|point| (point.step, point.value.to_bits())).collect();
            let same = |ours: &(Option<f64>, u64), theirs: &(Option<f64>, u64)| {
                // Any NaN is as good as another.
                let is_nan = |bits| f64::from_bits(bits).is_nan();
                ours.0 == theirs.0 && (ours.1 == theirs.1 || is_nan(ours.1) && is_nan(theirs.1))
            };
            assert_eq!(read.len(), expected.len(), "{name}, {series_name}");
            let other = read.iter().zip(&expected).find(|(ours, theirs)| !same(ours, theirs));
            assert_eq!(other, None, "{name}, {series_name}");
        }
    }
}
