//! The cards of a report: verdicts, changes, diagnoses.

use std::collections::BTreeSet;

use rlxp_analyze::verdict::Answer;
use rlxp_types::text::{grouped, report_number};

use crate::context::Context;
use crate::insight::compare::{CompareReport, Comparison, Judgement, NoVerdict};
use crate::insight::diagnose::{Answer as RuleAnswer, Diagnosis, RuleSet, Severity, diagnose_loaded};
use crate::insight::run_data::{Group, RunData, load_seeds};
use crate::select::RunSeeds;

use super::MOST_CARDS;
use super::page::{ChangeCard, DiagnosisCard, FindingCard, Tone, VerdictCard};
use crate::html::Table;

/// Up to this many runs are all diagnosed.
const MOST_DIAGNOSED: usize = 12;

/// The word of a verdict.
pub(super) fn word_of(comparison: &Comparison) -> &'static str {
    match comparison.judgement.verdict().map(|verdict| verdict.verdict) {
        Some(Answer::Better) => "Better",
        Some(Answer::Worse) => "Worse",
        Some(Answer::CannotTell) => "Cannot tell",
        None => why_not(&comparison.judgement),
    }
}

/// One card for each of the first comparisons.
pub(super) fn verdicts(report: &CompareReport) -> Vec<VerdictCard> {
    let reference = report.groups.first().map_or("A", |group| group.label.as_str());
    let card = |comparison: &Comparison| {
        let answer = comparison.judgement.verdict().map(|verdict| verdict.verdict);
        let tone = match answer {
            Some(Answer::Better) => Tone::Good,
            Some(Answer::Worse) => Tone::Bad,
            Some(Answer::CannotTell) | None => Tone::Open,
        };
        let word = word_of(comparison);
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
    report.comparisons.iter().take(MOST_CARDS).map(card).collect()
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
    report.comparisons.iter().take(MOST_CARDS).map(card).collect()
}

/// The diagnosis of every run, or of the first run of the first groups where there are many; runs that can't be
/// diagnosed are listed.
pub(super) fn diagnoses(
    context: &Context,
    groups: &[Group],
    left_out: &mut Vec<String>,
) -> Vec<DiagnosisCard> {
    let mut seen = BTreeSet::new();
    let all: Vec<&RunData> = groups
        .iter()
        .flat_map(|group| &group.runs)
        .filter(|run| seen.insert(run.run.path().to_owned()))
        .collect();
    let chosen = if all.len() <= MOST_DIAGNOSED {
        all.clone()
    } else {
        groups.iter().filter_map(|group| group.runs.first()).take(MOST_CARDS + 1).collect()
    };
    if chosen.len() < all.len() {
        left_out.push(format!(
            "diagnoses of {} of {} runs: the first of each of the first groups",
            chosen.len(),
            all.len()
        ));
    }
    let mut cards: Vec<DiagnosisCard> = Vec::new();
    for run in chosen {
        // Rules look at every metric; the charts need only a few.
        let seeds = run.seeds.iter().map(|seed| seed.seed).collect();
        let chosen = RunSeeds { run: run.run.clone(), seeds: Some(seeds) };
        let diagnosed = load_seeds(context, &chosen, &|_, _| true)
            .and_then(|whole| diagnose_loaded(&whole, RuleSet::built_in()));
        match diagnosed {
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
