//! `rlx report`: one HTML file with everything a colleague needs to judge some runs: verdict, curves, changes,
//! diagnosis, evaluations and videos.
//!
//! The parts come from other verbs (`compare`, `plot`, `diagnose`, `video`); this module only arranges them on one
//! page. Hundreds of runs fold into their groups: every group has a row, and the best have cards.

mod cards;
mod films;
mod groups;
mod page;
mod pictures;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rlxp_fs::{FsExt, clock};
use rlxp_types::Digest;
use rlxp_types::text::{grouped, shell_word};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::compare::ScoreKind;
use crate::insight::group_order::{BestOf, check_best};
use crate::insight::run_data::Group;
use crate::insight::run_data::counting::{Part, continued};
use crate::output_file;
use crate::select::project;

use groups::ReportedGroups;
use page::Page;

/// Most groups beside the reference that have cards of their own; the others have a row in the table of groups.
const MOST_CARDS: usize = 6;
/// Most warnings on a page.
const MOST_WARNINGS: usize = 20;

#[derive(Clone, Debug, Default)]
pub struct ReportRequest {
    /// Runs or groups; the first is the reference.
    pub words: Vec<String>,
    /// The file; by default in the project's `analysis/`.
    pub output: Option<PathBuf>,
    /// The heading; by default made from the names.
    pub title: Option<String>,
    /// Leave the videos out.
    pub without_videos: bool,
    /// Judge runs that are not comparable.
    pub force: bool,
    /// Open the file with the desktop's viewer.
    pub open: bool,
    /// Less is better.
    pub lower: bool,
    /// How scores are computed.
    pub score: ScoreKind,
    /// The reference, if not the first word.
    pub reference: Option<String>,
    /// Keep only this many groups, the best, and the reference.
    pub best: Option<usize>,
    /// Fold all runs into groups of equal configs. The runs of a single word, and of more words than a chart can
    /// distinguish, always are.
    pub by_config: bool,
}

/// A report that was written.
#[derive(Clone, Debug, Serialize)]
pub struct ReportReport {
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What differs between the groups: the reference, then the others, best first.
    pub groups: Vec<String>,
    /// How many groups `--best` left out; null if none.
    pub best_of: Option<BestOf>,
    /// The first sentence of each verdict.
    pub verdicts: Vec<String>,
    /// Findings of the diagnoses, by severity: errors, warnings.
    pub findings: (usize, usize),
    pub videos: usize,
    /// Parts that are missing, and why.
    pub left_out: Vec<String>,
}

/// Writes a report; `tell` receives progress messages.
pub fn report(
    context: &Context,
    request: &ReportRequest,
    tell: &mut dyn FnMut(&str),
) -> Outcome<ReportReport> {
    if request.words.is_empty() {
        return Err(Failure::usage("nothing_to_report", "expected at least one run").hint("rlx report @last"));
    }
    check_best(request.best)?;
    let ReportedGroups { groups, labels, by_config, comparison, named, notes } =
        groups::load(context, request, tell)?;
    let path = output_path(context, request, &named)?;
    let mut left_out: Vec<String> =
        comparison.iter().filter_map(|report| report.best_of).map(BestOf::sentence).collect();
    tell("reading the diagnosis");
    let diagnoses = cards::diagnoses(context, &groups, &mut left_out);
    let findings = cards::count(&diagnoses);
    tell("drawing");
    let pictures = pictures::pictures(&groups, by_config, comparison.as_ref(), &mut left_out);
    let films = if request.without_videos {
        Vec::new()
    } else {
        films::films(context, &groups, &labels, tell, &mut left_out)
    };
    let verdicts = comparison.as_ref().map_or_else(|| cards::without_comparison(&groups), cards::verdicts);
    let evaluations = tables::evaluations(&groups, &labels, &mut left_out)?;
    let mut warnings = comparison.as_ref().map_or(notes, |report| report.warnings.clone());
    let runs = groups.iter().flat_map(|group| &group.runs);
    warnings.extend(runs.flat_map(|run| run.notes.iter().map(move |note| format!("{}: {note}", run.name))));
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    warnings.truncate(MOST_WARNINGS);
    warnings
        .extend((more > 0).then(|| format!("and {more} more notes; `rlx compare --json` has all of them")));
    warnings.extend(left_out.iter().cloned());
    let page = Page {
        title: request.title.clone().unwrap_or_else(|| title(&named, &labels)),
        subtitle: subtitle(&groups),
        pictures,
        changes: comparison.as_ref().map_or_else(Vec::new, cards::changes),
        aligned: comparison.as_ref().and_then(tables::aligned),
        diagnoses,
        evaluations,
        films,
        groups: comparison.as_ref().map(tables::groups),
        runs: tables::runs(&groups, &labels),
        configs: tables::configs(&groups),
        warnings,
        commands: comparison.as_ref().map_or_else(Vec::new, |report| report.next.clone()),
        footer: format!("Generated by rlx {} on {}.", env!("CARGO_PKG_VERSION"), clock::wall_text()),
        verdicts,
    };
    tell("writing");
    let text = page.render();
    output_file::write(context, &path, text.as_bytes())?;
    if request.open {
        crate::show::show(&path)?;
    }
    Ok(ReportReport {
        file: path.display().to_string(),
        bytes: text.len() as u64,
        groups: labels,
        best_of: comparison.and_then(|report| report.best_of),
        verdicts: page.verdicts.iter().filter_map(|card| card.statements.first().cloned()).collect(),
        findings,
        videos: page.films.len(),
        left_out,
    })
}

