//! `kill -9` at any instant: whatever is killed, supervisor or worker, the run
//! stays readable, and resuming ends with the same bytes as never being killed.
//!
//! `RLX_KILLS` sets how often (50 by default; `cargo xtask soak` asks for 500),
//! `RLX_KILL_SEED` draws other moments.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rlxp_types::Stream;

use crate::killing::{Victim, run_and_kill};
use crate::project::RLX;
use crate::records::{assert_same_bytes, run_folders};

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
    let mut command = Command::new(RLX);
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
    let straight = run_folders(folder).remove(0);

    let (mut kills, mut compared) = (0, 0);
    while kills < wanted || compared < 5 {
        let before = run_folders(folder).len();
        let mut name: Option<String> = None;
        // Kill the same run until it completes. Each attempt gets more time, or it never would on a machine that has
        // become slower since the first run was timed.
        for tries in 0.. {
            let victim = if kills % 2 == 0 { Victim::Supervisor } else { Victim::Worker };
            let delay = whole.mul_f64(chance.uniform() * f64::from(1 + tries / 8));
            let command = match &name {
                None => rlx(folder, &["train", "kill.yaml"]),
                Some(name) => rlx(folder, &["resume", name]),
            };
            let (killed, status) = run_and_kill(command, delay, victim);
            let round = format!("kill {kills} of {victim:?} after {delay:?}, {status}");
            let all = run_folders(folder);
            assert!(all.len() <= before + 1, "{round}: more than one run was made");
            let listed = answers(folder, &["ls", "--json"]);
            let listed_count = listed["runs"].as_array().unwrap_or_else(|| panic!("{listed}")).len();
            assert_eq!(listed_count, all.len(), "{round}: every run is listed");
            if killed {
                kills += 1;
            }
            if all.len() == before {
                // Killed before the folder existed: nothing of it may be visible.
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
                assert_same_bytes(&straight, path, &format!("{round}: the resumed run differs"));
                compared += 1;
                break;
            }
        }
    }
}
