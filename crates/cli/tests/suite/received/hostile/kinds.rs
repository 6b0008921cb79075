//! Pipes, sockets, devices, folders and files in place of something else.

use super::edit::{endless_device, file, folder, pipe, socket};
use crate::received::attack::{Case, attack};
use crate::received::outside::CANARY;
use crate::received::project::{Base, Template};
use crate::received::tree::Node;

/// Every file of the run of one seed.
pub(crate) fn files() -> Vec<String> {
    Template::get().places(|node| matches!(node, Node::File(_)))
}

/// Commands that need a file, and must report that it is not one.
fn refuses(case: Case, place: &str, word: &str) -> Case {
    let needed: &[&'static str] = match place {
        "metadata.json" => &["info R", "tag R", "eval --run R --episodes 1"],
        "config_snapshot.yaml" => &["info R", "eval --run R --episodes 1", "reproduce R"],
        "metrics.jsonl" => &["tail R -n 3 --no-follow", "resume R"],
        "checkpoints/step_128/manifest.json" | "checkpoints/step_128/model.safetensors" => {
            &["eval runs/R/checkpoints/step_128 --episodes 1", "train small.yaml --from R:latest"]
        }
        _ => &[],
    };
    needed.iter().fold(case, |case, line| case.refused(line, word))
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let extra = [
        "labels/1.json",
        "labels/9.json",
        "attempts/2/claim.json",
        "logs/superseded_1.jsonl",
        "attempts/1/reserve",
    ];
    let mut places = files();
    places.extend(extra.map(str::to_owned));
    places.sort();
    places.dedup();
    let cases = places.into_iter().map(|place| {
        let at = place.clone();
        let case = Case::new(Base::Alone, format!("{place} is a pipe"), move |to| pipe(&to.run(&at)));
        refuses(case, &place, "not a plain file")
    });
    attack(cases.collect());
}

#[test]
fn a_pipe_in_the_place_of_a_folder_is_not_waited_for() {
    let folders = [
        "",
        "attempts",
        "attempts/1",
        "checkpoints",
        "checkpoints/step_128",
        "eval",
        "plots",
        "videos",
        "labels",
    ];
    let cases = folders.map(|place| {
        Case::new(Base::Alone, format!("the folder {place:?} is a pipe"), move |to| pipe(&to.run(place)))
    });
    attack(cases.into());
}

#[test]
fn sockets_and_devices_are_no_files() {
    let places = [
        "metadata.json",
        "config_snapshot.yaml",
        "metrics.jsonl",
        "checkpoints/step_128/model.safetensors",
        "attempts/1/end.json",
    ];
    let mut cases = Vec::new();
    for place in places {
        let case = Case::new(Base::Alone, format!("{place} is a socket"), move |to| socket(&to.run(place)));
        cases.push(refuses(case, place, "not a plain file"));
        if rustix::process::geteuid().is_root() {
            let name = format!("{place} is a device without end");
            let case = Case::new(Base::Alone, name, move |to| endless_device(&to.run(place)));
            cases.push(refuses(case, place, "not a plain file"));
        }
    }
    attack(cases);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_said() {
    let cases = files().into_iter().map(|place| {
        let at = place.clone();
        let case = Case::new(Base::Alone, format!("{place} is a folder"), move |to| folder(&to.run(&at)));
        refuses(case, &place, "")
    });
    attack(cases.collect());
}

#[test]
fn a_file_in_the_place_of_a_folder_is_said() {
    let mut places = Template::get().places(|node| *node == Node::Folder);
    places.extend([String::new(), "labels".to_owned(), "origin".to_owned(), "seeds".to_owned()]);
    places.sort();
    places.dedup();
    let cases = places.into_iter().map(|place| {
        Case::new(Base::Alone, format!("the folder {place:?} is a file"), move |to| {
            file(&to.run(&place), format!("not a folder {CANARY}\n").as_bytes());
        })
    });
    attack(cases.collect());
}
