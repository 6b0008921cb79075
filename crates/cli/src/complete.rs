//! Completion in the shell: a script that calls `rlx` for each word, and the words that it gets.
//!
//! clap_complete knows commands and flags; names of runs, tags and keys come from `rlxp-ops`. Its script for bash is
//! replaced, because bash splits words at `:` and `=`, which are part of the words that name runs.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use clap_complete::{CompleteEnv, Shell};
use rlxp_ops::Context;
use rlxp_ops::select::complete::{self, Candidate};

use crate::arguments::Arguments;

/// The variable by which the script says that a completion is wanted.
const VARIABLE: &str = "RLX_COMPLETE";

const SHELLS: Shells<'static> = Shells(&[&JoiningBash, &Elvish, &Fish, &Powershell, &Zsh]);

/// Answers the shell and ends the process if that is what it was started for.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(Arguments::command).var(VARIABLE).bin("rlx").shells(SHELLS).complete();
}

/// The script for a shell.
pub(crate) fn script(shell: Shell) -> io::Result<String> {
    let mut script = Vec::new();
    let name = shell.to_string();
    let completer = SHELLS.completer(&name).ok_or_else(|| io::Error::other("unknown shell"))?;
    completer.write_registration(VARIABLE, "rlx", "rlx", "rlx", &mut script)?;
    String::from_utf8(script).map_err(io::Error::other)
}

/// The script for a shell that knows commands and flags by itself.
pub(crate) fn static_script(shell: Shell) -> io::Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "rlx", &mut script);
    String::from_utf8(script).map_err(io::Error::other)
}

/// Completes words that name runs.
pub(crate) fn runs() -> ArgValueCompleter {
    in_project(complete::runs)
}

/// Completes tags.
pub(crate) fn tags() -> ArgValueCompleter {
    in_project(complete::tags)
}

/// Completes columns and config keys.
pub(crate) fn keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|text: &OsStr| shown(complete::keys(&text.to_string_lossy())))
}

/// Completes a column or config key, with or without a minus.
pub(crate) fn sort_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|text: &OsStr| shown(complete::sort_keys(&text.to_string_lossy())))
}

/// Completes a config key.
pub(crate) fn config_key() -> ArgValueCompleter {
    ArgValueCompleter::new(|text: &OsStr| shown(complete::config_keys(&text.to_string_lossy())))
}

/// Completes config keys with commas between them.
pub(crate) fn config_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|text: &OsStr| shown(complete::config_key_list(&text.to_string_lossy())))
}

/// Completes environments that runs use.
pub(crate) fn environments() -> ArgValueCompleter {
    in_project(complete::environments)
}

/// Completes the key of `KEY=VALUE`.
pub(crate) fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(|text: &OsStr| {
        let mut keys = complete::config_keys(&text.to_string_lossy());
        keys.iter_mut().for_each(|key| key.word.push('='));
        shown(keys)
    })
}

fn in_project(find: fn(&Context, &str) -> Vec<Candidate>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |text: &OsStr| {
        let context = Context::real(root_on_the_line());
        context.map_or_else(|_| Vec::new(), |context| shown(find(&context, &text.to_string_lossy())))
    })
}

fn shown(candidates: Vec<Candidate>) -> Vec<CompletionCandidate> {
    let one = |Candidate { word, about }: Candidate| {
        CompletionCandidate::new(word).help((!about.is_empty()).then(|| about.into()))
    };
    candidates.into_iter().map(one).collect()
}

/// The value of `--root` on the line that is being completed.
fn root_on_the_line() -> Option<PathBuf> {
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").collect();
    let after = |pair: &[OsString]| (pair[0] == "--root").then(|| PathBuf::from(&pair[1]));
    let joined = |word: &OsString| word.to_str()?.strip_prefix("--root=").map(PathBuf::from);
    words.windows(2).find_map(after).or_else(|| words.iter().find_map(joined))
}

/// bash, with words as rlx means them.
struct JoiningBash;

impl EnvCompleter for JoiningBash {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let script = include_str!("complete/rlx.bash");
        let script =
            script.replace("VARIABLE", variable).replace("COMPLETER", completer).replace("PROGRAM", bin);
        to.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        Bash.write_complete(command, words, folder, to)
    }
}
