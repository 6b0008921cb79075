//! What proposals rest on: files that rlx wrote about runs, the metrics of the reference's runs, and earlier candidates.

use std::collections::BTreeMap;

use rlxp_fs::FsExt;
use rlxp_govern::documents::{FindingSeverity, MetricSpec, ProbeSummary, RewardReflection};
use rlxp_govern::ledger::event::{Analysis, Analyzed, Verdict};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::propose::{About, Earlier, Found, Outcome as Verdicts};
use rlxp_types::Digest;

use crate::failure::Outcome;
use crate::studies::files::OpenStudy;

/// Analyses are summaries; larger ones are not read.
const LONGEST: u64 = 16 << 20;
/// Above this divergence between policies, updates are too large (rule F03).
const HIGH_KL: f64 = 0.02;
/// Below this divergence, updates hardly change the policy (rule F04).
const LOW_KL: f64 = 1e-5;
/// Above this share of clipped samples, updates are too large (rule F06).
const HIGH_CLIPPING: f64 = 0.3;
/// Below this share of the largest entropy, the policy has stopped exploring (rule F08).
const LOW_ENTROPY: f64 = 0.05;

/// Files that rlx wrote about the present reference, as they are now.
pub(super) struct Analyses {
    /// By file: its digest, its record, and what it is.
    known: BTreeMap<String, (Digest, u64, Analyzed)>,
    reflection: Option<(String, RewardReflection)>,
    probes: Vec<(String, ProbeSummary)>,
}

