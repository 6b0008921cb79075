//! Comparing runs, from the command line to the exit code.

use crate::project::Project;

/// `tiny_001` and `tiny_002`, five seeds each; the second hardly learns.
fn two_runs() -> Project {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=5").expect(0);
    project.rlx("train tiny.yaml --set seeds=5 --set algo.learning_rate=1e-9 --tag slow").expect(0);
    project
}

#[test]
fn a_comparison_says_what_changed_and_what_came_of_it() {
    let project = two_runs();
    let shown = project.rlx("compare tiny_001 tiny_002 --minimum-effect 100000").expect(0).shown();
    assert!(shown.contains("B beats A with probability"), "{shown}");
    // Numbers that differ from machine to machine and have no distinguishing form.
    let varies = ["  timing/", "  train/clip_fraction", "  Typical difference "];
    let lines = shown.lines().filter(|line| !varies.iter().any(|start| line.starts_with(start)));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    let report = project.rlx("compare tiny_001 tag:slow --json").expect(0).json();
    assert_eq!(report["comparisons"][0]["changes"]["config"][0]["key"], "algo.learning_rate");
    assert_eq!(report["comparisons"][0]["changes"]["config"][0]["b"], "1.0e-9");
    assert_eq!(report["verdict"], report["comparisons"][0]["verdict"]);
    assert_eq!(report["groups"][1]["seeds"].as_array().unwrap().len(), 5);
}

#[test]
fn exit_codes_are_for_those_who_ask() {
    let project = two_runs();
    project.rlx("train tiny.yaml --set env.id=Acrobot-v1").expect(0);
    let same = "compare tiny_001 tiny_001";
    project.rlx(same).expect(0);
    project.rlx(&format!("{same} --exit-code")).expect(3);
    let other = "compare tiny_001 tiny_003";
    let refused = project.rlx(other).expect(0);
    assert!(refused.stdout.contains("No verdict: A and B are not comparable."), "{}", refused.stdout);
    assert!(refused.stdout.contains("env.id is CartPole-v1 in A and Acrobot-v1 in B."), "{}", refused.stdout);
    project.rlx(&format!("{other} --exit-code")).expect(3);
    let forced = project.rlx(&format!("{other} --force --exit-code")).expect(1);
    assert!(forced.stdout.contains("Forced, although the groups are not comparable"), "{}", forced.stdout);
    // Lower scores are better: entropy falls in the run that learns.
    project.rlx("compare tiny_002 tiny_001 --metric entropy --lower --exit-code").expect(0);
}

#[test]
fn more_seeds_are_a_command_away() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set algo.learning_rate=1e-9").expect(0);
    let asked = project.rlx("compare tiny_001 tiny_002").expect(0);
    let commands: Vec<&str> = asked.stderr.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    assert_eq!(commands.len(), 2, "{}", asked.stderr);
    for command in commands {
        project.shell(command).expect(0);
    }
    let report = project.rlx("compare tiny_001+tiny_003 tiny_002+tiny_004 --json").expect(0).json();
    assert_eq!((&report["comparisons"][0]["n_a"], &report["comparisons"][0]["n_b"]), (&5.into(), &5.into()));
    assert_ne!(report["reason"], "too_few_seeds");
    let folded =
        project.rlx("compare tiny_001+tiny_002 tiny_003+tiny_004 --group-by config --json").expect(0).json();
    assert_eq!(folded["groups"][0]["runs"][1]["name"], "tiny_003", "{folded}");
}

#[test]
fn wrong_questions_are_answered_with_help() {
    let project = two_runs();
    for (line, code, part) in [
        ("compare", 2, "required"),
        ("compare tiny_001", 2, "at least two"),
        ("compare tiny_001 tiny_009", 2, "tiny_009"),
        ("compare tiny_001 tag:none", 2, "no run has the tag"),
        ("compare tiny_001 tiny_002 --score eval", 2, "rlx eval --run tiny_001"),
        ("compare tiny_001 tiny_002 --metric entropi", 2, "train/entropy"),
        ("compare tiny_001 tiny_002 --score eval --metric entropy", 2, "drop --metric"),
        ("compare tiny_001 tiny_002 --minimum-effect=-1", 2, "not negative"),
    ] {
        let failed = project.rlx(line).expect(code);
        assert!(failed.stderr.contains(part), "{line}: {}", failed.stderr);
    }
}

