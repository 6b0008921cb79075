//! A step's view of the machine: its tree, and a root of its own with the paths that it may see.

use std::path::PathBuf;

use rlxp_fs::{Fs, RealFs};

use super::files::{self, Rights};
use super::helper::Ends;
use super::namespaces::{Namespaces, with_cause};
use super::report::tell;
use super::visible::{Visible, Wanted};
use super::{Report, Setup, mounts, probe, root, tree};
use crate::order::{Mechanisms, StepOrder};

/// The name of the mechanism, as it is recorded.
pub(super) const OWN_ROOT: &str = "own root";

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
        let watching = tree::watch(&step.tree, &step.watched, &ends.opened);
        tell(&ends.report, &Report::Watching(watching));
    } else {
        probe::try_overlay(setup, mounted, mechanisms);
    }
    let visible = visible(setup);
    if mounted {
        let covered = [rights.hidden.clone(), sockets].concat();
        match own_root(setup, &visible, &covered, namespaces.processes, mechanisms) {
            Ok(()) => {
                mechanisms.root = Some(OWN_ROOT.to_owned());
                rights.visible = vec![PathBuf::from("/")];
                rights.list_all = true;
                rights.writable.extend(root::SCRATCH.map(PathBuf::from));
            }
            Err(reason) => {
                mechanisms.missing.insert("root".to_owned(), reason);
            }
        }
    }
    if mechanisms.root.is_none() {
        rights.visible = visible.paths.into_keys().chain([PathBuf::from("/proc")]).collect();
    }
    // Disks and terminals are files too; only listed devices are allowed.
    rights.hidden.push(PathBuf::from("/dev"));
    Ok(rights)
}

/// What the step sees of the machine.
fn visible(setup: &Setup) -> Visible {
    let (mut readable, mut writable) = (Vec::new(), Vec::new());
    if let Some(step) = &setup.step {
        readable.extend(step.argv.first().map(PathBuf::from));
        readable.extend_from_slice(&step.readable);
        writable = vec![step.tree.at.clone(), setup.own.clone()];
    }
    Visible::find(&Wanted {
        readable: &readable,
        kept: &setup.readable,
        writable: &writable,
        hidden: &hidden(setup),
        network: setup.wanted.network,
    })
}

pub(super) fn own_root(
    setup: &Setup,
    visible: &Visible,
    hidden: &[PathBuf],
    owns_processes: bool,
    mechanisms: &mut Mechanisms,
) -> Result<(), String> {
    if let Some(reason) = setup.switched_off("root") {
        return Err(reason);
    }
    let plan = root::Plan { visible, hidden, memory: setup.memory.max(1 << 20), owns_processes };
    if let Some(reason) = root::enter(&plan)? {
        mechanisms.missing.insert("proc".to_owned(), reason);
    }
    Ok(())
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
