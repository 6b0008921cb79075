//! Symbolic links in every place of a run. A run may only have `checkpoints/best` and `latest`, and they must point to
//! a checkpoint next to them.

use std::path::{Path, PathBuf};

use super::edit::link;
use crate::received::attack::{Case, attack, run};
use crate::received::project::{Base, RUN, ReceivedProject, Template};

/// The two links that belong to a run.
fn belongs(place: &str) -> bool {
    place.ends_with("checkpoints/best") || place.ends_with("checkpoints/latest")
}

/// A case with a link at `place`, and the commands that need what was there.
fn case(
    base: Base,
    place: &str,
    what: &str,
    target: impl Fn(&ReceivedProject) -> PathBuf + Send + Sync + 'static,
) -> Case {
    let name = if place.is_empty() { RUN } else { place };
    let owned = place.to_owned();
    let case = Case::new(base, format!("{base:?}, {name} is {what}"), move |to| {
        link(&to.run(&owned), &target(to));
    });
    // Without a checkpoint, it is enough to report which one is missing.
    let last = match place {
        "checkpoints/step_128" => "128",
        "checkpoints/step_128/manifest.json" => "step_128",
        _ => Path::new(name).file_name().unwrap().to_str().unwrap(),
    };
    let needed: &[&'static str] = match place {
        "" => &["info R", "info runs/R", "rm R --yes", "tag R fresh", "resume R", "reproduce R"],
        "metadata.json" => &["info R", "tag R", "eval --run R --episodes 1", "resume R"],
        "config_snapshot.yaml" => &["info R", "eval --run R --episodes 1", "reproduce R", "resume R"],
        "metrics.jsonl" => &["tail R -n 3 --no-follow", "resume R"],
        "attempts" | "attempts/1" => &["resume R"],
        "checkpoints" | "checkpoints/step_128" => &["eval runs/R/checkpoints/step_128 --episodes 1"],
        "checkpoints/step_128/manifest.json" | "checkpoints/step_128/model.safetensors" => {
            &["eval runs/R/checkpoints/step_128 --episodes 1", "train small.yaml --from R:latest"]
        }
        "eval" => &["eval --run R --episodes 1"],
        "videos" => &["video R --max-steps 2 --size 64x48"],
        "logs" => &["resume R"],
        "seeds" | "seeds/1" => &["eval --run R --episodes 1"],
        "seeds/1/metrics.jsonl" => &["tail R -n 3 --no-follow"],
        _ => &[],
    };
    let case = needed.iter().fold(case, |case, line| case.refused(line, last));
    // A plot is shown in the terminal too, so a picture that can't be written is a warning.
    if place == "plots" { case.told("plot R", last) } else { case }
}

/// Every path in the run of one seed, and what is different in one of several.
fn places() -> Vec<(Base, String)> {
    let template = Template::get();
    let alone =
        template.places(|_| true).into_iter().chain([String::new()]).map(|place| (Base::Alone, place));
    let several = template.several.places(|_| true).into_iter().filter(|place| {
        let depth = place.matches('/').count();
        place == "seeds" || (place.starts_with("seeds/1") && depth <= 2)
    });
    let all = alone.chain(several.map(|place| (Base::Several, place)));
    all.filter(|(_, place)| !belongs(place)).collect()
}

#[test]
fn a_link_to_a_run_elsewhere_is_refused_wherever_it_is() {
    let cases = places().into_iter().map(|(base, place)| {
        let target = place.clone();
        case(base, &place, "a link to what it could be, outside", move |to| to.outside("run").join(&target))
    });
    attack(cases.collect());
}

#[test]
fn a_link_to_a_secret_shows_nothing_of_it() {
    let files = [
        "metadata.json",
        "config_snapshot.yaml",
        "metrics.jsonl",
        "attempts/1/end.json",
        "eval/step_64.json",
    ];
    let cases =
        files.map(|place| case(Base::Alone, place, "a link to a secret", |to| to.outside("secret.txt")));
    attack(cases.into());
}

#[test]
fn a_link_that_climbs_out_is_refused() {
    let places = [
        "",
        "metadata.json",
        "metrics.jsonl",
        "checkpoints",
        "checkpoints/step_128/model.safetensors",
        "eval",
    ];
    let cases = places.map(|place| {
        let (at, target) = (place.to_owned(), format!("run/{place}"));
        case(Base::Alone, place, "a link that climbs out", move |to| {
            to.outside_from(&to.run(&at), target.trim_end_matches('/'))
        })
    });
    attack(cases.into());
}

