//! Names that are not UTF-8, in every folder of a run and next to it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::edit::copy;
use crate::received::attack::{Case, attack};
use crate::received::project::{Base, Template};
use crate::received::tree::Node;

#[test]
fn files_whose_names_are_no_text_stop_nothing() {
    let mut folders = Template::get().places(|node| *node == Node::Folder);
    folders.push(String::new());
    let cases = folders.into_iter().map(|place| {
        Case::new(Base::Alone, format!("the folder {place:?} has a file whose name is no text"), move |to| {
            let folder = to.run(&place);
            if folder.is_dir() {
                std::fs::write(folder.join(OsStr::from_bytes(b"bad\xff\xfe.json")), "{}").unwrap();
            }
        })
    });
    attack(cases.collect());
}

#[test]
fn folders_whose_names_are_no_text_stop_nothing() {
    let within = |place: &'static str, name: &'static [u8]| {
        Case::new(Base::Alone, format!("{place:?} has a folder whose name is no text"), move |to| {
            let new = to.run(place).join(OsStr::from_bytes(name));
            std::fs::create_dir_all(new.join("below")).unwrap();
            std::fs::write(new.join("below/file"), "text").unwrap();
        })
    };
    let beside = Case::new(Base::Alone, "a run folder whose name is no text", |to| {
        let other = to.project.path("runs").join(OsStr::from_bytes(b"received_\xff\xfe"));
        copy(&to.run(""), &other);
    });
    attack(vec![
        within("", b"\xff"),
        within("checkpoints", b"step_\xff"),
        within("attempts", b"\xff"),
        within("eval", b"\xff"),
        beside,
    ]);
}
