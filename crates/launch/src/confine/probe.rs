//! Which sandboxing mechanisms this machine offers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::confined::Confined;
use super::files::{self, Rights};
use super::surroundings::{OWN_ROOT, own_root};
use super::visible::{Visible, Wanted};
use super::{Setup, mounts, namespaces, syscalls, tree, without};
use crate::order::{ConfinementRequest, Level, Mechanisms, Reach, TreeOrder};
use crate::worker::LaunchError;

fn setup(network: Reach) -> Setup {
    Setup {
        report: -1,
        lifeline: -1,
        opened: -1,
        without: without(),
        join: Vec::new(),
        own: PathBuf::from("/"),
        readable: Vec::new(),
        memory: 1 << 24,
        wanted: ConfinementRequest { least: Level::None, network, hidden: Vec::new() },
        step: None,
    }
}

/// What this machine offers, tested in a separate process: everything that a step would go through, without a step.
/// Limits on memory and processes are up to the supervisor and reported as polling.
pub fn probe(network: Reach) -> Result<Mechanisms, LaunchError> {
    let mut confined = Confined::spawn_helper(setup(network), &[])?;
    let answered = confined.started();
    confined.kill();
    Ok(with_limits(answered.unwrap_or_else(nothing)))
}

/// What this machine offers, tested in this process, which must be single-threaded. Afterwards it is inside
/// the namespaces and without privileges, so this is for a command that prints the answer and ends.
pub fn probe_here() -> Mechanisms {
    let setup = setup(Reach::None);
    let mut mechanisms = Mechanisms::default();
    let namespaces = match namespaces::enter(&setup, false, &mut mechanisms) {
        Ok(namespaces) => namespaces,
        Err(reason) => return with_limits(nothing(reason)),
    };
    try_overlay(&setup, namespaces.mounts, &mut mechanisms);
    if namespaces.mounts {
        try_root(&setup, &mut mechanisms);
    }
    // Everything stays allowed: this only tests whether the rules are available.
    let rights = Rights { writable: vec![PathBuf::from("/")], ..Rights::default() };
    let limited = match setup.switched_off("landlock") {
        Some(reason) => Err(reason),
        None => files::limit(&rights),
    };
    match limited {
        Ok(how) => mechanisms.files = Some(how),
        Err(reason) => {
            mechanisms.missing.insert("files".to_owned(), reason);
        }
    }
    syscalls::limit(&setup, &mut mechanisms);
    with_limits(mechanisms)
}

/// Tries a root of its own. This process isn't inside the new process namespace, so `/proc` stays as it is.
fn try_root(setup: &Setup, mechanisms: &mut Mechanisms) {
    let wanted = Wanted { readable: &[], kept: &[], writable: &[], hidden: &[], network: Reach::None };
    match own_root(setup, &Visible::find(&wanted), &[], false, mechanisms) {
        Ok(()) => mechanisms.root = Some(OWN_ROOT.to_owned()),
        Err(reason) => {
            mechanisms.missing.insert("root".to_owned(), reason);
        }
    }
}

/// Tries an overlay on a file system in memory; returns `copy` where none is available.
pub(super) fn try_overlay(setup: &Setup, is_mounted: bool, mechanisms: &mut Mechanisms) {
    let refused = match setup.switched_off("overlay") {
        Some(reason) => Some(reason),
        None if !is_mounted => Some("an overlay needs a mount namespace".to_owned()),
        None => overlay_in_memory().err(),
    };
    mechanisms.tree = Some(if refused.is_none() { "overlay" } else { "copy" }.to_owned());
    if let Some(reason) = refused {
        mechanisms.missing.insert("overlay".to_owned(), reason);
    }
}

fn overlay_in_memory() -> Result<(), String> {
    let failed = |error| format!("can't mount an overlay: {error}");
    mounts::keep_to_oneself().map_err(failed)?;
    let top = Path::new("/tmp");
    mounts::in_memory(top, 1 << 20, "0700").map_err(failed)?;
    let [base, changed, work, at] = ["base", "changed", "work", "at"].map(|name| top.join(name));
    for folder in [&base, &changed, &work, &at] {
        tree::make_folder(folder)?;
    }
    tree::overlay(&TreeOrder { base, inputs: None, changed, work, at, removed: Vec::new() }).map_err(failed)
}

fn nothing(reason: String) -> Mechanisms {
    let missing =
        ["files", "processes", "network", "syscalls"].map(|mechanism| (mechanism.to_owned(), reason.clone()));
    Mechanisms { missing: BTreeMap::from(missing), ..Mechanisms::default() }
}

fn with_limits(mechanisms: Mechanisms) -> Mechanisms {
    let polling = Some("polling".to_owned());
    Mechanisms { memory: polling.clone(), process_count: polling, ..mechanisms }
}
