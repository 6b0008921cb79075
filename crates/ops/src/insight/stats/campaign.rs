//! `rlx stats campaign`: many candidates against one incumbent, planned as a
//! whole, for scores of any origin. The state is one JSON file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_analyze::campaign::batch::{self, Batch};
use rlxp_analyze::campaign::sequence::{self, FreshEffect, Sequence};
use rlxp_analyze::campaign::{Comparison, Invalid, Power, Scores};
pub use rlxp_analyze::campaign::{LookReport, Step, Wanted};
use rlxp_analyze::verdict::{Direction, MinimumEffect};
use rlxp_fs::FsExt;
use rlxp_store::foreign::csv::Table;
use serde::{Deserialize, Serialize};

use super::scores::{cell, read};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output_file;

/// A campaign to plan.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// Names of the candidates, if they are known.
    pub candidates: Vec<String>,
    /// How many candidates come one after another, if they are not.
    pub sequence: Option<u64>,
    /// The most runs.
    pub runs: Option<u64>,
    /// Batches planned in total.
    pub batches: u64,
    /// Chance of a false "better" over the campaign.
    pub error: f64,
    /// Improvement whose power is stated, in standard deviations.
    pub effect: f64,
    /// Less is better.
    pub lower: bool,
    /// Smallest difference that counts, in the scores' unit.
    pub minimum_effect: Option<f64>,
    /// What a failed run is scored with.
    pub failure_score: Option<f64>,
    pub first_seed: u64,
    /// Where the campaign is stored.
    pub output: Option<PathBuf>,
    /// Replace a stored campaign.
    pub force: bool,
}

/// A stored campaign. Tagged from outside: serde can't read seeds as keys of a map below an inner tag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Campaign {
    Batch(Batch),
    Sequence(Sequence),
}

/// What a campaign is at and what to do next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CampaignReport {
    /// The stored campaign, if it is.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub file: Option<PathBuf>,
    /// The plan: what it can find and what it costs.
    pub plan: PlanSummary,
    /// What to do next.
    #[serde(flatten)]
    pub step: Step,
    /// The runs to make before the next look.
    pub wanted: Vec<Wanted>,
    /// The candidates of a batch that are still in.
    pub candidates_left: Option<Vec<String>>,
    /// The incumbent of a sequence, and its gain from fresh seeds.
    pub incumbent: Option<String>,
    pub effect: Option<FreshEffect>,
}

/// A plan in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary {
    pub candidates: u64,
    /// Rounds of screening: candidates and further seeds for each.
    pub screening: Vec<(usize, u64)>,
    /// Runs of the incumbent that a sequence makes once.
    pub incumbent_seeds: Option<u64>,
    /// Seeds of a candidate at each look.
    pub looks: Vec<u64>,
    pub largest_runs: u64,
    pub power: Power,
}

/// Plans a campaign and stores it.
pub fn plan(context: &Context, request: &PlanRequest) -> Outcome<CampaignReport> {
    let comparison = Comparison {
        direction: if request.lower { Direction::Lower } else { Direction::Higher },
        minimum_effect: request
            .minimum_effect
            .map_or(Comparison::default().minimum_effect, MinimumEffect::Absolute),
        failure_score: request.failure_score,
    };
    let campaign = match request.sequence {
        Some(candidates) => {
            let wanted = sequence::Request {
                candidates,
                runs: request.runs,
                error: request.error,
                effect: request.effect,
                comparison,
                first_seed: request.first_seed,
            };
            Campaign::Sequence(Sequence::new(sequence::plan(wanted).map_err(impossible)?))
        }
        None => {
            let wanted = batch::Request {
                candidates: request.candidates.clone(),
                runs: request.runs,
                batches: request.batches,
                error: request.error,
                effect: request.effect,
                comparison,
                first_seed: request.first_seed,
            };
            Campaign::Batch(Batch::new(batch::plan(wanted).map_err(impossible)?))
        }
    };
    let step = Step::MoreSeeds { look: None };
    if let Some(path) = &request.output {
        let place = context.folder.join(path);
        if !request.force && context.fs.metadata_if_any(&place)?.is_some() {
            let message = format!("{} exists; a campaign is planned once", path.display());
            return Err(
                Failure::usage("already_there", message).hint("choose another --output, or pass --force")
            );
        }
        campaign.store(context, path)?;
    }
    Ok(campaign.report(request.output.clone(), step))
}

/// Opens the next candidate of a sequence.
pub fn open(context: &Context, file: &Path, candidate: &str) -> Outcome<CampaignReport> {
    let (next, step) = match Campaign::load(context, file)? {
        Campaign::Sequence(sequence) => {
            let (sequence, step) = sequence.open(candidate).map_err(refused)?;
            (Campaign::Sequence(sequence), step)
        }
        Campaign::Batch(_) => {
            return Err(Failure::usage("not_a_sequence", "the candidates of a batch are fixed by its plan"));
        }
    };
    next.store(context, file)?;
    Ok(next.report(Some(file.to_owned()), step))
}