fn title(named: &[String], labels: &[String]) -> String {
    match (named, labels) {
        ([only], [_, _, ..]) => format!("{only}: {} groups", labels.len()),
        (_, [only]) => only.clone(),
        (_, [a, b]) => format!("{b} compared with {a}"),
        (_, [a, others @ ..]) => format!("{} groups compared with {a}", others.len()),
        (_, []) => String::new(),
    }
}

fn subtitle(groups: &[Group]) -> String {
    let mut environments: Vec<&str> =
        groups.iter().flat_map(|group| &group.runs).map(|run| run.config.env.id.as_str()).collect();
    environments.sort_unstable();
    environments.dedup();
    let (seeds, steps) = totals(groups);
    let plural = if seeds == 1 { "" } else { "s" };
    let total = grouped(steps);
    format!("{}, {seeds} seed{plural}, {total} training steps in total", environments.join(", "))
}

/// Trainings and their steps; what several groups have, or a run and its extension, counts once.
fn totals(groups: &[Group]) -> (usize, u64) {
    let mut places = BTreeSet::new();
    let mut parts = Vec::new();
    let mut trained: BTreeMap<(Digest, u64), u64> = BTreeMap::new();
    for (run, seed) in groups.iter().flat_map(Group::seeds) {
        if places.insert((run.run.path().to_owned(), seed.seed)) {
            parts.push(Part::new(run, seed));
        }
        let (last, ancestry) = (seed.metrics.last_step, &run.ancestry);
        let mut end = last.max(ancestry.start(seed.seed));
        let mut id = Some(run.metadata.id);
        let extended = ancestry.runs.iter().map(|parent| &parent.extended).chain(&ancestry.gone);
        for lineage in extended {
            let start = lineage.checkpoints.get(&seed.seed).copied().or(lineage.checkpoint).unwrap_or(0);
            if let Some(id) = id {
                trained.insert((id, seed.seed), end.saturating_sub(start));
            }
            (end, id) = (start, lineage.parent_id);
        }
        if let Some(id) = id {
            let steps = trained.entry((id, seed.seed)).or_default();
            *steps = end.max(*steps);
        }
    }
    (parts.len() - continued(&parts).len(), trained.into_values().fold(0, u64::saturating_add))
}

/// Where the report is written: the requested path, or a name made from the groups.
fn output_path(context: &Context, request: &ReportRequest, named: &[String]) -> Outcome<PathBuf> {
    let Some(output) = &request.output else {
        let plain = |label: &str| -> String {
            label.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect()
        };
        let names: Vec<String> = named.iter().take(2).map(|name| plain(name)).collect();
        let more = if named.len() > 2 { format!("_and_{}_more", named.len() - 2) } else { String::new() };
        // A file name has at most 255 bytes.
        let mut name = format!("report_{}{more}", names.join("_vs_"));
        while name.len() > 200 {
            name.pop();
        }
        return Ok(project(context)?.root().join("analysis").join(format!("{name}.html")));
    };
    let path = context.folder.join(output);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !matches!(extension.to_ascii_lowercase().as_str(), "html" | "htm") {
        let message = format!("{} does not end in .html", path.display());
        return Err(Failure::usage("report_format", message).hint("rlx report @last --output report.html"));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if !context.fs.is_folder(folder)? {
        let message = format!("folder {} does not exist", folder.display());
        return Err(Failure::usage("folder_not_found", message)
            .hint(format!("mkdir -p {}", shell_word(&folder.display().to_string()))));
    }
    Ok(path)
}
