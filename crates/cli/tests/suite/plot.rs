//! What `rlx plot` draws, writes, notes and refuses.

use serde_json::Value;

use crate::project::{Project, RLX};

/// Metrics of one seed: (step, evaluated return) with a training record each.
fn metrics(points: &[(u64, f64)]) -> String {
    let mut text = String::new();
    for (index, (step, value)) in points.iter().enumerate() {
        let value = if value.is_finite() { value.to_string() } else { format!("\"{value}\"") };
        let (seq, wall) = (2 * index, 1000.0 + index as f64 * 90.0);
        let episodes = (index + 1) * 10;
        text.push_str(&format!(
            "{{\"seq\":{seq},\"step\":{step},\"wall\":{wall},\"kind\":\"train\",\
             \"values\":{{\"episodes\":{episodes},\"policy_loss\":0.5,\"mean_return\":{value}}}}}\n\
             {{\"seq\":{},\"step\":{step},\"wall\":{wall},\"kind\":\"eval\",\
             \"values\":{{\"mean_return\":{value}}}}}\n",
            seq + 1
        ));
    }
    text
}

/// A run of several seeds whose metrics are these.
fn project_with(seeds: &[&[(u64, f64)]]) -> Project {
    let project = Project::new();
    project.rlx(&format!("train tiny.yaml --set seeds={}", seeds.len())).expect(0);
    for (seed, points) in seeds.iter().enumerate() {
        project.write(&format!("runs/tiny_001/seeds/{seed}/metrics.jsonl"), &metrics(points));
    }
    project
}

fn report(project: &Project, line: &str) -> Value {
    project.rlx(&format!("plot {line} --json")).expect(0).json()
}

/// All notes, joined.
fn notes(report: &Value) -> String {
    report["notes"].as_array().unwrap().iter().map(|note| format!("{}\n", note.as_str().unwrap())).collect()
}

#[test]
fn a_run_is_shown_and_written_where_it_belongs() {
    let project = Project::trained();
    let ran = project.rlx("plot @last").expect(0);
    assert!(
        ran.stdout.contains("Evaluation return, CartPole-v1") && ran.stdout.contains('┤'),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("wrote runs/tiny_001/plots/eval_mean_return.svg\n"), "{}", ran.stdout);
    let path = project.path("runs/tiny_001/plots/eval_mean_return.svg");
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("@font-face"));
    assert!(svg.contains("One seed: seed-to-seed variation is unknown") && svg.contains(">tiny_001<"));
    project.rlx("plot @last").expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), svg, "the same run gives the same bytes");
    // The record is unchanged.
    project.rlx("reproduce tiny_001").expect(0);
    project.rlx("train tiny.yaml").expect(0);
    let several = project.rlx("plot tiny_001 tiny_002").expect(0);
    assert!(several.stdout.ends_with("wrote analysis/eval_mean_return_tiny_001_tiny_002.svg\n"));
    let ran = project.rlx("plot @last --terminal --metric entropy").expect(0);
    assert!(!ran.stdout.contains("wrote") && ran.stdout.contains("entropy in training"), "{}", ran.stdout);
}

#[test]
fn the_ending_of_the_file_decides_what_is_written() {
    let project = Project::trained();
    let ran = project.rlx("plot @last -o pictures/curve.png --width 400 --height 300 --scale 1.5").expect(0);
    assert_eq!(ran.stdout, "wrote pictures/curve.png\n");
    let png = std::fs::read(project.path("pictures/curve.png")).unwrap();
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((&png[1..4], side(16), side(20)), (&b"PNG"[..], 600, 450));
    let refused = project.rlx("plot @last -o curve.pdf").expect(2);
    assert!(refused.stderr.contains("hint: --output curve.svg"), "{}", refused.stderr);
    project.rlx("plot @last -o big.png --width 8000 --scale 10").expect(2);
    project.rlx("plot @last --baseline high=NaN").expect(2);
}