/// Looks at the scores that were wanted and stores what follows.
pub fn look(context: &Context, file: &Path, scores: &str) -> Outcome<CampaignReport> {
    let given = read_scores(context, scores)?;
    let (next, step) = match Campaign::load(context, file)? {
        Campaign::Batch(batch) => {
            let (batch, step) = batch.look(&given).map_err(refused)?;
            (Campaign::Batch(batch), step)
        }
        Campaign::Sequence(sequence) => {
            let (sequence, step) = sequence.look(&given).map_err(refused)?;
            (Campaign::Sequence(sequence), step)
        }
    };
    next.store(context, file)?;
    Ok(next.report(Some(file.to_owned()), step))
}

fn impossible(invalid: Invalid) -> Failure {
    Failure::usage("impossible_plan", invalid.to_string())
}

fn refused(invalid: Invalid) -> Failure {
    Failure::usage("bad_scores", invalid.to_string())
}

impl Campaign {
    fn load(context: &Context, file: &Path) -> Outcome<Self> {
        let text = read(context, &file.display().to_string())?;
        let stored: Self = serde_json::from_str(&text).map_err(|error| {
            let message = format!("{}: not a campaign: {error}", file.display());
            Failure::usage("not_a_campaign", message)
                .hint("rlx stats campaign plan --output campaign.json a b c")
        })?;
        // Bounds, stage and incumbent all follow from the request and the scores, so none of them is taken on trust.
        let replayed = match &stored {
            Self::Batch(batch) => Batch::replayed(batch.plan.request.clone(), &batch.scores).map(Self::Batch),
            Self::Sequence(sequence) => {
                Sequence::replayed(sequence.plan.request.clone(), &sequence.tried, &sequence.scores)
                    .map(Self::Sequence)
            }
        };
        if replayed.as_ref() == Ok(&stored) {
            return Ok(stored);
        }
        let why = replayed.err().map_or(String::new(), |invalid| format!(": {invalid}"));
        let message = format!(
            "{}: the campaign does not follow from its plan and scores; it was edited, or planned by another version \
             of rlx{why}",
            file.display()
        );
        Err(Failure::usage("edited_campaign", message).hint("restore the file, or plan a new campaign"))
    }

    fn store(&self, context: &Context, file: &Path) -> Outcome<()> {
        let mut text = serde_json::to_string_pretty(self).expect("a campaign is plain data");
        text.push('\n');
        output_file::write(context, &context.folder.join(file), text.as_bytes())
    }

    fn wanted(&self) -> Vec<Wanted> {
        match self {
            Self::Batch(batch) => batch.wanted(),
            Self::Sequence(sequence) => sequence.wanted(),
        }
    }

    fn report(&self, file: Option<PathBuf>, step: Step) -> CampaignReport {
        let (plan, candidates_left, incumbent, effect) = match self {
            Self::Batch(batch) => {
                let plan = &batch.plan;
                let summary = PlanSummary {
                    candidates: plan.request.candidates.len() as u64,
                    screening: plan.rounds.iter().map(|round| (round.candidates, round.seeds)).collect(),
                    incumbent_seeds: None,
                    looks: plan.looks.iter().map(|look| look.seeds).collect(),
                    largest_runs: plan.largest_runs,
                    power: plan.power,
                };
                (summary, Some(batch.left()), None, None)
            }
            Self::Sequence(sequence) => {
                let summary = PlanSummary {
                    candidates: sequence.plan.request.candidates,
                    screening: Vec::new(),
                    incumbent_seeds: Some(sequence.plan.incumbent_seeds),
                    looks: sequence.plan.looks.iter().map(|look| look.seeds).collect(),
                    largest_runs: sequence.plan.largest_runs,
                    power: sequence.plan.power,
                };
                (summary, None, Some(sequence.incumbent.clone()), sequence.effect)
            }
        };
        CampaignReport { file, plan, step, wanted: self.wanted(), candidates_left, incumbent, effect }
    }
}

/// Scores by group and seed, from CSV with the columns `group`, `seed` and `score`.
fn read_scores(context: &Context, name: &str) -> Outcome<Scores> {
    let text = read(context, name)?;
    let bad = |why: String| {
        Failure::usage("bad_scores", format!("{name}: {why}"))
            .hint("a CSV file with the columns group,seed,score")
    };
    let file = Table::read(&text).map_err(&bad)?;
    let [group, seed, score] = ["group", "seed", "score"].map(|column| file.column(column));
    let (group, seed, score) = (group.map_err(&bad)?, seed.map_err(&bad)?, score.map_err(&bad)?);
    let mut scores = Scores::new();
    for (line, row) in file.rows_after_header() {
        let number: u64 =
            row[seed].parse().map_err(|_| bad(format!("line {line}: {:?} is not a seed", row[seed])))?;
        let value =
            cell(&row[score]).ok_or_else(|| bad(format!("line {line}: {:?} is not a number", row[score])))?;
        let own: &mut BTreeMap<u64, Option<f64>> = scores.entry(row[group].clone()).or_default();
        // NaN is a failed run, like an empty field; an infinite score is refused by the campaign.
        let value = Some(value).filter(|value| !value.is_nan());
        if own.insert(number, value).is_some() {
            return Err(bad(format!("line {line}: seed {number} of {:?} appears twice", row[group])));
        }
    }
    Ok(scores)
}
