//! How `rlx launch` looks: plans, runs and what became of them.

use std::borrow::Cow;

use rlxp_ops::below::{
    Mechanisms, RunEnd, Score, ScoreSource, amounts_about, bytes_about, bytes_text, seconds_text,
};
use rlxp_ops::studies::launch::handoff::HandoffReport;
use rlxp_ops::studies::launch::outcome::{ExecuteReport, LaunchEvent, RunOutcome};
use rlxp_ops::studies::launch::plan_report::PlanReport;
use rlxp_ops::studies::launch::probe::ProbeReport;
use rlxp_ops::studies::launch::watch::StatusReport;
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// The exit code that goes with an end.
pub(super) fn exit_of(end: RunEnd) -> Exit {
    if end == RunEnd::Ok { Exit::Yes } else { Exit::RunFailed }
}

pub(super) fn plan(screen: &Screen, report: &PlanReport) {
    if screen.is_json() {
        screen.json(report);
        return;
    }
    let runs = if report.runs == 1 { "1 run".to_owned() } else { format!("{} runs", report.runs) };
    let seed = report.seed.map_or_else(|| "drawn at launch".to_owned(), |seed| format!("starting at {seed}"));
    screen.line(format!(
        "{} {}: {runs} of the {} phase, {} in parallel",
        report.study, report.candidate, report.phase, report.parallel
    ));
    match &report.accepted {
        None => screen.line(format!("  code: {} ({} files)", report.base, report.files)),
        Some(accepted) => {
            let names: Vec<&str> = accepted.candidates.iter().map(|id| id.as_str()).collect();
            let with = names.join(", ");
            screen.line(format!(
                "  code: {} ({} files), with the accepted {with}",
                accepted.code, report.files
            ));
            screen.line(format!("    evaluation runs {}", report.base));
            if !accepted.arguments.is_empty() {
                screen.line(format!("    arguments of accepted candidates: {}", words(&accepted.arguments)));
            }
        }
    }
    for change in &report.changes {
        screen.line(format!("    {} {}", change.what, change.path));
    }
    screen.line(format!("  seeds: {} pool, {seed}", report.role));
    for step in &report.steps {
        let code = if step.changed_code { "" } else { "    (code without the changes)" };
        screen.line(format!("  {}: {}{code}", step.name, words(&step.argv)));
        if !step.environment.is_empty() {
            screen.line(format!("    environment: {}", step.environment.join(", ")));
        }
    }
    if !report.read.is_empty() {
        let paths: Vec<String> = report.read.iter().map(|path| path.display().to_string()).collect();
        screen.line(format!("  may also read: {}", paths.join(", ")));
    }
    let limits = &report.limits;
    let silence = limits.silence.map(|silence| format!(", {} of inactivity", seconds_text(silence)));
    screen.line(format!(
        "  limits: {}, {} of CPU time, {} of memory, {} processes, {} of disk, {} of output{}",
        seconds_text(limits.wall_clock),
        seconds_text(limits.cpu_time),
        bytes_text(limits.memory),
        limits.processes,
        bytes_text(limits.disk),
        bytes_text(limits.output),
        silence.unwrap_or_default()
    ));
    screen.line(format!(
        "  sandboxing: {} (required: {}){}",
        report.confinement.offered,
        report.confinement.agreed,
        how(&report.confinement.mechanisms)
    ));
    let left = amounts_about(report.budget_after);
    let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
    screen.line(format!("  budget left after these runs: {left}"));
    screen.line(format!("  passed all {} gates", report.gates.len()));
    screen.line(format!("  plan {}", report.plan));
    for warning in &report.warnings {
        screen.warning(warning);
    }
    screen.hint(&report.command);
}

fn how(mechanisms: &Mechanisms) -> String {
    let Mechanisms { files, root, processes, network, syscalls, tree, memory, .. } = mechanisms;
    let parts = [files, root, processes, network, syscalls, tree, memory];
    let there: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    if there.is_empty() { String::new() } else { format!(": {}", there.join(", ")) }
}

/// An argument list as a person would type it.
fn words(argv: &[String]) -> String {
    let typed = |word: &String| {
        // Slots such as {seed} are no concern of a shell.
        let is_plain = matches!(shell_word(&word.replace(['{', '}'], "_")), Cow::Borrowed(_));
        if is_plain { word.clone() } else { shell_word(word).into_owned() }
    };
    argv.iter().map(typed).collect::<Vec<_>>().join(" ")
}

