//! A step's view of the machine: its tree, a private `/proc` and shared memory, and nothing that is
//! hidden from it.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, RealFs};

use super::files::{self, Rights};
use super::helper::Ends;
use super::namespaces::{Namespaces, with_cause};
use super::report::tell;
use super::{Report, Setup, mounts, probe, tree};
use crate::order::{Mechanisms, Reach, StepOrder};

/// Mounts what the step may see, and returns its file access rules.
pub(super) fn prepare(
    setup: &Setup,
    ends: &Ends,
    namespaces: Namespaces,
    sockets: Vec<PathBuf>,
    mechanisms: &mut Mechanisms,
) -> Result<Rights, String> {
    let mut mounted = namespaces.mounts;
    if mounted && let Err(error) = mounts::keep_to_oneself() {
        mechanisms.missing.insert("mounts".to_owned(), format!("can't make mounts private: {error}"));
        mounted = false;
    }
    let mut rights = Rights { hidden: hidden(setup), ..Rights::default() };
    rights.readable = setup.readable.iter().filter_map(|path| RealFs.canonicalize(path).ok()).collect();
    if let Some(step) = &setup.step {
        show_tree(setup, step, mounted, mechanisms)?;
        for path in [&step.tree.at, &setup.own] {
            let real = RealFs.canonicalize(path).map_err(|error| with_cause(&error))?;
            rights.writable.push(real);
        }
        rights.readable.extend(RealFs.canonicalize(&step.tree.base).ok());
    } else {
        probe::try_overlay(setup, mounted, mechanisms);
    }
    if mounted {
        if namespaces.processes
            && let Err(error) = mounts::fresh_proc()
        {
            mechanisms.missing.insert("proc".to_owned(), format!("can't mount a new /proc: {error}"));
        }
        if let Some(shared) = mounts::shared_memory() {
            match mounts::in_memory(shared, (setup.memory / 2).max(1 << 20), "1777") {
                Ok(()) => rights.writable.push(shared.to_owned()),
                Err(error) => {
                    let reason = format!("can't mount a private {}: {error}", shared.display());
                    mechanisms.missing.insert("shared_memory".to_owned(), reason);
                }
            }
        }
        let kept: Vec<PathBuf> = rights.readable.iter().chain(&rights.writable).cloned().collect();
        match cover(setup, [rights.hidden.clone(), sockets].concat(), kept) {
            Ok(()) => rights.list_all = true,
            Err(reason) => {
                mechanisms.missing.insert("covers".to_owned(), reason);
            }
        }
        if let Err(reason) = mounts::keep_unchanged(&rights.writable) {
            mechanisms.missing.insert("read_only".to_owned(), reason);
        }
    }
    // Disks and terminals are files too; only listed devices are allowed.
    rights.hidden.push(PathBuf::from("/dev"));
    if let Some(step) = &setup.step {
        let watching = tree::watch(&step.tree, &step.watched, &ends.opened);
        tell(&ends.report, &Report::Watching(watching));
    }
    Ok(rights)
}

fn hidden(setup: &Setup) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = setup.wanted.hidden.iter().map(|path| files::resolve(path)).collect();
    hidden.sort();
    hidden.dedup();
    hidden
}

fn show_tree(
    setup: &Setup,
    step: &StepOrder,
    mounted: bool,
    mechanisms: &mut Mechanisms,
) -> Result<(), String> {
    let refused = match setup.switched_off("overlay") {
        Some(reason) => Some(reason),
        None if !mounted => Some("an overlay needs a mount namespace".to_owned()),
        None => tree::overlay(&step.tree).err().map(|error| format!("can't mount an overlay: {error}")),
    };
    match refused {
        None => mechanisms.tree = Some("overlay".to_owned()),
        Some(reason) => {
            tree::copy(&step.tree)?;
            mechanisms.missing.insert("overlay".to_owned(), reason);
            mechanisms.tree = Some("copy".to_owned());
        }
    }
    tree::remove(&step.tree)
}

/// Covers hidden paths, sockets, and all of `/run`, where services make new ones, unless the step itself lives there.
fn cover(setup: &Setup, mut covered: Vec<PathBuf>, mut kept: Vec<PathBuf>) -> Result<(), String> {
    let run = Path::new("/run");
    let program = setup.step.as_ref().and_then(|step| step.argv.first()).map(PathBuf::from);
    let real = program.as_ref().and_then(|program| RealFs.canonicalize(program).ok());
    let search = rlxp_fs::environment::variable("PATH").unwrap_or_default();
    let used = kept.iter().chain(&program).chain(&real).map(PathBuf::as_path);
    if files::is_folder(run)
        && !used.chain(search.split(':').map(Path::new)).any(|path| path.starts_with(run))
    {
        covered.push(run.to_owned());
        if setup.wanted.network == Reach::Everything {
            // Names can't be looked up without it, and it often lies there.
            kept.extend(RealFs.canonicalize(Path::new("/etc/resolv.conf")).ok());
        }
    }
    mounts::cover(&covered, &kept)
}
