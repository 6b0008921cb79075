//! The charts of a report: scores per seed against the incumbent, and the incumbent's score over the ledger.

use rlxp_draw::chart::{LOOKS, LineChart, ScoreChart, ScoreGroup, SeriesBand};
use rlxp_govern::documents::{Direction, Slug};
use rlxp_govern::ledger::event::Verdict;
use rlxp_govern::score::SeedResult;
use rlxp_types::text::number;

use super::document::Block;
use super::facts::{Facts, SeedScore};

const WIDTH: f32 = 880.0;

/// One row per candidate, the reference first; `None` without a seed.
pub(super) fn scores(facts: &Facts<'_>) -> Option<Block> {
    let reference = facts.reference()?;
    let mut groups: Vec<(String, String, Vec<SeedScore>)> = Vec::new();
    let role = if facts.state.incumbent.is_some() { "incumbent" } else { "baseline" };
    groups.push((reference.to_string(), role.to_owned(), facts.set(reference)));
    let mut shown = vec![reference.clone()];
    for verdict in facts.history.verdicts.iter().rev() {
        let id = &verdict.judged.candidate;
        if !shown.contains(id) {
            let word = verdict_word(verdict.judged.verdict);
            groups.push((id.to_string(), word.to_owned(), facts.judged_seeds(verdict)));
            shown.push(id.clone());
        }
    }
    if let Some(baseline) = facts.state.baseline.as_ref().filter(|id| !shown.contains(id)) {
        groups.insert(1, (baseline.to_string(), "baseline".to_owned(), facts.set(baseline)));
    }
    let known =
        |(_, _, seeds): &(String, String, Vec<SeedScore>)| seeds.iter().any(|seed| seed.result.is_some());
    groups.retain(known);
    let all = groups.len();
    groups.truncate(LOOKS);
    if groups.is_empty() {
        return None;
    }
    let finished = |seed: &SeedScore| match seed.result {
        Some(SeedResult::Finished(value)) => Some(value),
        _ => None,
    };
    let lower_is_better = facts.spec.is_some_and(|spec| spec.primary.direction == Direction::Lower);
    let worse = |one: f64, other: f64| if lower_is_better { one.max(other) } else { one.min(other) };
    let all_scores = groups.iter().flat_map(|(_, _, seeds)| seeds.iter().filter_map(finished));
    let worst = all_scores.reduce(worse).unwrap_or(0.0);
    let row = |(label, word, seeds): (String, String, Vec<SeedScore>)| {
        let scores: Vec<f64> = seeds.iter().filter_map(finished).collect();
        let failed = seeds.iter().filter(|seed| seed.result == Some(SeedResult::Failed)).count();
        let count = scores.len() + failed;
        let noun = if count == 1 { "seed" } else { "seeds" };
        ScoreGroup {
            label,
            detail: format!("{word}, {count} {noun}"),
            // A failed seed has no value of its own: its cross is at the worst value of all.
            failed: vec![worst; failed],
            value: facts.centre(&seeds).map(|(value, _, _)| value),
            scores,
            interval: None,
        }
    };
    let chart = ScoreChart {
        title: "Score of each seed".to_owned(),
        label: facts.metric(),
        groups: groups.into_iter().map(row).collect(),
        width: WIDTH,
        ..ScoreChart::default()
    };
    let mut caption =
        "One dot per seed; the mark is the interquartile mean; a cross at the worst value is a seed that failed.".to_owned();
    if all > LOOKS {
        caption.push_str(&format!(
            " The reference and the last {} of {} judged candidates.",
            LOOKS - 1,
            all - 1
        ));
    }
    Some(Block::Picture { scene: Box::new(chart.to_scene()), caption })
}

/// What moves the incumbent.
enum Move<'f> {
    Accepted(&'f Slug, Option<f64>),
    Reverted(&'f Slug),
}

/// The incumbent's score after each verdict that moved it; `None` without two points.
pub(super) fn incumbent(facts: &Facts<'_>) -> Option<Block> {
    let mut moves: Vec<(u64, f64)> = Vec::new();
    let baseline = facts.state.baseline.as_ref();
    let base = baseline.and_then(|id| facts.centre(&facts.set(id)));
    let base = base.and_then(|(value, _, records)| Some((records.into_iter().max()?, value)));
    moves.extend(base);
    let verdicts = facts.history.verdicts.iter().filter(|one| one.judged.verdict == Verdict::Accepted);
    // The recorded score is a median; a line of both statistics would move without any change.
    let score = |id: &Slug| facts.centre(&facts.set(id)).map(|(value, ..)| value);
    let verdicts = verdicts.map(|one| {
        let id = &one.judged.candidate;
        (one.seq, Move::Accepted(id, score(id)))
    });
    let reverted = facts.history.reverted.iter().map(|(seq, one)| (*seq, Move::Reverted(&one.candidate)));
    let mut events: Vec<(u64, Move<'_>)> = verdicts.chain(reverted).collect();
    events.sort_by_key(|(seq, _)| *seq);
    let mut accepted: Vec<(&Slug, Option<f64>)> = Vec::new();
    for (seq, event) in events {
        match event {
            Move::Accepted(id, score) => accepted.push((id, score)),
            Move::Reverted(id) => accepted.retain(|(known, _)| *known != id),
        }
        let score = accepted.last().map_or(base.map(|(_, value)| value), |(_, score)| *score);
        moves.extend(score.map(|score| (seq, score)));
    }
    if moves.len() < 2 {
        return None;
    }
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (seq, score) in &moves {
        let at = *seq as f64;
        if let Some((_, before)) = line.last().copied() {
            line.push((at, before));
        }
        line.push((at, *score));
    }
    if let (Some(last), Some((_, score))) = (facts.history.last, moves.last())
        && last.seq as f64 > line.last().map_or(0.0, |(at, _)| *at)
    {
        line.push((last.seq as f64, *score));
    }
    let series = SeriesBand { label: "incumbent".to_owned(), line, ..SeriesBand::default() };
    let chart = LineChart {
        title: "Score of the incumbent".to_owned(),
        x_label: "record of the ledger".to_owned(),
        y_label: facts.metric(),
        series: vec![series],
        width: WIDTH,
        height: 320.0,
        ..LineChart::default()
    };
    let said: Vec<String> = moves.iter().map(|(seq, score)| format!("{} (#{seq})", number(*score))).collect();
    let caption = format!(
        "Interquartile means over finished seeds, of the baseline and after accepted and reverted candidates: {}.",
        said.join(", then ")
    );
    Some(Block::Picture { scene: Box::new(chart.to_scene()), caption })
}

/// A verdict as a word.
pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Rejected => "rejected",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Debug => "debug",
    }
}
