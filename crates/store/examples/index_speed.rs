//! How long a listing takes: builds runs in a folder (a temporary one, or one
//! that is named and then kept), then times a rebuild of the index from
//! nothing and listings with a warm one, in wall time and in processor time.
//!
//! `cargo run --release -p rlxp-store --example index_speed -- 10000 [FOLDER]`
#![expect(clippy::print_stdout, reason = "it reports its measurements")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rlxp_fs::{Fs, FsExt, RealFs, RealMachine, clock};
use rlxp_store::{
    Best, CheckpointFacts, End, Index, Metadata, MetricValue, MetricsPosition, NewRun, Outcome, Project,
    RunFilter, SaveReason, TakeOver,
};
use rlxp_types::RunName;

fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(10_000), |text| text.parse())?;
    let temporary = tempfile::tempdir()?;
    let kept = std::env::args().nth(2).map(PathBuf::from);
    let folder = kept.as_deref().unwrap_or(temporary.path());
    let project = Project::at(Arc::new(RealFs), Arc::new(RealMachine), folder);
    if project.run_names()?.is_empty() {
        make_one(&project)?;
        let first = project.run("speed_001");
        for number in 2..=count {
            copy_folder(first.path(), &project.runs_dir().join(format!("speed_{number:03}")))?;
        }
        // Changes of the last two seconds are not trusted by the index.
        std::thread::sleep(Duration::from_secs(3));
    }
    for round in 1..=3 {
        drop(RealFs.remove_file(&Index::path(&project)));
        measure(&project, &format!("rebuild {round}"))?;
        measure(&project, &format!("warm {round}"))?;
    }
    Ok(())
}

fn measure(project: &Project, what: &str) -> Result<(), Box<dyn Error>> {
    let (started, busy) = (clock::monotonic(), processor_time()?);
    let rows = Index::open(project).list(&RunFilter::default())?;
    let busy = processor_time()? - busy;
    println!("{what}: {} rows in {:.1?}, processor {busy:.1?}", rows.len(), started.elapsed());
    Ok(())
}

/// How long this thread has been on a processor.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let text = RealFs.read_text(Path::new("/proc/thread-self/schedstat"), 4096)?;
    let nanoseconds = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// A completed run with 200 records and a checkpoint.
fn make_one(project: &Project) -> Result<(), Box<dyn Error>> {
    let now = clock::wall_text();
    let run = project.create_run(NewRun {
        name: RunName::parse("speed")?,
        config_snapshot: "run_name: speed\n".to_owned(),
        metadata: Metadata::new(&now, "CartPole-v1", "ppo", &[0], 200_000),
    })?;
    let claim = run.claim(&now, TakeOver::WhenProvenGone)?;
    for seed in run.seed_folders()? {
        let mut metrics = seed.metrics_writer(&MetricsPosition::start())?;
        for record in 1..=200u64 {
            let values: Vec<(&str, MetricValue<'_>)> =
                ["mean_return", "policy_loss", "value_loss", "entropy"]
                    .into_iter()
                    .map(|key| (key, MetricValue::from(record as f64 / 3.0)))
                    .collect();
            metrics.append(record * 1000, clock::wall_seconds(), "train", &values)?;
        }
        let facts = CheckpointFacts {
            reason: SaveReason::Final,
            metrics: metrics.sync()?,
            best: Some(Best { step: 200_000, score: 500.0 }),
            facts: serde_json::Map::new(),
        };
        seed.checkpoints().save(200_000, &[1; 1000], &[2; 2000], &facts)?;
    }
    claim.end(&End { exit_code: Some(0), steps: Some(200_000), ..End::new(Outcome::Completed, now) })?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    RealFs.create_dir(to)?;
    for entry in RealFs.list(from)? {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        match entry.kind {
            rlxp_fs::Kind::Folder => copy_folder(&from, &to)?,
            rlxp_fs::Kind::Link => RealFs.symlink(&RealFs.read_link(&from)?, &to)?,
            _ => RealFs.create_new(&to)?.write_all(&RealFs.read(&from, 1 << 20)?)?,
        }
    }
    Ok(())
}
