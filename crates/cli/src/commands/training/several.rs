//! `rlx train` with several configs.

use rlxp_ops::training::config::Checked;
use rlxp_ops::training::several::{OneOfSeveral, SeveralReport, SeveralRequest, train_several};
use rlxp_ops::{Context, Event, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use super::train::describe;
use crate::format;
use crate::progress::several::SeveralProgress;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

pub(super) fn run(context: &Context, screen: &Screen, request: &SeveralRequest) -> Outcome<Exit> {
    let progress = SeveralProgress::new(screen);
    let mut warn = |checked: &Checked| {
        screen.warnings(&checked.warnings, &checked.sources);
        let name = checked.sources.first().map_or("", |source| source.name.as_str());
        for note in &checked.notes {
            progress.take(None, &Event::Note { message: format!("{name}: {note}") });
        }
    };
    let report = train_several(context, request, &mut warn, &mut |run, event| progress.take(run, &event))?;
    progress.clear();
    if screen.is_json() {
        screen.json(&report);
        return Ok(report.exit());
    }
    if request.each.dry_run {
        let plan = |one: &OneOfSeveral| {
            format!("config                  {}\n{}", one.config.display(), describe(&one.plan))
        };
        screen.answer(report.runs.iter().map(plan).collect::<Vec<_>>().join("\n"));
        return Ok(Exit::Yes);
    }
    conclude(screen, &report);
    Ok(report.exit())
}

/// The runs and their results, and what to do next.
fn conclude(screen: &Screen, report: &SeveralReport) {
    screen.answer(table(&report.runs).render("", |header| screen.styled(Style::Heading, header)));
    for one in &report.runs {
        if let Some(failure) = &one.failure {
            let name = one.run.clone().unwrap_or_else(|| one.config.display().to_string());
            screen.line(format!("{name}: {}", failure.message));
            failure.hints.iter().take(1).for_each(|hint| screen.hint(hint));
        }
    }
    let names: Vec<_> = report.runs.iter().filter_map(|one| one.run.as_deref()).map(shell_word).collect();
    if report.detached {
        let [first, ..] = &names[..] else { return };
        screen.hint(&format!("rlx tail {first}    # follow a run"));
        screen.hint("rlx ls    # progress of all runs");
        screen.hint(&format!("rlx stop {}    # save and stop all", names.join(" ")));
    } else if report.interrupted {
        let stopped = report.runs.iter().find(|one| one.failure.is_none() && one.run.is_some());
        if let Some(run) = stopped.and_then(|one| one.run.as_deref()) {
            screen.hint(&format!("rlx resume {}", shell_word(run)));
        }
    } else {
        let done: Vec<&OneOfSeveral> = report.runs.iter().filter(|one| one.failure.is_none()).collect();
        let names: Vec<_> = done.iter().filter_map(|one| one.run.as_deref()).map(shell_word).collect();
        let is_same_task = done.windows(2).all(|pair| pair[0].plan.env == pair[1].plan.env);
        if names.len() > 1 && is_same_task {
            screen.hint(&format!("rlx compare {}", names.join(" ")));
        }
    }
}

fn table(runs: &[OneOfSeveral]) -> Table {
    let mut table = Table::new([
        ("run", Align::Left),
        ("config", Align::Left),
        ("status", Align::Left),
        ("return", Align::Right),
        ("best", Align::Right),
    ]);
    for one in runs {
        table.row([
            one.run.clone().unwrap_or_else(|| "-".to_owned()),
            one.config.display().to_string(),
            one.status.map_or_else(|| "not started".to_owned(), |status| status.to_string()),
            format::score_or_dash(one.last_mean_return),
            format::score_or_dash(one.best_eval_mean),
        ]);
    }
    table
}