impl Analyses {
    pub(super) fn read(opened: &OpenStudy) -> Outcome<Self> {
        let (state, fs) = (opened.study.state(), opened.context().fs.as_ref());
        let mut found = Self { known: BTreeMap::new(), reflection: None, probes: Vec::new() };
        // The newest one of each file is the one that is there.
        for (record, analyzed) in state.analyzed.iter().rev() {
            let is_current =
                [Some(&analyzed.candidate), analyzed.reference.as_ref()].contains(&state.reference());
            if !is_current || found.known.contains_key(&analyzed.file) {
                continue;
            }
            let Ok(bytes) = fs.read(&opened.place.folder.join(&analyzed.file), LONGEST) else { continue };
            // A file that was edited since proves nothing.
            if Digest::hash(&bytes) != analyzed.digest {
                continue;
            }
            let file = analyzed.file.clone();
            match analyzed.what {
                Analysis::RewardReflection => {
                    if let (None, Ok(read)) = (&found.reflection, serde_json::from_slice(&bytes)) {
                        found.reflection = Some((file.clone(), read));
                    }
                }
                Analysis::Probe => {
                    found.probes.extend(serde_json::from_slice(&bytes).ok().map(|read| (file.clone(), read)));
                }
            }
            found.known.insert(file, (analyzed.digest, *record, analyzed.clone()));
        }
        Ok(found)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = String> {
        self.known.keys().cloned()
    }

    pub(super) fn digest(&self, file: &str) -> Option<Digest> {
        self.known.get(file).map(|(digest, ..)| *digest)
    }

    pub(super) fn reflection(&self) -> Option<&String> {
        self.reflection.as_ref().map(|(file, _)| file)
    }

    /// The summary of the parameter that a key belongs to.
    pub(super) fn probe_of(&self, key: &str) -> Option<&String> {
        self.probes.iter().find(|(_, probe)| key.starts_with(&probe.key)).map(|(file, _)| file)
    }

    /// The file and its record.
    fn cited(&self, file: &str) -> Vec<String> {
        let record = self.known.get(file).map(|(_, record, _)| format!("record:{record}"));
        std::iter::once(file.to_owned()).chain(record).collect()
    }

    /// Everything that was found about the present reference.
    pub(super) fn found(&self, opened: &OpenStudy, spec: &MetricSpec, runs: &[String]) -> Vec<Found> {
        let mut found = Vec::new();
        if let Some((file, reflection)) = &self.reflection {
            for finding in &reflection.reflection.findings {
                let (Some(name), false) = (&finding.component, finding.severity == FindingSeverity::Note)
                else {
                    continue;
                };
                let is_too_large = match finding.rule.as_str() {
                    "F20" => true,
                    // What never changes is scaled up so that it can.
                    "F21" => false,
                    _ => continue,
                };
                found.push(Found {
                    rule: finding.rule.clone(),
                    text: finding.text.clone(),
                    evidence: self.cited(file),
                    about: About::Component { name: name.clone(), is_too_large },
                });
            }
        }
        for (file, probe) in &self.probes {
            let Some(range) = probe.summary.proposed else { continue };
            let text =
                format!("with {} from {} to {} the policy keeps working", probe.key, range.from, range.to);
            found.push(Found {
                rule: "probe".to_owned(),
                text,
                evidence: self.cited(file),
                about: About::Range { key: probe.key.clone(), from: range.from, to: range.to },
            });
        }
        found.extend(from_metrics(opened, spec, runs));
        found
    }
}

/// Rules over declared metrics of the reference's runs, by their names.
fn from_metrics(opened: &OpenStudy, spec: &MetricSpec, runs: &[String]) -> Vec<Found> {
    let state = opened.study.state();
    let mut found = Vec::new();
    for metric in spec.diagnostics.iter().chain(&spec.scorecard) {
        let value = |key: &String| *state.runs.get(key)?.evidence.as_ref()?.values.get(&metric.name)?;
        let mut values: Vec<f64> = runs.iter().filter_map(value).filter(|value| value.is_finite()).collect();
        if values.is_empty() {
            continue;
        }
        values.sort_by(f64::total_cmp);
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        let plain = metric.name.as_str().replace(['-', '_'], "");
        let (rule, about, bound) = match plain.as_str() {
            "approxkl" | "kl" | "meankl" if median > HIGH_KL => {
                ("F03", About::Updates { are_too_large: true }, format!("above {HIGH_KL}"))
            }
            "approxkl" | "kl" | "meankl" if median < LOW_KL => {
                ("F04", About::Updates { are_too_large: false }, format!("below {LOW_KL}"))
            }
            "clipfraction" | "clipfrac" if median > HIGH_CLIPPING => {
                ("F06", About::Updates { are_too_large: true }, format!("above {HIGH_CLIPPING}"))
            }
            "relativeentropy" if median < LOW_ENTROPY => {
                ("F08", About::Exploration { is_too_small: true }, format!("below {LOW_ENTROPY}"))
            }
            _ => continue,
        };
        found.push(Found {
            rule: rule.to_owned(),
            text: format!("the median of {} is {median}, {bound}", metric.name),
            evidence: runs.iter().take(5).cloned().collect(),
            about,
        });
    }
    found
}

/// Keys of the runs of the incumbent, or else of the baseline, that have metrics.
pub(super) fn reference_runs(opened: &OpenStudy) -> Vec<String> {
    let state = opened.study.state();
    let Some(reference) = state.reference() else { return Vec::new() };
    let has_metrics = |run: &&RunRecord| run.evidence.is_some();
    let runs = state.runs_of_plan(reference);
    runs.into_iter().filter(has_metrics).map(|run| run.intent.key.clone()).collect()
}

/// Every change of a key that a candidate's file has, whatever came of it.
pub(super) fn earlier(opened: &OpenStudy) -> Outcome<Vec<Earlier>> {
    let state = opened.study.state();
    let mut all = Vec::new();
    for name in opened.study.candidate_files.keys() {
        let Ok(id) = name.parse() else { continue };
        let Some(written) = opened.candidate(&id)?.get().map(|written| written.typed.clone()) else {
            continue;
        };
        let verdict =
            state.judged.iter().rev().find(|(judged, _)| *judged == id).map(|(_, verdict)| *verdict);
        let outcome = match verdict {
            None | Some(Verdict::Debug) => Verdicts::Open,
            Some(Verdict::Accepted) => Verdicts::Accepted,
            Some(Verdict::Rejected) => Verdicts::Rejected,
            Some(Verdict::Inconclusive) => Verdicts::Inconclusive,
        };
        let runs: Vec<String> = state.runs_of(&id).iter().map(|run| run.intent.key.clone()).collect();
        for change in written.changes {
            if let (Some(key), Some(to)) = (change.key, change.to) {
                let (candidate, runs) = (id.clone(), runs.clone());
                all.push(Earlier { candidate, key, from: change.from, to, outcome, runs });
            }
        }
    }
    Ok(all)
}
