//! `kill -9` at any instant: whatever is killed, supervisor or worker, the run
//! stays readable, and resuming ends with the same bytes as never being killed.
//!
//! `RLX_KILLS` sets how often (50 by default; `cargo xtask soak` asks for 500),
//! `RLX_KILL_SEED` draws other moments.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "the test starts and kills the program from outside"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use rlxp_fs::{RealFs, RealMachine};
use rlxp_ops::training::same_bytes::differences;
use rlxp_store::Run;
use rlxp_types::Stream;

use killing::{Victim, run_and_kill};

#[path = "received/killing.rs"]
mod killing;

/// Many saves and evaluations in little time, two seeds side by side.
const CONFIG: &str = "\
run_name: kill
seeds: 2
threads: 2
env: {id: CartPole-v1, num_envs: 4}
algo: {total_timesteps: 12288, rollout_steps: 64, batch_size: 128, update_epochs: 2}
policy: {hidden_sizes: [16, 16]}
checkpoint: {save_every: 1024, keep: 3}
eval: {every: 2048, episodes: 100}
";

fn rlx(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rlx"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn answers(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = rlx(folder, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?} said {text:?}: {error}"))
}

fn open(path: &Path) -> Run {
    Run::at(Arc::new(RealFs), Arc::new(RealMachine), path)
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder.join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect();
    found.sort();
    found
}

#[test]
fn fault_kill_loop() {
    let wanted: u32 = std::env::var("RLX_KILLS").map_or(50, |text| text.parse().unwrap());
    let seed: u64 = std::env::var("RLX_KILL_SEED").map_or(0, |text| text.parse().unwrap());
    let mut chance = Stream::new(seed, "kill", 0);
    let project = tempfile::tempdir().unwrap();
    let folder = project.path();
    std::fs::create_dir(folder.join("runs")).unwrap();
    std::fs::write(folder.join("kill.yaml"), CONFIG).unwrap();

    let begin = Instant::now();
    assert!(rlx(folder, &["train", "kill.yaml"]).status().unwrap().success());
    let whole = begin.elapsed();
    let straight = runs(folder).remove(0);

    let (mut kills, mut compared) = (0, 0);
    while kills < wanted || compared < 5 {
        let before = runs(folder).len();
        let mut name: Option<String> = None;
        // Kill the same run until it gets through. The longer that takes the more time it gets, or it never would on a
        // machine that has become slow since the first run was timed.
        for tries in 0.. {
            let victim = if kills % 2 == 0 { Victim::Supervisor } else { Victim::Worker };
            let delay = whole.mul_f64(chance.uniform() * f64::from(1 + tries / 8));
            let command = match &name {
                None => rlx(folder, &["train", "kill.yaml"]),
                Some(name) => rlx(folder, &["resume", name]),
            };
            let (killed, status) = run_and_kill(command, delay, victim);
            let round = format!("kill {kills} of {victim:?} after {delay:?}, {status}");
            let all = runs(folder);
            assert!(all.len() <= before + 1, "{round}: more than one run was made");
            let listed = answers(folder, &["ls", "--json"]);
            let listed_count = listed["runs"].as_array().unwrap_or_else(|| panic!("{listed}")).len();
            assert_eq!(listed_count, all.len(), "{round}: every run is listed");
            if killed {
                kills += 1;
            }
            if all.len() == before {
                // Killed before the folder stood: nothing of it may remain in sight.
                continue;
            }
            let path = all.last().unwrap();
            name = Some(path.file_name().unwrap().to_string_lossy().into_owned());
            let info = answers(folder, &["info", name.as_deref().unwrap(), "--json"]);
            let stands = info["status"].as_str().unwrap_or_default().to_owned();
            assert!(
                ["created", "lost", "failed", "completed"].contains(&stands.as_str()),
                "{round}: a killed run is never called {stands}"
            );
            if stands == "completed" {
                let found = differences(&open(&straight), &open(path)).unwrap();
                assert_eq!(found, [], "{round}: the resumed run differs");
                compared += 1;
                break;
            }
        }
    }
}
