//! The name of every report. A new command adds a line here.

use super::*;
use crate::event::Event;
use crate::insight::{
    analyze, compare, diff, explain, inspect, landscape, notes, plot, report, runs, stats, suggest,
    summarize, video,
};
use crate::quickstart::QuickstartReport;
use crate::studies::{
    approve, audit, autoloop, candidate, clean, contract, doctor, export_code, extract, judge, launch,
    ledger, metric, monitor, probing, propose, queue, reflect, revert, study, verify,
};
use crate::training::{eval, init, python, reproduce, resume, several, stop, train};

macro_rules! names {
    ($($name:literal: $report:ty,)*) => {
        $(impl Report for $report {
            const SCHEMA: &'static str = $name;
        })*
    };
}

names! {
    "rlx.event/1": Event,
    "rlx.quickstart/1": QuickstartReport,

    "rlx.project/1": init::InitReport,
    "rlx.environments/1": Environments<'_>,
    "rlx.config_schema/1": ConfigSchema,
    "rlx.config_check/1": ConfigCheck<'_>,
    "rlx.config/1": ShownConfig<'_>,
    "rlx.training/1": train::TrainReport,
    "rlx.trainings/1": several::SeveralReport,
    "rlx.stopped/1": stop::StopReport,
    "rlx.resumption/1": resume::ResumeReport,
    "rlx.reproduction/1": reproduce::ReproduceReport,
    "rlx.evaluations/1": eval::EvalReport,
    "rlx.python_setup/1": python::SetupReport,
    "rlx.python_trust/1": python::TrustReport,

    "rlx.runs/1": RunList<'_>,
    "rlx.run/1": runs::RunInfo,
    "rlx.tags/1": RunTags<'_>,
    "rlx.notes/1": RunNotes<'_>,
    "rlx.title/1": notes::Titled,
    "rlx.removed/1": RemovedRuns<'_>,
    "rlx.record/1": TailedRecord<'_>,
    "rlx.tail/1": TailEnd,
    "rlx.comparison/1": compare::CompareReport,
    "rlx.diff/1": diff::DiffReport,
    "rlx.verdict/1": rlxp_analyze::describe::verdict::Described,
    "rlx.power/1": stats::PowerReport,
    "rlx.campaign/1": stats::campaign::CampaignReport,
    "rlx.plot/1": plot::PlotReport,
    "rlx.landscape/1": landscape::LandscapeReport,
    "rlx.report/1": report::ReportReport,
    "rlx.video/1": video::VideoReport,
    "rlx.inspection/1": inspect::InspectReport,
    "rlx.diagnosis/1": Diagnoses<'_>,
    "rlx.suggestions/1": suggest::Suggestions,
    "rlx.analysis/1": analyze::AnalysisReport,
    "rlx.summary/1": summarize::SummaryReport,
    "rlx.explanation/1": explain::ExplainReport,

    "rlx.study_opened/1": study::init::InitReport,
    "rlx.active_study/1": rlxp_govern::documents::StudyName,
    "rlx.studies/1": study::registry::StudyList,
    "rlx.study/1": study::status::StudyStatus,
    "rlx.next_step/1": study::next::NextReport,
    "rlx.extraction/1": extract::ExtractReport,
    "rlx.judgement/1": judge::JudgeReport,
    "rlx.reward_reflection/1": reflect::ReflectReport,
    "rlx.probe_plan/1": probing::ProbePlanReport,
    "rlx.probe_summary/1": probing::ProbeSummaryReport,
    "rlx.proposals/1": propose::ProposeReport,
    "rlx.study_audit/1": audit::AuditReport,
    "rlx.study_report/1": crate::studies::report::StudyReport,
    "rlx.study_monitor/1": monitor::MonitorReport,
    "rlx.handoff/1": study::end::HandOff,
    "rlx.study_closed/1": study::end::ClosedStudy,
    "rlx.export/1": study::export::ExportReport,
    "rlx.code_export/1": export_code::CodeExport,
    "rlx.reverted/1": revert::RevertReport,
    "rlx.study_clean/1": clean::CleanReport,
    "rlx.ledger/1": ledger::Records,
    "rlx.anchor/1": ledger::AnchorReport,
    "rlx.restored_ledger/1": ledger::RestoreReport,
    "rlx.verification/1": verify::VerifyReport,
    "rlx.contract_draft/1": contract::intake::Drafted,
    "rlx.contract_input/1": contract::input::InputReport,
    "rlx.contract_check/1": contract::check::Checked,
    "rlx.contract_diff/1": contract::diff::Diff,
    "rlx.approval_request/1": contract::request::Request,
    "rlx.approval_preview/1": approve::Prepared,
    "rlx.statement/1": ApprovalStatement<'_>,
    "rlx.approval/1": approve::ApproveReport,
    "rlx.candidate_draft/1": candidate::NewReport,
    "rlx.candidate_revised/1": candidate::ReviseReport,
    "rlx.candidate_validation/1": candidate::ValidateReport,
    "rlx.candidate/1": candidate::ShowReport,
    "rlx.candidates/1": candidate::ListReport,
    "rlx.metric_check/1": metric::MetricReport,
    "rlx.queue/1": queue::QueueReport,
    "rlx.launch_plan/1": launch::plan_report::PlanReport,
    "rlx.launch/1": launch::outcome::ExecuteReport,
    "rlx.loop_event/1": autoloop::LoopEvent,
    "rlx.loop/1": autoloop::AutoloopReport,
    "rlx.governed_run/1": launch::outcome::RunOutcome,
    "rlx.governed_runs/1": launch::watch::StatusReport,
    "rlx.run_log/1": launch::watch::LogReport,
    "rlx.adopted/1": AdoptedRuns<'_>,
    "rlx.probe/1": launch::probe::ProbeReport,
    "rlx.run_handoff/1": launch::handoff::HandoffReport,
    "rlx.doctor/1": doctor::DoctorReport,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Readers could not distinguish two reports with the same name.
    #[test]
    fn every_name_is_given_once_and_is_well_formed() {
        let table = include_str!("names.rs");
        let names: Vec<&str> = table
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("\"rlx.")?.split_once("\": "))
            .map(|(name, _)| name)
            .collect();
        assert!(names.len() > 50, "{names:?}");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            let (noun, version) = name.split_once('/').unwrap();
            assert!(noun.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            assert!(version.parse::<u32>().is_ok(), "{name}");
        }
    }
}
