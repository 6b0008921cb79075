//! Files and folders without permission to read or write. Permissions don't restrict root, so another user runs these
//! commands.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::received::attack::{Case, attack};
use crate::received::project::{Base, Template};
use crate::received::tree::Node;

fn set(path: &Path, mode: u32) {
    if path.symlink_metadata().is_ok() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn what_may_not_be_read_or_written_is_said() {
    let program = crate::received::project::program_for_everybody();
    let template = Template::get();
    let mut cases = Vec::new();
    let mut add = |place: &str, mode: u32| {
        let at = place.to_owned();
        let mut case = Case::new(Base::Alone, format!("{place:?} has mode {mode:03o}"), move |to| {
            set(&to.run(&at), mode);
        });
        case.stubborn = true;
        case.program = Some(program.path().join("rlx"));
        cases.push(case);
    };
    for place in template.places(|node| matches!(node, Node::File(_))) {
        add(&place, 0o000);
    }
    for place in ["", "attempts/1", "checkpoints", "checkpoints/step_128", "eval", "plots"] {
        add(place, 0o000);
        add(place, 0o555);
    }
    add("metadata.json", 0o444);
    add("metrics.jsonl", 0o444);
    attack(cases);
}