#[test]
fn four_groups_have_their_own_letters_everywhere() {
    let project = Project::trained();
    for rate in ["1e-9", "0.01", "0.1"] {
        project.rlx(&format!("train tiny.yaml --set algo.learning_rate={rate}")).expect(0);
    }
    let words = "tiny_001 tiny_002 tiny_003 tiny_004";
    let shown = project.rlx(&format!("compare {words}")).expect(0).stdout;
    let report = project.rlx(&format!("compare {words} --json")).expect(0).json();
    project.rlx(&format!("report {words} --no-videos --output report.html")).expect(0);
    let html = std::fs::read_to_string(project.path("report.html")).unwrap();
    let scores: Vec<f64> = (1..4).map(|index| report["groups"][index]["iqm"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "the best comes first: {scores:?}");
    assert_eq!(report["groups"][0]["also"], "tiny_001");
    for (index, letter) in ["B", "C", "D"].into_iter().enumerate() {
        let label = report["groups"][index + 1]["label"].as_str().unwrap();
        assert!(label.starts_with("learning_rate="), "{label}");
        let headline = format!(
            "Cannot tell whether {letter} is better or worse than A (1 seed of A vs. 1 of {letter})."
        );
        assert!(shown.contains(&format!("\n{headline}\n")), "{headline}\n{shown}");
        let comparison = &report["comparisons"][index];
        assert_eq!((&comparison["group"], &comparison["label"]), (&letter.into(), &label.into()));
        assert_eq!(comparison["statements"][0], headline.as_str());
        assert!(html.contains(&headline), "{headline}");
        let question = format!("Is {label} ({letter}) better than learning_rate=0.001 (A)?");
        assert!(html.contains(&question), "{label}");
        assert!(html.contains(&format!("<th>{letter}: {label}</th>")), "{label}");
        // A comparison names no other group.
        let others: Vec<String> = ["B", "C", "D"]
            .iter()
            .filter(|other| **other != letter)
            .map(|other| format!(" {other} "))
            .collect();
        for statement in comparison["statements"].as_array().unwrap() {
            let statement = format!(" {} ", statement.as_str().unwrap());
            assert!(!others.iter().any(|other| statement.contains(other)), "{letter}: {statement}");
        }
    }
}

#[test]
fn a_diff_is_what_changed_and_nothing_else() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set threads=1 --set run_name=same").expect(0);
    project.rlx("train tiny.yaml --set algo.learning_rate=0.01 --set seed=3").expect(0);
    let same = project.rlx("diff tiny_001 same_001 --exit-code").expect(0);
    assert_eq!(same.stdout, "  nothing: same config, code and seeds\n");
    let shown = project.rlx("diff tiny_001 tiny_002").expect(0).stdout;
    for part in ["tiny_001", "algo.learning_rate  0.001", "0.01", "seeds"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("verdict") && !shown.contains("threads"), "{shown}");
    project.rlx("diff tiny_001 tiny_002 --exit-code").expect(1);
    let report = project.rlx("diff tiny_001 tiny_002 --json").expect(0).json();
    assert_eq!((&report["schema"], &report["same"]), (&"rlx.diff/1".into(), &false.into()));
    let change = serde_json::json!([{"key": "algo.learning_rate", "a": "0.001", "b": "0.01"}]);
    assert_eq!(report["config"], change);
    assert_eq!(report["seeds"], serde_json::json!({"a": "0", "b": "3", "same": false}));
    project.rlx("diff tiny_001 nothing").expect(2);
    project.rlx("diff tiny_001").expect(2);
    // Nothing is remembered: a diff is not a look at a question.
    assert!(!project.path("analysis/questions.jsonl").exists());
}

#[test]
fn a_training_that_started_or_stopped_elsewhere_is_another_one() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --from tiny_001").expect(0);
    project.rlx("train tiny.yaml --stop-at 1").expect(0);
    project.rlx("train tiny.yaml").expect(0);
    let seeds = |group: &str| -> Vec<u64> {
        let report = project.rlx(&format!("compare {group} tiny_001 --json --force")).expect(0).json();
        let seeds = report["groups"][0]["seeds"].as_array().unwrap();
        seeds.iter().map(|seed| seed["seed"].as_u64().unwrap_or_else(|| seed.as_u64().unwrap())).collect()
    };
    assert_eq!(seeds("tiny_001+tiny_004").len(), 1, "the same training twice");
    assert_eq!(seeds("tiny_001+tiny_002").len(), 2, "one has other weights at its start");
    assert_eq!(seeds("tiny_001+tiny_003").len(), 2, "one stopped at a return");
}

