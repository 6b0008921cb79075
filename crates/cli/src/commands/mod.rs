//! One file per command: its arguments, its call of a verb, its answer. They
//! are grouped like the verbs in `rlxp-ops`.

mod completions;
mod insight;
mod quickstart;
mod studies;
mod training;

use clap::Subcommand;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;

use insight::{
    analyze, compare, diagnose, diff, explain_metrics, info, inspect, ls, note, plot, rename, report, rm,
    stats, suggest, summarize, tag, tail, video,
};
use studies::{
    approve, autoloop, candidate, contract, doctor, launch, ledger, metric, queue, run_shim, study, verify,
};
use training::{config, envs, eval, init, python, reproduce, resume, stop, supervisor, train, worker};

#[derive(Subcommand)]
pub(crate) enum Command {
    Quickstart(quickstart::Quickstart),
    Init(init::Init),
    Envs(envs::Envs),
    Config(config::Config),
    Python(python::Python),
    Train(train::Train),
    Resume(resume::Resume),
    Stop(stop::Stop),
    Eval(eval::Eval),
    Inspect(inspect::Inspect),
    Analyze(analyze::Analyze),
    Diagnose(diagnose::Diagnose),
    Suggest(suggest::Suggest),
    ExplainMetrics(explain_metrics::ExplainMetrics),
    Summarize(summarize::Summarize),
    Video(video::Video),
    Plot(plot::Plot),
    Reproduce(reproduce::Reproduce),
    Report(report::Report),
    Ls(ls::Ls),
    Info(info::Info),
    Tail(tail::Tail),
    Tag(tag::Tag),
    Note(note::Note),
    Rename(rename::Rename),
    Rm(rm::Rm),
    Compare(compare::Compare),
    Diff(diff::Diff),
    Stats(stats::Stats),
    Study(study::Study),
    Ledger(ledger::Ledger),
    Verify(verify::Verify),
    Contract(contract::Contract),
    Approve(approve::Approve),
    Metric(metric::Metric),
    Candidate(candidate::Candidate),
    Queue(queue::Queue),
    Launch(launch::Launch),
    Autoloop(autoloop::Autoloop),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Worker(worker::Worker),
    #[command(name = "__supervise", hide = true)]
    Supervisor(supervisor::Supervisor),
    #[command(name = "__run", hide = true)]
    RunShim(run_shim::RunShim),
}

impl Command {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match self {
            Command::Quickstart(command) => command.run(context, screen),
            Command::Init(command) => command.run(context, screen),
            Command::Envs(command) => command.run(screen),
            Command::Config(command) => command.run(context, screen),
            Command::Python(command) => command.run(context, screen),
            Command::Train(command) => command.run(context, screen),
            Command::Resume(command) => command.run(context, screen),
            Command::Stop(command) => command.run(context, screen),
            Command::Eval(command) => command.run(context, screen),
            Command::Inspect(command) => command.run(context, screen),
            Command::Analyze(command) => command.run(context, screen),
            Command::Diagnose(command) => command.run(context, screen),
            Command::Suggest(command) => command.run(context, screen),
            Command::ExplainMetrics(command) => command.run(context, screen),
            Command::Summarize(command) => command.run(context, screen),
            Command::Video(command) => command.run(context, screen),
            Command::Plot(command) => command.run(context, screen),
            Command::Reproduce(command) => command.run(context, screen),
            Command::Report(command) => command.run(context, screen),
            Command::Ls(command) => command.run(context, screen),
            Command::Info(command) => command.run(context, screen),
            Command::Tail(command) => command.run(context, screen),
            Command::Tag(command) => command.run(context, screen),
            Command::Note(command) => command.run(context, screen),
            Command::Rename(command) => command.run(context, screen),
            Command::Rm(command) => command.run(context, screen),
            Command::Compare(command) => command.run(context, screen),
            Command::Diff(command) => command.run(context, screen),
            Command::Stats(command) => command.run(context, screen),
            Command::Study(command) => command.run(context, screen),
            Command::Ledger(command) => command.run(context, screen),
            Command::Verify(command) => command.run(context, screen),
            Command::Contract(command) => command.run(context, screen),
            Command::Approve(command) => command.run(context, screen),
            Command::Metric(command) => command.run(context, screen),
            Command::Candidate(command) => command.run(context, screen),
            Command::Queue(command) => command.run(context, screen),
            Command::Launch(command) => command.run(context, screen),
            Command::Autoloop(command) => command.run(context, screen),
            Command::Doctor(command) => command.run(context, screen),
            Command::Completions(command) => command.run(screen),
            Command::Worker(command) => command.run(context),
            Command::Supervisor(command) => command.run(context, screen),
            Command::RunShim(command) => command.run(context),
        }
    }
}
