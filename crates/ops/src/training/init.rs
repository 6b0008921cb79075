//! `rlx init`: a project folder with a starter config for every environment.

use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

const FOLDERS: [&str; 8] = ["envs", "configs", "policies", "runs", "videos", "logs", "scripts", "analysis"];

const GITIGNORE: &str = "\
# Runs are kept by rlx, not by git.
/runs/*
!/runs/.gitkeep
/videos/*
!/videos/.gitkeep
/logs/*
!/logs/.gitkeep
.env
";

const ENV_EXAMPLE: &str = "\
# Copy to .env; never commit the copy. rlx reads none of these for training.
# ANTHROPIC_API_KEY=
# OPENAI_API_KEY=
# WANDB_API_KEY=
";

/// What a new project starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Template {
    /// Starter configs of the built-in environments.
    #[default]
    Native,
    /// A Gymnasium environment of the project's own, and starter configs of well-known ones.
    Gymnasium,
}

impl Template {
    /// Its starter configs, the one to train first in front.
    fn starters(self) -> &'static [rlxp_spec::Starter] {
        match self {
            Self::Native => rlxp_spec::starters(),
            Self::Gymnasium => rlxp_spec::gymnasium_starters(),
        }
    }

    /// Its other files.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Native => &[],
            Self::Gymnasium => &[
                ("envs/corridor.py", rlxp_spec::GYMNASIUM_CLASS),
                ("README.md", rlxp_spec::GYMNASIUM_README),
            ],
        }
    }
}

#[derive(Debug, Serialize)]
pub struct InitReport {
    /// The project folder.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// Starter configs, relative to it.
    pub configs: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
    /// Files that existed and stay as they are.
    pub kept: Vec<String>,
}

fn config_name(starter: &rlxp_spec::Starter) -> String {
    format!("configs/{}", starter.file_name)
}

/// Makes a project in `name`. Existing files stay as they are.
pub fn init(context: &Context, name: &str, template: Template) -> Outcome<InitReport> {
    let fs = context.fs.as_ref();
    let path = context.folder.join(name);
    if fs.is_file(&path)? {
        return Err(Failure::usage(
            "not_a_folder",
            format!("{name} is a file, so it can't become a project"),
        ));
    }
    let fresh = fs.metadata_if_any(&path)?.is_none();
    fs.remove_abandoned(context.machine.as_ref(), &path);
    // A new project appears whole or not at all.
    let building = if fresh { fs.temporary_beside(&path) } else { path.clone() };
    let result = fill(context, &building, template).and_then(|report| {
        if fresh {
            fs.rename_new(&building, &path)?;
            if let Some(parent) = path.parent() {
                fs.sync_dir(parent)?;
            }
        }
        Ok(report)
    });
    if fresh && result.is_err() {
        // The error that matters is the first one.
        let _ = fs.remove_dir_all(&building);
    }
    let (written, kept) = result?;
    let configs = template.starters().iter().map(config_name).collect();
    Ok(InitReport { path, configs, written, kept })
}

fn fill(context: &Context, root: &Path, template: Template) -> Outcome<(Vec<String>, Vec<String>)> {
    let fs = context.fs.as_ref();
    let (mut written, mut kept) = (Vec::new(), Vec::new());
    let mut put = |name: String, text: &str| -> Outcome<()> {
        let is_new = fs.write_new_atomic(&root.join(&name), text.as_bytes())?;
        if is_new {
            written.push(name)
        } else {
            kept.push(name)
        }
        Ok(())
    };
    for folder in FOLDERS {
        fs.create_dir_all(&root.join(folder))?;
        put(format!("{folder}/.gitkeep"), "")?;
    }
    put(".gitignore".into(), GITIGNORE)?;
    put(".env.example".into(), ENV_EXAMPLE)?;
    for starter in template.starters() {
        put(config_name(starter), starter.text)?;
    }
    for (name, text) in template.files() {
        put((*name).to_owned(), text)?;
    }
    Ok((written, kept))
}