#[test]
fn asking_again_is_remembered_and_a_report_takes_no_look() {
    let project = two_runs();
    let question = "compare tiny_001 tiny_002 --minimum-effect 100000";
    let looks = || std::fs::read_to_string(project.path("analysis/questions.jsonl")).unwrap_or_default();
    project.rlx("report tiny_001 tiny_002 --no-videos --output report.html").expect(0);
    assert_eq!(looks(), "");
    let html = std::fs::read_to_string(project.path("report.html")).unwrap();
    assert!(html.contains("This look is not recorded; `rlx compare` records it."), "{html}");
    let first = project.rlx(&format!("{question} --json")).expect(0).json();
    let look = &first["comparisons"][0]["look"];
    assert_eq!(
        (&look["number"], &look["planned"], &look["level"], &look["recorded"]),
        (&1.into(), &2.into(), &0.0125.into(), &true.into())
    );
    assert_eq!(project.rlx(&format!("{question} --json")).expect(0).json(), first);
    assert_eq!(looks().lines().count(), 1);
    let other = project.rlx(&format!("{question} --looks 1")).expect(2);
    assert!(other.stderr.contains("2 looks for A and B"), "{}", other.stderr);
    project.rlx("compare tiny_001 tiny_002 --looks 9").expect(2);
    // Half of the seeds are not the same look, and less than what was looked at.
    project.rlx("train tiny.yaml").expect(0);
    let few = project.rlx("compare tiny_003 tiny_002 --minimum-effect 100000").expect(0).shown();
    assert!(few.contains("so these numbers are descriptive"), "{few}");
    assert_eq!(looks().lines().count(), 1);
}

#[test]
fn the_random_return_is_on_record_and_no_part_of_what_is_reproduced() {
    let project = Project::trained();
    let path = project.path("runs/tiny_001/metadata.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let random = metadata["random_return"].as_f64().unwrap();
    // CartPole without learning: about 20 steps.
    assert!((10.0..40.0).contains(&random), "{random}");
    project.rlx("reproduce tiny_001").expect(0);
    // As in a run of an older version.
    metadata.as_object_mut().unwrap().remove("random_return");
    std::fs::write(&path, metadata.to_string()).unwrap();
    project.rlx("reproduce tiny_001").expect(0);
    project.rlx("compare tiny_001 tiny_001").expect(0);
}

#[test]
fn seeds_of_one_run_have_headings_of_their_own() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=2").expect(0);
    let shown = project.rlx("diff tiny_001:0 tiny_001:1").expect(0).stdout;
    let heading: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heading, ["tiny_001:0", "tiny_001:1"], "{shown}");
}

#[test]
fn a_run_and_its_extension_are_compared_where_they_overlap() {
    let project = Project::trained();
    project.rlx("resume tiny_001 --total-timesteps 4096").expect(0);
    let shown = project.rlx("compare tiny_001 tiny_002").expect(0);
    assert!(
        shown.stdout.lines().any(|line| line.trim_start().starts_with("eval/mean_return ")),
        "{}",
        shown.stdout
    );
    assert!(
        shown.stdout.contains("train: mean over the preceding 10% of the shared steps"),
        "{}",
        shown.stdout
    );
    assert!(shown.stderr.contains("tiny_002 extends tiny_001: its curve includes"), "{}", shown.stderr);
    let both = project.rlx("analyze tiny_001+tiny_002").expect(0);
    let note = "tiny_001: seed 0 counts once, as tiny_002 continues the same training";
    assert_eq!(both.stderr.matches(note).count(), 1, "{}", both.stderr);
    assert_eq!(project.rlx("summarize").expect(0).stderr.matches(note).count(), 1);
    // The best checkpoint of the whole training may be in the run that was extended.
    let best = std::fs::read_link(project.path("runs/tiny_001/checkpoints/best")).unwrap();
    let best = best.to_str().unwrap();
    let metrics = std::fs::read_to_string(project.path("runs/tiny_001/metrics.jsonl")).unwrap();
    let raised = metrics.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["kind"] == "eval" && format!("step_{}", record["step"]) == best {
            record["values"]["mean_return"] = 499.0.into();
        }
        format!("{record}\n")
    });
    project.write("runs/tiny_001/metrics.jsonl", &raised.collect::<String>());
    let told = project.rlx("analyze tiny_002").expect(0).stdout;
    assert!(told.contains(&format!("runs/tiny_001/checkpoints/{best}")), "{told}");
}
