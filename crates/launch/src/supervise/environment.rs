//! The environment of a step: only what its order lists.

use std::ffi::OsString;
use std::path::Path;

use rlxp_fs::environment::variable;
use rlxp_fs::{Fs, FsError, FsExt, RealFs};

use super::redact::Secrets;
use crate::order::StepOrder;

/// Without these most programs can't find others or write text.
const COMMON: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TZ"];
/// Folders for a step's temporary files, by variable.
const FOLDERS: [(&str, &str); 3] = [("TMPDIR", "tmp"), ("HOME", "home"), ("XDG_CACHE_HOME", "cache")];

/// The variables of a step, and which of their values are secret. `own` is the step's own folder.
pub(super) fn for_step(step: &StepOrder, own: &Path) -> (Vec<(OsString, OsString)>, Secrets) {
    compose(step, own, variable)
}

/// Makes the folders that the variables name.
pub(super) fn make_folders(own: &Path) -> Result<(), FsError> {
    // They aren't needed after a power loss, so they aren't synced.
    FOLDERS.iter().try_for_each(|(_, folder)| match RealFs.create_dir(&own.join(folder)) {
        Err(error) if error.is_not_found() => RealFs.create_dir_all(&own.join(folder)),
        Err(error) if !error.is_already_there() => Err(error),
        _ => Ok(()),
    })
}

fn compose(
    step: &StepOrder,
    own: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> (Vec<(OsString, OsString)>, Secrets) {
    let mut variables = std::collections::BTreeMap::new();
    let mut secrets = Vec::new();
    for name in COMMON {
        variables.extend(variable(name).map(|value| (name.to_owned(), OsString::from(value))));
    }
    for name in &step.environment {
        if let Some(value) = variable(name) {
            secrets.push((name.clone(), value.clone().into_bytes()));
            variables.insert(name.clone(), value.into());
        }
    }
    variables.extend(step.set.iter().map(|(name, value)| (name.clone(), value.into())));
    variables.extend(FOLDERS.iter().map(|(name, folder)| ((*name).to_owned(), own.join(folder).into())));
    (variables.into_iter().map(|(name, value)| (name.into(), value)).collect(), Secrets::new(secrets))
}

#[cfg(test)]
mod tests {
    use super::super::test_orders::step;
    use super::*;

    #[test]
    fn nothing_comes_through_that_was_not_named() {
        let mut step = step("train", &["/bin/true"]);
        step.environment = vec!["API".to_owned(), "ABSENT".to_owned(), "HOME".to_owned()];
        step.set.insert("SEED".to_owned(), "7".to_owned());
        let outside = |name: &str| match name {
            "PATH" => Some("/bin".to_owned()),
            "API" | "OTHER" => Some("a-value-of-the-outside".to_owned()),
            "HOME" => Some("/home/user".to_owned()),
            _ => None,
        };
        let (variables, secrets) = compose(&step, Path::new("/runs/1/train"), outside);
        let shown: Vec<_> = variables
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        let expected = [
            "API=a-value-of-the-outside",
            "HOME=/runs/1/train/home",
            "PATH=/bin",
            "SEED=7",
            "TMPDIR=/runs/1/train/tmp",
            "XDG_CACHE_HOME=/runs/1/train/cache",
        ];
        assert_eq!(shown, expected);
        let text = std::sync::Arc::new(secrets).out_of("got a-value-of-the-outside");
        assert_eq!(text, "got [redacted API]");
    }
}
