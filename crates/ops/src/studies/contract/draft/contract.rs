//! The draft of `contract.yaml`.

use rlxp_govern::documents::{
    Assurance, Automation, Base, CandidateKind, CheckpointRule, Confinement, Device, Network, PerRun,
    StopRule, StudyName, SurfaceKind,
};

use super::yaml::{flow, list, number, put, scalar};
use super::{Draft, METRIC, TODO, first};
use crate::studies::contract::ask::{Ask, Typed};

impl Draft<'_> {
    pub(super) fn contract(&self) -> String {
        let mut text = format!(
            "# The contract of {}. People approve it section by section; rlx never rewrites it.\n\
             # TODO marks open questions; list them with `rlx contract check`.\n\
             schema: rlxp.contract/1\n\n",
            self.name
        );
        let StudyName { task, study } = self.name;
        let mission = scalar(&self.sentence(&self.typed.mission, Ask::Mission));
        put(&mut text, format_args!("task:\n  id: {task}\n  study: {study}\n  mission: {mission}\n"));
        put(&mut text, format_args!("  constraints:{}\n", list(&self.typed.constraints, 4)));
        put(&mut text, format_args!("  non_goals:{}\n\n", list(&self.typed.non_goals, 4)));

        let guardrails: Vec<String> =
            self.typed.guardrails.iter().map(|one| one.metric.name.to_string()).collect();
        put(
            &mut text,
            format_args!("# Defined in metric_spec.yaml.\nmetrics:\n  primary: {}\n", self.metric()),
        );
        put(&mut text, format_args!("  guardrails: {}\n\n", flow(&guardrails)));

        let surfaces: Vec<String> = self.typed.surfaces.iter().map(|one| one.id.to_string()).collect();
        put(
            &mut text,
            format_args!("# Defined in surface_map.yaml.\nscope:\n  surfaces: {}\n", flow(&surfaces)),
        );
        text.push_str("  one_change_at_a_time: true\n\n");
        self.budget(&mut text);
        self.hardware(&mut text);
        self.baseline(&mut text);
        put(&mut text, format_args!("evaluation:\n  description: {}\n\n", scalar(&self.evaluation())));
        self.experiment(&mut text);
        self.statistics(&mut text);
        text.push_str("# The study stops and is handed to a person when one of these applies.\n");
        let rules = &self.typed.stop_rules;
        if rules.is_empty() {
            put(&mut text, format_args!("# {}\nstop_rules: []\n", self.answers.open_text(Ask::StopRules)));
            return text;
        }
        text.push_str("stop_rules:\n");
        for rule in rules {
            let line = match rule {
                StopRule::TargetReached { value } => {
                    format!("{{when: target_reached, value: {}}}", number(*value))
                }
                StopRule::NoImprovement { candidates } => {
                    format!("{{when: no_improvement, candidates: {candidates}}}")
                }
                StopRule::FailuresInARow { runs } => format!("{{when: failures_in_a_row, runs: {runs}}}"),
            };
            put(&mut text, format_args!("  - {line}\n"));
        }
        text
    }

    fn baseline(&self, text: &mut String) {
        text.push_str(
            "# Changes start from this code, and results are evaluated by the evaluator in it. Later commits change nothing.\n\
             baseline:\n",
        );
        match self.base {
            Some(Base::Commit(commit)) => put(text, format_args!("  commit: {commit}\n")),
            Some(Base::Snapshot(digest)) => put(text, format_args!("  snapshot: {digest}\n")),
            // Asked for by `contract check`.
            None => {}
        }
        let description = scalar(&self.sentence(&self.typed.baseline, Ask::Baseline));
        put(text, format_args!("  description: {description}\n\n"));
    }

    fn budget(&self, text: &mut String) {
        let runs = first(&self.typed.runs).unwrap_or(1);
        let wall_clock = first(&self.typed.wall_clock).unwrap_or_default();
        let disk = first(&self.typed.disk).unwrap_or_default();
        let PerRun { wall_clock: time, disk: space, memory, .. } =
            self.typed.per_run.first().expect("it has a default");
        put(
            text,
            format_args!(
                "# Limits of the whole study and of one run.\nbudget:\n  runs: {runs}\n  wall_clock: {wall_clock}\n"
            ),
        );
        if self.device() == Device::Gpu {
            put(text, format_args!("  gpu_time: {wall_clock}\n"));
        }
        put(
            text,
            format_args!(
                "  disk: {disk}\n  per_run: {{wall_clock: {time}, disk: {space}, memory: {memory}}}\n\n"
            ),
        );
    }

    fn statistics(&self, text: &mut String) {
        let Typed { screen_seeds, planned_candidates, incumbent_seeds, looks, .. } = self.typed;
        let count = |given: &[u64]| first(given).expect("it has a default");
        let alpha = first(&self.typed.alpha).expect("it has a default");
        text.push_str("# How claims are judged; docs/statistics.md explains each number.\n");
        put(text, format_args!("statistics:\n  alpha: {}\n", number(alpha)));
        put(text, format_args!("  screen_seeds: {}\n", count(screen_seeds)));
        put(text, format_args!("  candidates: {}\n", count(planned_candidates)));
        put(text, format_args!("  incumbent_seeds: {}\n", count(incumbent_seeds)));
        let looks: Vec<String> =
            looks.first().expect("it has a default").iter().map(u64::to_string).collect();
        put(
            text,
            format_args!("  # Seeds of a candidate at each look.\n  looks: [{}]\n\n", looks.join(", ")),
        );
    }

    fn hardware(&self, text: &mut String) {
        let device = self.device();
        let network = first(&self.typed.network).unwrap_or(Network::None);
        let gpus = u8::from(device == Device::Gpu);
        put(text, format_args!("hardware: {{device: {device}, gpus: {gpus}, network: {network}}}\n"));
        let confinement = first(&self.typed.confinement).unwrap_or(Confinement::Full);
        put(
            text,
            format_args!(
                "# Required sandboxing of runs: none, partial, full.\nconfinement: {confinement}\n\n"
            ),
        );
    }

    /// Description of the protocol. It stays open as long as any answer about the metric is missing: a default name or
    /// number looks like one that was chosen.
    fn evaluation(&self) -> String {
        let missing = self.missing(&[&METRIC[..], &[Ask::SmallestEffect, Ask::Eval]].concat());
        if !missing.is_empty() {
            return format!(
                "{TODO} how are results evaluated? metric_spec.yaml and runbook.yaml still lack: {}",
                missing.join(", ")
            );
        }
        let command = self.answers.given(Ask::Eval).unwrap_or_default().join(" ");
        let (episodes, how, which) = self.protocol();
        let chance = if how { "deterministic" } else { "stochastic" };
        let which = if which == CheckpointRule::Last { "last" } else { "best" };
        format!("{episodes} {chance} episodes per seed, {which} checkpoint, by `{command}`")
    }

    fn experiment(&self, text: &mut String) {
        let surfaces = &self.typed.surfaces;
        let names: Vec<&str> = surfaces.iter().map(|surface| surface.id.as_str()).collect();
        let description = if names.is_empty() {
            format!("{TODO} what should be tried?")
        } else {
            format!("one change at a time to {}", names.join(", "))
        };
        let automation = first(&self.typed.automation).unwrap_or(Automation::Manual);
        let assurance = first(&self.typed.assurance).unwrap_or(Assurance::Signature);
        put(text, format_args!("experiment:\n  description: {}\n", scalar(&description)));
        if automation == Automation::Autonomous
            && let Some(candidates) = first(&self.typed.candidates)
        {
            let mut kinds: Vec<CandidateKind> = Vec::new();
            for surface in surfaces {
                let of: &[CandidateKind] = match surface.kind {
                    SurfaceKind::Reward => &[CandidateKind::RewardTuning, CandidateKind::RewardEngineering],
                    SurfaceKind::Termination => &[CandidateKind::Termination],
                    SurfaceKind::Curriculum => &[CandidateKind::Curriculum],
                    SurfaceKind::Randomisation => &[CandidateKind::Randomisation],
                    SurfaceKind::Hyperparameter => &[CandidateKind::Hyperparameter],
                    SurfaceKind::Policy => &[CandidateKind::Policy],
                };
                kinds.extend(of.iter().filter(|kind| !kinds.contains(kind)).copied().collect::<Vec<_>>());
            }
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            let surfaces: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            put(
                text,
                format_args!(
                    "  # What may be tried without further approval.\n  envelope:\n    kinds: {}\n    surfaces: {}\n    phases: [smoke, short, confirm, incumbent_validation]\n    candidates: {candidates}\n",
                    flow(&kinds),
                    flow(&surfaces)
                ),
            );
        }
        put(
            text,
            format_args!(
                "# Who starts runs: manual, supervised (candidates that a person approved), autonomous.\nautomation: {automation}\n"
            ),
        );
        put(
            text,
            format_args!(
                "# Weakest accepted approval method: host, terminal, signature.\nassurance: {assurance}\n\n"
            ),
        );
    }
}
