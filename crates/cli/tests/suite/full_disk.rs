//! Disks that are full or read-only: real ones, in memory, mounted in their own
//! namespace.

use crate::project::{Project, Ran};

/// Leaves room for 4, 9, 14, … more files, trains until that is used up, frees
/// space, and continues.
const FULL: &str = r#"
mount -t tmpfs -o size=64m,nr_inodes=110 none disk && cp tiny.yaml disk && cd disk && mkdir runs || exit 99
rlx train tiny.yaml --set run_name=before -q || exit 98
for free in 4 9 14 19 24; do
  i=0; while touch filler_$i 2>/dev/null; do i=$((i+1)); done
  n=0; while [ $n -lt $free ]; do rm filler_$n; n=$((n+1)); done
  rlx train tiny.yaml -q; echo "full: $?"
  rlx ls --name before --columns name,status -q
  rm filler_*
  if [ -d runs/tiny_001 ]; then
    rlx resume tiny_001 -q > /dev/null || exit 97
    rlx reproduce tiny_001 -q || exit 96
    rlx rm tiny_001 --yes -q
  fi
done
rlx reproduce before_001 -q
"#;

/// Reading works where nothing can be written, and the rest is refused.
const READ_ONLY: &str = r#"
mount -t tmpfs none disk && cp tiny.yaml disk && cd disk && mkdir runs || exit 99
rlx train tiny.yaml -q || exit 98
mount -o remount,ro none . || exit 97
for command in "ls" "info tiny_001" "tail tiny_001" "train tiny.yaml" "eval --run tiny_001 --episodes 2" \
  "tag tiny_001 new" "rm tiny_001 --yes" "reproduce tiny_001" "init demo" "resume tiny_001 --total-timesteps 4096"
do
  rlx $command > /dev/null; echo "$command: $?"
done
rlx ls --columns name,status -q
"#;

/// Runs a script where it may mount disks over `disk/`: in a user namespace,
/// or, as root, just in a mount namespace.
fn with_own_disks(project: &Project, script: &str) -> Ran {
    std::fs::create_dir(project.path("disk")).unwrap();
    let works =
        |how: &&str| project.shell(&format!("unshare {how} mount -t tmpfs none disk")).code == Some(0);
    let how = ["-Urm", "-m"].into_iter().find(works).expect(
        "this test mounts small disks of its own: allow user namespaces (unshare -Urm) or run it as root",
    );
    let output = project.command("unshare").args([how, "sh", "-c", script]).output().unwrap();
    project.ran("disk".to_owned(), &output).expect(0)
}

#[test]
fn a_full_disk_costs_no_run_and_training_goes_on_later() {
    let project = Project::new();
    let ran = with_own_disks(&project, FULL);
    let told = format!("{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.matches("full: 74").count(), 5, "{told}");
    assert_eq!(ran.stdout.matches("before_001  completed").count(), 5, "{told}");
    assert!(ran.stdout.matches("tiny_001: identical").count() >= 3, "{told}");
    assert!(ran.stdout.contains("before_001: identical"), "{told}");
    assert!(ran.stderr.contains("No space left on device"), "{told}");
}

#[test]
fn a_read_only_disk_can_be_looked_at() {
    let project = Project::new();
    let ran = with_own_disks(&project, READ_ONLY);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn a_disk_that_is_too_small_is_said_before_anything_is_written() {
    let project = Project::trained();
    let failed = project.rlx("train tiny.yaml --set algo.total_timesteps=1e12").expect(74);
    assert!(failed.stderr.contains("bytes free"), "{}", failed.stderr);
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
}

#[test]
fn a_place_that_can_not_be_written() {
    let project = Project::new();
    // Permissions don't restrict root, but a file is never a folder.
    project.rlx("init tiny.yaml/demo").expect(74);
    project.rlx("init tiny.yaml").expect(2);
    let failed = project.rlx("--root tiny.yaml/demo train ../../tiny.yaml");
    assert!(matches!(failed.code, Some(2 | 74)), "{:?} {}", failed.code, failed.stderr);
    assert!(failed.stderr.starts_with("error: "), "{}", failed.stderr);
}

#[test]
fn an_answer_that_can_not_be_written_is_an_error() {
    let project = Project::trained();
    let ran = project.shell("rlx ls > /dev/full").expect(74);
    assert!(ran.stderr.contains("can't write to stdout"), "{}", ran.stderr);
    project.shell("rlx --help > /dev/full").expect(74);
}
