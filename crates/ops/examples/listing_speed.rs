//! How long `rlx ls` takes over many runs whose configs all differ: builds them in a new folder under the one given,
//! then times listings without and with config columns. With a program as third argument, `rlx ls` is timed too,
//! started anew each time.
//!
//! `cargo run --release -p rlxp-ops --example listing_speed -- 10000 /tmp [target/release/rlx]`
#![expect(clippy::print_stdout, reason = "it reports its measurements")]
#![expect(clippy::disallowed_methods, reason = "it lays out folders as copying does")]
#![expect(clippy::disallowed_types, reason = "it starts the program that it times")]

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rlxp_ops::context::{Context, UserFolders};
use rlxp_ops::insight::list::{ListRequest, Sort, list};
use rlxp_ops::select::condition::{Condition, Key};
use rlxp_spec::{Known, Source, load, to_snapshot};
use rlxp_store::{End, Index, Metadata, NewRun, Outcome, Project, TakeOver};
use rlxp_types::RunName;

const ROUNDS: usize = 9;
const NOW: &str = "2026-01-02T03:04:05.000Z";
const CONDITION: &str = "algo.gamma>=0.9";
const COLUMNS: [&str; 5] = ["name", "algo.gamma", "algo.learning_rate", "policy.hidden_sizes", "score"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let folder = tempfile::tempdir_in(arguments.next().ok_or("a folder is needed")?)?;
    let context = Context {
        folder: folder.path().to_owned(),
        folder_is_root: true,
        user: UserFolders::default(),
        ..Context::real(None)?
    };
    let project = Project::at(context.fs.clone(), context.machine.clone(), folder.path());
    make(&project, count)?;
    Command::new("sync").status()?;
    // Changes of the last two seconds are not trusted by the index.
    std::thread::sleep(Duration::from_secs(3));
    let plain = ListRequest::default();
    let with_columns = ListRequest {
        conditions: vec![Condition::parse(CONDITION)?],
        sort: Sort::parse("-algo.learning_rate", false)?,
        columns: COLUMNS.iter().map(|key| Key::parse(key)).collect::<Result<_, _>>()?,
        ..ListRequest::default()
    };
    let listed = |request: &ListRequest| -> Result<(), Box<dyn Error>> {
        (list(&context, request)?.found == count).then_some(()).ok_or("every run is listed".into())
    };
    std::fs::remove_file(Index::path(&project))?;
    report("rebuild", 1, || listed(&with_columns))?;
    report("list", ROUNDS, || listed(&plain))?;
    report("list with config columns", ROUNDS, || listed(&with_columns))?;
    if let Some(program) = arguments.next() {
        let (columns, root) = (COLUMNS.join(","), folder.path().display().to_string());
        let config = ["--where", CONDITION, "--sort", "-algo.learning_rate", "--columns", &columns];
        for (name, more) in [("rlx ls", &[][..]), ("rlx ls with config columns", &config[..])] {
            for (name, limit) in [(name.to_owned(), "20"), (format!("{name}, all printed"), "1000000")] {
                report(&name, ROUNDS, || {
                    let words = [&["ls", "--root", &root, "--limit", limit], more].concat();
                    let status = Command::new(&program).args(words).stdout(Stdio::null()).status()?;
                    status.success().then_some(()).ok_or("rlx ls works".into())
                })?;
            }
        }
    }
    Ok(())
}

fn report(
    name: &str,
    rounds: usize,
    mut work: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut times: Vec<Duration> = Vec::new();
    let busy = processor_time()?;
    for _ in 0..rounds {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    let busy = (processor_time()? - busy) / rounds as u32;
    times.sort_unstable();
    let (median, slowest) = (times[rounds / 2], times[rounds - 1]);
    println!("{name}: median {median:.1?}, slowest {slowest:.1?}, processor {busy:.1?} on average");
    Ok(())
}

/// How long this process, with the programs it has waited for, has been on a processor.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(')').next().unwrap_or_default();
    // User and system time of this process and of its children, in hundredths of a second.
    let ticks = after_name.split_whitespace().skip(11).take(4).map(str::parse::<u64>);
    Ok(Duration::from_millis(10 * ticks.sum::<Result<u64, _>>()?))
}

/// A completed run, and copies of it with configs of their own.
fn make(project: &Project, count: usize) -> Result<(), Box<dyn Error>> {
    let run = project.create_run(NewRun {
        name: RunName::parse("speed")?,
        config_snapshot: snapshot(1)?,
        metadata: Metadata::new(NOW, "CartPole-v1", "ppo", &[0], 200_000),
    })?;
    let claim = run.claim(NOW, TakeOver::WhenProvenGone)?;
    claim.end(&End { exit_code: Some(0), steps: Some(200_000), ..End::new(Outcome::Completed, NOW) })?;
    for number in 2..=count {
        let place = project.runs_dir().join(format!("speed_{number:03}"));
        copy_folder(run.path(), &place)?;
        std::fs::write(place.join(rlxp_store::CONFIG_FILE), snapshot(number)?)?;
    }
    Ok(())
}

fn snapshot(number: usize) -> Result<String, Box<dyn Error>> {
    let share = number as f64 / 1e6;
    let text = format!(
        "{{run_name: speed, seed: {number}, env: {{id: CartPole-v1}}, algo: {{gamma: {}, learning_rate: {}}}}}",
        0.95 + share,
        1e-3 - share / 20.0,
    );
    let known = Known { env_ids: &["CartPole-v1"], cores: 2 };
    let loaded = load(&Source::new("speed.yaml", text), &[], &known).map_err(|_| "the config is fine")?;
    Ok(to_snapshot(&loaded.config))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
