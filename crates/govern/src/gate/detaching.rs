//! A run is a child process of rlx from start to end. Programs that detach it are refused by name, and so
//! are shell strings, which can run anything.

use super::{Answers, Question, RefusalCode};
use crate::documents::Step;

/// Programs that detach a run, and what to do instead.
const DETACHING: [&str; 24] = [
    "tmux",
    "screen",
    "nohup",
    "setsid",
    "daemonize",
    "disown",
    "at",
    "batch",
    "systemd-run",
    "start-stop-daemon",
    "dtach",
    "abduco",
    "sbatch",
    "srun",
    "salloc",
    "qsub",
    "bsub",
    "condor_submit",
    "ray",
    "kubectl",
    "helm",
    "torchrun",
    "docker",
    "podman",
];
/// Programs that only start another one.
const WRAPPERS: [&str; 14] = [
    "env", "nice", "ionice", "timeout", "stdbuf", "taskset", "numactl", "chrt", "time", "xvfb-run", "uv",
    "poetry", "pipenv", "conda",
];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "busybox"];
/// Python modules that detach a run.
const DETACHING_MODULES: [&str; 4] =
    ["torch.distributed.run", "torch.distributed.launch", "ray.scripts.scripts", "submitit"];

/// Nothing in the runbook detaches a run.
pub(super) fn no_detaching(question: &Question<'_>, answers: &mut Answers) {
    let Some(runbook) = question.study.files.runbook.typed() else { return };
    for (name, step) in runbook.steps() {
        for (code, reason) in problems(step) {
            answers.refuse(code, reason, format!("runbook.yaml: {name}.argv"), "rlx launch --handoff");
        }
    }
}

fn problems(step: &Step) -> Vec<(RefusalCode, String)> {
    let mut found = Vec::new();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_lowercase();
    let mut words = step.argv.iter();
    while let Some(word) = words.next() {
        let program = base(word);
        if DETACHING.contains(&program.as_str()) {
            found.push((RefusalCode::Detaches, format!("{program} would run it outside of rlx's control")));
            break;
        }
        if SHELLS.contains(&program.as_str()) {
            if words
                .clone()
                .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
            {
                found.push((
                    RefusalCode::ShellString,
                    format!("{program} -c can run anything; name the program instead"),
                ));
            }
            break;
        }
        if program.starts_with("python") {
            let mut rest = words.clone();
            if rest.any(|word| word == "-m")
                && let Some(module) = rest.next()
                && DETACHING_MODULES.contains(&module.as_str())
            {
                found
                    .push((RefusalCode::Detaches, format!("{module} would run it outside of rlx's control")));
            }
            break;
        }
        let goes_on = WRAPPERS.contains(&program.as_str());
        // After a wrapper come its own flags, values and assignments; the first word that is a known program counts.
        if !goes_on {
            let known = |word: &&String| {
                let program = base(word);
                DETACHING.contains(&program.as_str())
                    || SHELLS.contains(&program.as_str())
                    || WRAPPERS.contains(&program.as_str())
                    || program.starts_with("python")
            };
            let wrapped = step.argv.first().is_some_and(|first| WRAPPERS.contains(&base(first).as_str()));
            if wrapped && words.clone().any(|word| known(&word)) {
                continue;
            }
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_go_is_named() {
        let check = |line: &str, code: Option<&str>| {
            let argv = line.split(' ').map(str::to_owned).collect();
            let step = Step {
                argv,
                folder: None,
                environment: Vec::new(),
                free_of_side_effects: false,
                probed: false,
            };
            let found: Vec<&str> = problems(&step).into_iter().map(|(code, _)| code.as_str()).collect();
            assert_eq!(found.first().copied(), code, "{line}");
        };
        check("python train.py --seed {seed}", None);
        check("uv run train --seed {seed}", None);
        check("python train.py --mode screen", None);
        check("/usr/bin/tmux new -d python train.py", Some("detaches"));
        check("env A=1 nohup python train.py", Some("detaches"));
        check("timeout 60 setsid python train.py", Some("detaches"));
        check("uv run torchrun train.py", Some("detaches"));
        check("python3.11 -m torch.distributed.run train.py", Some("detaches"));
        check("bash -c true", Some("shell_string"));
        check("bash -lc true", Some("shell_string"));
        check("bash train.sh {seed}", None);
        check("SBATCH job", Some("detaches"));
        check("docker run image", Some("detaches"));
    }
}
