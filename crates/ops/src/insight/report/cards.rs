//! The cards of a report: verdicts, changes, diagnoses, pictures.

use rlxp_analyze::verdict::Answer;
use rlxp_draw::chart::{ScoreChart, ScoreGroup};
use rlxp_types::text::{grouped, report_number};

use crate::insight::compare::{CompareReport, Comparison, Judgement, NoVerdict};
use crate::insight::diagnose::{Answer as RuleAnswer, Diagnosis, RuleSet, Severity, diagnose_loaded};
use crate::insight::plot::{PlotOptions, figure};
use crate::insight::run_data::Group;

use super::html::Table;
use super::page::{ChangeCard, DiagnosisCard, FindingCard, Picture, Tone, VerdictCard};

/// One card per comparison.
pub(super) fn verdicts(report: &CompareReport) -> Vec<VerdictCard> {
    let reference = report.groups.first().map_or("A", |group| group.label.as_str());
    let card = |comparison: &Comparison| {
        let answer = comparison.judgement.verdict().map(|verdict| verdict.verdict);
        let (tone, word) = match answer {
            Some(Answer::Better) => (Tone::Good, "Better"),
            Some(Answer::Worse) => (Tone::Bad, "Worse"),
            Some(Answer::CannotTell) => (Tone::Open, "Cannot tell"),
            None => (Tone::Open, why_not(&comparison.judgement)),
        };
        VerdictCard {
            tone,
            word: if comparison.forced { format!("{word} (forced)") } else { word.to_owned() },
            question: format!(
                "Is {} ({}) better than {reference} (A)? Score: {}.",
                comparison.label, comparison.group, report.score.what
            ),
            statements: comparison.judgement.statements().to_vec(),
        }
    };
    report.comparisons.iter().map(card).collect()
}

fn why_not(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Unjudged(none) if none.reason == NoVerdict::MissingScores => "No scores",
        Judgement::Unjudged(none) if none.reason == NoVerdict::Unfinished => "Unfinished",
        _ => "Not comparable",
    }
}

/// What is known about a group that is not compared.
pub(super) fn without_comparison(groups: &[Group]) -> Vec<VerdictCard> {
    let card = |group: &Group| {
        let scores: Vec<f64> = group
            .seeds()
            .filter_map(|(_, seed)| seed.series("eval", rlxp_store::MEAN_RETURN)?.last())
            .map(|(_, value)| value)
            .filter(|value| value.is_finite())
            .collect();
        let seeds = group.seeds().count();
        let mut statements = Vec::new();
        if scores.is_empty() {
            statements.push("No seed has an evaluation yet.".to_owned());
        } else {
            let (low, high) = scores.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| {
                (low.min(*score), high.max(*score))
            });
            statements.push(format!(
                "Last evaluation (seeds with one: {} of {seeds}): interquartile mean {}, lowest {}, highest {}.",
                scores.len(),
                report_number(rlxp_analyze::aggregate::iqm(&scores)),
                report_number(low),
                report_number(high)
            ));
        }
        if seeds == 1 {
            statements.push("One seed says little about this config: it may have been lucky.".to_owned());
        }
        statements.push("A verdict needs a second run to compare with.".to_owned());
        let question = format!("What did {} reach?", group.label);
        VerdictCard { tone: Tone::Open, word: "No comparison".to_owned(), question, statements }
    };
    groups.iter().map(card).collect()
}

/// What changed between the reference and each group.
pub(super) fn changes(report: &CompareReport) -> Vec<ChangeCard> {
    let reference = report.groups.first().map_or("A", |group| group.label.as_str());
    let card = |comparison: &Comparison| {
        let (a, b) = (format!("A: {reference}"), format!("{}: {}", comparison.group, comparison.label));
        let head = |what: &str| Table { head: vec![what.to_owned(), a.clone(), b.clone()], rows: Vec::new() };
        let mut config = head("config key");
        for change in &comparison.changes.config {
            config.row([change.key.clone(), change.a.clone(), change.b.clone()]);
        }
        let mut code = head("");
        for change in &comparison.changes.code {
            code.row([change.what.to_owned(), change.a.clone(), change.b.clone()]);
        }
        let seeds = &comparison.changes.seeds;
        let mut notes = vec![if seeds.same {
            format!("Both used the seeds {}.", seeds.a)
        } else {
            format!("Seeds of A: {}; of {}: {}.", seeds.a, comparison.group, seeds.b)
        }];
        notes.extend(comparison.changes.notes.iter().cloned());
        notes.extend(
            comparison.not_comparable.iter().map(|difference| difference.sentence(&comparison.label)),
        );
        ChangeCard { title: format!("From {reference} to {}", comparison.label), config, code, notes }
    };
    report.comparisons.iter().map(card).collect()
}

