//! Where git and the desktop's opener are looked up: the absolute folders of `PATH`.
//!
//! An empty or relative entry means the working folder, and that may be a
//! project which someone else sent, with a program called `git` in it.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use rlxp_fs::environment;

/// Lets `command` look up its program, and what that starts, only in absolute
/// folders; without any, in those that the system falls back to.
pub(crate) fn restrict(command: &mut Command) {
    match absolute(environment::variable("PATH").as_deref().unwrap_or_default().as_ref()) {
        Some(path) => command.env("PATH", path),
        None => command.env_remove("PATH"),
    };
}

/// The absolute folders of a search path, when it has any.
fn absolute(path: &OsStr) -> Option<OsString> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_folders_are_searched() {
        let check = |path: &str, wanted: Option<&str>| {
            assert_eq!(absolute(path.as_ref()), wanted.map(OsString::from), "{path:?}");
        };
        check("/usr/bin:/bin", Some("/usr/bin:/bin"));
        check(":/usr/bin", Some("/usr/bin"));
        check("/usr/bin:", Some("/usr/bin"));
        check(".:bin:/usr/bin:../bin", Some("/usr/bin"));
        check("", None);
        check(".", None);
    }
}
