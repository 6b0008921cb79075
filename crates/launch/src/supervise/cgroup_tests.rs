//! Control groups on imitated files: what is written to and read from each version.

use super::*;

const LIMITS: Limits =
    Limits { wall_clock: 1, cpu_time: 1, memory: 4096, processes: 5, disk: 1, output: 1, silence: None };

/// A folder that behaves like a group that was just created: the files exist.
fn group(version: Version, files: &[(&str, &str)]) -> (tempfile::TempDir, Group) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        RealFs.write_new(&folder.path().join(name), content.as_bytes()).unwrap();
    }
    let group = Group { folder: folder.path().to_owned(), version };
    (folder, group)
}

fn content(folder: &tempfile::TempDir, name: &str) -> String {
    RealFs.read_text(&folder.path().join(name), SMALL).unwrap()
}

#[test]
fn limits_are_written_and_counts_are_read_in_both_versions() {
    let (one, first) = group(
        Version::One,
        &[
            ("memory.limit_in_bytes", ""),
            ("memory.max_usage_in_bytes", "4000\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        ],
    );
    first.limit_memory(4096).unwrap();
    assert_eq!(content(&one, "memory.limit_in_bytes"), "4096");
    let (two, second) = group(
        Version::Two,
        &[
            ("memory.max", ""),
            ("memory.swap.max", ""),
            ("memory.current", "3000\n"),
            ("memory.events", "low 0\nhigh 0\nmax 9\noom 0\noom_kill 0\noom_group_kill 0\n"),
        ],
    );
    second.limit_memory(4096).unwrap();
    assert_eq!((content(&two, "memory.max"), content(&two, "memory.swap.max")), ("4096".into(), "0".into()));
    let look =
        |group| Groups { memory: Some(group), processes: None, processor: None, missing: Vec::new() }.look();
    let counted = look(first);
    assert_eq!((counted.memory, counted.was_out_of_memory), (Some(4096), true), "all that there was");
    let counted = look(second);
    assert_eq!((counted.memory, counted.was_out_of_memory), (Some(3000), false));
}

#[test]
fn processes_are_counted_without_our_own_and_a_refusal_is_seen() {
    let (_folder, group) = group(
        Version::One,
        &[("pids.current", "7\n"), ("pids.events", "max 3\n"), ("cpuacct.usage", "1500000000\n")],
    );
    let again = Group { folder: group.folder.clone(), version: group.version };
    let groups = Groups { memory: None, processes: Some(group), processor: Some(again), missing: Vec::new() };
    let counted = groups.look();
    assert_eq!((counted.processes, counted.was_refused, counted.cpu_time), (Some(5), true, Some(1.5)));
    assert_eq!(groups.join().len(), 1);
}

#[test]
fn what_can_not_be_made_leaves_nothing_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    // A plain folder: a group can be "created", but there is no file for the limit.
    let place = Candidate {
        version: Version::One,
        folder: folder.path().to_owned(),
        controllers: vec!["memory".to_owned()],
        ours: Ok(()),
    };
    let refused = Candidate { ours: Err("it belongs to another user".to_owned()), ..place.clone() };
    let groups = Groups::make_in(&[place], "rlx-a", &LIMITS);
    assert!(groups.memory.is_none() && RealFs.list(folder.path()).unwrap().is_empty());
    let mut mechanisms = Mechanisms::default();
    groups.describe(&mut mechanisms);
    assert_eq!(mechanisms.memory.as_deref(), Some("polling"));
    assert!(mechanisms.missing["memory cgroup"].contains("memory.limit_in_bytes"), "{mechanisms:?}");
    assert_eq!(mechanisms.missing["process cgroup"], "no pids controller available");
    let groups = Groups::make_in(&[refused], "rlx-a", &LIMITS);
    assert_eq!(groups.missing[0].1, "it belongs to another user");
}

#[test]
fn names_are_plain_and_keep_their_end() {
    assert_eq!(group_name("c1-r2-smoke-7-1", "train"), "rlx-c1-r2-smoke-7-1-train");
    assert_eq!(group_name("../a b/ü", "x"), "rlx-..-a-b---x");
    let long = group_name(&"k".repeat(400), "train");
    assert!(long.len() < 255 && long.ends_with("k-train"));
}
