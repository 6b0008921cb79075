//! Reports of ledgers that are built record by record.

mod book;

use std::collections::BTreeMap;

use rlxp_govern::documents::{CandidateKind, Phase};
use rlxp_govern::ledger::event::{Refused, Reported, Verdict};
use rlxp_govern::ledger::{Event, Ledger, read};
use rlxp_govern::machine::RunEnd;
use rlxp_spec::Source;
use rlxp_spec::document::Document as Yaml;
use rlxp_types::Digest;
use serde_json::{Value, json};

use super::{experiments, html_page, loop_files, page};
use book::{Book, Papers, story};

/// Text that Markdown, HTML and terminals would take for their own.
const EVIL: &str = "<script>alert('x')</script> | \u{1b}[31m \u{202e} `a` [b](c)\nnext\" onload=\"";

fn markdown(ledger: &Ledger) -> String {
    page::document(&Papers::new().facts(ledger)).to_markdown()
}

/// The row of a table that begins with this cell.
fn row(text: &str, start: &str) -> String {
    let start = format!("| {start} |");
    text.lines()
        .find(|line| line.starts_with(&start))
        .unwrap_or_else(|| panic!("no {start} in\n{text}"))
        .to_owned()
}

#[test]
fn every_verdict_has_its_numbers_and_their_records() {
    let story = story();
    let text = markdown(&story.book.ledger);
    let better = row(&text, &format!("#{}", story.accepted));
    for part in [
        "better (hyperparameter)",
        &format!("1/2: z 2.5 (drop -0.25, accept 2.125) on 3 vs 3 seeds, accept (#{})", story.better_look),
        "+59, better than baseline",
        &format!("reverted (#{}): falls more often", story.reverted),
        "z 2.5 is above 2.125",
    ] {
        assert!(better.contains(part), "no {part:?} in {better}");
    }
    let worse = row(&text, &format!("#{}", story.rejected));
    assert!(worse.contains("3, 2 failed") && worse.contains("worse than better"), "{worse}");
    let broken = row(&text, &format!("#{}", story.debug));
    assert!(broken.contains("debug") && broken.contains("not recorded"), "{broken}");
    assert_eq!(text.matches("| inconclusive | not recorded |").count(), 1);
    // The seed whose value is 320 cites the record of its evidence.
    let seed = text.lines().find(|line| line.contains("| 105 |")).unwrap();
    assert!(seed.ends_with(&format!("| 320 | #{} |", story.better_evidence)), "{seed}");
    let guardrail = text.lines().find(|line| line.contains("| falls |")).unwrap();
    assert!(guardrail.contains("| 0.5 | 0.125 | -0.25 | yes |"), "{guardrail}");
}

#[test]
fn budget_runs_refusals_and_folders_are_accounted_for() {
    let story = story();
    let text = markdown(&story.book.ledger);
    let state = &story.book.ledger.state;
    // Eleven runs ended, of which one was blocked and costs nothing.
    assert_eq!((state.runs.len(), state.tally.spent.runs), (13, 12));
    assert_eq!(row(&text, "runs"), "| runs | 100 | 12 | 0 | 88 |");
    let group = row(&text, "broken | 2");
    assert!(group.starts_with("| broken | 2 | 0 | 0 | 1 | 0 | 0 | 1 | 0 | 0 | 0 |"), "{group}");
    assert!(row(&text, "same | 1 | 1").starts_with("| same | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |"));
    assert!(row(&text, "worse | 3").starts_with("| worse | 3 | 1 | 1 | 0 | 1 | 0 | 0 |"));
    assert!(text.contains(&format!("| lost | it ended | #{} |", story.lost)), "{text}");
    assert_eq!(
        row(&text, &format!("#{}", story.refused)),
        format!("| #{} | validate cheat | protected | eval/run.py is protected |", story.refused)
    );
    assert!(text.contains("- ghost-r1-short-1-1"));
    assert!(text.contains("first approved in #1, before the first run (#3)."), "{text}");
    assert!(text.contains(&format!("| commit {} | yes |", "a1".repeat(20))));
    assert!(text.contains("rlx study propose"));
}

