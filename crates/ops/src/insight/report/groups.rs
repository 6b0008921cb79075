//! The groups of a report in the order of its comparison, and how much of each is shown.

use std::collections::BTreeSet;

use rlxp_draw::chart::LOOKS;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::compare::{CompareReport, CompareRequest, compare};
use crate::insight::group_order::is_ranked_by;
use crate::insight::run_data::counting::counted_runs;
use crate::insight::run_data::fold::identity_of;
use crate::insight::run_data::{self, Group, Trainings, load_trainings};

use super::ReportRequest;

/// Most runs on one page.
const MOST_RUNS: usize = 5_000;

/// What a report is about.
pub(super) struct ReportedGroups {
    /// The reference first, then the best first; each with its name as the user knows it.
    pub(super) groups: Vec<Group>,
    /// What each is called on the page.
    pub(super) labels: Vec<String>,
    /// Whether runs were grouped by config.
    pub(super) by_config: bool,
    /// The comparison, if there are several groups.
    pub(super) comparison: Option<CompareReport>,
    /// What a file of these is called after: what was named, in that order.
    pub(super) named: Vec<String>,
    /// What was done to the groups; a comparison has it among its warnings.
    pub(super) notes: Vec<String>,
}

/// Loads the runs, groups and compares them.
pub(super) fn load(
    context: &Context,
    request: &ReportRequest,
    tell: &mut dyn FnMut(&str),
) -> Outcome<ReportedGroups> {
    let wanted = |kind: &str, name: &str| is_ranked_by(kind, name) || super::pictures::is_drawn(kind, name);
    let words: Vec<String> = match &request.reference {
        Some(reference) if !request.words.contains(reference) => {
            [reference].into_iter().chain(&request.words).cloned().collect()
        }
        _ => request.words.clone(),
    };
    let mut trainings = load_trainings(context, &words, 1, &wanted)?;
    let loaded = std::mem::take(&mut trainings.groups);
    let runs: usize = loaded.iter().map(|group| group.runs.len()).sum();
    if runs > MOST_RUNS {
        let message = format!("{runs} runs are too many for one report; the limit is {MOST_RUNS}");
        return Err(Failure::usage("too_many_runs", message).hint("rlx summarize"));
    }
    let named = loaded.iter().map(|group| group.label.clone()).collect();
    let by_config = request.by_config || loaded.len() > LOOKS || has_several_configs(&loaded);
    trainings.groups = if by_config { run_data::by_config(loaded) } else { loaded };
    trainings.count_once();
    let Trainings { groups, notes } = trainings;
    if groups.len() < 2 {
        let labels = groups.iter().map(|group| group.label.clone()).collect();
        return Ok(ReportedGroups { groups, labels, by_config, comparison: None, named, notes });
    }
    tell("comparing");
    let comparison = compare(
        context,
        &CompareRequest {
            words: request.words.clone(),
            reference: request.reference.clone(),
            best: request.best,
            by_config,
            force: request.force,
            lower: request.lower,
            score: request.score,
            ..CompareRequest::default()
        },
    )?;
    let groups = in_order(groups, &comparison);
    let labels = comparison.groups.iter().map(|group| group.label.clone()).collect();
    Ok(ReportedGroups { groups, labels, by_config, comparison: Some(comparison), named, notes: Vec::new() })
}

/// Whether the only word names runs of several configs, which are no group. A run and its extension are one training.
fn has_several_configs(groups: &[Group]) -> bool {
    let [only] = groups else { return false };
    counted_runs(only).into_iter().map(identity_of).collect::<BTreeSet<_>>().len() > 1
}

/// The loaded groups as the comparison has them.
fn in_order(mut groups: Vec<Group>, comparison: &CompareReport) -> Vec<Group> {
    let mut found = Vec::new();
    for compared in &comparison.groups {
        let same = |group: &Group| {
            group.runs.len() == compared.runs.len()
                && group.runs.iter().zip(&compared.runs).all(|(run, other)| run.name == other.name)
        };
        if let Some(place) = groups.iter().position(same) {
            found.push(groups.remove(place));
        }
    }
    found
}
