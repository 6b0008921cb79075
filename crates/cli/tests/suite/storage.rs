//! Storage faults and kills during a save, injected by `strace`: an error is
//! reported as such, nothing that was saved is lost, and resuming ends with the
//! same bytes.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::project::RLX;
use crate::records::{assert_same_bytes, run_folders};

const CONFIG: &str = "\
run_name: fault
env: {id: CartPole-v1, num_envs: 4}
algo: {total_timesteps: 2048, rollout_steps: 64, batch_size: 128, update_epochs: 1}
policy: {hidden_sizes: [8]}
checkpoint: {save_every: 512, keep: 2}
eval: {every: 1024, episodes: 100}
";

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    std::fs::write(folder.path().join("fault.yaml"), CONFIG).unwrap();
    folder
}

fn rlx(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(RLX);
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Trains with a fault injected by strace; `what` is its `inject=` expression.
fn train_with(folder: &Path, what: &str) -> Output {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("inject={what}")]);
    command.arg(RLX).args(["train", "fault.yaml"]);
    let output = command.current_dir(folder).stdin(Stdio::null()).output();
    output.expect("this test needs strace: install it, or run `cargo xtask setup` as root")
}

fn text(output: &Output) -> String {
    format!(
        "{}{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Whatever happened, the project still works and the run can be completed.
fn check_recovery(folder: &Path, straight: &Path, round: &str) {
    let listed = rlx(folder, &["ls", "--json"]);
    assert!(listed.status.success(), "{round}: {}", text(&listed));
    for run in run_folders(folder) {
        let resumed = rlx(folder, &["resume", run.to_str().unwrap()]);
        assert!(resumed.status.success(), "{round}: {}", text(&resumed));
        assert_same_bytes(straight, &run, round);
    }
}

/// Injects the fault at call 1, 2, 3, … until nothing fails any more.
fn check_every_call(calls: &str, fault: &str, check: &dyn Fn(&Output, &str)) {
    let reference = project();
    let done = rlx(reference.path(), &["train", "fault.yaml"]);
    assert!(done.status.success(), "{}", text(&done));
    let straight = run_folders(reference.path()).remove(0);
    let mut faults = 0;
    for call in 1.. {
        let folder = project();
        let round = format!("{fault} at call {call} of {calls}");
        let output = train_with(folder.path(), &format!("{calls}:{fault}:when={call}"));
        check_recovery(folder.path(), &straight, &round);
        if output.status.success() {
            break;
        }
        faults += 1;
        check(&output, &round);
    }
    assert!(faults >= 8, "only {faults} faults were made: is it strace that failed?");
}

#[test]
fn a_failed_sync_ends_the_run_loudly() {
    check_every_call("fsync,fdatasync", "error=EIO", &|output, round| {
        assert_eq!(output.status.code(), Some(74), "{round}: {}", text(output));
        assert!(text(output).contains("error:"), "{round}: {}", text(output));
        assert!(!text(output).contains("completed"), "{round}: {}", text(output));
    });
}

#[test]
fn a_full_disk_is_named_as_such() {
    check_every_call("fsync,fdatasync", "error=ENOSPC", &|output, round| {
        assert_eq!(output.status.code(), Some(74), "{round}: {}", text(output));
        assert!(text(output).contains("free some space"), "{round}: {}", text(output));
    });
}

#[test]
fn a_kill_at_any_rename_leaves_old_or_new() {
    check_every_call("rename,renameat,renameat2", "signal=KILL", &|_, _| {});
}