#[test]
fn the_summary_has_three_sentences() {
    let story = story();
    let papers = Papers::new();
    let [verdicts, reference, budget] = super::summary::sentences(&papers.facts(&story.book.ledger));
    assert!(verdicts.contains("1 accepted, 1 rejected, 1 inconclusive, 1 debug"), "{verdicts}");
    assert!(verdicts.contains(&format!("undone later (#{})", story.reverted)), "{verdicts}");
    assert!(
        reference.contains("baseline, the baseline, which has an interquartile mean of 251 over 3"),
        "{reference}"
    );
    assert!(budget.starts_with("12 of 100 runs are spent and 88 are left; the next step is"), "{budget}");
}

#[test]
fn the_same_ledger_gives_the_same_bytes_and_a_report_adds_nothing() {
    let mut story = story();
    let (papers, other) = (Papers::new(), Papers::new());
    let render = |papers: &Papers, ledger: &Ledger| {
        let facts = papers.facts(ledger);
        let document = page::document(&facts);
        let handoff = loop_files::handoff(&facts);
        (document.to_markdown(), html_page::render(&document), experiments::text(&facts), handoff)
    };
    let first = render(&papers, &story.book.ledger);
    assert_eq!(first, render(&other, &read(&bytes(&story.book.ledger))));
    story.book.push(Event::Reported(Reported { digest: Digest::hash(first.0.as_bytes()) }));
    assert_eq!(first, render(&papers, &story.book.ledger));
    let line = story.book.push(Event::Refused(Refused {
        what: "x".into(),
        codes: Vec::new(),
        detail: "y".into(),
        draft: None,
    }));
    let later = render(&papers, &story.book.ledger);
    assert_ne!(first, later);
    assert!(later.0.contains(&format!("| #{line} | x |")));
}

fn bytes(ledger: &Ledger) -> Vec<u8> {
    ledger.records.iter().flat_map(|record| format!("{}\n", record.line()).into_bytes()).collect()
}

