//! A comparison as text: groups, what changed, curves, metrics, and at the
//! end, where the eye is, the verdict.

use rlxp_ops::below::Answer;
use rlxp_ops::insight::compare::{CompareReport, Comparison, GroupReport, Judgement, NoVerdict, how_read};
use rlxp_ops::insight::run_data::SeedState;
use rlxp_types::text::{measure, one_line};

use super::super::changed::{changed, short};
use crate::chart::{Curve, MOST_CURVES, draw_several};
use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// Groups, comparisons and warnings that are written out; JSON has all of them.
const MOST_ROWS: usize = 20;
/// Comparisons whose changes and sentences are written out.
const MOST_DETAILS: usize = 4;
/// Groups beside each other in the table of metrics.
const MOST_COLUMNS: usize = 6;

pub(super) fn answer(screen: &Screen, report: &CompareReport) {
    screen.answer(groups(screen, report));
    for comparison in report.comparisons.iter().take(MOST_DETAILS) {
        screen.answer(changes(screen, comparison));
    }
    left_off(
        screen,
        report.comparisons.len(),
        MOST_DETAILS,
        "comparisons; pass --json to see what changed in them",
    );
    if let Some(chart) = curves(report) {
        screen.answer(chart);
    }
    screen.answer(metrics(screen, report));
    if report.comparisons.len() > 1 {
        screen.answer(verdicts(screen, report));
    }
    for comparison in report.comparisons.iter().take(MOST_DETAILS) {
        screen.answer(verdict(screen, comparison));
    }
    for warning in report.warnings.iter().take(MOST_ROWS) {
        screen.warning(warning);
    }
    if report.warnings.len() > MOST_ROWS {
        screen.warning(&format!("and {} more; pass --json to see all", report.warnings.len() - MOST_ROWS));
    }
    for command in &report.next {
        screen.hint(command);
    }
}

fn left_off(screen: &Screen, count: usize, shown: usize, what: &str) {
    if count > shown {
        screen.answer(format!("  and {} more {what}\n", count - shown));
    }
}

/// One line per group: its runs, number of seeds and scores.
fn groups(screen: &Screen, report: &CompareReport) -> String {
    let mut table = Table::new([
        ("", Align::Left),
        ("group", Align::Left),
        ("runs", Align::Left),
        ("environment", Align::Left),
        ("seeds", Align::Right),
        ("failed", Align::Right),
        ("IQM", Align::Right),
        ("lowest", Align::Right),
        ("highest", Align::Right),
    ]);
    for group in report.groups.iter().take(MOST_ROWS) {
        table.row([
            group.group.clone(),
            group.label.clone(),
            runs_of(group),
            group.env.clone(),
            group.seeds.len().to_string(),
            group.seeds.iter().filter(|seed| is_lost(seed)).count().to_string(),
            format::score_or_dash(group.iqm),
            format::score_or_dash(group.lowest),
            format::score_or_dash(group.highest),
        ]);
    }
    let mut text = format!("score: {}\n", one_line(&report.score.what));
    text.push_str(&table.render("  ", |header| screen.styled(Style::Dim, header)));
    if report.groups.len() > MOST_ROWS {
        text.push_str(&format!("  and {} more groups\n", report.groups.len() - MOST_ROWS));
    }
    if let Some(best_of) = report.best_of {
        text.push_str(&format!("  {}\n", best_of.sentence()));
    }
    text
}

fn is_lost(seed: &rlxp_ops::insight::compare::SeedReport) -> bool {
    seed.score.is_none() && seed.state != SeedState::Unfinished
}

/// The other name of a group, or its runs.
fn runs_of(group: &GroupReport) -> String {
    match (&group.also, group.runs.as_slice()) {
        (Some(also), _) => short(also),
        (None, [run]) if run.name == group.label => "1 run".to_owned(),
        (None, [run]) => short(&run.name),
        (None, runs) => format!("{} runs", runs.len()),
    }
}

/// Config, code and seeds of one comparison.
fn changes(screen: &Screen, comparison: &Comparison) -> String {
    let id = comparison.group.as_str();
    let heading = screen.styled(Style::Heading, &format!("what changed from A to {id}"));
    format!("\n{heading}\n{}", changed(screen, &comparison.changes, ("A", id)))
}

/// The curves of the first groups, and how to read them.
fn curves(report: &CompareReport) -> Option<String> {
    let drawn: Vec<Curve<'_>> = report
        .curves
        .iter()
        .filter_map(|curve| Some(Curve { letter: curve.group.chars().next()?, points: &curve.points }))
        .take(MOST_CURVES)
        .collect();
    let chart = draw_several(&drawn)?;
    let metric = &report.curves.first()?.metric;
    let band = match drawn.as_slice() {
        [one] => format!("; ░ is the band of {}", one.letter),
        [one, other] => {
            format!("; ░ and ▒ are the bands of {} and {}, ▓ is where they overlap", one.letter, other.letter)
        }
        _ => String::new(),
    };
    let more = match report.curves.len().saturating_sub(MOST_CURVES) {
        0 => String::new(),
        more => format!("; {more} more groups are not drawn"),
    };
    Some(format!("\n{}, IQM over seeds{band}{more}\n{chart}", one_line(metric)))
}

