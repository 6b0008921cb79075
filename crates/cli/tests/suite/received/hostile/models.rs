//! Model files that are something else, or lie about their content. Loading one executes nothing and creates nothing.

use std::fmt::Write;

use super::edit::tensors;
use crate::received::attack::{Case, attack, run};
use crate::received::outside::Outside;
use crate::received::project::{Base, ReceivedProject, Template};
use crate::received::tree;

/// A file as safetensors lays it out: the header's length, the header, the numbers.
fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// The header and the numbers of a file of the last checkpoint.
fn trained(which: &str) -> (String, Vec<u8>) {
    let bytes = Template::get().alone.bytes(&format!("checkpoints/step_128/{which}.safetensors"));
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (String::from_utf8(bytes[8..8 + length].to_vec()).unwrap(), bytes[8 + length..].to_vec())
}

/// A pickle that runs `touch MARKER` when Python loads it, in the oldest protocol, which is text.
fn pickle(marker: &str) -> Vec<u8> {
    format!("cos\nsystem\n(S'touch {marker}'\ntR.").into_bytes()
}

/// The same in protocol 2, as torch writes it.
fn binary_pickle(marker: &str) -> Vec<u8> {
    let word = format!("touch {marker}");
    let mut bytes = b"\x80\x02cposix\nsystem\nq\x00X".to_vec();
    bytes.extend((word.len() as u32).to_le_bytes());
    bytes.extend(word.as_bytes());
    bytes.extend(b"q\x01\x85q\x02Rq\x03.");
    bytes
}

/// A zip of one stored file, as torch and SB3 save models.
fn zip(name: &str, content: &[u8], claimed: u32) -> Vec<u8> {
    let common = |bytes: &mut Vec<u8>| {
        bytes.extend([20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(claimed.to_le_bytes());
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0, 0]);
    };
    let mut bytes = b"PK\x03\x04".to_vec();
    common(&mut bytes);
    bytes.extend(name.as_bytes());
    bytes.extend(content);
    let directory = bytes.len() as u32;
    bytes.extend(b"PK\x01\x02\x14\x00");
    common(&mut bytes);
    bytes.extend([0; 14]);
    bytes.extend(name.as_bytes());
    let length = bytes.len() as u32 - directory;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(length.to_le_bytes());
    bytes.extend(directory.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// Files of a completely different kind.
fn foreign() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a pickle", pickle("marker")),
        ("a pickle of torch", binary_pickle("marker")),
        ("a zip with a pickle", zip("archive/data.pkl", &binary_pickle("marker"), 64)),
        ("a zip that climbs out", zip("../../../marker", b"made", 4)),
        ("a zip with an absolute path", zip("/tmp/marker", b"made", 4)),
        ("a zip that claims 4 GB", zip("data.pkl", b"x", u32::MAX)),
        ("empty", Vec::new()),
        ("seven bytes", vec![0; 7]),
        ("only a length", 0_u64.to_le_bytes().to_vec()),
    ]
}

