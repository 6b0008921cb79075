//! States of candidates: the first runs, launches, drafts, and when nothing is left to do.

use rlxp_govern::documents::{Assurance, Phase};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{LookCall, Reverted, Verdict};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::Action;
use rlxp_govern::section::Section;
use rlxp_types::Digest;
use serde_json::{Value, json};

use super::State;
use super::builder::Builder;
use crate::common::slug;
use crate::texts::{Texts, set};

/// A baseline with phases of its own.
fn baseline(study: &Builder, phases: Value) -> Value {
    let mut text = study.texts.baseline();
    set(&mut text, "/phases", phases);
    text
}

/// A baseline that shows no smoke run.
fn short_baseline(study: &mut Builder) {
    let text = baseline(study, json!([{ "phase": "short", "seeds": 2, "wall_clock": "1h" }]));
    study.validate(&text);
    study.approve_candidate(&text);
    study.ran("baseline", Phase::Short, 0, 250.25);
    study.ran("baseline", Phase::Short, 1, 250.25);
    study.complete("baseline");
    study.judge("baseline", Phase::Short, Verdict::Accepted, Some(250.25));
    study.report();
}

fn debugged(study: &mut Builder) {
    let key = study.end("lower-lr", Phase::Smoke, 0, RunEnd::Failed);
    study.evidence(&key, None);
    study.complete("lower-lr");
    study.judge("lower-lr", Phase::Smoke, Verdict::Debug, None);
    study.report();
}

/// Two looks, and audit seeds after them.
fn with_looks(texts: &mut Texts) {
    let statistics =
        json!({"alpha": 0.05, "screen_seeds": 2, "candidates": 3, "incumbent_seeds": 10, "looks": [5, 10]});
    set(&mut texts.contract, "/statistics", statistics);
    let phases = [("smoke", 1), ("short", 2), ("confirm", 10), ("incumbent_validation", 5)];
    let phase = |(phase, seeds)| json!({"phase": phase, "seeds": seeds, "wall_clock": "2h"});
    set(&mut texts.candidate, "/phases", phases.map(phase).to_vec().into());
}