/// Writing through such a link would create a file outside.
#[test]
fn a_link_to_nothing_makes_nothing() {
    let cases = places()
        .into_iter()
        .filter(|(base, _)| *base == Base::Alone)
        .map(|(base, place)| case(base, &place, "a link to nothing, outside", |to| to.outside("made")));
    // Names of files that rlx writes.
    let written = [
        "eval/posthoc_step_128_seed_20000_episodes_1.json",
        "plots/eval_mean_return.svg",
        "videos/step_128_20000.mp4",
        "logs/superseded_1.jsonl",
        "checkpoints/step_192",
        "attempts/2",
        "attempts/2/claim.json",
        "attempts/1/reserve",
        "attempts/2/reserve",
        "labels",
        "labels/1.json",
        "labels/2.json",
        "labels/3.json",
        "origin",
    ];
    let written = written.map(|place| {
        Case::new(Base::Alone, format!("{place}, still to be written, is a link to nothing"), move |to| {
            link(&to.run(place), &to.outside("made"));
        })
    });
    attack(cases.chain(written).collect());
}

#[test]
fn links_that_lead_in_circles_end() {
    let own = |place: &'static str| {
        case(Base::Alone, place, "a link to itself", move |to| to.run(place).file_name().unwrap().into())
    };
    let mut cases: Vec<Case> =
        ["", "metadata.json", "metrics.jsonl", "attempts", "checkpoints", "eval"].map(own).into();
    let up = |place: &'static str| case(Base::Alone, place, "a link to the run", |to| to.run(""));
    cases.extend(["checkpoints/step_128", "attempts/7", "eval", "plots"].map(up));
    attack(cases);
}

#[test]
fn best_and_latest_name_a_checkpoint_beside_them_or_nothing() {
    type Target = fn(&ReceivedProject) -> PathBuf;
    let targets: [(&str, Target); 9] = [
        ("an absolute path outside", |to| to.outside("run/checkpoints/step_128")),
        ("a path that climbs out", |to| {
            to.outside_from(&to.run("checkpoints/best"), "run/checkpoints/step_128")
        }),
        ("a path that climbs out and in", |_| "../checkpoints/step_128".into()),
        ("the run itself", |_| "..".into()),
        ("nothing", |_| "step_77".into()),
        ("no checkpoint", |_| "../eval".into()),
        ("itself", |_| "best".into()),
        ("more than a number", |_| "step_18446744073709551616".into()),
        ("a checkpoint and more", |_| "step_128/model.safetensors".into()),
    ];
    let both = ["best", "latest"].map(|link| {
        targets.map(|(what, target)| {
            let at = format!("checkpoints/{link}");
            Case::new(Base::Alone, format!("{link} names {what}"), move |to| {
                super::edit::link(&to.run(&at), &target(to));
            })
        })
    });
    attack(both.into_iter().flatten().collect());
}

/// Disks are often mounted elsewhere: the folder of runs itself may be a link.
#[test]
fn runs_behind_a_link_work() {
    let place = ReceivedProject::new(Base::Alone);
    let disk = crate::received::project::temporary();
    let runs = place.project.path("runs");
    std::fs::rename(&runs, disk.path().join("runs")).unwrap_or_else(|error| panic!("{error}"));
    link(&runs, &disk.path().join("runs"));
    for line in [
        "ls",
        "info R",
        "tag R fresh",
        "eval --run R --episodes 1",
        "plot R",
        "resume R --total-timesteps 192",
        "reproduce R",
        "train small.yaml",
        "train small.yaml --from R",
        "rm R --yes",
    ] {
        let done = run(&place, line);
        assert_eq!(done.code, Some(0), "{line}: {}", done.short());
    }
    assert!(!disk.path().join("runs").join(RUN).exists(), "the run is removed behind the link");
}

/// A run's folder that a path names through a link is refused like any other.
#[test]
fn a_run_that_a_link_names_from_elsewhere_is_refused() {
    let place = ReceivedProject::new(Base::Alone);
    link(&place.project.path("shortcut"), &place.outside("run"));
    let outside = crate::received::outside::Outside::watch(&place.outside(""));
    for line in
        ["tag shortcut fresh", "rm shortcut --yes", "eval --run shortcut --episodes 1", "plot shortcut"]
    {
        let done = run(&place, line);
        assert!(matches!(done.code, Some(2 | 3 | 74)), "{line}: {}", done.short());
        assert_eq!(outside.changed(), Vec::<String>::new(), "{line}");
    }
}