/// What training wrote, changed so that it lies about itself.
fn liars(which: &str) -> Vec<(&'static str, Vec<u8>)> {
    let (header, data) = trained(which);
    let first = r#""data_offsets":[0,"#;
    let with = |from: &str, into: &str| {
        assert!(header.contains(from), "{from} is not in {header}");
        safetensors(&header.replacen(from, into, 1), &data)
    };
    let length = |length: u64| {
        let mut bytes = safetensors(&header, &data);
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        bytes
    };
    let mut many = String::from("{");
    for tensor in 0..100_000 {
        write!(many, r#""t{tensor}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}},"#).unwrap();
    }
    let many = format!("{}}}", many.trim_end_matches(','));
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    // `"name":{…}` of the first tensor.
    let tensor = &header[1..=header.find('}').unwrap()];
    let whole = safetensors(&header, &data);
    vec![
        ("a header of the largest length", length(u64::MAX)),
        ("a header of 100 GB", length(100 << 30)),
        ("a header that is longer than the file", length((header.len() + data.len() + 1) as u64)),
        ("a header of length 0", length(0)),
        ("a header of brackets", safetensors(&deep, &data)),
        ("a header that is no text", {
            let mut bytes = whole.clone();
            bytes[8..8 + header.len()].fill(0xff);
            bytes
        }),
        ("a header with 100000 tensors", safetensors(&many, &data)),
        ("overlapping tensors", with(first, r#""data_offsets":[8,"#)),
        ("a negative offset", with(first, r#""data_offsets":[-32,"#)),
        ("an offset beyond all", with(first, r#""data_offsets":[18446744073709551616,"#)),
        ("the largest offset", with(first, r#""data_offsets":[18446744073709551615,"#)),
        (
            "a shape that overflows",
            with(r#""shape":["#, r#""shape":[18446744073709551615,18446744073709551615,"#),
        ),
        ("a shape with a zero", with(r#""shape":["#, r#""shape":[0,"#)),
        ("another type of number", with("F32", "F64")),
        ("an unknown type of number", with("F32", "X99")),
        ("the same name twice, with other shapes", {
            let other = tensor.replacen("\"shape\":[", "\"shape\":[1,", 1);
            safetensors(
                &format!("{},{other}}}", header.trim_end().trim_end_matches('}').to_owned() + "}"),
                &data,
            )
        }),
        ("without tensors", safetensors("{}", b"")),
        ("a tensor of another name", with("{\"", "{\"other")),
        ("cut in the middle", whole[..whole.len() / 2].to_vec()),
        ("longer than its tensors", whole.iter().copied().chain([0; 64]).collect()),
    ]
}

/// The trained file with other numbers in it.
fn numbers(which: &str, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let (header, mut data) = trained(which);
    change(&mut data);
    safetensors(&header, &data)
}

/// Every model that must be refused, by what it is.
fn models() -> Vec<(&'static str, Vec<u8>)> {
    let weight = |value: f32| numbers("model", |data| data[..4].copy_from_slice(&value.to_le_bytes()));
    let weights =
        [("a weight that is no number", weight(f32::NAN)), ("a weight without bound", weight(f32::INFINITY))];
    foreign().into_iter().chain(liars("model")).chain(weights).collect()
}

const EVALUATE: [&str; 3] = [
    "eval runs/R/checkpoints/step_128 --episodes 1",
    "train small.yaml --from R:latest",
    "inspect R --states 5 --samples 1",
];

#[test]
fn models_that_are_something_else_are_refused() {
    let cases = models().into_iter().map(|(what, bytes)| {
        let case = Case::new(Base::Alone, format!("the model is {what}"), move |to| {
            for step in ["step_64", "step_128"] {
                tensors(&to.run("checkpoints").join(step), "model", &bytes);
            }
        });
        EVALUATE.iter().fold(case, |case, line| case.refused(line, "model.safetensors"))
    });
    attack(cases.collect());
}

fn with_state(what: &str, bytes: Vec<u8>) -> Case {
    Case::new(Base::Alone, format!("the state is {what}"), move |to| {
        for step in ["step_64", "step_128"] {
            tensors(&to.run("checkpoints").join(step), "state", &bytes);
        }
    })
}

/// The training state has counters, random streams and the optimiser: resuming reads all of it.
#[test]
fn states_that_are_something_else_are_refused() {
    // Both files are read by the same code: a few of each kind show that it is used for the state too.
    let states = foreign().into_iter().take(4).chain(liars("state").into_iter().step_by(2));
    let refused = states.map(|(what, bytes)| with_state(what, bytes).refused("resume R", "step_64"));
    // Absurd counters, positions and lengths: whether they are detected or used, the command ends.
    let numbers = [
        ("made of ones", numbers("state", |data| data.fill(0xff))),
        ("made of zeros", numbers("state", |data| data.fill(0))),
        (
            "made of the largest signed numbers",
            numbers("state", |data| {
                data.chunks_mut(8)
                    .for_each(|number| number.copy_from_slice(&i64::MAX.to_le_bytes()[8 - number.len()..]));
            }),
        ),
    ];
    attack(refused.chain(numbers.map(|(what, bytes)| with_state(what, bytes))).collect());
}

/// Verified with strace: no program is started and no file is created, whatever the model contains.
#[test]
fn loading_a_model_executes_nothing_and_creates_nothing() {
    for (what, bytes) in foreign() {
        let place = ReceivedProject::new(Base::Alone);
        for step in ["step_64", "step_128"] {
            tensors(&place.run("checkpoints").join(step), "model", &bytes);
        }
        let outside = Outside::watch(&place.outside(""));
        let before = tree::look(place.project.folder());
        let trace = tempfile::NamedTempFile::new().unwrap();
        for line in [
            "eval R --episodes 1",
            "eval --run R --all-checkpoints --episodes 1",
            "inspect R --states 5 --samples 1",
            "video R --max-steps 2 --size 64x48 --output film.gif",
            "info R",
        ] {
            let mut command = place.project.command("strace");
            command.args(["-f", "-qq", "-e", "trace=execve,execveat,fork,vfork", "-e", "signal=none", "-o"]);
            command.arg(trace.path()).arg(crate::project::RLX);
            command.args(line.replace('R', crate::received::project::RUN).split_whitespace());
            let output = command.output().expect("this test needs strace: `cargo xtask setup` installs it");
            let refused = output.status.code().is_some_and(|code| matches!(code, 2 | 74));
            assert!(refused || line == "info R", "{what}: {line}: {output:?}");
            let calls = std::fs::read_to_string(trace.path()).unwrap();
            assert_eq!(calls.lines().count(), 1, "{what}: {line} starts only rlx itself: {calls}");
        }
        let mut changes = tree::changes(&before, &tree::look(place.project.folder()));
        changes.retain(|change| {
            !change.starts_with("runs/.index.sqlite") && !change.starts_with("runs changed")
        });
        assert_eq!(changes, Vec::<String>::new(), "{what}");
        assert_eq!(outside.changed(), Vec::<String>::new(), "{what}");
        assert!(!std::path::Path::new("/tmp/marker").exists(), "{what}");
    }
}

/// Without a matching manifest, a changed model isn't even parsed.
#[test]
fn a_model_that_does_not_fit_its_manifest_is_refused() {
    for (what, bytes) in models() {
        let place = ReceivedProject::new(Base::Alone);
        std::fs::write(place.run("checkpoints/step_128/model.safetensors"), &bytes).unwrap();
        let done = run(&place, "eval runs/R/checkpoints/step_128 --episodes 1");
        assert_eq!(done.code, Some(74), "{what}: {}", done.short());
        assert!(done.stderr.contains("model.safetensors"), "{what}: {}", done.short());
    }
}
