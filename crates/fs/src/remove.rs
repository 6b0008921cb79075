//! Removes whole folders, and what killed processes have left.

use std::path::Path;

use crate::extension::{is_temporary, parent, temporary_owner};
use crate::{Fs, FsExt, Kind, Machine, Result};

pub(crate) fn folder<F: Fs + ?Sized>(fs: &F, path: &Path) -> Result<()> {
    while empty_folder(fs, path, path)? == Emptied::WithMore {}
    ignore_missing(fs.remove_dir(path))
}

/// How long a path may get before the folder it names is moved up: a tree can be deeper than any path can express.
const FAR: usize = 1024;

#[derive(PartialEq)]
enum Emptied {
    Wholly,
    /// Folders from far below were moved into the folder itself.
    WithMore,
}

/// Removes the content of `folder`, which is `top` or below it.
fn empty_folder<F: Fs + ?Sized>(fs: &F, top: &Path, folder: &Path) -> Result<Emptied> {
    let entries = match fs.list_raw(folder) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Emptied::Wholly),
        Err(error) => return Err(error),
    };
    let mut emptied = Emptied::Wholly;
    for entry in entries {
        let inside = folder.join(&entry.name);
        if entry.kind != Kind::Folder {
            ignore_missing(fs.remove_file(&inside))?;
        } else if inside.as_os_str().len() > top.as_os_str().len() + FAR {
            move_up(fs, top, &inside)?;
            emptied = Emptied::WithMore;
        } else {
            if empty_folder(fs, top, &inside)? == Emptied::WithMore {
                emptied = Emptied::WithMore;
            }
            ignore_missing(fs.remove_dir(&inside))?;
        }
    }
    Ok(emptied)
}

/// Moves `folder` into `top`, under the first free name of its kind.
fn move_up<F: Fs + ?Sized>(fs: &F, top: &Path, folder: &Path) -> Result<()> {
    for number in 0_u64.. {
        match fs.rename_new(folder, &top.join(format!(".deep-{number}"))) {
            Err(error) if error.is_already_there() => {}
            moved => return moved,
        }
    }
    Ok(())
}

fn ignore_missing(result: Result<()>) -> Result<()> {
    result.or_else(|error| if error.is_not_found() { Ok(()) } else { Err(error) })
}

pub(crate) fn abandoned<F: Fs + ?Sized>(fs: &F, machine: &dyn Machine, path: &Path) {
    let Some(target) = path.file_name().and_then(|name| name.to_str()) else { return };
    let Ok(entries) = fs.list_raw(parent(path)) else { return };
    for entry in entries {
        let Some(name) = entry.name.to_str().filter(|name| is_temporary(name)) else { continue };
        let is_for_it = name.splitn(4, '-').nth(3) == Some(target);
        if !is_for_it || temporary_owner(name).is_none_or(|maker| machine.process_start(maker).is_some()) {
            continue;
        }
        let left = path.with_file_name(name);
        let _ = match entry.kind {
            Kind::Folder => fs.remove_dir_all(&left),
            _ => fs.remove_file(&left),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{RealFs, RealMachine};

    #[test]
    fn a_tree_that_is_deeper_than_a_path_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        RealFs.create_dir(&top).unwrap();
        RealFs.write_new(&place.path().join("kept"), b"x").unwrap();
        // Built upwards: each round puts the tree into a new folder.
        let name = "deep".repeat(50);
        for round in 0..30 {
            let above = top.join(format!("above{round}"));
            RealFs.create_dir(&above).unwrap();
            RealFs.write_new(&above.join("file"), b"x").unwrap();
            for entry in RealFs.list(&top).unwrap() {
                if top.join(&entry.name) != above {
                    RealFs.rename(&top.join(&entry.name), &above.join(&name)).unwrap();
                }
            }
        }
        RealFs.remove_dir_all(&top).unwrap();
        assert!(RealFs.metadata_if_any(&top).unwrap().is_none());
        assert!(RealFs.is_file(&place.path().join("kept")).unwrap());
    }

    #[test]
    fn only_what_was_abandoned_for_that_very_name_goes() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| -> PathBuf { place.path().join(name) };
        let mine = format!(".tmp-{}-0-a-b.svg", std::process::id());
        let others = [mine.as_str(), ".tmp-4294967295-0-other.svg", ".tmp-x-0-a-b.svg", "a-b.svg"];
        for name in others.into_iter().chain([".tmp-4294967295-7-a-b.svg"]) {
            RealFs.write_new(&path(name), b"x").unwrap();
        }
        RealFs.create_dir(&path(".tmp-4294967295-8-a-b.svg")).unwrap();
        RealFs.remove_abandoned(&RealMachine, &path("a-b.svg"));
        let mut left: Vec<String> =
            RealFs.list(place.path()).unwrap().into_iter().map(|entry| entry.name).collect();
        left.sort();
        let mut wanted = others.map(str::to_owned);
        wanted.sort();
        assert_eq!(left, wanted);
    }
}
