//! What to type next: the seeds that are missing, the runs that are not done.

use std::collections::BTreeSet;

use rlxp_analyze::verdict::Verdict;
use rlxp_store::LineageKind;
use rlxp_types::RunStatus;
use rlxp_types::text::shell_word;

use super::groups::ComparedGroup;
use super::looks::{self, Look, MOST_SEEDS};
use super::report::Comparison;
use crate::context::Context;
use crate::insight::run_data::fold::same_configs;
use crate::insight::run_data::{RunData, SeedState};
use crate::training::recorded::STOP_AT;

/// Commands that are suggested; more only to complete those of a group.
const MOST_COMMANDS: usize = 6;

/// Commands that can be pasted.
pub(super) fn commands(
    context: &Context,
    groups: &[ComparedGroup<'_>],
    comparisons: &[Comparison],
) -> Vec<String> {
    let mut commands = unfinished(groups);
    commands.truncate(MOST_COMMANDS);
    for of_group in more_seeds(context, groups, comparisons) {
        if commands.len() < MOST_COMMANDS {
            commands.extend(of_group);
        }
    }
    commands
}

fn unfinished(groups: &[ComparedGroup<'_>]) -> Vec<String> {
    let mut names = BTreeSet::new();
    let members = groups.iter().flat_map(|group| group.in_state(SeedState::Unfinished));
    let runs = members.map(|member| member.run).filter(|run| names.insert(run.name.clone()));
    runs.map(|run| match run.status {
        RunStatus::Running => format!("rlx tail {}", shell_word(&run.name)),
        _ => format!("rlx resume {}", shell_word(&run.name)),
    })
    .collect()
}

/// The commands of each group that needs more seeds.
fn more_seeds(
    context: &Context,
    groups: &[ComparedGroup<'_>],
    comparisons: &[Comparison],
) -> Vec<Vec<String>> {
    let mut wanted: Vec<u64> = vec![0; groups.len()];
    for (index, comparison) in comparisons.iter().enumerate() {
        let Some(verdict) = comparison.judgement.verdict() else { continue };
        let Some(target) = target(verdict, comparison.look) else { continue };
        wanted[0] = wanted[0].max(target.saturating_sub(verdict.n_a));
        wanted[index + 1] = wanted[index + 1].max(target.saturating_sub(verdict.n_b));
    }
    // Fresh in every group, so that groups can also be compared in pairs.
    let used = groups.iter().flat_map(|group| group.members.iter().map(|member| member.seed.seed)).max();
    let Some(fresh) = used.unwrap_or(0).checked_add(1) else { return Vec::new() };
    let missing = groups.iter().zip(wanted).filter(|(_, count)| (1..=MOST_SEEDS).contains(count));
    missing.map(|(group, count)| seeds_for(context, group, fresh, count)).collect()
}

/// A command for each config of a group that together train `count` seeds, beginning with `fresh`.
fn seeds_for(context: &Context, group: &ComparedGroup<'_>, fresh: u64, count: u64) -> Vec<String> {
    let configs = same_configs(group.runs);
    let each = count.div_ceil(configs.len() as u64);
    let seeds = if each == 1 { "seed" } else { "seeds" };
    let several =
        if configs.len() == 1 { String::new() } else { format!(", one of its {} configs", configs.len()) };
    let mut first = Some(fresh);
    let mut commands = Vec::new();
    for runs in &configs {
        // A start that `rlx train` can't repeat gives no seed of the same config.
        let (Some(seed), Some(origin)) = (first, origin(runs[0])) else { continue };
        first = seed.checked_add(each);
        let config = config_path(context, runs[0]);
        let (tags, id) = (tags(runs), &group.id);
        commands.push(format!(
            "rlx train {config} --set seed={seed} --set seeds={each}{origin}{tags}    # {each} more {seeds} for {id}{several}"
        ));
    }
    commands
}

/// The arguments that start and stop a training as this run's did; `None` if a new seed can't.
pub(crate) fn origin(run: &RunData) -> Option<String> {
    let mut arguments = String::new();
    match run.metadata.lineage.as_ref().filter(|lineage| lineage.kind != LineageKind::Reproduced) {
        // Seeds that started from several checkpoints have none for a new seed.
        Some(lineage) if lineage.kind == LineageKind::WarmStart => {
            arguments.push_str(&format!(" --from {}", shell_word(&lineage.checkpoint_name()?)));
        }
        Some(_) => return None,
        None => {}
    }
    if let Some(score) = run.metadata.extra.get(STOP_AT) {
        arguments.push_str(&format!(" --stop-at {score}"));
    }
    Some(arguments)
}

/// The tags that all of these runs have, so that a tag that names the group also names its new seeds.
fn tags(runs: &[&RunData]) -> String {
    let shared = runs[0].metadata.tags.iter();
    let shared = shared.filter(|tag| runs.iter().all(|run| run.metadata.tags.contains(tag)));
    // After a space, a tag that begins with a dash would be a flag.
    let joint = |tag: &str| if tag.starts_with('-') { '=' } else { ' ' };
    shared.map(|tag| format!(" --tag{}{}", joint(tag), shell_word(tag))).collect()
}

/// Seeds per group that are wanted: those of the plan, or as many as would probably settle it while a look is left.
fn target(verdict: &Verdict, look: Option<Look>) -> Option<u64> {
    let look = look?;
    if let Some(planned) = look.seeds_planned {
        return Some(planned);
    }
    let counted = looks::counts(verdict);
    let last = look.number.is_none_or(|number| counted && number >= look.planned);
    let needed = verdict.seeds_needed.filter(|_| !last)?;
    Some(verdict.n_a.min(verdict.n_b).saturating_add(needed))
}

/// The run's config, as short as it can be named from here.
fn config_path(context: &Context, run: &RunData) -> String {
    let path = run.run.config_path();
    shell_word(&path.strip_prefix(&context.folder).unwrap_or(&path).display().to_string()).into_owned()
}
