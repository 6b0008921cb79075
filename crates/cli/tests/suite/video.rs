//! `rlx video`: the episodes that `rlx eval` plays, in files that players can open.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::project::{Project, RLX};

/// The names in a folder, sorted.
fn names(project: &Project, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(project.path(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The returns, lengths and seeds that a video reports.
fn episodes(report: &Value) -> Vec<(u64, f64, u64)> {
    let episode = |episode: &Value| {
        (
            episode["seed"].as_u64().unwrap(),
            episode["return"].as_f64().unwrap(),
            episode["length"].as_u64().unwrap(),
        )
    };
    report["episodes"].as_array().unwrap().iter().map(episode).collect()
}

#[test]
fn a_video_shows_the_episodes_that_an_evaluation_plays() {
    let project = Project::trained();
    for (video, eval) in [("", ""), (" --sampled", " --stochastic"), (" --seed 77", " --seed 77")] {
        let line = format!("video tiny_001 --episodes 3 --max-steps 2 --overlay{video} --json");
        let report = project.rlx(&line).expect(0).json();
        // More episodes at once must not change those that are shown.
        let played = project.rlx(&format!("eval tiny_001:best --episodes 20{eval} --json")).expect(0).json();
        let record = &played["rows"][0];
        let expected: Vec<(u64, f64, u64)> = (0..3)
            .map(|index| {
                (
                    record["seeds"][index].as_u64().unwrap(),
                    record["returns"][index].as_f64().unwrap(),
                    record["lengths"][index].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(episodes(&report), expected);
        assert_eq!(report["step"], record["step"]);
    }
    let folder = names(&project, "runs/tiny_001/videos");
    assert_eq!(folder.len(), 3, "{folder:?}");
    assert!(folder[0].starts_with("step_") && folder[0].ends_with("_20000.mp4"), "{folder:?}");
    assert!(folder[1].ends_with("_20000_sampled.mp4") && folder[2].ends_with("_77.mp4"), "{folder:?}");
}

#[test]
fn videos_are_files_of_their_kind_and_the_same_each_time() {
    let project = Project::trained();
    for (name, magic, at) in [("a.mp4", &b"ftyp"[..], 4), ("a.gif", &b"GIF89a"[..], 0)] {
        let options = "--episodes 2 --max-steps 12 --overlay --json";
        let report = project.rlx(&format!("video tiny_001 {options} --output {name}")).expect(0).json();
        let bytes = std::fs::read(project.path(name)).unwrap();
        assert_eq!(&bytes[at..at + magic.len()], magic);
        assert_eq!(report["bytes"], bytes.len());
        // Each state of two times twelve steps, and each end for a second of fifty frames.
        assert_eq!((&report["frames"], &report["frames_per_second"]), (&124.into(), &50.into()));
        assert_eq!((&report["width"], &report["height"]), (&600.into(), &400.into()));
        assert_eq!(report["cut"], false);
        project.rlx(&format!("video tiny_001:best {options} --output again_{name}")).expect(0);
        assert_eq!(bytes, std::fs::read(project.path(&format!("again_{name}"))).unwrap());
    }
    let plain = project.rlx("video tiny_001 --max-steps 3").expect(0);
    assert!(plain.stdout.trim_end().ends_with(".mp4") && plain.stdout.lines().count() == 1);
    assert!(plain.stderr.contains("tiny_001 at step") && plain.stderr.contains("20000"), "{}", plain.stderr);
}

#[test]
fn best_worst_and_grids() {
    let project = Project::trained();
    let report =
        project.rlx("video tiny_001 --best-and-worst --sampled --max-steps 5 --json").expect(0).json();
    let played = project.rlx("eval tiny_001:best --episodes 20 --stochastic --json").expect(0).json()["rows"]
        [0]
    .clone();
    let returns: Vec<f64> =
        played["returns"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let extreme = |pick: fn(f64, f64) -> f64| returns.iter().copied().reduce(pick).unwrap();
    assert_eq!(report["played"], 20);
    let shown = episodes(&report);
    assert_eq!((shown[0].1, shown[1].1), (extreme(f64::max), extreme(f64::min)));
    assert_eq!(report["episodes"][0]["label"], "best of 20");
    assert_eq!(report["episodes"][1]["label"], "worst of 20");

    let report = project.rlx("video tiny_001 --grid 5 --max-steps 4 --json").expect(0).json();
    assert_eq!(report["episodes"].as_array().unwrap().len(), 5);
    assert_eq!((&report["width"], &report["height"]), (&1200.into(), &532.into()));
    assert_eq!(names(&project, "runs/tiny_001/videos").len(), 2);

    let cut = project.rlx("video tiny_001 --episodes 3 --max-seconds 0.1 --fps 20").expect(0);
    assert!(cut.stderr.contains("warning: the video was cut off after 0.1 s"), "{}", cut.stderr);
    assert!(cut.stderr.contains("2 episodes are not shown"), "{}", cut.stderr);
}

#[test]
fn of_several_seeds_the_best_is_shown() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=3").expect(0);
    let played = project.rlx("info tiny_001 --json").expect(0).json();
    let scores: Vec<f64> = played["seeds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seed| seed["best"]["score"].as_f64().unwrap())
        .collect();
    let report = project.rlx("video tiny_001 --max-steps 3 --json").expect(0).json();
    let seed = report["training_seed"].as_u64().unwrap() as usize;
    assert!(scores.iter().all(|score| *score <= scores[seed]), "{scores:?}: {seed}");
    assert!(report["notes"][0].as_str().unwrap().starts_with("tiny_001 has 3 seeds; using seed"));
    assert!(report["file"].as_str().unwrap().contains(&format!("/seeds/{seed}/videos/")));
    let latest = project.rlx("video tiny_001:latest --max-steps 3 --json").expect(0).json();
    assert_eq!((&latest["training_seed"], &latest["step"]), (&report["training_seed"], &2048.into()));
    let named = project.rlx("video tiny_001:1 --max-steps 3 --json").expect(0).json();
    assert_eq!(named["training_seed"], 1);
}

/// What ffprobe reports about the only stream of a file.
fn probed(project: &Project, file: &str) -> Value {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-count_frames", "-show_streams", "-of", "json"]);
    let output = command.arg(project.path(file)).output().expect("ffprobe is installed for the tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{file}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["streams"].as_array().unwrap().len(), 1);
    answer["streams"][0].clone()
}

#[test]
fn ffprobe_accepts_mp4_and_gif() {
    let project = Project::trained();
    for (name, codec) in [("clip.mp4", "h264"), ("clip.gif", "gif")] {
        let line = format!("video tiny_001 --max-steps 10 --fps 20 --size 320x214 --output {name} --json");
        let report = project.rlx(&line).expect(0).json();
        let stream = probed(&project, name);
        assert_eq!(stream["codec_name"], codec);
        assert_eq!((&stream["width"], &stream["height"]), (&320.into(), &214.into()));
        if codec == "h264" {
            assert_eq!(stream["nb_read_frames"], report["frames"].to_string());
            assert_eq!(stream["r_frame_rate"], "20/1");
        }
        let seconds: f64 = stream["duration"].as_str().unwrap().parse().unwrap();
        assert!((seconds - report["seconds"].as_f64().unwrap()).abs() < 0.051, "{name}: {seconds}");
    }
}

#[test]
fn what_cannot_be_filmed_is_said() {
    let project = Project::trained();
    std::fs::create_dir(project.path("folder.mp4")).unwrap();
    let mut told = Vec::new();
    for line in [
        "video",
        "video nothing",
        "video tiny_001:step_77",
        "video tiny_001 --output clip.avi",
        "video tiny_001 --output clip",
        "video tiny_001 --output missing/clip.mp4",
        "video tiny_001 --output folder.mp4",
        "video tiny_001 --size 601x400",
        "video tiny_001 --size 10x10",
        "video tiny_001 --size 99999x99999",
        "video tiny_001 --size large",
        "video tiny_001 --grid 64 --size 100x100",
        "video tiny_001 --episodes 0",
        "video tiny_001 --grid 0",
        "video tiny_001 --grid 65",
        "video tiny_001 --grid 4 --best-and-worst",
        "video tiny_001 --fps 0",
        "video tiny_001 --max-steps 0",
        "video tiny_001 --max-seconds 0",
        "video tiny_001 --max-seconds nan",
    ] {
        told.push(project.rlx(line).expect(2).shown());
    }
    insta::assert_snapshot!(told.join("\n\n"));
    assert_eq!(names(&project, "runs/tiny_001/videos"), Vec::<String>::new());
    assert!(!project.path("clip.avi").exists() && !project.path("missing").exists());
    // A gif may have odd sides.
    project.rlx("video tiny_001 --size 151x101 --max-steps 3 --output odd.gif").expect(0);
}

#[test]
fn a_run_without_checkpoints_cannot_be_filmed() {
    let project = Project::trained();
    for entry in std::fs::read_dir(project.path("runs/tiny_001/checkpoints")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() { std::fs::remove_file(path) } else { std::fs::remove_dir_all(path) }.unwrap();
    }
    let refused = project.rlx("video tiny_001").expect(2);
    assert!(refused.stderr.contains("no checkpoint best"), "{}", refused.stderr);
}

#[test]
fn an_interrupted_video_leaves_no_file() {
    let project = Project::trained();
    let mut command = project.interruptible();
    // Frames so large and so many that the signal arrives between two of them.
    command.args("video tiny_001 --grid 64 --size 3840x2160 --fps 30".split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("frame 1 of "), "{first}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert_eq!(rest.last().unwrap(), "error: interrupted; no video was written");
    assert_eq!(names(&project, "runs/tiny_001/videos"), Vec::<String>::new());
}

#[test]
fn a_video_of_a_run_that_is_removed_meanwhile_does_not_bring_it_back() {
    let project = Project::trained();
    let mut command = project.command(RLX);
    command.args("video tiny_001 --grid 4 --size 1920x1080".split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("frame 1 of "), "{first}");
    project.rlx("rm tiny_001 --yes").expect(0);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(74), "{rest:?}");
    assert!(!names(&project, "runs").iter().any(|name| name.starts_with("tiny")));
}