#[test]
fn curves_are_what_the_seeds_give() {
    let project = project_with(&[
        &[(1024, 10.0), (2048, 40.0)],
        &[(1024, 20.0), (2048, 50.0)],
        &[(1024, 60.0), (2048, 90.0)],
    ]);
    let drawn = report(&project, "tiny_001 --terminal");
    let group = &drawn["groups"][0];
    assert_eq!((&group["seeds"], &group["band"]), (&3.into(), &"range".into()));
    let point = |index: usize, field: &str| group["points"][index][field].as_f64().unwrap();
    assert_eq!(
        (point(0, "x"), point(0, "value"), point(0, "low"), point(0, "high")),
        (1024.0, 30.0, 10.0, 60.0)
    );
    assert_eq!((point(1, "x"), point(1, "value")), (2048.0, 60.0));
    assert_eq!(drawn["written"], Value::Null);
    let meaning = drawn["meaning"].as_str().unwrap();
    assert!(meaning.contains("lowest to highest seed") && meaning.contains("Not smoothed"), "{meaning}");
    let smoothed = report(&project, "tiny_001 --terminal --smooth 2");
    assert_eq!(smoothed["groups"][0]["points"][1]["value"], 45.0);
    assert!(smoothed["meaning"].as_str().unwrap().contains("Smoothed over 2 points per seed"));
    for (axis, last) in [("time", 90.0), ("episodes", 20.0), ("updates", 2.0)] {
        let drawn = report(&project, &format!("tiny_001 --terminal --x {axis}"));
        assert_eq!(drawn["groups"][0]["points"][1]["x"], last, "{axis}");
    }
    let five =
        project_with(&[&[(1024, 1.0)], &[(1024, 2.0)], &[(1024, 3.0)], &[(1024, 4.0)], &[(1024, 9.0)]]);
    let drawn = report(&five, "tiny_001 --terminal");
    assert_eq!(
        (&drawn["groups"][0]["band"], &drawn["groups"][0]["points"][0]["value"]),
        (&"bootstrap".into(), &3.0.into())
    );
    assert!(drawn["meaning"].as_str().unwrap().contains("95% bootstrap interval of the IQM, descriptive"));
}

