//! Which Python runs the environments of a project.

use std::path::{Path, PathBuf};

use rlxp_fs::{FsExt, environment};
use rlxp_spec::config::EnvConfig;
use rlxp_types::text::shell_word;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The file that lists interpreters which configs may name, one absolute path per line.
const TRUSTED: &str = "interpreters";
/// Bytes of that file that are read.
const LONGEST_LIST: u64 = 1 << 20;

/// The interpreter for the environments of the project in `root`: the one that the config names, the project's own, or
/// `python3`. The inner error says what is missing.
pub(crate) fn python_of(context: &Context, root: &Path, env: &EnvConfig) -> Outcome<Result<PathBuf, String>> {
    if let Some(named) = &env.python {
        let path = if named.contains('/') { Some(root.join(named)) } else { search(context, named) };
        let Some(path) = path.filter(|path| is_file(context, path)) else {
            return Ok(Err(format!("env.python: {named} does not exist; run `rlx python setup`")));
        };
        if !is_trusted(context, &path) {
            let message = format!(
                "the config names the interpreter {}, which you have not trusted yet",
                path.display()
            );
            return Err(Failure::refused("interpreter_not_trusted", message)
                .hint(format!("rlx python trust {}", shell_word(&path.display().to_string()))));
        }
        return Ok(Ok(path));
    }
    let own = root.join(".venv/bin/python");
    if is_file(context, &own) {
        return Ok(Ok(own));
    }
    let id = &env.id;
    Ok(search(context, "python3").ok_or_else(|| {
        format!("{id} is not built in and there is no Python to create it; install python3, then run `rlx python setup`")
    }))
}

/// The program in an absolute folder of PATH.
pub(crate) fn search(context: &Context, name: &str) -> Option<PathBuf> {
    let path = environment::variable("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| is_file(context, path))
}

/// Whether it is a file, after symlinks: virtual environments link to their interpreter.
fn is_file(context: &Context, path: &Path) -> bool {
    context.fs.canonicalize(path).is_ok()
}

fn list(context: &Context) -> Option<PathBuf> {
    context.user.config.as_ref().map(|folder| folder.join(TRUSTED))
}

fn is_trusted(context: &Context, path: &Path) -> bool {
    let text = list(context).and_then(|list| context.fs.read_text(&list, LONGEST_LIST).ok());
    text.is_some_and(|text| text.lines().any(|line| Path::new(line) == path))
}

/// Lets configs name this interpreter. Gives its absolute path.
pub(crate) fn trust(context: &Context, path: &Path) -> Outcome<PathBuf> {
    let path = context.folder.join(path);
    if !is_file(context, &path) {
        return Err(Failure::usage("no_interpreter", format!("{} does not exist", path.display())));
    }
    if is_trusted(context, &path) {
        return Ok(path);
    }
    let Some(list) = list(context) else {
        return Err(Failure::usage("no_home", "there is no home folder to remember it in: set HOME"));
    };
    let mut text = context.fs.read_text(&list, LONGEST_LIST).unwrap_or_default();
    text.push_str(&format!("{}\n", path.display()));
    if let Some(folder) = list.parent() {
        context.fs.create_dir_all(folder)?;
    }
    context.fs.write_atomic(&list, text.as_bytes())?;
    Ok(path)
}
