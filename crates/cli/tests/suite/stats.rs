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
fn power_is_that_of_the_verdict() {
    let project = Project::new();
    // A rank test, a smallest effect of 0.2 and five seeds at least: a little more than a t test needs.
    for (effect, seeds) in [("0.5", 64..=70), ("1.0", 17..=19), ("4.0", 5..=5)] {
        let report = project.rlx(&format!("stats power --effect {effect} --json")).expect(0).json();
        assert!(seeds.contains(&report["seeds"].as_u64().unwrap()), "{effect}: {report}");
    }
    let report = project.rlx("stats power --seeds 10 --json").expect(0).json();
    assert!((1.3..1.5).contains(&report["effect"].as_f64().unwrap()), "{report}");
    let two = project.rlx("stats power --effect 1.0 --looks 2 --json").expect(0).json();
    assert!(two["seeds"].as_u64().unwrap() >= 18, "{two}");
    let none = project.rlx("stats power --effect 0.2").expect(0);
    assert!(none.stdout.starts_with("no number of seeds will settle this, because 0.2"), "{}", none.stdout);
    let few = project.rlx("stats power --seeds 4").expect(0);
    assert!(few.stdout.contains("a verdict needs at least 5"), "{}", few.stdout);
    project.write("pilot.csv", &[ten_scores(10.0), ten_scores(10.0)].concat());
    let report = project.rlx("stats power --effect 1 --pilot pilot.csv --json").expect(0).json();
    assert_eq!(report["pilot_runs"], 20);
    assert!((0.8..1.0).contains(&report["difference"].as_f64().unwrap()), "{report}");
    project.write("pilot.csv", "1\n2\n3\n");
    let failed = project.rlx("stats power --effect 1 --pilot pilot.csv").expect(2);
    assert!(failed.stderr.contains("a pilot needs at least 10"), "{}", failed.stderr);
}

/// A row for each run that a campaign asks for; `good` scores 9 more than the others.
fn trained(wanted: &serde_json::Value, good: &str) -> String {
    let mut rows = "group,seed,score\n".to_owned();
    for one in wanted.as_array().unwrap() {
        let group = one["group"].as_str().unwrap();
        for seed in one["seeds"].as_array().unwrap() {
            let noise = seed.as_u64().unwrap() * 7919 % 13;
            let score = noise + if group == good { 9 } else { 0 } + group.len() as u64 % 2;
            rows += &format!("{group},{seed},{score}\n");
        }
    }
    rows
}

#[test]
fn a_campaign_goes_from_plan_to_acceptance() {
    let project = Project::new();
    let plan =
        project.rlx("stats campaign plan wide deep slow --runs 80 --output c.json --json").expect(0).json();
    assert!(plan["plan"]["largest_runs"].as_u64().unwrap() <= 80);
    assert!(plan["plan"]["power"]["found"].as_f64().unwrap() > 0.6);
    let again = project.rlx("stats campaign plan wide deep slow --output c.json").expect(2);
    assert!(again.stderr.contains("c.json exists"), "{}", again.stderr);
    let mut step = plan;
    for _ in 0..12 {
        if step["step"] != "more_seeds" {
            break;
        }
        project.write("scores.csv", &trained(&step["wanted"], "deep"));
        step = project.rlx("stats campaign look c.json --scores scores.csv --json").expect(0).json();
    }
    assert_eq!((&step["step"], &step["look"]["candidate"]), (&"accept".into(), &"deep".into()), "{step}");
    let over = project.rlx("stats campaign look c.json --scores scores.csv").expect(2);
    assert!(over.stderr.contains("the campaign is over"), "{}", over.stderr);
}

#[test]
fn bad_campaigns_change_nothing() {
    let project = Project::new();
    project.rlx("stats campaign plan a b --output c.json").expect(0);
    let stored = || std::fs::read_to_string(project.path("c.json")).unwrap();
    let before = stored();
    project.write("part.csv", "group,seed,score\na,0,1\n");
    project.write("peek.csv", "group,seed,score\na,0,1\na,1,1\na,2,1\nb,0,1\nb,1,1\n");
    project.write("twice.csv", "group,seed,score\na,0,1\na,0,2\n");
    project.write("words.csv", "group,seed,score\na,zero,1\n");
    project.write("columns.csv", "name,score\na,1\n");
    project.write("other.json", "{}");
    for (line, part) in [
        ("look c.json --scores part.csv", "a has no score for seed 1; b has no score for seeds 0, 1"),
        ("look c.json --scores peek.csv", "seed 2 of a was not asked for"),
        ("look c.json --scores twice.csv", "line 3: seed 0 of \"a\" appears twice"),
        ("look c.json --scores words.csv", "line 2: \"zero\" is not a seed"),
        ("look c.json --scores columns.csv", "no column \"group\""),
        ("look c.json --scores gone.csv", "gone.csv"),
        ("look other.json --scores part.csv", "other.json: not a campaign"),
        ("open c.json d", "fixed by its plan"),
        ("plan a b --runs 9", "it takes at least 12"),
        ("plan a a", "two candidates are called"),
        ("plan --sequence 0", "plan for 1 to 100"),
        ("plan a --error 2", "between 0.001 and 0.2"),
    ] {
        let failed = project.rlx(&format!("stats campaign {line}")).expect(2);
        assert!(failed.stderr.contains(part), "{line}: {}", failed.stderr);
    }
    assert_eq!(stored(), before);
    // Bounds, stages and sizes follow from the plan, so an edited file is refused.
    for (from, to) in [
        ("\"accept\": ", "\"accept\": -9"),
        ("\"round\": 0", "\"round\": 7"),
        ("\"seeds\": ", "\"seeds\": 99999999999999"),
        ("\"stage\": \"screen\"", "\"stage\": \"ended\""),
    ] {
        assert!(before.contains(from), "{from}");
        project.write("edited.json", &before.replacen(from, to, 1));
        let refused = project.rlx("stats campaign look edited.json --scores part.csv").expect(2);
        assert!(refused.stderr.contains("it was edited"), "{to}: {}", refused.stderr);
    }
}

#[test]
fn an_accepted_candidate_of_a_sequence_is_topped_up_before_the_next_one() {
    let project = Project::new();
    let look = || project.rlx("stats campaign look s.json --scores s.csv --json").expect(0).json();
    let plan = project.rlx("stats campaign plan --sequence 2 --output s.json --json").expect(0).json();
    let early = project.rlx("stats campaign open s.json good").expect(2);
    let first = "the incumbent's runs come first: incumbent has no score for seeds 0 to";
    assert!(early.stderr.contains(first), "{}", early.stderr);
    project.write("s.csv", &trained(&plan["wanted"], "good"));
    assert_eq!(look()["step"], "next_candidate");
    let mut step = project.rlx("stats campaign open s.json good --json").expect(0).json();
    for _ in 0..6 {
        if step["step"] != "more_seeds" {
            break;
        }
        let early = project.rlx("stats campaign open s.json next").expect(2);
        assert!(early.stderr.contains("good is not decided yet"), "{}", early.stderr);
        project.write("s.csv", &trained(&step["wanted"], "good"));
        step = look();
    }
    assert_eq!(step["step"], "accept");
    assert_eq!(step["wanted"][0]["group"], "good");
    project.write("s.csv", &trained(&step["wanted"], "good"));
    let ready = project.rlx("stats campaign look s.json --scores s.csv").expect(0);
    assert!(ready.stdout.contains("rlx stats campaign open s.json NAME"), "{}", ready.stdout);
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
