//! What every verb is handed: the file system, the machine's facts and the
//! folder that relative names start from. Tests hand in others.

use std::path::PathBuf;
use std::sync::Arc;

use rlxp_fs::{Fs, FsExt, Machine, RealFs, RealMachine, environment};

use crate::failure::{Failure, Outcome};

/// The world as a verb sees it.
#[derive(Clone)]
pub struct Context {
    /// Files.
    pub fs: Arc<dyn Fs>,
    /// Process and host facts.
    pub machine: Arc<dyn Machine>,
    /// Folder that relative paths and the search for a project start from.
    pub folder: PathBuf,
    /// Whether `folder` was named by the user, so that no parent is searched.
    pub folder_is_root: bool,
    /// Processors to use by default.
    pub cores: usize,
    /// What belongs to the user and not to a project.
    pub user: UserFolders,
}

/// Folders of the user, as the desktop's conventions name them. Nothing where there is no home.
#[derive(Clone, Debug, Default)]
pub struct UserFolders {
    pub home: Option<PathBuf>,
    /// Configuration: `$XDG_CONFIG_HOME/rlx` or `~/.config/rlx`.
    pub config: Option<PathBuf>,
    /// State that is kept: `$XDG_STATE_HOME/rlx` or `~/.local/state/rlx`.
    pub state: Option<PathBuf>,
}

impl UserFolders {
    /// As the environment says.
    pub fn real() -> Self {
        Self::from_variables(environment::variable)
    }

    /// As `variable` says. A relative path counts as none, as the conventions ask.
    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME");
        let below = |name, usual| {
            folder(name).or_else(|| home.as_ref().map(|home| home.join(usual))).map(|path| path.join("rlx"))
        };
        let config = below("XDG_CONFIG_HOME", ".config");
        let state = below("XDG_STATE_HOME", ".local/state");
        Self { home, config, state }
    }
}

impl Context {
    /// The real world; `root` replaces the working folder as the project.
    pub fn real(root: Option<PathBuf>) -> Outcome<Self> {
        let current = environment::current_dir()?;
        if let Some(root) = &root
            && !RealFs
                .canonicalize(&current.join(root))
                .is_ok_and(|real| RealFs.is_folder(&real).unwrap_or(false))
        {
            let message = format!("--root {} is not a folder", root.display());
            return Err(Failure::usage("no_project", message).hint("rlx init demo && rlx --root demo ls"));
        }
        Ok(Self {
            fs: Arc::new(RealFs),
            machine: Arc::new(RealMachine),
            folder_is_root: root.is_some(),
            folder: root.map_or(current.clone(), |root| current.join(root)),
            cores: environment::processor_count(),
            user: UserFolders::real(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_user() {
        let given = |pairs: &'static [(&str, &str)]| {
            let of =
                |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let user = UserFolders::from_variables(of);
            [user.config, user.state].map(|path| path.map(|path| path.display().to_string()))
        };
        let path = |text: &str| Some(text.to_owned());
        assert_eq!(given(&[("HOME", "/h")]), [path("/h/.config/rlx"), path("/h/.local/state/rlx")]);
        let both = given(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "relative")]);
        assert_eq!(both, [path("/c/rlx"), path("/h/.local/state/rlx")]);
        assert_eq!(given(&[("XDG_STATE_HOME", "/s")]), [None, path("/s/rlx")]);
        assert_eq!(given(&[("HOME", "")]), [None, None]);
    }
}
