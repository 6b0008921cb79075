//! `rlx study probe plan`: a candidate of kind `probe` with the grid of one parameter.

use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_govern::documents::CandidateKind;
use rlxp_govern::documents::{Slug, StudyName, SurfaceKey};
use rlxp_govern::plan::agreed_phases;
use rlxp_govern::probe::{MOST_VALUES, trained_runs};
use rlxp_spec::document::to_yaml;
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::analysis_file::check_open;
use crate::studies::files::OpenStudy;
use crate::studies::files::read::look;
use crate::studies::present::{surfaces_in_scope, value, view};

/// Values on the grid, unless the caller says how many.
const USUAL_VALUES: u64 = 7;
/// From this ratio of its ends on, a positive range is divided by factors and not by differences.
const WIDE: f64 = 8.0;

/// What to probe.
#[derive(Clone, Debug, Default)]
pub struct ProbePlanRequest {
    pub surface: String,
    pub key: String,
    /// The values to try; the nominal one is added.
    pub grid: Option<Vec<f64>>,
    /// How many values to spread over the agreed range.
    pub around: Option<u64>,
    /// The value that training uses, where it can't be read.
    pub nominal: Option<f64>,
    /// The name of the candidate.
    pub name: Option<String>,
}

/// A probe that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbePlanReport {
    pub study: StudyName,
    pub candidate: Slug,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub file: PathBuf,
    pub key: String,
    pub nominal: f64,
    pub values: Vec<f64>,
    /// Runs at each value, each on another trained policy as far as there are enough.
    pub runs_per_value: u64,
    pub runs: u64,
    /// Whose trained policies would be probed; `None` before there is a baseline.
    pub reference: Option<Slug>,
    /// How many trained policies it has.
    pub policies: u64,
}

/// Writes the candidate of a probe.
pub fn plan(context: &Context, study: Option<&str>, request: &ProbePlanRequest) -> Outcome<ProbePlanReport> {
    let opened = OpenStudy::open(context, study)?;
    check_open(&opened)?;
    let has_step = opened.study.files.runbook.typed().is_some_and(|runbook| runbook.probe.is_some());
    if !has_step {
        let message = "runbook.yaml has no probe step, so there is no command that runs a policy at a value";
        return Err(Failure::usage("no_probe_step", message).hint(
            "add `probe: {argv: [python, probe.py, --policy, '{trained}', --set, '{key}={value}', --seed, '{seed}', \
             --out, '{run}']}` to runbook.yaml, then: rlx approve evaluation",
        ));
    }
    let contract = opened.study.contract().ok_or_else(|| {
        Failure::usage("file_broken", "contract.yaml can't be read").hint("rlx contract check")
    })?;
    let surfaces = surfaces_in_scope(&opened);
    let Some(surface) = surfaces.iter().find(|surface| surface.id.as_str() == request.surface) else {
        let names: Vec<&str> = surfaces.iter().map(|surface| surface.id.as_str()).collect();
        let message =
            format!("no surface {:?} is in scope; surfaces are: {}", request.surface, names.join(", "));
        return Err(Failure::usage("no_surface", message).hint("rlx contract check"));
    };
    let Some(key) = surface.keys.iter().find(|allowed| allowed.key == request.key) else {
        let names: Vec<&str> = surface.keys.iter().map(|allowed| allowed.key.as_str()).collect();
        let message = format!(
            "surface {} has no key {:?}; its keys are: {}",
            surface.id,
            request.key,
            names.join(", ")
        );
        return Err(Failure::usage("no_key", message).hint("rlx contract check"));
    };
    let nominal = match request.nominal {
        Some(nominal) => nominal,
        None => {
            let runbook = opened.study.files.runbook.typed();
            let seen = view(&opened, std::slice::from_ref(surface))?;
            let found = value(&seen, runbook, surface, &key.key);
            found.and_then(|(_, value)| value.as_f64()).ok_or_else(|| {
                let message =
                    format!("the value of {} can't be read from the files of {}", key.key, surface.id);
                Failure::usage("no_nominal", message).hint("say which value training uses: --nominal VALUE")
            })?
        }
    };
    let values = grid(key, nominal, request)?;
    let name = match &request.name {
        Some(name) => name.clone(),
        None => free_name(&opened, &key.key),
    };
    let id: Slug = name
        .parse()
        .map_err(|error: rlxp_govern::documents::NotASlug| Failure::usage("bad_name", error.to_string()))?;
    let mut phases = agreed_phases(CandidateKind::Probe, contract);
    let runs_per_value = phases.first().map_or(1, |phase| phase.seeds);
    phases.iter_mut().for_each(|phase| phase.seeds = phase.seeds.saturating_mul(values.len() as u64));
    let runs = phases.iter().map(|phase| phase.seeds).sum();
    let text = to_yaml(&json!({
        "schema": "rlxp.candidate/1", "id": id, "task": opened.study.name.task, "study": opened.study.name.study,
        "kind": CandidateKind::Probe,
        "hypothesis": format!("the trained policy keeps working while {} is not {nominal}", key.key),
        "requirements": { "parameter": { "key": key.key, "values": values, "nominal": nominal } },
        "phases": phases.iter().map(|plan| json!({
            "phase": plan.phase, "seeds": plan.seeds, "wall_clock": plan.wall_clock,
        })).collect::<Vec<_>>(),
    }));
    let file = opened.place.candidate(&id);
    look(context.fs.as_ref(), &opened.place.root, &file)?;
    context.fs.create_dir_all(&opened.place.candidates())?;
    if !context.fs.write_new_atomic(&file, text.as_bytes())? {
        let message = format!("candidates/{id}.yaml already exists");
        return Err(Failure::usage("candidate_exists", message).hint("choose another name with --name"));
    }
    let state = opened.study.state();
    Ok(ProbePlanReport {
        study: opened.study.name.clone(),
        file,
        key: key.key.clone(),
        nominal,
        values,
        runs_per_value,
        runs,
        reference: state.reference().cloned(),
        policies: trained_runs(state).len() as u64,
        candidate: id,
    })
}

