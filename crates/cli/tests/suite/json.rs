//! Every command answers in JSON when asked, errors included.

use crate::project::Project;

#[test]
fn every_command_answers_in_json() {
    let project = Project::trained();
    project.write("scores.csv", "1\n2\n3\n4\n5\n");
    project.write("start/configs/ppo_cartpole.yaml", crate::project::TINY);
    for (line, schema) in [
        ("init demo", "rlx.project/1"),
        ("quickstart start", "rlx.quickstart/1"),
        ("envs", "rlx.environments/1"),
        ("envs CartPole-v1", "rlx.environments/1"),
        ("config check tiny.yaml", "rlx.config_check/1"),
        ("config show tiny.yaml", "rlx.config/1"),
        ("config schema", "rlx.config_schema/1"),
        ("train tiny.yaml --dry-run", "rlx.training/1"),
        ("train tiny.yaml --set seeds=2", "rlx.training/1"),
        ("eval --run @last --episodes 3 --baseline zero", "rlx.evaluations/1"),
        ("inspect tiny_001 --states 5", "rlx.inspection/1"),
        ("diagnose tiny_001", "rlx.diagnosis/1"),
        ("diagnose --rules", "rlx.rules/1"),
        ("suggest tiny_001", "rlx.suggestions/1"),
        ("video tiny_001 --max-steps 5", "rlx.video/1"),
        ("report tiny_001 --no-videos", "rlx.report/1"),
        ("analyze @last", "rlx.analysis/1"),
        ("explain-metrics @last", "rlx.explanation/1"),
        ("summarize @last", "rlx.summary/1"),
        ("summarize", "rlx.summary/1"),
        ("resume @last", "rlx.resumption/1"),
        ("resume tiny_001 --total-timesteps 4096", "rlx.resumption/1"),
        ("reproduce tiny_001", "rlx.reproduction/1"),
        ("ls", "rlx.runs/1"),
        ("info tiny_001", "rlx.run/1"),
        ("plot tiny_001", "rlx.plot/1"),
        ("plot tiny_001 --against algo.gamma", "rlx.landscape/1"),
        ("tag tiny_001 a", "rlx.tags/1"),
        ("note tiny_001 slow", "rlx.notes/1"),
        ("rename tiny_001 first", "rlx.title/1"),
        ("tail tiny_001 -n 3", "rlx.tail/1"),
        ("compare tiny_001 tiny_002", "rlx.comparison/1"),
        ("diff tiny_001 tiny_002", "rlx.diff/1"),
        ("stats compare --a scores.csv --b scores.csv", "rlx.verdict/1"),
        ("stats power --seeds 5", "rlx.power/1"),
        ("study init --task walker --study first", "rlx.study_opened/1"),
        ("study list", "rlx.studies/1"),
        ("study use first", "rlx.active_study/1"),
        ("study status", "rlx.study/1"),
        ("contract new --yes", "rlx.contract_draft/1"),
        ("study next", "rlx.next_step/1"),
        ("study audit --claim train_command:tiny.yaml:1", "rlx.study_audit/1"),
        ("approve hardware --show", "rlx.approval_preview/1"),
        ("approve hardware --print", "rlx.statement/1"),
        ("candidate new baseline --kind baseline", "rlx.candidate_draft/1"),
        ("candidate show baseline", "rlx.candidate/1"),
        ("candidate list", "rlx.candidates/1"),
        ("queue show", "rlx.queue/1"),
        ("launch status", "rlx.governed_runs/1"),
        ("launch adopt", "rlx.adopted/1"),
        ("study extract", "rlx.extraction/1"),
        ("study monitor", "rlx.study_monitor/1"),
        ("study report", "rlx.study_report/1"),
        ("doctor", "rlx.doctor/1"),
        ("contract diff", "rlx.contract_diff/1"),
        ("contract request", "rlx.approval_request/1"),
        ("study handoff", "rlx.handoff/1"),
        ("ledger note hello", "rlx.ledger/1"),
        ("ledger show", "rlx.ledger/1"),
        ("ledger anchor", "rlx.anchor/1"),
        ("verify --chain", "rlx.verification/1"),
        ("study export --to exported", "rlx.export/1"),
        ("study close --reason over", "rlx.study_closed/1"),
        ("completions fish", "rlx.completions/1"),
        ("rm tiny_002 --yes", "rlx.removed/1"),
    ] {
        let ran = project.rlx(&format!("{line} --json")).expect(0);
        assert_eq!(ran.json()["schema"], schema, "{line}");
        assert_eq!(ran.stderr, "", "{line}: JSON needs nothing beside it");
        let streams = ["train", "resume", "reproduce", "tail", "quickstart"];
        let is_stream = streams.iter().any(|name| line.starts_with(name));
        assert!(is_stream || ran.json_lines().len() == 1, "{line}");
    }
}

#[test]
fn training_streams_its_events() {
    let project = Project::new();
    let lines = project.rlx("train tiny.yaml --set seeds=2 --json").expect(0).json_lines();
    let of = |name: &str| lines.iter().filter(|line| line["event"] == name).count();
    assert_eq!((of("created"), of("planned"), of("started"), of("seed_ended")), (1, 1, 2, 2));
    assert_eq!(of("evaluated"), 4);
    assert!(of("progress") >= 2 && of("saved") >= 4);
    let report = lines.last().unwrap();
    assert_eq!(report["run"], "tiny_001");
    assert_eq!(report["status"], "completed");
    assert_eq!(report["results"]["1"]["steps"], 2048);
    assert!(report["results"]["0"]["best_evaluation"].as_f64().unwrap() > 0.0);
}

#[test]
fn errors_are_json_too() {
    let project = Project::trained();
    project.write("bad.yaml", "env: {id: CartPole-v1}\nalgo: {gama: 0.9, clip_range: -1}\n");
    for (line, code, exit) in [
        ("train nothing.yaml", "config_not_found", 2),
        ("train bad.yaml", "config_invalid", 2),
        ("info nothing", "run_not_found", 2),
        ("trian tiny.yaml", "usage", 2),
        ("train", "usage", 2),
        ("inspect nothing", "run_not_found", 2),
        ("inspect tiny_001:step_77", "checkpoint_not_found", 2),
        ("rm tiny_001", "confirmation_needed", 3),
        ("envs CartPole-v7", "environment_unknown", 2),
    ] {
        let answer = project.rlx(&format!("{line} --json")).expect(exit).json();
        assert_eq!(answer["schema"], "rlx.error/1", "{line}");
        assert_eq!(answer["code"], code, "{line}");
        assert_eq!(answer["exit"], exit, "{line}");
    }
    let problems = project.rlx("train bad.yaml --json").json()["problems"].clone();
    assert_eq!(problems.as_array().unwrap().len(), 2, "{problems}");
    assert_eq!(problems[0]["path"], "algo.gama");
}
