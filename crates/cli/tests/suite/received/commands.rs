//! Every command that takes a run, in chains: each chain starts from a folder in which nothing has been done yet.

use crate::received::project::Base;

/// How a command may respond to a hostile run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// It is about other runs too, so it must succeed.
    Works,
    /// Any documented exit code: a problem with a run may be a warning or an error.
    Documented,
}

/// One command; `R` is the received run.
pub(crate) struct Command {
    pub(crate) line: &'static str,
    pub(crate) answer: Answer,
}

/// Commands that run one after another in the same folder.
pub(crate) struct Chain {
    /// Whether the received run, if it has one seed, is one that was killed: only such a run is really resumed.
    pub(crate) lost: bool,
    /// Whether its commands may change the received run or create others.
    pub(crate) writes: bool,
    pub(crate) commands: Vec<Command>,
}

impl Chain {
    /// The run that a chain starts from when the case is about `base`.
    pub(crate) fn base(&self, base: Base) -> Base {
        if self.lost && base == Base::Alone { Base::Lost } else { base }
    }
}

fn chain(lines: &[&'static str]) -> Chain {
    let commands = lines.iter().map(|line| {
        let answer = match line.strip_prefix("! ") {
            Some(_) => Answer::Works,
            None => Answer::Documented,
        };
        Command { line: line.trim_start_matches("! "), answer }
    });
    Chain { lost: false, writes: true, commands: commands.collect() }
}

/// All chains. A line that begins with `!` must succeed, whatever the received run is like.
pub(crate) fn chains() -> Vec<Chain> {
    vec![
        Chain {
            writes: false,
            ..chain(&[
                "! ls",
                "! ls --json",
                "! ls --columns name,algo.gamma,env.id,score,steps_per_second,title,notes --sort -algo.gamma",
                "! ls --csv --columns name,env.id,title",
                "info R",
                "info runs/R",
                "tag R",
                "note R",
                "tail R -n 3 --no-follow",
                "compare R good_001",
                "diagnose R",
                "suggest R",
                "analyze R --no-baseline",
                "explain-metrics R",
                "summarize R",
                "summarize",
                "plot R --terminal",
                "inspect R --states 5 --samples 1",
                "! completions bash",
            ])
        },
        chain(&[
            "plot R",
            "report R --no-videos --output report.html",
            "video R --max-steps 2 --size 64x48",
            "eval --run R --episodes 1",
            "eval --run R --all-checkpoints --episodes 1",
            "eval R:latest --episodes 1",
            "eval runs/R/checkpoints/step_128 --episodes 1",
        ]),
        chain(&["tag R fresh", "tag R --remove fresh", "note R seen", "rename R seen"]),
        Chain { lost: true, ..chain(&["resume R"]) },
        chain(&[
            "resume R --total-timesteps 192",
            "reproduce R",
            "train small.yaml --from R:latest",
            "! train small.yaml --set run_name=received",
        ]),
        chain(&["rm R --yes"]),
    ]
}
