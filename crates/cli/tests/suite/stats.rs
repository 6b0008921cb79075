//! Verdicts on scores from any source.

use crate::project::Project;

/// Ten seeds around `mean`.
fn ten_scores(mean: f64) -> String {
    let spread = [-1.5, -1.0, -0.6, -0.3, -0.1, 0.1, 0.3, 0.6, 1.0, 1.5];
    spread.map(|distance| format!("{}\n", mean + distance)).concat()
}

#[test]
fn better_worse_and_cannot_tell() {
    let project = Project::new();
    project.write("low.csv", &ten_scores(10.0));
    project.write("high.csv", &ten_scores(14.0));
    project.write("few.csv", "10\n14\n");
    let answer = |line: &str| {
        let said = project.rlx(&format!("stats compare {line} --json")).expect(0).json();
        (said["verdict"].as_str().unwrap().to_owned(), said["reason"].as_str().map(str::to_owned))
    };
    assert_eq!(answer("--a low.csv --b high.csv"), ("better".into(), None));
    assert_eq!(answer("--a high.csv --b low.csv"), ("worse".into(), None));
    assert_eq!(answer("--a low.csv --b high.csv --lower"), ("worse".into(), None));
    assert_eq!(answer("--a few.csv --b high.csv").1.as_deref(), Some("too_few_seeds"));
    assert_eq!(answer("--a low.csv --b low.csv").0, "cannot_tell");
    let shown = project.rlx("stats compare --a low.csv --b high.csv").expect(0);
    insta::assert_snapshot!(shown.stdout);
}

#[test]
fn bad_scores_are_named() {
    let project = Project::new();
    project.write("words.csv", "1\ntwo\n");
    project.write("empty.csv", "");
    project.write("fine.csv", "1\n2\n");
    for (line, part) in [
        ("stats compare --a nothing.csv --b fine.csv", "nothing.csv"),
        ("stats compare --a words.csv --b fine.csv", "words.csv: line 2, column 1: \"two\" is not a number"),
        ("stats compare --a fine.csv --b empty.csv", "empty.csv: the file has no scores"),
        ("stats compare --a fine.csv --b fine.csv --column x", "no header"),
        ("stats power", "expected --effect"),
        ("stats power --effect -1", "--effect"),
        ("stats power --seeds 1", "at least 2"),
        ("stats power --seeds 5 --power 2", "--power is 2"),
    ] {
        let failed = project.rlx(line).expect(2);
        assert!(failed.stderr.contains(part), "{line}: {}", failed.stderr);
    }
}

#[test]
fn power_gives_the_known_numbers_of_seeds() {
    let project = Project::new();
    // Two-sided 5 %, power 80 %: the textbook table of the two-sample t test.
    for (effect, seeds) in [("0.5", 64), ("1.0", 17), ("2.0", 6)] {
        let report = project.rlx(&format!("stats power --effect {effect} --json")).expect(0).json();
        assert_eq!(report["seeds"], seeds, "{effect}");
    }
    let report = project.rlx("stats power --seeds 10 --json").expect(0).json();
    assert!((report["effect"].as_f64().unwrap() - 1.3249).abs() < 1e-3, "{report}");
}

#[test]
fn csv_files_are_read_as_other_programs_write_them() {
    let project = Project::new();
    let rows = |from: f64| -> String {
        (0..6).map(|seed| format!("\"run {seed}, first\",{}\r\n", from + f64::from(seed))).collect()
    };
    project.write("low.csv", &format!("\u{feff}name,score\r\n{}", rows(10.0)));
    project.write("high.csv", &format!("# a note\nname,score\n{}", rows(100.0)));
    let verdict =
        project.rlx("stats compare --a low.csv --b high.csv --column score --json").expect(0).json();
    assert_eq!(
        (&verdict["verdict"], &verdict["n_a"], &verdict["a"]["mean"]),
        (&"better".into(), &6.into(), &12.5.into())
    );
    for (text, complaint) in [
        ("name,score\na,1\nb\n", "wrong.csv: line 3 has 1 field, but line 1 has 2"),
        ("name,score\na,1\nb,2,3\n", "wrong.csv: line 3 has 3 fields, but line 1 has 2"),
        ("name,score\na,1\nb,much\n", "wrong.csv: line 3, column 2: \"much\" is not a number"),
        ("name,score\na,1\nb,\"2", "wrong.csv: line 3: unterminated quoted field"),
    ] {
        project.write("wrong.csv", text);
        let refused = project.rlx("stats compare --a wrong.csv --b high.csv --column score").expect(2);
        assert!(refused.stderr.contains(complaint), "{}", refused.stderr);
    }
}