/// Metrics half way and at the end of the steps that all groups have.
fn metrics(screen: &Screen, report: &CompareReport) -> String {
    if report.metrics.is_empty() {
        return "\nmetrics: no steps that all groups have\n".to_owned();
    }
    let ids: Vec<&str> = report.groups.iter().map(|group| group.group.as_str()).take(MOST_COLUMNS).collect();
    let two = report.groups.len() == 2;
    let mut headers: Vec<(String, Align)> = vec![("metric".to_owned(), Align::Left)];
    let mut column = |name: String| headers.push((name, Align::Right));
    if two {
        ids.iter().for_each(|id| column(format!("{id} halfway")));
    }
    ids.iter().for_each(|id| column(format!("{id} final")));
    if two {
        column(format!("{} - A", ids[1]));
    }
    let mut table = Table::new(headers.iter().map(|(name, align)| (name.as_str(), *align)));
    // Halfway and at the end of the shared steps.
    let places: &[usize] = if two { &[1, 3] } else { &[3] };
    let (mut shown, mut unknown) = (Vec::new(), Vec::new());
    for metric in &report.metrics {
        let known = |place: &usize| metric.groups.iter().any(|group| group.values[*place].is_some());
        let list = if places.iter().any(known) { &mut shown } else { &mut unknown };
        list.push(metric.clone());
    }
    for metric in &shown {
        let of = |id: &str| metric.groups.iter().find(|group| group.group == id);
        let value = |id: &str, place: usize| {
            of(id).and_then(|group| group.values[place]).map_or("-".to_owned(), measure)
        };
        let mut cells = vec![metric.metric.clone()];
        if two {
            cells.extend(ids.iter().map(|id| value(id, 1)));
        }
        cells.extend(ids.iter().map(|id| value(id, 3)));
        if two {
            cells.push(of(ids[1]).and_then(|group| group.differences[3]).map_or("-".to_owned(), measure));
        }
        table.row(cells);
    }
    let mut text = format!(
        "\n{}\n",
        screen.styled(Style::Heading, "metrics: IQM over seeds, at steps reached by all groups")
    );
    text.push_str(&table.render("  ", |header| screen.styled(Style::Dim, header)));
    if report.groups.len() > MOST_COLUMNS {
        text.push_str(&format!("  and {} more groups\n", report.groups.len() - MOST_COLUMNS));
    }
    for sentence in how_read(&shown, places) {
        text.push_str(&format!("  {}\n", screen.styled(Style::Dim, &sentence)));
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|metric| metric.metric.as_str()).collect();
        text.push_str(&format!("  no finite values at these steps: {}\n", one_line(&names.join(", "))));
    }
    text
}

/// Every comparison in a line.
fn verdicts(screen: &Screen, report: &CompareReport) -> String {
    let mut table = Table::new([
        ("", Align::Left),
        ("group", Align::Left),
        ("verdict", Align::Left),
        ("difference", Align::Right),
        ("interval", Align::Right),
        ("P(beats A)", Align::Right),
        ("adjusted p", Align::Right),
    ]);
    for comparison in report.comparisons.iter().take(MOST_ROWS) {
        let dash = || "-".to_owned();
        let judged = comparison.judgement.verdict();
        let interval = judged.and_then(|verdict| {
            let end = |end: Option<f64>| end.map_or("?".to_owned(), measure);
            verdict.effect.map(|_| format!("{} to {}", end(verdict.interval.low), end(verdict.interval.high)))
        });
        let chance = judged.and_then(|verdict| verdict.probability_of_improvement);
        table.row([
            comparison.group.clone(),
            comparison.label.clone(),
            word(&comparison.judgement).to_owned(),
            judged.and_then(|verdict| verdict.effect).map_or_else(dash, measure),
            interval.unwrap_or_else(dash),
            chance.map_or_else(dash, |chance| format!("{:.2}", chance.value)),
            comparison.holm.map_or_else(dash, |holm| format!("{:.4}", holm.adjusted_p)),
        ]);
    }
    let mut text = format!("\n{}\n", screen.styled(Style::Heading, "compared with A"));
    text.push_str(&table.render("  ", |header| screen.styled(Style::Dim, header)));
    if report.comparisons.len() > MOST_ROWS {
        text.push_str(&format!("  and {} more\n", report.comparisons.len() - MOST_ROWS));
    }
    text
}

fn word(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Judged(judged) => match judged.verdict.verdict {
            Answer::Better => "better",
            Answer::Worse => "worse",
            Answer::CannotTell => "cannot tell",
        },
        Judgement::Descriptive(_) => "descriptive",
        Judgement::Unjudged(none) => match none.reason {
            NoVerdict::NotComparable => "not comparable",
            NoVerdict::Unfinished => "unfinished",
            NoVerdict::MissingScores => "no scores",
            NoVerdict::SharedTrainings => "shared seeds",
            NoVerdict::LooksUnknown => "looks unknown",
        },
    }
}

fn verdict(screen: &Screen, comparison: &Comparison) -> String {
    let mut sentences = comparison.judgement.statements().iter();
    let first = sentences.next().map_or("", String::as_str);
    let style = match comparison.judgement.verdict().map(|verdict| verdict.verdict) {
        Some(Answer::Better) => Style::Good,
        Some(Answer::Worse) => Style::Error,
        _ => Style::Heading,
    };
    let mut text = format!("\n{}\n", screen.styled(style, first));
    for sentence in sentences {
        text.push_str(&format!("  {}\n", one_line(sentence)));
    }
    text
}
