//! States of runs, verdicts and reports, and those in which a person takes over.

use rlxp_govern::documents::{Assurance, Phase};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{HandedOff, Verdict};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::Action;
use rlxp_govern::section::{Section, Target};
use serde_json::json;

use super::State;
use super::builder::Builder;
use crate::common::ended;
use crate::texts::set;

pub(crate) const STATES: &[State] = &[
    ("run_intended", Action::Monitor, || {
        let mut study = Builder::with_candidate(|_| {});
        study.intend("lower-lr", Phase::Smoke, 0);
        study
    }),
    ("run_running", Action::Monitor, || {
        let mut study = Builder::with_candidate(|_| {});
        study.start("lower-lr", Phase::Smoke, 0);
        study
    }),
    ("parallel_slots_full", Action::Monitor, || {
        let mut study = Builder::with_candidate(|_| {});
        study.candidate("higher-lr");
        study.candidate("warm-up");
        study.start("lower-lr", Phase::Smoke, 0);
        study.start("higher-lr", Phase::Smoke, 0);
        study
    }),
    ("one_slot_free", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.candidate("higher-lr");
        study.candidate("warm-up");
        study.start("lower-lr", Phase::Smoke, 0);
        study
    }),
    ("smoke_run_is_not_extracted", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.end("lower-lr", Phase::Smoke, 0, RunEnd::Ok);
        study
    }),
    ("run_ended_without_evidence", Action::Extract, || {
        let mut study = Builder::with_candidate(|_| {});
        study.end("lower-lr", Phase::Smoke, 0, RunEnd::Ok);
        study.end("lower-lr", Phase::Short, 0, RunEnd::Ok);
        study
    }),
    ("failed_run_without_evidence", Action::Extract, || {
        let mut study = Builder::with_candidate(|_| {});
        study.end("lower-lr", Phase::Smoke, 0, RunEnd::Ok);
        study.end("lower-lr", Phase::Short, 0, RunEnd::Failed);
        study
    }),
    ("exposed_runs_need_approval", Action::RequestApproval, || {
        let mut study = Builder::with_candidate(|_| {});
        study.ran("lower-lr", Phase::Smoke, 0, 255.5);
        for seed in [0, 1] {
            let mut intent = study.intent("lower-lr", Phase::Short, seed);
            intent.evaluator_exposed = true;
            study.world.run(&intent, RunEnd::Ok);
            study.evidence(&intent.key, Some(255.5));
        }
        study
    }),
    ("lost_run_runs_again", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.ran("lower-lr", Phase::Smoke, 0, 255.5);
        study.ran("lower-lr", Phase::Short, 0, 255.5);
        study.end("lower-lr", Phase::Short, 1, RunEnd::Lost);
        study
    }),
    ("blocked_run_runs_again", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        let key = study.intend("lower-lr", Phase::Smoke, 0);
        study.world.push(ended(&key, RunEnd::Blocked));
        study
    }),
    ("lost_run_ran_again_and_only_that_counts", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.end("lower-lr", Phase::Smoke, 0, RunEnd::Lost);
        let key = study.end_again("lower-lr", Phase::Smoke, 0, RunEnd::Ok);
        study.evidence(&key, Some(255.5));
        study
    }),
    ("lost_twice_is_over", Action::Judge, || {
        let mut study = Builder::with_candidate(|_| {});
        study.end("lower-lr", Phase::Smoke, 0, RunEnd::Lost);
        study.end_again("lower-lr", Phase::Smoke, 0, RunEnd::Lost);
        study
    }),
    ("completed_without_verdict", Action::Judge, || {
        let mut study = Builder::with_candidate(|_| {});
        study.confirmed("lower-lr", 255.5, 100);
        study
    }),
    ("launched_with_nothing_left", Action::Judge, || {
        let mut study = Builder::with_candidate(|_| {});
        let key = study.end("lower-lr", Phase::Smoke, 0, RunEnd::Failed);
        study.evidence(&key, None);
        study
    }),
    ("screened_and_worse", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.screened("lower-lr", 250.0);
        study
    }),
    ("screened_without_a_metric", Action::Judge, || {
        let mut study = Builder::with_candidate(|_| {});
        study.ran("lower-lr", Phase::Smoke, 0, 255.5);
        study.ran("lower-lr", Phase::Short, 0, 255.5);
        let key = study.end("lower-lr", Phase::Short, 1, RunEnd::Ok);
        study.evidence(&key, None);
        study
    }),
    ("accepted_without_report", Action::Report, || {
        let mut study = Builder::with_candidate(|_| {});
        study.confirmed("lower-lr", 255.5, 100);
        study.judge("lower-lr", Phase::Confirm, Verdict::Accepted, Some(255.5));
        study
    }),
    ("rejected_without_report", Action::Report, || {
        let mut study = Builder::with_baseline(|_| {});
        study.rejected("lower-lr");
        study
    }),
    ("budget_of_runs_spent", Action::HandOff, || {
        let mut study = Builder::with_baseline(|texts| set(&mut texts.contract, "/budget/runs", json!(4)));
        study.rejected("lower-lr");
        study.report();
        study
    }),
    ("wall_clock_spent", Action::HandOff, || {
        let mut study = Builder::with_baseline(|texts| {
            set(&mut texts.contract, "/budget/wall_clock", json!("4m"));
            set(&mut texts.contract, "/budget/per_run/wall_clock", json!("4m"));
        });
        study.rejected("lower-lr");
        study.report();
        study
    }),
    ("target_reached", Action::HandOff, || {
        let mut study = Builder::with_candidate(|_| {});
        study.confirmed("lower-lr", 300.5, 100);
        study.judge("lower-lr", Phase::Confirm, Verdict::Accepted, Some(300.5));
        study.report();
        study
    }),
    ("target_reached_downwards", Action::HandOff, || {
        let mut study = Builder::with_candidate(|texts| {
            set(&mut texts.metric_spec, "/primary/direction", json!("lower"));
            set(&mut texts.contract, "/stop_rules/0/value", json!(240.5));
        });
        study.confirmed("lower-lr", 239.5, 100);
        study.judge("lower-lr", Phase::Confirm, Verdict::Accepted, Some(239.5));
        study.report();
        study
    }),
    ("no_improvement", Action::HandOff, || {
        let mut study =
            Builder::with_baseline(|texts| set(&mut texts.contract, "/stop_rules/1/candidates", json!(2)));
        study.rejected("lower-lr");
        study.rejected("higher-lr");
        study.report();
        study
    }),
    ("failures_in_a_row", Action::HandOff, || {
        let mut study =
            Builder::with_candidate(|texts| set(&mut texts.contract, "/stop_rules/2/runs", json!(2)));
        study.ran("lower-lr", Phase::Smoke, 0, 255.5);
        for (seed, end) in [(0, RunEnd::Failed), (1, RunEnd::Limit)] {
            let key = study.end("lower-lr", Phase::Short, seed, end);
            study.evidence(&key, None);
        }
        study.complete("lower-lr");
        study.judge("lower-lr", Phase::Short, Verdict::Debug, None);
        study.report();
        study
    }),
    ("handed_off_and_waiting", Action::Wait, || {
        let mut study = Builder::with_baseline(|texts| set(&mut texts.contract, "/budget/runs", json!(1)));
        study.world.push(Event::HandedOff(HandedOff { reason: "the budget of runs is spent".into() }));
        study
    }),
    ("handed_off_and_may_be_closed", Action::Wait, || {
        let mut study = Builder::with_baseline(|texts| set(&mut texts.contract, "/budget/runs", json!(1)));
        study.world.push(Event::HandedOff(HandedOff { reason: "the budget of runs is spent".into() }));
        study.world.approve(&[Target::Close], Assurance::Terminal);
        study
    }),
    ("handed_off_before_the_contract", Action::Wait, || {
        let mut study = Builder::opened(|_| {});
        study.files = [None, None, None, None];
        study.world.push(Event::HandedOff(HandedOff { reason: "what is the task?".into() }));
        study
    }),
    ("handed_off_before_the_loop", Action::Wait, || {
        let mut study = Builder::opened(|_| {});
        study.world.push(Event::HandedOff(HandedOff { reason: "please read it".into() }));
        study
    }),
    ("handed_off_without_a_rule", Action::Wait, || {
        let mut study = Builder::with_candidate(|_| {});
        study.world.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
        study
    }),
    ("handed_off_to_those_who_sign", Action::Wait, || {
        let mut study = Builder::approved(|texts| set(&mut texts.contract, "/assurance", json!("signature")));
        study.world.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
        study
    }),
    ("handed_off_while_a_run_goes_on", Action::Monitor, || {
        let mut study = Builder::with_candidate(|_| {});
        study.start("lower-lr", Phase::Smoke, 0);
        study.world.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
        study
    }),
    ("handed_off_and_judged", Action::Wait, || {
        // Started work is finished; an existing verdict doesn't mean that a person has seen it.
        let mut study = Builder::with_candidate(|_| {});
        study.screened("lower-lr", 200.5);
        study.world.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
        study.complete("lower-lr");
        study.judge("lower-lr", Phase::Short, Verdict::Rejected, None);
        study.report();
        study
    }),
    ("handed_off_to_be_closed", Action::Wait, || {
        let mut study = Builder::with_candidate(|_| {});
        study.world.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
        study.world.approve(&[Target::Close], Assurance::Terminal);
        study
    }),
    ("handed_off_and_taken_up_again", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.world.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
        study.approve(&[Section::LoopEntry], Assurance::Terminal);
        study
    }),
    ("handed_off_and_given_back", Action::HandOff, || {
        // Handed off, then approved: the person who took over gave it back, and the rule still
        // applies.
        let mut study = Builder::with_baseline(|texts| set(&mut texts.contract, "/budget/runs", json!(1)));
        study.world.push(Event::HandedOff(HandedOff { reason: "the budget of runs is spent".into() }));
        study.approve(&[Section::Task], Assurance::Terminal);
        study
    }),
];