#[test]
fn what_is_missing_is_noted() {
    let project = project_with(&[
        &[(1024, 10.0), (1500, f64::NAN), (2048, 40.0)],
        &[(1024, 20.0), (1500, f64::INFINITY), (2048, 50.0)],
        &[(1024, 60.0)],
        &[],
    ]);
    // The last line of a seed is truncated.
    let path = project.path("runs/tiny_001/seeds/1/metrics.jsonl");
    let torn = format!("{}{{\"seq\":9,\"st", std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, torn).unwrap();
    let drawn = report(&project, "tiny_001 -o gaps.svg");
    let said = notes(&drawn);
    for part in [
        "seed 3 has no eval/mean_return",
        "2 values are NaN or infinite and left as gaps",
        "the line ends at 1024 steps, with its shortest seed; the longest ends at 2048",
        "ends in the middle of a record",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    assert_eq!(drawn["groups"][0]["points"].as_array().unwrap().len(), 1);
}

#[test]
fn failed_seeds_end_with_a_cross_and_count_until_there() {
    let project =
        project_with(&[&[(1024, 10.0), (2048, 40.0)], &[(1024, 20.0), (2048, 60.0)], &[(1024, 90.0)]]);
    let end = project.path("runs/tiny_001/attempts/1/end.json");
    let text = std::fs::read_to_string(&end).unwrap().replace("\"completed\"", "\"failed\"");
    std::fs::write(&end, text.replace("\"reason\": null", "\"reason\": \"diverged: x\"")).unwrap();
    let drawn = report(&project, "tiny_001 -o failed.svg");
    let group = &drawn["groups"][0];
    assert_eq!((&group["seeds"], &group["failed"]), (&3.into(), &1.into()));
    let values: Vec<(f64, u64)> = group["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| (point["value"].as_f64().unwrap(), point["seeds"].as_u64().unwrap()))
        .collect();
    assert_eq!(values, [(40.0, 3), (50.0, 2)]);
    assert!(notes(&drawn).contains("one seed failed at 1024 steps (×)"), "{}", notes(&drawn));
    let svg = std::fs::read_to_string(project.path("failed.svg")).unwrap();
    assert!(svg.contains("n = 3, 1 failed"));
}

#[test]
fn what_can_not_be_drawn_is_said() {
    let project = Project::trained();
    let unknown = project.rlx("plot @last --metric entrpy").expect(2);
    assert!(unknown.stderr.contains("tiny_001 has no metric entrpy; available: eval/"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("hint: rlx plot @last --metric entropy\n"), "{}", unknown.stderr);
    project.rlx("plot nothing").expect(2);
    project.rlx("plot tag:nothing").expect(2);
    project.rlx("plot").expect(2);
    project.write("runs/tiny_001/metrics.jsonl", &metrics(&[(1024, -5.0), (2048, -3.0)]));
    let below = project.rlx("plot tiny_001 --log-y").expect(2);
    assert!(below.stderr.contains("no value of eval/mean_return is above zero"), "{}", below.stderr);
    project.write("runs/tiny_001/metrics.jsonl", &metrics(&[(1024, f64::NAN)]));
    let nothing = project.rlx("plot tiny_001").expect(2);
    assert!(nothing.stderr.contains("eval/mean_return has no finite values"), "{}", nothing.stderr);
    project.write("runs/tiny_001/metrics.jsonl", "");
    let empty = project.rlx("plot tiny_001").expect(2);
    let said = "error: tiny_001 has nothing to plot: metrics.jsonl is empty\nhint: rlx info tiny_001\n";
    assert_eq!(empty.stderr, said);
}

#[test]
fn groups_fold_by_config_and_equal_trainings_count_once() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set seed=1").expect(0);
    project.rlx("train tiny.yaml --set algo.learning_rate=0.003").expect(0);
    project.rlx("train tiny.yaml").expect(0);
    let all = "tiny_001 tiny_002 tiny_003 tiny_004";
    let folded = report(&project, &format!("{all} --group-by config --terminal"));
    let groups: Vec<(&str, u64)> = folded["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["label"].as_str().unwrap(), group["seeds"].as_u64().unwrap()))
        .collect();
    // The best comes first.
    assert_eq!(
        groups.iter().copied().collect::<std::collections::BTreeSet<_>>(),
        [("learning_rate=0.001", 2), ("learning_rate=0.003", 1)].into()
    );
    let last = |index: usize| folded["groups"][index]["points"][1]["value"].as_f64().unwrap();
    assert!(last(0) >= last(1), "{groups:?}");
    assert!(notes(&folded).contains("1 seed of tiny_004 repeats another one exactly"), "{}", notes(&folded));
    let apart = report(&project, &format!("{} --group-by none --terminal", all.replace(' ', "+")));
    assert_eq!(apart["groups"].as_array().unwrap().len(), 4);
    let mixed = report(&project, "tiny_001+tiny_003 --terminal");
    assert!(notes(&mixed).contains("combines runs with 2 different configs"), "{}", notes(&mixed));
}

#[test]
fn two_hundred_runs_at_once() {
    let project = Project::trained();
    project
        .shell("cd runs && for i in $(seq 2 200); do cp -r tiny_001 tiny_$(printf %03d $i); done")
        .expect(0);
    let whole = std::fs::read_to_string(project.path("runs/tiny_001/metrics.jsonl")).unwrap();
    for run in 2..=200 {
        // Every run is different.
        let changed = whole.replace("\"mean_return\":", &format!("\"mean_return\":{run}"));
        project.write(&format!("runs/tiny_{run:03}/metrics.jsonl"), &changed);
    }
    let names: Vec<String> = (1..=200).map(|run| format!("tiny_{run:03}")).collect();
    let folded = report(&project, &names.join(" "));
    assert_eq!(folded["groups"].as_array().unwrap().len(), 1);
    assert_eq!(folded["groups"][0]["seeds"], 200);
    assert!(notes(&folded).contains("200 groups are too many to distinguish"), "{}", notes(&folded));
    let apart = report(&project, &format!("{} --group-by none -o all.svg", names.join(" ")));
    assert_eq!(apart["groups"].as_array().unwrap().len(), 200);
    let svg = std::fs::read_to_string(project.path("all.svg")).unwrap();
    assert!(svg.contains(">and 186 more<") && svg.contains("only the best 14 are coloured"));
    let best = report(&project, &format!("{} --group-by none --best 3 --terminal", names.join(" ")));
    assert_eq!(best["groups"].as_array().unwrap().len(), 3);
    assert_eq!(best["best_of"], serde_json::json!({"shown": 3, "left_out": 197}));
    assert!(notes(&best).contains("3 of 200 groups are shown; 197 left out by --best."), "{}", notes(&best));
}

#[test]
fn an_extended_run_is_one_curve_with_what_it_extends() {
    let project = Project::trained();
    project.rlx("resume tiny_001 --total-timesteps 4096").expect(0);
    project.rlx("resume tiny_002 --total-timesteps 6144").expect(0);
    let steps = |drawn: &Value| -> Vec<Vec<u64>> {
        let groups = drawn["groups"].as_array().unwrap().iter();
        let points = groups.map(|group| group["points"].as_array().unwrap().iter());
        points.map(|points| points.map(|point| point["x"].as_f64().unwrap() as u64).collect()).collect()
    };
    let joined = report(&project, "tiny_003 --terminal");
    assert_eq!(steps(&joined), [[1024, 2048, 3072, 4096, 5120, 6144]]);
    assert!(notes(&joined).contains("tiny_003 extends tiny_002 and tiny_001"), "{}", notes(&joined));
    let apart = report(&project, "tiny_003 --terminal --no-join");
    assert_eq!((steps(&apart), notes(&apart)), (vec![vec![5120, 6144]], String::new()));
    // In one curve, a parent counts once; as another curve, it is drawn.
    let together = report(&project, "tiny_001+tiny_003 --terminal");
    assert_eq!((together["groups"][0]["seeds"].as_u64(), steps(&together)[0].len()), (Some(1), 6));
    assert_eq!(steps(&report(&project, "tiny_001 tiny_003 --terminal")).len(), 2);
    // A missing parent is not an error.
    project.rlx("rm tiny_001 --yes").expect(0);
    assert_eq!(steps(&report(&project, "tiny_003 --terminal"))[0].len(), 4);
}

#[test]
fn the_file_is_opened_with_the_desktops_program() {
    let project = Project::trained();
    // Another process writes the programs: a file that this process has open for writing may be inherited by a program
    // that another test starts, and can't be executed as long as that runs.
    project.write("xdg-open", "#!/bin/sh\nprintf '%s' \"$1\" > \"${0%/*}/opened\"\n");
    project.write("open", "#!/bin/sh\nexec \"${0%/*}/xdg-open\" \"$1\"\n");
    project.shell("mkdir bin && cp xdg-open open bin && chmod +x bin/* && mkfifo bin/opened").expect(0);
    let ran = project
        .shell("PATH=\"$PWD/bin:$PATH\" rlx plot @last --open -o 'a b.svg' -q && timeout 20 cat bin/opened");
    assert!(ran.expect(0).stdout.ends_with("/a b.svg"));
    let output =
        project.command(RLX).args(["plot", "@last", "--open"]).env("PATH", "/nowhere").output().unwrap();
    let ran = project.ran("plot".to_owned(), &output).expect(3);
    assert!(ran.stderr.contains("eval_mean_return.svg with "), "{}", ran.stderr);
}
