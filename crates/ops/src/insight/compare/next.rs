//! What to type next: the seeds that are missing, the runs that are not done.

use std::collections::BTreeSet;

use rlxp_analyze::verdict::Verdict;
use rlxp_types::RunStatus;
use rlxp_types::text::shell_word;

use super::groups::ComparedGroup;
use super::looks::{self, Look, MOST_SEEDS};
use super::report::Comparison;
use crate::context::Context;
use crate::insight::run_data::{RunData, SeedState};

/// Commands that are suggested at most.
const MOST_COMMANDS: usize = 6;

/// Commands that can be pasted.
pub(super) fn commands(
    context: &Context,
    groups: &[ComparedGroup<'_>],
    comparisons: &[Comparison],
) -> Vec<String> {
    let mut commands = unfinished(groups);
    commands.extend(more_seeds(context, groups, comparisons));
    commands.truncate(MOST_COMMANDS);
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

fn more_seeds(context: &Context, groups: &[ComparedGroup<'_>], comparisons: &[Comparison]) -> Vec<String> {
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
    missing
        .map(|(group, count)| {
            let config = config_path(context, &group.runs[0]);
            let seeds = if count == 1 { "seed" } else { "seeds" };
            format!(
                "rlx train {config} --set seed={fresh} --set seeds={count}    # {count} more {seeds} for {}",
                group.id
            )
        })
        .collect()
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
