//! `rlx python`: the Python of a project, which runs its environments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use rlxp_launch::python::install;
use rlxp_types::Exit;
use rlxp_types::text::{shell_word, visible};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::permit_training;
use crate::training::bridge;
use crate::training::train::project_for_new_run;

/// The file that pins every installed version.
const LOCK: &str = "requirements.lock";
/// What every environment needs.
const GYMNASIUM: &str = "gymnasium==1.4.0";
/// What `--with` takes, and what is installed for it.
const EXTRAS: [(&str, &str); 6] = [
    ("atari", "ale-py==0.12.1"),
    ("box2d", "gymnasium[box2d]==1.4.0"),
    ("classic-control", "gymnasium[classic-control]==1.4.0"),
    ("minigrid", "minigrid==3.2.0"),
    ("mujoco", "gymnasium[mujoco]==1.4.0"),
    ("toy-text", "gymnasium[toy-text]==1.4.0"),
];
/// Lines of a failed program's output that are shown.
const LAST_LINES: usize = 15;

#[derive(Clone, Debug, Default)]
pub struct SetupRequest {
    /// Families of environments to install packages for.
    pub with: Vec<String>,
    /// Only show what would be run.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct SetupReport {
    /// The interpreter that environments of the project use.
    pub python: String,
    /// What was run, or would be.
    pub commands: Vec<String>,
    /// The file that pins every version.
    pub lock: String,
    /// Installed packages with their versions; empty after a dry run.
    pub packages: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TrustReport {
    /// The interpreter that configs may name from now on.
    pub python: String,
}

/// Creates the project's `.venv` with Gymnasium in it, or adds packages to it. Without `with`, an existing lock file
/// decides the versions.
pub fn setup(context: &Context, request: &SetupRequest, tell: &mut dyn FnMut(&str)) -> Outcome<SetupReport> {
    let root = project_for_new_run(context)?.root().to_owned();
    let permit = permit_training(context, &root)?;
    let mut wanted = vec![GYMNASIUM.to_owned()];
    for name in &request.with {
        match EXTRAS.iter().find(|(known, _)| known == name) {
            Some((_, package)) => wanted.push((*package).to_owned()),
            None => {
                let known = EXTRAS.map(|(known, _)| known).join(", ");
                let message = format!("nothing is known by the name {name:?}; valid: {known}");
                return Err(Failure::usage("unknown_extra", message)
                    .hint("rlx python setup    # then install other packages with .venv/bin/python -m pip"));
            }
        }
    }
    let lock = root.join(LOCK);
    if request.with.is_empty() && context.fs.metadata_if_any(&lock)?.is_some() {
        wanted = vec!["-r".to_owned(), LOCK.to_owned()];
    }
    let steps = steps(context, &root, &wanted)?;
    let python = root.join(".venv/bin/python");
    let show = |words: &[String]| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let mut report = SetupReport {
        python: python.display().to_string(),
        commands: steps.iter().map(|step| show(step)).collect(),
        lock: lock.display().to_string(),
        packages: Vec::new(),
    };
    if request.dry_run {
        return Ok(report);
    }
    let mut last = String::new();
    for (step, shown) in steps.iter().zip(&report.commands) {
        tell(shown);
        let arguments: Vec<OsString> = step[1..].iter().map(OsString::from).collect();
        let ended = install(&permit, Path::new(&step[0]), &arguments, &root)?;
        if !ended.success {
            let text = visible(ended.stderr.trim_end()).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let end = &lines[lines.len().saturating_sub(LAST_LINES)..];
            let fenced: String = end.iter().map(|line| format!("\n  | {line}")).collect();
            return Err(Failure::new(Exit::RunFailed, "setup_failed", format!("{shown} failed{fenced}")));
        }
        last = ended.stdout;
    }
    report.packages = last.lines().filter(|line| line.contains("==")).map(str::to_owned).collect();
    let text: String = report.packages.iter().map(|package| format!("{package}\n")).collect();
    context.fs.write_atomic(&lock, text.as_bytes())?;
    Ok(report)
}

/// The programs to run: create the folder if there is none, install, list what is installed.
fn steps(context: &Context, root: &Path, wanted: &[String]) -> Outcome<Vec<Vec<String>>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let text = |path: PathBuf| path.display().to_string();
    let own = text(root.join(".venv/bin/python"));
    let exists = context.fs.canonicalize(Path::new(&own)).is_ok();
    let mut steps = Vec::new();
    if let Some(uv) = bridge::search(context, "uv").map(text) {
        if !exists {
            steps.push(words(&[&uv, "venv", ".venv"]));
        }
        steps.push([words(&[&uv, "pip", "install", "--python", &own]), wanted.to_vec()].concat());
        steps.push(words(&[&uv, "pip", "freeze", "--python", &own]));
        return Ok(steps);
    }
    let Some(python) = bridge::search(context, "python3").map(text) else {
        let message = "there is no python3 on PATH; install Python 3.10 or later";
        return Err(Failure::usage("no_interpreter", message));
    };
    if !exists {
        steps.push(words(&[&python, "-m", "venv", ".venv"]));
    }
    let pip = words(&[&own, "-m", "pip", "--disable-pip-version-check"]);
    steps.push([pip.clone(), words(&["install"]), wanted.to_vec()].concat());
    steps.push([pip, words(&["freeze"])].concat());
    Ok(steps)
}

/// Lets configs name this interpreter as `env.python`.
pub fn trust(context: &Context, python: &Path) -> Outcome<TrustReport> {
    let path = bridge::trust(context, python)?;
    Ok(TrustReport { python: path.display().to_string() })
}