pub(super) fn event(screen: &Screen, event: &LaunchEvent) {
    match event {
        LaunchEvent::Started { key, seed, phase } => {
            screen.note(&format!(
                "{key} started ({phase}, seed {seed}); see its output with rlx launch logs {key}"
            ));
        }
        LaunchEvent::Warning { message } => screen.warning(message),
        LaunchEvent::Ended { key, end, reason } => {
            screen.note(&format!("{key} ended: {end}, {reason}"));
        }
    }
}

pub(super) fn executed(screen: &Screen, report: &ExecuteReport) {
    if screen.is_json() {
        screen.json(report);
        return;
    }
    report.runs.iter().for_each(|run| self::run(screen, run));
    if let Some(stopped) = &report.stopped {
        let count = crate::format::counted(usize::try_from(stopped.not_started).unwrap_or(usize::MAX), "run");
        screen.line(format!("{count} of the {} phase not started", report.phase));
        screen.answer(paragraph(&stopped.reason, 2, "why: ").trim_end());
        stopped.hints.iter().for_each(|hint| screen.hint(hint));
    }
    if report.left_running {
        screen.hint("rlx launch adopt    # watch the active runs");
    } else {
        if let Some(bad) = report.runs.iter().find(|run| !run.is_well()) {
            screen.hint(&format!("rlx launch logs {}    # its output", bad.key));
        }
        screen.hint("rlx study next");
    }
}

pub(super) fn run(screen: &Screen, run: &RunOutcome) {
    if screen.is_json() {
        screen.json(run);
        return;
    }
    screen.line(format!("{}: {}", run.key, screen.styled(Style::Hint, &run.state)));
    if let Some(reason) = run.reason.as_deref().filter(|reason| !reason.is_empty()) {
        screen.answer(paragraph(reason, 2, "why: ").trim_end());
    }
    if let Some(code) = &run.not_evidence {
        screen.line(format!("  not usable as evidence: {code}"));
    }
    if let Some(score) = &run.score {
        screen.line(format!("  score: {}", self::score(score)));
    }
}

fn score(score: &Score) -> String {
    match score.from {
        ScoreSource::Primary => score.value.to_string(),
        ScoreSource::FailureScore => format!("{} (the failure score)", score.value),
    }
}

pub(super) fn status(screen: &Screen, report: &StatusReport) {
    if screen.is_json() {
        screen.json(report);
        return;
    }
    if report.runs.is_empty() {
        screen.line(format!("{}: no runs yet", report.study));
        return;
    }
    let columns =
        [("run", Align::Left), ("candidate", Align::Left), ("phase", Align::Left), ("seed", Align::Right)];
    let more =
        [("state", Align::Left), ("score", Align::Right), ("took", Align::Right), ("memory", Align::Right)];
    let mut table = Table::new(columns.into_iter().chain(more).chain([("why", Align::Left)]));
    for line in &report.runs {
        let state = line.found.map_or_else(|| line.run.state.clone(), str::to_owned);
        let took = line.usage.map_or_else(String::new, |usage| seconds_text(usage.wall_clock.ceil() as u64));
        let memory = line.usage.map_or_else(String::new, |usage| bytes_about(usage.memory));
        let why = line.run.not_evidence.clone().or_else(|| line.run.reason.clone()).unwrap_or_default();
        table.row([
            line.run.key.clone(),
            line.candidate.clone(),
            line.phase.clone(),
            line.run.seed.to_string(),
            state,
            line.run.score.map_or_else(String::new, |score| score.value.to_string()),
            took,
            memory,
            why,
        ]);
    }
    screen.answer(table.render("", str::to_owned).trim_end());
    if let Some(more) = report.not_shown {
        screen.note(&format!("{} not shown", crate::format::counted(more, "older run")));
        screen.hint("rlx launch status --all");
    }
}

pub(super) fn probe(screen: &Screen, report: &ProbeReport) {
    if screen.is_json() {
        screen.json(report);
        return;
    }
    if !report.output.is_empty() {
        screen.answer(report.output.join("\n"));
    }
    screen.line(format!(
        "{} ended: {} ({}); sandboxing {}{}",
        report.step,
        report.end,
        report.reason,
        report.level,
        how(&report.mechanisms)
    ));
}

pub(super) fn handoff(screen: &Screen, report: &HandoffReport) {
    if screen.is_json() {
        screen.json(report);
        return;
    }
    screen.line(format!("exported {} for an external runtime: {}", report.key, report.file.display()));
    screen.line(format!("  seed {}, at most {}", report.seed, seconds_text(report.limits.wall_clock)));
    screen.hint(&report.receive);
}
