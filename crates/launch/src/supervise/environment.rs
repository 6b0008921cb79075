//! The environment of a step: only what its order lists.

use std::ffi::OsString;
use std::path::Path;

use rlxp_fs::environment::variable;
use rlxp_fs::{Fs, FsError, FsExt, Kind, RealFs};

use super::redact::Secrets;
use crate::order::StepOrder;

/// Without this most programs can't find others.
const SEARCH_PATH: &str = "PATH";
/// Without these most programs can't write text or tell the time. Passed only with a value that could be a real one:
/// otherwise they would bring any text from outside into a run.
const LOCALE: [&str; 3] = ["LANG", "LC_ALL", "TZ"];
/// Most characters of such a value.
const LOCALE_LENGTH: usize = 64;
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
    for name in LOCALE {
        let value = variable(name).filter(|value| value.len() <= LOCALE_LENGTH && is_plain(value));
        variables.extend(value.map(|value| (name.to_owned(), OsString::from(value))));
    }
    let path = variable(SEARCH_PATH).and_then(|path| existing_folders(&path));
    variables.extend(path.map(|path| (SEARCH_PATH.to_owned(), OsString::from(path))));
    // Which programs are found decides what runs, so no other search path is passed on request.
    for name in step.environment.iter().filter(|name| *name != SEARCH_PATH) {
        if let Some(value) = variable(name) {
            secrets.push((name.clone(), value.clone().into_bytes()));
            variables.insert(name.clone(), value.into());
        }
    }
    variables.extend(step.set.iter().map(|(name, value)| (name.clone(), value.into())));
    variables.extend(FOLDERS.iter().map(|(name, folder)| ((*name).to_owned(), own.join(folder).into())));
    (variables.into_iter().map(|(name, value)| (name.into(), value)).collect(), Secrets::new(secrets))
}

fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.@:+/-".contains(&byte))
}

/// The absolute folders of a search path that exist and have a plain name, if there are any.
pub(crate) fn existing_folders(path: &str) -> Option<String> {
    let is_folder = |folder: &str| {
        let folder = RealFs.canonicalize(Path::new(folder)).and_then(|real| RealFs.metadata(&real));
        folder.is_ok_and(|meta| meta.kind == Kind::Folder)
    };
    let is_kept = |folder: &&str| folder.starts_with('/') && is_plain(folder) && is_folder(folder);
    let folders: Vec<&str> = path.split(':').filter(is_kept).collect();
    (!folders.is_empty()).then(|| folders.join(":"))
}

#[cfg(test)]
mod tests {
    use super::super::test_orders::step;
    use super::*;

    #[test]
    fn usual_variables_carry_no_text_from_outside() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        for name in ["bin", "a message"] {
            RealFs.create_dir_all(&folder.path().join(name)).unwrap();
        }
        RealFs.write_new(&folder.path().join("bin/file"), b"").unwrap();
        let passed = |name: &str, value: &str| {
            let outside = |asked: &str| (asked == name).then(|| value.to_owned());
            let (variables, _) = compose(&step("train", &["/bin/true"]), Path::new("/own"), outside);
            let found = variables.into_iter().find(|(passed, _)| passed == name);
            found.map(|(_, value)| value.into_string().unwrap())
        };
        for (name, value) in [
            ("LANG", "en_US.UTF-8"),
            ("LC_ALL", "de_DE.UTF-8@euro"),
            ("TZ", "America/New_York"),
            ("TZ", ":UTC+3"),
            ("TZ", ""),
        ] {
            assert_eq!(passed(name, value).as_deref(), Some(value), "{name}");
        }
        let long = "x".repeat(LOCALE_LENGTH + 1);
        for value in ["a message", "rate=0.5", "{1}", "a\nb", "caf\u{e9}", &long] {
            for name in LOCALE {
                assert_eq!(passed(name, value), None, "{name}={value}");
            }
        }
        let path = format!(".:bin::{top}/bin:{top}/a message:{top}/absent/message:{top}/bin/file:/usr/bin");
        assert_eq!(passed("PATH", &path), Some(format!("{top}/bin:/usr/bin")));
        assert_eq!(passed("PATH", "bin:/no/such/folder"), None);
    }

    #[test]
    fn nothing_comes_through_that_was_not_named() {
        let mut step = step("train", &["/bin/true"]);
        step.environment = vec!["API".to_owned(), "ABSENT".to_owned(), "HOME".to_owned(), "PATH".to_owned()];
        step.set.insert("SEED".to_owned(), "7".to_owned());
        let outside = |name: &str| match name {
            "PATH" => Some("relative:/bin".to_owned()),
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