pub(crate) const STATES: &[State] = &[
    ("no_baseline", Action::PlanBaseline, || Builder::approved(|_| {})),
    ("baseline_drafted", Action::Validate, || {
        let mut study = Builder::approved(|_| {});
        study.draft("a-first-idea");
        study.draft("baseline");
        study
    }),
    ("baseline_debugged", Action::PlanBaseline, || {
        let mut study = Builder::approved(|_| {});
        let text = study.texts.baseline();
        study.validate(&text);
        study.approve_candidate(&text);
        let key = study.end("baseline", Phase::Smoke, 0, RunEnd::Failed);
        study.evidence(&key, None);
        study.complete("baseline");
        study.judge("baseline", Phase::Smoke, Verdict::Debug, None);
        study.report();
        study
    }),
    ("baseline_runs_need_approval", Action::RequestApproval, || {
        let mut study = Builder::approved(|_| {});
        let text = study.baseline_text();
        study.validate(&text);
        study.approve_candidate(&text);
        study.ran("baseline", Phase::Smoke, 0, 250.25);
        study.ran("baseline", Phase::Confirm, 198, 250.25);
        study.end("baseline", Phase::Confirm, 199, RunEnd::Cancelled);
        let key = study.end_again("baseline", Phase::Confirm, 199, RunEnd::Limit);
        study.evidence(&key, None);
        study.complete("baseline");
        study.judge("baseline", Phase::Confirm, Verdict::Inconclusive, None);
        study.report();
        study
    }),
    ("baseline_without_a_result", Action::HandOff, || {
        let mut study = Builder::approved(|_| {});
        let text = study.baseline_text();
        study.validate(&text);
        study.approve_candidate(&text);
        study.ran("baseline", Phase::Smoke, 0, 250.25);
        study.end("baseline", Phase::Confirm, 198, RunEnd::Failed);
        study.end("baseline", Phase::Confirm, 199, RunEnd::Failed);
        study.complete("baseline");
        study
    }),
    ("baseline_excepted", Action::Smoke, || {
        Builder::approved(|texts| {
            let known =
                json!([{ "section": "baseline", "code": "no_baseline", "reason": "Measured in May" }]);
            set(&mut texts.contract, "/exceptions", known);
        })
    }),
    ("baseline_needs_no_better_median", Action::Launch, || {
        let mut study = Builder::with_baseline(|_| {});
        let mut text = study.texts.baseline();
        set(&mut text, "/id", json!("probe-gravity"));
        set(&mut text, "/kind", json!("probe"));
        set(&mut text, "/phases", study.texts.candidate["phases"].clone());
        study.validate(&text);
        study.approve_candidate(&text);
        study.screened("probe-gravity", 100.5);
        study
    }),
    ("smoke_not_passed", Action::Smoke, || {
        let mut study = Builder::approved(|_| {});
        short_baseline(&mut study);
        study
    }),
    ("smoke_drafted", Action::Validate, || {
        let mut study = Builder::approved(|_| {});
        short_baseline(&mut study);
        study.draft("smoke");
        study
    }),
    ("smoke_validated_execute_missing", Action::RequestApproval, || {
        let mut study = Builder::opened(|_| {});
        let without =
            Section::ALL.into_iter().filter(|one| !matches!(one, Section::Execute | Section::LoopEntry));
        study.approve(&without.collect::<Vec<_>>(), Assurance::Terminal);
        let text = study.texts.baseline();
        study.validate(&text);
        study
    }),
    ("smoke_ready", Action::Smoke, || {
        let mut study = Builder::approved(|_| {});
        let text = study.texts.baseline();
        study.validate(&text);
        study.approve_candidate(&text);
        study
    }),
    ("manual_and_not_approved", Action::RequestApproval, || {
        let mut study =
            Builder::with_baseline(|texts| set(&mut texts.contract, "/automation", json!("manual")));
        let text = study.named("lower-lr");
        study.validate(&text);
        study
    }),
    ("manual_and_approved", Action::Launch, || {
        Builder::with_candidate(|texts| set(&mut texts.contract, "/automation", json!("manual")))
    }),
    ("supervised_and_approved", Action::Launch, || Builder::with_candidate(|_| {})),
    ("approved_before_it_was_changed", Action::RequestApproval, || {
        let mut study = Builder::with_candidate(|_| {});
        study.reopen("lower-lr", "its text changed");
        let mut text = study.named("lower-lr");
        set(&mut text, "/hypothesis", json!("Another reason"));
        study.validate(&text);
        study
    }),
    ("next_phase_of_a_launched_candidate", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        study.screened("lower-lr", 255.5);
        study
    }),
    ("autonomous_within_envelope", Action::Launch, || {
        let mut study = Builder::autonomous(|_| {});
        study.world.approve_sections();
        study.baseline();
        let text = study.named("lower-lr");
        study.validate(&text);
        study
    }),
    ("autonomous_outside_envelope", Action::Ask, || {
        let mut study = Builder::autonomous(|texts| {
            set(&mut texts.contract, "/experiment/envelope/candidates", json!(1));
        });
        study.world.approve_sections();
        study.baseline();
        study.rejected("lower-lr");
        study.report();
        let text = study.named("higher-lr");
        study.validate(&text);
        study
    }),
    ("autonomous_one_of_two_within_envelope", Action::Launch, || {
        let mut study = Builder::autonomous(|texts| {
            set(&mut texts.contract, "/budget/parallel", json!(1));
        });
        study.world.approve_sections();
        study.baseline();
        let mut outside = study.named("a-policy");
        set(&mut outside, "/kind", json!("policy"));
        study.validate(&outside);
        let text = study.named("lower-lr");
        study.validate(&text);
        study
    }),
    ("validated_before_another_spent_it", Action::HandOff, || {
        // Each of the two fits alone, so each was validated; then one of them ran.
        let mut study = Builder::with_baseline(|texts| {
            set(&mut texts.contract, "/budget/wall_clock", json!("6h14m"));
        });
        study.candidate("higher-lr");
        study.rejected("lower-lr");
        study.report();
        study
    }),
    ("budget_holds_none", Action::HandOff, || {
        let mut study = Builder::with_candidate(|texts| set(&mut texts.contract, "/budget/runs", json!(5)));
        study.candidate("higher-lr");
        study
    }),
    ("budget_holds_one_of_two", Action::Launch, || {
        let mut study =
            Builder::with_candidate(|texts| set(&mut texts.contract, "/budget/wall_clock", json!("2h")));
        let mut text = study.named("quick-look");
        set(&mut text, "/phases", json!([{ "phase": "short", "seeds": 1, "wall_clock": "1h" }]));
        study.validate(&text);
        study.approve_candidate(&text);
        study
    }),
    ("budget_does_not_hold_what_is_left_of_a_plan", Action::HandOff, || {
        let mut study =
            Builder::with_candidate(|texts| set(&mut texts.contract, "/budget/wall_clock", json!("4h")));
        study.screened("lower-lr", 255.5);
        study
    }),
    ("budget_does_not_hold_the_smoke_run", Action::HandOff, || {
        let mut study = Builder::approved(|texts| {
            set(&mut texts.contract, "/budget/wall_clock", json!("5m"));
            set(&mut texts.contract, "/budget/per_run/wall_clock", json!("5m"));
        });
        let text = study.texts.baseline();
        study.validate(&text);
        study.approve_candidate(&text);
        study
    }),
    ("confirms_used_up", Action::Judge, || {
        let mut study = Builder::with_candidate(|texts| {
            set(&mut texts.contract, "/statistics/maximum_confirms", json!(1));
        });
        study.confirmed("lower-lr", 255.5, 100);
        study.judge("lower-lr", Phase::Confirm, Verdict::Inconclusive, None);
        study.report();
        study.candidate("higher-lr");
        study.screened("higher-lr", 256.5);
        study
    }),
    ("look_is_due", Action::Judge, || {
        let mut study = Builder::with_candidate(with_looks);
        study.confirm_seeds("lower-lr", 100..105);
        study
    }),
    ("look_asks_for_more", Action::Launch, || {
        let mut study = Builder::with_candidate(with_looks);
        study.confirm_seeds("lower-lr", 100..105);
        study.looked("lower-lr", 1, LookCall::More);
        study
    }),
    ("audit_seeds_follow_an_accepting_look", Action::Launch, || {
        let mut study = Builder::with_candidate(with_looks);
        study.confirm_seeds("lower-lr", 100..105);
        study.looked("lower-lr", 1, LookCall::Accept);
        study
    }),
    ("drafts", Action::Validate, || {
        let mut study = Builder::with_baseline(|_| {});
        study.draft("lower-lr");
        study.draft("higher-lr");
        study
    }),
    ("debugged_and_revised", Action::Validate, || {
        let mut study = Builder::with_candidate(|_| {});
        debugged(&mut study);
        study.world.study.candidate_files.insert("lower-lr".into(), Digest::hash(b"revision 2"));
        study
    }),
    ("debugged_and_not_revised", Action::Propose, || {
        let mut study = Builder::with_candidate(|_| {});
        debugged(&mut study);
        study
    }),
    ("second_revision_validated", Action::Launch, || {
        let mut study = Builder::with_candidate(|_| {});
        debugged(&mut study);
        study.reopen("lower-lr", "it was debugged");
        let mut text = study.named("lower-lr");
        set(&mut text, "/revision", json!(2));
        study.validate(&text);
        study.approve_candidate(&text);
        study
    }),
    ("nothing_left", Action::Propose, || Builder::with_baseline(|_| {})),
    ("reverted_to_the_earlier_incumbent", Action::Propose, || {
        let mut study = Builder::with_candidate(|_| {});
        study.confirmed("lower-lr", 255.5, 100);
        study.judge("lower-lr", Phase::Confirm, Verdict::Accepted, Some(255.5));
        study.report();
        let (candidate, reason) = (slug("lower-lr"), "it falls on slopes".to_owned());
        study.world.push(Event::Reverted(Reverted { candidate, reason }));
        study
    }),
    ("inconclusive_after_confirm", Action::Propose, || {
        let mut study = Builder::with_candidate(|_| {});
        study.confirmed("lower-lr", 255.5, 100);
        study.judge("lower-lr", Phase::Confirm, Verdict::Inconclusive, None);
        study.report();
        study
    }),
];