/// The diagnosis of every run; runs that can't be diagnosed are listed.
pub(super) fn diagnoses(groups: &[Group], left_out: &mut Vec<String>) -> Vec<DiagnosisCard> {
    let mut cards: Vec<DiagnosisCard> = Vec::new();
    for run in groups.iter().flat_map(|group| &group.runs) {
        if cards.iter().any(|card| card.run == run.name) {
            continue;
        }
        match diagnose_loaded(run, RuleSet::built_in()) {
            Ok(diagnosis) => cards.push(diagnosis_card(&diagnosis)),
            Err(failure) => left_out.push(format!("no diagnosis of {}: {}", run.name, failure.message)),
        }
    }
    cards
}

fn diagnosis_card(diagnosis: &Diagnosis) -> DiagnosisCard {
    let findings = diagnosis.answers.findings();
    let count = |wanted: fn(&RuleAnswer) -> bool| {
        diagnosis.answers.outcomes.iter().filter(|outcome| wanted(&outcome.answer)).count()
    };
    let clear = count(|answer| matches!(answer, RuleAnswer::Clear { .. }));
    let lacking = count(|answer| matches!(answer, RuleAnswer::NotEnoughData { .. }));
    let had = if lacking == 1 { "rule had" } else { "rules had" };
    let summary = format!(
        "{} of {} rules found a problem, {clear} passed, {lacking} {had} too little data (rule set v{}).",
        findings.len(),
        diagnosis.answers.outcomes.len(),
        diagnosis.answers.rules_version
    );
    let cards = findings.iter().map(|(outcome, finding)| {
        let mut evidence = Table::new(&["metric", "seed", "steps", "value", "threshold"]);
        for citation in &finding.evidence {
            evidence.row([
                citation.metric.clone(),
                citation.seed.map_or_else(|| "all".to_owned(), |seed| seed.to_string()),
                format!("{} to {}", grouped(citation.from_step), grouped(citation.to_step)),
                report_number(citation.value),
                citation.threshold.map_or_else(|| "–".to_owned(), report_number),
            ]);
        }
        FindingCard {
            severity: finding.severity,
            rule: outcome.rule.clone(),
            title: outcome.title.clone(),
            sentence: finding.sentence.clone(),
            meaning: finding.meaning.clone(),
            evidence,
            next: finding.next.clone(),
        }
    });
    DiagnosisCard { run: diagnosis.run.clone(), findings: cards.collect(), summary }
}

/// Number of errors and warnings.
pub(super) fn count(cards: &[DiagnosisCard]) -> (usize, usize) {
    let of = |severity| {
        cards.iter().flat_map(|card| &card.findings).filter(|finding| finding.severity == severity).count()
    };
    (of(Severity::Error), of(Severity::Warning))
}

/// Metrics that get a chart, in order; a run that lacks one has no such chart.
const CHARTS: [&str; 3] = ["eval/mean_return", "train/mean_return", "train/entropy"];

/// Learning curves, and one dot per seed for the scores that were judged.
pub(super) fn pictures(
    groups: &[Group],
    comparison: Option<&CompareReport>,
    left_out: &mut Vec<String>,
) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for metric in CHARTS {
        let options = PlotOptions {
            metric: Some(metric.to_owned()),
            width: 960.0,
            height: 460.0,
            ..PlotOptions::default()
        };
        match figure(groups, &options) {
            // The chart itself explains lines and bands.
            Ok(made) => {
                pictures.push(Picture { scene: made.chart.to_scene(), caption: made.report.notes.join(" ") });
            }
            Err(failure) => left_out.push(format!("no chart of {metric}: {}", failure.message)),
        }
    }
    if let Some(report) = comparison {
        pictures.insert(pictures.len().min(1), score_picture(report));
    }
    pictures
}

fn score_picture(report: &CompareReport) -> Picture {
    let group = |group: &crate::insight::compare::GroupReport| {
        let scores: Vec<f64> = group.seeds.iter().filter_map(|seed| seed.score).collect();
        let failed = group.seeds.len() - scores.len();
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        ScoreGroup {
            label: group.label.clone(),
            detail: format!("{} seed{}", group.seeds.len(), if group.seeds.len() == 1 { "" } else { "s" }),
            // A failed seed has no score: its cross is drawn at the lowest one.
            failed: vec![if lowest.is_finite() { lowest } else { 0.0 }; failed],
            scores,
            value: group.iqm,
            interval: None,
        }
    };
    let chart = ScoreChart {
        title: "Score of each seed".to_owned(),
        caption: report.score.what.clone(),
        label: report.score.metric.clone(),
        groups: report.groups.iter().map(group).collect(),
        references: Vec::new(),
        notes: Vec::new(),
        width: 960.0,
        height: 0.0,
    };
    let caption =
        "One dot per seed; the mark is the interquartile mean; a cross is a seed that failed.".to_owned();
    Picture { scene: chart.to_scene(), caption }
}
