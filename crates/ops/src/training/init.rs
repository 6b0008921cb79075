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
pub fn init(context: &Context, name: &str) -> Outcome<InitReport> {
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
    let result = fill(context, &building).and_then(|report| {
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
    let configs = rlxp_spec::starters().iter().map(config_name).collect();
    Ok(InitReport { path, configs, written, kept })
}

fn fill(context: &Context, root: &Path) -> Outcome<(Vec<String>, Vec<String>)> {
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
    for starter in rlxp_spec::starters() {
        put(config_name(starter), starter.text)?;
    }
    Ok((written, kept))
}