/// The values of the grid, rising, with the nominal one, all in the agreed range.
fn grid(key: &SurfaceKey, nominal: f64, request: &ProbePlanRequest) -> Outcome<Vec<f64>> {
    let low = key.min.unwrap_or(f64::NEG_INFINITY);
    let high = key.max.unwrap_or(f64::INFINITY);
    let mut values = match &request.grid {
        Some(values) => values.clone(),
        None if low.is_finite() && high.is_finite() => {
            spread(low, high, nominal, request.around.unwrap_or(USUAL_VALUES))
        }
        None => {
            let message =
                format!("the agreed range of {} is open, so values can't be spread over it", key.key);
            return Err(Failure::usage("open_range", message).hint("name the values: --grid 0.5,1,2"));
        }
    };
    values.push(nominal);
    // Written so that NaN is outside.
    let is_inside = |value: &f64| *value >= low && *value <= high && value.is_finite();
    if let Some(outside) = values.iter().find(|value| !is_inside(value)) {
        let message = format!("{outside} is outside the agreed range of {}, {low} to {high}", key.key);
        return Err(
            Failure::usage("out_of_range", message).hint(format!("choose values from {low} to {high}"))
        );
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() < 2 || values.len() > MOST_VALUES {
        let message = format!("a probe has 2 to {MOST_VALUES} different values, not {}", values.len());
        return Err(Failure::usage("bad_grid", message).hint("name the values: --grid 0.5,1,2"));
    }
    Ok(values)
}

/// About `count` values from one end of the range to the other, as many on each side of the nominal value.
fn spread(low: f64, high: f64, nominal: f64, count: u64) -> Vec<f64> {
    let side = count.clamp(2, MOST_VALUES as u64).saturating_sub(1).div_ceil(2);
    let between = |end: f64| {
        let by_factors = nominal > 0.0 && end > 0.0 && (end / nominal >= WIDE || nominal / end >= WIDE);
        (1..=side).map(move |place| match place as f64 / side as f64 {
            all if place == side => end + 0.0 * all,
            part if by_factors => rounded(nominal * (end / nominal).powf(part)),
            part => rounded(nominal + (end - nominal) * part),
        })
    };
    between(low).chain(between(high)).map(|value| value.clamp(low, high)).collect()
}

/// Four significant digits, as a person would write it.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A name that no candidate has.
fn free_name(opened: &OpenStudy, key: &str) -> String {
    let base =
        Slug::from_words(&format!("probe-{key}")).map_or_else(|| "probe".to_owned(), |name| name.to_string());
    let base: String = base.chars().take(56).collect();
    let is_free = |name: &String| {
        !opened.study.candidate_files.contains_key(name)
            && !opened.study.state().candidates.contains_key(name.as_str())
    };
    let mut names = std::iter::once(base.clone()).chain((2..).map(|number: u64| format!("{base}-{number}")));
    names.find(is_free).expect("there are more names than candidates")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(min: Option<f64>, max: Option<f64>) -> SurfaceKey {
        SurfaceKey { key: "env.friction".into(), min, max, values: Vec::new() }
    }

    fn asked(grid: Option<Vec<f64>>, around: Option<u64>) -> ProbePlanRequest {
        ProbePlanRequest { grid, around, ..ProbePlanRequest::default() }
    }

    #[test]
    fn grids_have_the_nominal_value_and_both_ends() {
        let wide = key(Some(0.01), Some(10.0));
        let values = grid(&wide, 1.0, &asked(None, Some(5))).unwrap();
        assert_eq!(values, [0.01, 0.1, 1.0, 3.162, 10.0]);
        let narrow = key(Some(0.0), Some(2.0));
        assert_eq!(grid(&narrow, 1.0, &asked(None, Some(5))).unwrap(), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(grid(&narrow, 1.0, &asked(Some(vec![2.0, 0.5, 0.5]), None)).unwrap(), [0.5, 1.0, 2.0]);
        // At an end of its range, the other side is all there is.
        assert_eq!(grid(&narrow, 0.0, &asked(None, Some(3))).unwrap(), [0.0, 2.0]);
    }

    #[test]
    fn what_is_no_grid_is_refused_by_name() {
        let narrow = key(Some(0.0), Some(2.0));
        let code = |key: &SurfaceKey, nominal, request| grid(key, nominal, &request).unwrap_err().code;
        assert_eq!(code(&narrow, 1.0, asked(Some(vec![3.0]), None)), "out_of_range");
        assert_eq!(code(&narrow, 1.0, asked(Some(vec![f64::NAN]), None)), "out_of_range");
        assert_eq!(code(&narrow, 9.0, asked(None, None)), "out_of_range");
        assert_eq!(code(&narrow, 1.0, asked(Some(vec![1.0]), None)), "bad_grid");
        assert_eq!(code(&key(Some(0.0), None), 1.0, asked(None, None)), "open_range");
        let many: Vec<f64> = (0..60).map(|value| f64::from(value) / 60.0).collect();
        assert_eq!(code(&narrow, 1.0, asked(Some(many), None)), "bad_grid");
    }
}