#[test]
fn a_study_before_its_first_run_has_a_report() {
    let book = Book::new();
    let text = markdown(&book.ledger);
    for part in [
        "No candidate has been judged yet",
        "no baseline yet",
        "No run was started.",
        "Nothing was approved yet.",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let papers = Papers::new();
    let mut facts = papers.facts(&book.ledger);
    (facts.contract, facts.spec) = (None, None);
    let text = page::document(&facts).to_markdown();
    assert!(text.contains("contract.yaml can't be read"), "{text}");
    assert!(experiments::text(&facts).ends_with("experiments: []\n"));
    assert!(loop_files::handoff(&facts).contains("contract.yaml can't be read"));
}

#[test]
fn no_text_of_a_record_becomes_markup_or_controls_a_terminal() {
    let mut book = Book::new();
    book.approve(EVIL);
    book.validate("odd", CandidateKind::Hyperparameter, 1);
    book.run_with("odd", Phase::Confirm, 100, RunEnd::Failed, None, EVIL, None);
    book.complete("odd");
    book.judge("odd", Phase::Confirm, Verdict::Rejected, None, EVIL);
    book.push(Event::Refused(Refused {
        what: EVIL.into(),
        codes: vec![EVIL.into()],
        detail: EVIL.into(),
        draft: None,
    }));
    let mut papers = Papers::new();
    papers.contract.task.mission = EVIL.into();
    let mut facts = papers.facts(&book.ledger);
    facts.unknown_runs = vec![EVIL.into()];
    facts.next.reason = EVIL.into();
    facts.next.command = Some(format!("rlx launch '{EVIL}'"));
    let document = page::document(&facts);
    let html = html_page::render(&document);
    let body = &html[html.find("</style>").unwrap()..];
    assert!(!body.contains("<script") && !body.contains("\" onload"), "{body}");
    let fence_free = |text: &str| {
        let mut inside = false;
        let outside: Vec<&str> = text
            .lines()
            .filter(|line| {
                let is_fence = line.starts_with("```");
                inside ^= is_fence;
                !inside && !is_fence
            })
            .collect();
        outside.join("\n")
    };
    let (markdown, handoff) = (document.to_markdown(), loop_files::handoff(&facts));
    for text in [&markdown, &handoff] {
        assert!(!fence_free(text).contains("<script"), "{text}");
        assert!(!text.contains("\nnext"), "{text}");
    }
    let yaml = experiments::text(&facts);
    for text in [body, &markdown, &handoff, &yaml] {
        let hidden = |letter: char| rlxp_types::text::is_hidden(letter) && letter != '\n';
        assert!(!text.chars().any(hidden), "{text}");
    }
}

#[test]
fn every_candidate_is_an_experiment() {
    let story = story();
    let papers = Papers::new();
    let text = experiments::text(&papers.facts(&story.book.ledger));
    let document =
        Yaml::read(Source::from_bytes("experiments.yaml", text.clone().into_bytes()).unwrap()).unwrap();
    let value: &Value = document.value();
    assert_eq!(value["schema"], experiments::SCHEMA);
    let all = value["experiments"].as_array().unwrap();
    let names: Vec<&str> = all.iter().map(|one| one["candidate"].as_str().unwrap()).collect();
    assert_eq!(names, ["baseline", "better", "worse", "same", "broken"]);
    let better = &all[1];
    assert_eq!(better["verdict"]["verdict"], "accepted");
    assert_eq!(better["verdict"]["record"], story.accepted);
    assert_eq!(better["state"], "reverted");
    assert_eq!(better["looks"][0]["record"], story.better_look);
    assert_eq!(better["hypothesis"], "Updates are too large late in training");
    assert_eq!(better["changes"][0]["key"], "algo.learning_rate");
    assert_eq!(all[3]["file"], "its file has changed since it was validated");
    assert_eq!((&all[4]["revision"], &all[4]["verdict"]["verdict"]), (&json!(2), &json!("debug")));
}

#[test]
fn a_stranger_can_continue_from_the_files_of_a_loop() {
    let story = story();
    let papers = Papers::new();
    let facts = papers.facts(&story.book.ledger);
    assert_eq!(loop_files::number_of(&facts), 4);
    let handoff = loop_files::handoff(&facts);
    for part in [
        "Walk farther without falling",
        "baseline, the baseline",
        "better (algo.learning_rate 0.0003 to 0.0001; Updates are too large late in training): accepted",
        "88 runs",
        "```text\nrlx study propose\n```",
        "A person must: look at the report.",
    ] {
        assert!(handoff.contains(part), "no {part:?} in\n{handoff}");
    }
    let feedback: Value = serde_json::from_slice(&loop_files::feedback(&facts)).unwrap();
    assert_eq!((&feedback["schema"], &feedback["loop"]), (&json!("rlxp.feedback/1"), &json!(4)));
    assert_eq!(feedback["budget_left"]["runs"], 88);
    assert_eq!(feedback["verdicts"][0]["record"], story.accepted);
    assert_eq!(feedback["verdicts"][0]["reverted"], story.reverted);
    assert_eq!(feedback["verdicts"][0]["difference"], 59.0);
    assert_eq!(feedback["learned"].as_array().unwrap().len(), 4);
    let files = vec![("report.md".to_owned(), b"x".to_vec())];
    let candidates = BTreeMap::from([("better".to_owned(), Digest::hash(b"y"))]);
    let manifest: Value = serde_json::from_slice(&loop_files::manifest(&facts, &files, &candidates)).unwrap();
    assert_eq!(manifest["files"]["report.md"]["digest"], Digest::hash(b"x").to_string());
    assert_eq!(manifest["ledger"]["head"], story.book.ledger.head().to_string());
    assert_eq!(manifest["candidates"]["better"], Digest::hash(b"y").to_string());
    let runs = manifest["runs"].as_object().unwrap();
    assert!(runs.values().any(|run| run["record"] == story.lost), "{manifest}");
}
