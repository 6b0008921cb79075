//! States before anything runs: ledger, repository, contract and approvals.

use rlxp_govern::documents::Assurance;
use rlxp_govern::ledger::event::{Closed, Voided};
use rlxp_govern::ledger::{Event, read};
use rlxp_govern::next::Action;
use rlxp_govern::section::{Section, Target};
use rlxp_types::Digest;
use serde_json::json;

use super::State;
use super::builder::Builder;
use crate::texts::{remove, set};

pub(crate) const STATES: &[State] = &[
    ("ledger_with_a_flipped_byte", Action::Stop, || {
        let mut study = Builder::with_candidate(|_| {});
        study.damage = |lines| *lines = lines.replacen("250.25", "250.35", 1);
        study
    }),
    ("ledger_with_a_record_cut_out", Action::Stop, || {
        let mut study = Builder::with_candidate(|_| {});
        study.damage = |lines| {
            let kept: Vec<&str> =
                lines.lines().enumerate().filter(|(at, _)| *at != 4).map(|(_, line)| line).collect();
            *lines = kept.join("\n") + "\n";
        };
        study
    }),
    ("ledger_of_a_later_version", Action::Stop, || {
        let mut study = Builder::approved(|_| {});
        study.damage = |lines| {
            let head: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
            let mut next = json!({ "actor": "rlx", "at": "2027-01-01T00:00:00Z", "body": {}, "kind": "dreamt",
                "prev": head["digest"], "seq": head["seq"].as_u64().unwrap() + 1 });
            next["digest"] = json!(rlxp_govern::canonical::digest(&next));
            *lines += &(rlxp_govern::canonical::text(&next) + "\n");
        };
        study
    }),
    ("ledger_empty", Action::Stop, || {
        let mut study = Builder::opened(|_| {});
        study.damage = String::clear;
        study
    }),
    ("last_line_torn", Action::PlanBaseline, || {
        let mut study = Builder::approved(|_| {});
        study.damage = |lines| lines.push_str("{\"actor\":\"rlx\",\"at\":\"2026-01-0");
        study
    }),
    ("closed", Action::Closed, || {
        let mut study = Builder::with_baseline(|_| {});
        study.world.approve(&[Target::Close], Assurance::Terminal);
        study.world.push(Event::Closed(Closed { reason: "good enough".into() }));
        study
    }),
    ("closed_by_nobody", Action::Closed, || {
        // The folder stays protected, as no person approved this.
        let mut study = Builder::with_baseline(|_| {});
        study.world.push(Event::Closed(Closed { reason: "good enough".into() }));
        study
    }),
    ("contract_lowers_the_bar", Action::RequestApproval, || {
        let mut study = Builder::opened(|texts| set(&mut texts.contract, "/assurance", json!("host")));
        // Opened where nothing weaker than an approval at a terminal counts.
        let mut events: Vec<Event> =
            study.world.study.ledger.records.iter().map(|record| record.event.clone()).collect();
        if let Event::Opened(opened) = &mut events[0] {
            opened.assurance = Assurance::Terminal;
        }
        study.world.study.ledger = read(b"");
        events.into_iter().for_each(|event| study.world.push(event));
        study.approve(&Section::ALL, Assurance::Host);
        study
    }),
    ("no_adapter", Action::Audit, || {
        let mut study = Builder::approved(|_| {});
        study.world.study.adapter = None;
        study
    }),
    ("stale_claim", Action::Audit, || {
        let mut study = Builder::approved(|_| {});
        study.world.study.adapter.as_mut().unwrap().stale.push("train.py:7".into());
        study
    }),
    ("adapter_not_audited_as_it_is", Action::Audit, || {
        let mut study = Builder::approved(|_| {});
        study.world.study.adapter.as_mut().unwrap().digest = Digest::hash(b"another adapter");
        study
    }),
    ("no_contract", Action::Ask, || {
        let mut study = Builder::opened(|_| {});
        study.files = [None, None, None, None];
        study
    }),
    ("one_file_missing", Action::Ask, || {
        let mut study = Builder::approved(|_| {});
        study.files[2] = None;
        study
    }),
    ("broken_contract", Action::Ask, || {
        let mut study = Builder::approved(|_| {});
        study.files[0] = Some("schema: rlxp.contract/1\ntask: [\n".into());
        study
    }),
    ("open_questions", Action::Ask, || {
        Builder::opened(|texts| {
            set(&mut texts.contract, "/task/mission", json!("TODO: what should get better?"));
            set(&mut texts.contract, "/stop_rules", json!([]));
        })
    }),
    ("files_disagree", Action::Ask, || {
        Builder::opened(|texts| set(&mut texts.contract, "/metrics/primary", json!("speed")))
    }),
    ("contract_of_another_study", Action::Ask, || {
        Builder::opened(|texts| set(&mut texts.contract, "/task/study", json!("second")))
    }),
    ("autonomous_without_envelope", Action::Ask, || {
        Builder::autonomous(|texts| remove(&mut texts.contract, "/experiment/envelope"))
    }),
    ("nothing_approved", Action::RequestApproval, || Builder::opened(|_| {})),
    ("one_section_void", Action::RequestApproval, || {
        let mut study = Builder::with_candidate(|_| {});
        study.edit(0, "/budget/runs", json!(101));
        study
    }),
    ("edited_and_put_back", Action::RequestApproval, || {
        let mut study = Builder::with_candidate(|_| {});
        let (targets, reason) = (vec![Target::Section(Section::Metrics)], "what it covers has changed since");
        study.world.push(Event::Voided(Voided { targets, reason: reason.into() }));
        study.reopen("lower-lr", "changed since it was validated: section:metrics");
        study
    }),
    ("approval_too_weak", Action::RequestApproval, || {
        let mut study = Builder::opened(|_| {});
        study.approve(&Section::ALL, Assurance::Host);
        study.approve(&[Section::Task, Section::Budget], Assurance::Terminal);
        study
    }),
    ("signature_missing", Action::RequestApproval, || {
        let mut study = Builder::approved(|texts| set(&mut texts.contract, "/assurance", json!("signature")));
        study.world.study.signatures.clear();
        study
    }),
    ("signed", Action::PlanBaseline, || {
        Builder::approved(|texts| set(&mut texts.contract, "/assurance", json!("signature")))
    }),
    ("approvers_changed", Action::PlanBaseline, || {
        let mut study = Builder::approved(|_| {});
        study.approvers = Some(vec![1, 2]);
        study
    }),
    ("approvers_elsewhere", Action::RequestApproval, || {
        let mut study = Builder::approved(|texts| set(&mut texts.contract, "/assurance", json!("signature")));
        study.approvers = Some(vec![2]);
        study
    }),
    ("approvers_unreadable", Action::RequestApproval, || {
        let mut study = Builder::opened(|_| {});
        study.approvers = None;
        study
    }),
];
