//! Files as the tools write them, and every way in which they can be damaged.

use std::io::{self, Read};

use proptest::prelude::*;

use super::log::Pattern;
use super::*;

/// Fields of messages.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number_field(field: u64, number: u64) -> Vec<u8> {
    [varint(field << 3), varint(number)].concat()
}

fn bytes_field(field: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn float_field(field: u64, value: f32) -> Vec<u8> {
    [varint(field << 3 | 5), value.to_le_bytes().to_vec()].concat()
}

/// A record of an event file.
fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &crc32c::masked(&length).to_le_bytes(), data, &crc32c::masked(data).to_le_bytes()].concat()
}

fn event(step: u64, tag: &str, value: &[u8]) -> Vec<u8> {
    let value = [bytes_field(1, tag.as_bytes()), value.to_vec()].concat();
    framed(&[number_field(2, step), bytes_field(5, &bytes_field(1, &value))].concat())
}

fn events(points: &[(u64, f32)]) -> Vec<u8> {
    let mut file = framed(&bytes_field(3, b"brain.Event:2"));
    file.extend(points.iter().flat_map(|(step, value)| event(*step, "eval/return", &float_field(2, *value))));
    file
}

/// A file of an offline run, divided into blocks.
fn offline_run(records: &[Vec<u8>]) -> Vec<u8> {
    const BLOCK: usize = 32 << 10;
    let mut file = vec![b':', b'W', b'&', b'B', 0xe1, 0xbe, 0];
    for record in records {
        let (mut rest, mut begun) = (record.as_slice(), false);
        loop {
            let left = BLOCK - file.len() % BLOCK;
            if left < 7 {
                file.resize(file.len() + left, 0);
                continue;
            }
            let length = rest.len().min(left - 7);
            let (data, after) = rest.split_at(length);
            let kind: u8 = match (begun, after.is_empty()) {
                (false, true) => 1,
                (false, false) => 2,
                (true, false) => 3,
                (true, true) => 4,
            };
            let mut checksum = crc32fast::Hasher::new();
            checksum.update(&[kind]);
            checksum.update(data);
            file.extend(checksum.finalize().to_le_bytes());
            file.extend((length as u16).to_le_bytes());
            file.push(kind);
            file.extend(data);
            (rest, begun) = (after, true);
            if rest.is_empty() {
                break;
            }
        }
    }
    file
}

fn item(parts: &[&str], json: &str) -> Vec<u8> {
    let mut item: Vec<u8> = parts.iter().flat_map(|part| bytes_field(2, part.as_bytes())).collect();
    item.extend(bytes_field(16, json.as_bytes()));
    bytes_field(1, &item)
}

fn history(step: u64, items: &[Vec<u8>]) -> Vec<u8> {
    let step = if step == 0 { Vec::new() } else { number_field(1, step) };
    bytes_field(2, &[items.concat(), bytes_field(2, &step)].concat())
}

fn values(reading: &Reading) -> Vec<f64> {
    reading.as_ref().unwrap().iter().map(|point| point.value).collect()
}

fn steps(reading: &Reading) -> Vec<f64> {
    reading.as_ref().unwrap().iter().map(|point| point.step.unwrap()).collect()
}

#[track_caller]
fn check(reading: &Reading, kind: TroubleKind, detail: &str) {
    let trouble = reading.as_ref().unwrap_err();
    assert_eq!(trouble.kind, kind, "{trouble:?}");
    assert!(trouble.detail.contains(detail), "{} has no {detail:?}", trouble.detail);
}

#[test]
fn event_files_have_scalars_in_several_forms() {
    let tensor = |fields: Vec<u8>| bytes_field(8, &fields);
    let kind = |kind: u64| number_field(1, kind);
    let mut file = events(&[(0, 0.0), (10, 1.5)]);
    let double = [kind(2), bytes_field(6, &2.5_f64.to_le_bytes())].concat();
    let content = [kind(1), bytes_field(4, &3.5_f32.to_le_bytes())].concat();
    let whole = [kind(9), number_field(10, -4_i64 as u64)].concat();
    let packed = [kind(3), bytes_field(7, &varint(7))].concat();
    for (step, fields) in [(20, double), (30, content), (40, whole), (50, packed)] {
        file.extend(event(step, "eval/return", &tensor(fields)));
    }
    file.extend(event(60, "vector", &tensor([kind(1), bytes_field(5, &[0; 8])].concat())));
    file.extend(event(60, "text", &tensor([kind(7), bytes_field(8, b"hello")].concat())));
    file.extend(event(60, "picture", &bytes_field(4, b"png")));
    let read =
        tensorboard::read(&mut file.as_slice(), &["eval/return", "vector", "text", "picture", "other"]);
    assert_eq!(values(&read[0]), [0.0, 1.5, 2.5, 3.5, -4.0, 7.0]);
    assert_eq!(steps(&read[0]), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
    for one in &read[1..4] {
        check(one, TroubleKind::Unreadable, "is not a single number");
    }
    check(&read[4], TroubleKind::Missing, "no scalar has the tag \"other\"");
}

#[test]
fn a_restarted_session_replaces_what_it_repeats() {
    let mut file = events(&[(0, 0.0), (10, 1.0), (20, 2.0)]);
    file.extend(framed(&[number_field(2, 10), bytes_field(7, &number_field(1, 1))].concat()));
    file.extend(event(10, "eval/return", &float_field(2, 5.0)));
    let read = tensorboard::read(&mut file.as_slice(), &["eval/return"]);
    assert_eq!(values(&read[0]), [0.0, 5.0]);
}

#[test]
fn damaged_event_files_are_reported_with_the_place() {
    let file = events(&[(0, 0.0), (10, 1.0)]);
    let read = |bytes: &[u8]| tensorboard::read(&mut &*bytes, &["eval/return"]).remove(0);
    check(&read(&file[..file.len() - 1]), TroubleKind::Unreadable, "truncated at byte");
    check(&read(&file[..file.len() - 1]), TroubleKind::Unreadable, "after 2 intact records");
    let mut flipped = file.clone();
    let last = flipped.len() - 5;
    flipped[last] ^= 1;
    check(&read(&flipped), TroubleKind::Unreadable, "damaged at byte");
    check(
        &read(b"not an event file at all"),
        TroubleKind::Unreadable,
        "damaged at byte 0, after 0 intact records",
    );
    // Whole records, whose content is something else.
    check(&read(&framed(b"\xff\xff\xff")), TroubleKind::Unreadable, "damaged at byte 0");
    // A header that promises more than there is takes no memory for it.
    let length = (200_u64 << 20).to_le_bytes();
    let promise = [&length[..], &crc32c::masked(&length).to_le_bytes(), b"x"].concat();
    check(&read(&promise), TroubleKind::Unreadable, "truncated");
    let length = u64::MAX.to_le_bytes();
    let promise = [&length[..], &crc32c::masked(&length).to_le_bytes(), b"x"].concat();
    check(&read(&promise), TroubleKind::Unreadable, "has 18446744073709551615 bytes");
    check(&read(b""), TroubleKind::Missing, "no scalar has the tag");
}

#[test]
fn offline_runs_have_history_and_summary() {
    let large = format!("\"{}\"", "x".repeat(100_000));
    let typed = |field: u64, rest: Vec<u8>| {
        bytes_field(1, &[bytes_field(2, b"typed"), varint(field << 3 | u64::from(field == 6)), rest].concat())
    };
    let mut records = vec![number_field(1, 1)];
    for step in 0..2000_u64 {
        let value = format!("{}.5", step);
        records.push(history(step * 10, &[item(&["loss"], &value), item(&["eval", "return"], &value)]));
    }
    records.push(history(20_000, &[item(&["long"], &large), typed(6, 2.5_f64.to_le_bytes().to_vec())]));
    records.push(history(20_010, &[item(&["old"], "{\"a\": {\"b\": 4}}"), typed(5, varint(7))]));
    records.push(history(20_020, &[item(&["bad"], "\"NaN\""), item(&["twice"], "1"), item(&["twice"], "1")]));
    let removed = bytes_field(2, &bytes_field(1, b"gone"));
    let summary =
        |key: &[u8], json: &[u8]| bytes_field(1, &[bytes_field(1, key), bytes_field(16, json)].concat());
    let all = [summary(b"best", b"1"), summary(b"best", b"9"), summary(b"gone", b"1"), removed].concat();
    records.push(bytes_field(3, &all));
    let file = offline_run(&records);
    assert!(file.len() > 4 * (32 << 10), "{} bytes are not several blocks", file.len());
    let keys = ["loss", "eval.return", "typed", "old.a.b", "best", "bad", "twice", "long", "gone"];
    let read = wandb::read(&mut file.as_slice(), &keys);
    assert_eq!(values(&read[0]), values(&read[1]));
    assert_eq!(values(&read[0]).len(), 2000);
    assert_eq!(values(&read[0])[1999], 1999.5);
    assert_eq!(steps(&read[0])[..3], [0.0, 10.0, 20.0]);
    assert_eq!(values(&read[2]), [2.5, -4.0]);
    assert_eq!(values(&read[3]), [4.0]);
    assert_eq!(values(&read[4]), [9.0]);
    assert!(values(&read[5])[0].is_nan());
    check(&read[6], TroubleKind::Ambiguous, "logged twice");
    check(&read[7], TroubleKind::Unreadable, "not a number");
    check(&read[8], TroubleKind::Missing, "never logged");
    let cut = wandb::read(&mut &file[..file.len() - 3], &["loss"]);
    check(&cut[0], TroubleKind::Unreadable, "truncated at byte");
    check(
        &wandb::read(&mut &b"{}"[..], &["loss"])[0],
        TroubleKind::Unreadable,
        "not a file of an offline W&B run",
    );
}

#[test]
fn json_documents() {
    let text = br#"{"eval": {"mean": 1.5, "returns": [1, 2.5, null], "a/b": [{"x": 3}], "bad": "NaN", "deep": {"x": 1}},
        "twice": 1, "twice": 2, "text": "12", "no": null, "huge": 1e308, "flag": true}"#;
    let pointers = [
        "/eval/mean",
        "/eval/returns",
        "/eval/a~1b/0/x",
        "/eval/bad",
        "/twice",
        "/text",
        "/no",
        "/huge",
        "/flag",
        "/eval/deep",
        "/other",
        "/eval/a~1b/7/x",
    ];
    let read = json::read(&mut &text[..], &pointers);
    assert_eq!(values(&read[0]), [1.5]);
    assert_eq!(values(&read[1])[..2], [1.0, 2.5]);
    assert!(values(&read[1])[2].is_nan() && values(&read[3])[0].is_nan());
    assert_eq!(values(&read[2]), [3.0]);
    check(&read[4], TroubleKind::Ambiguous, "the key \"twice\" appears twice");
    check(&read[5], TroubleKind::Unreadable, "/text is \"12\", not a number");
    check(&read[6], TroubleKind::Missing, "/no is null");
    assert_eq!(values(&read[7]), [1e308]);
    check(&read[8], TroubleKind::Unreadable, "/flag is true");
    check(&read[9], TroubleKind::Unreadable, "/eval/deep is an object");
    for missing in &read[10..] {
        check(missing, TroubleKind::Missing, "no value at");
    }
    // As Python's json module writes it.
    let python = br#"{"name": "NaN \" Infinity", "a": NaN, "b": [1, -Infinity], "c": 2}"#;
    let read = json::read(&mut &python[..], &["/a", "/b", "/c"]);
    assert!(values(&read[0])[0].is_nan());
    assert_eq!(values(&read[1]), [1.0, f64::NEG_INFINITY]);
    assert_eq!(values(&read[2]), [2.0]);
    for (bytes, detail) in [
        (&b"{\"a\": 1"[..], "it is not JSON: EOF"),
        (b"{\"a\": 1} {}", "it is not JSON: trailing"),
        (b"{\"b\": \"\xff\", \"a\": 1}", "byte 8 is not UTF-8"),
        (b"", "it is not JSON: EOF"),
        (b"{\"a\": 1e999}", "it is not JSON: number out of range"),
    ] {
        check(&json::read(&mut &*bytes, &["/a"])[0], TroubleKind::Unreadable, detail);
    }
    let nested = "[".repeat(100_000);
    check(&json::read(&mut nested.as_bytes(), &["/0"])[0], TroubleKind::Unreadable, "recursion limit");
}

#[test]
fn json_lines() {
    let column = |value, step| Column { value, step };
    let text = b"{\"step\": 2, \"r\": 1}\n\n{\"step\": 1, \"r\": NaN, \"late\": 5}\r\n{\"step\": 3}\n{\"r\": 4, \"s\": \"x\"}";
    let wanted = [
        column("/r", None),
        column("/r", Some("/step")),
        column("/late", Some("/step")),
        column("/s", None),
        column("/q", None),
    ];
    let read = jsonl::read(&mut &text[..], &wanted);
    assert_eq!(values(&read[0]).len(), 3);
    check(&read[1], TroubleKind::Unreadable, "line 5: a value at /r without a step at /step");
    assert_eq!((values(&read[2]), steps(&read[2])), (vec![5.0], vec![1.0]));
    check(&read[3], TroubleKind::Unreadable, "line 5: /s is \"x\", not a number");
    check(&read[4], TroubleKind::Missing, "no line has a value at /q");
    let one = |bytes: &[u8]| jsonl::read(&mut &*bytes, &[column("/r", Some("/step"))]).remove(0);
    check(
        &one(b"{\"r\": 1, \"step\": 1, \"r\": 2}\n"),
        TroubleKind::Ambiguous,
        "line 1: the key \"r\" appears twice",
    );
    check(
        &one(b"{\"r\": 1, \"step\": 1}\n{\"r\": 2, \"st"),
        TroubleKind::Unreadable,
        "line 2: it is not JSON",
    );
    check(
        &one(b"{\"r\": 1, \"step\": 1}\n\xff\xfe\n"),
        TroubleKind::Unreadable,
        "line 2: it is not JSON: byte 1 is not UTF-8",
    );
    check(&one(b"{\"r\": 1, \"step\": NaN}\n"), TroubleKind::Unreadable, "the step /step is NaN");
}

#[test]
fn tables_whose_header_changes() {
    let one =
        |text: &str| csv::read(&mut text.as_bytes(), &[Column { value: "r", step: Some("step") }]).remove(0);
    let fine = one("step,r,note\n1,0.5,a\n2,,b\n3,nan,c\n");
    assert_eq!(steps(&fine), [1.0, 3.0]);
    assert!(values(&fine)[1].is_nan());
    // A further column, other columns in the same places, and the same header again.
    check(
        &one("step,r\n1,0.5\nstep,r,extra\n2,0.6,1\n"),
        TroubleKind::Unreadable,
        "line 3 has 3 fields, but line 1 has 2",
    );
    check(
        &one("step,r\n1,0.5\nr,step\n0.6,2\n"),
        TroubleKind::Unreadable,
        "line 3, column 2: \"step\" is not a number",
    );
    check(
        &one("step,r\n1,0.5\nstep,r\n1,0.6\n"),
        TroubleKind::Unreadable,
        "line 3, column 2: \"r\" is not a number",
    );
    check(&one("step,r\n,0.5\n"), TroubleKind::Unreadable, "line 2, column 1: \"\" is not a number");
    check(&one("step,r\ninf,0.5\n"), TroubleKind::Unreadable, "the step is inf");
    check(&one("step,r\n1,\n"), TroubleKind::Missing, "r has no value");
    check(&one("step,loss\n1,2\n"), TroubleKind::Missing, "no column \"r\"; available: step, loss");
    check(&one(""), TroubleKind::Missing, "it is empty");
    let bytes = b"step,r\n1,0.5\n2,\xff\n";
    let read = csv::read(&mut &bytes[..], &[Column { value: "r", step: None }]);
    check(&read[0], TroubleKind::Unreadable, "line 3 is not UTF-8");
}

#[test]
fn printed_output() {
    let log = b"starting\nmean return: 1.5 +/- 0.2 (20 episodes)\r\x1b[32mmean return: 2\n\xff\xfe noise\nepoch 3 | R=-4e1 | lr 1e-4\nepoch 4 | R=nan | lr 1e-4\n";
    let wanted = [
        Pattern::After("mean return:"),
        Pattern::Expression(r"epoch (?<step>\d+) \| R=(?<value>\S+)"),
        Pattern::Expression(r"lr (\S+)"),
        Pattern::After("starting"),
        Pattern::After("success:"),
        Pattern::Expression(r"epoch \d+"),
        Pattern::Expression(r"(unclosed"),
        Pattern::After(""),
    ];
    let read = log::read(&mut &log[..], &wanted);
    assert_eq!(values(&read[0]), [1.5, 2.0]);
    assert_eq!((steps(&read[1]), values(&read[1])[0]), (vec![3.0, 4.0], -40.0));
    assert!(values(&read[1])[1].is_nan());
    assert_eq!(values(&read[2]), [1e-4, 1e-4]);
    check(&read[3], TroubleKind::Unreadable, "line 1: \"\" after \"starting\" is not a number");
    check(&read[4], TroubleKind::Missing, "no line has \"success:\"");
    check(&read[5], TroubleKind::Unreadable, "it has no group for the value");
    check(&read[6], TroubleKind::Unreadable, "unclosed group");
    check(&read[7], TroubleKind::Unreadable, "is empty");
}

/// A source that is made while it is read.
struct Endless<'a> {
    line: &'a [u8],
    left: usize,
    at: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.left);
        for byte in &mut buffer[..count] {
            *byte = self.line[self.at];
            self.at = (self.at + 1) % self.line.len();
        }
        self.left -= count;
        Ok(count)
    }
}

/// However long a file is, a reader keeps one record and the points; a record without an end is reported early.
#[test]
fn long_files_are_read_in_little_memory() {
    const LENGTH: usize = 24 << 20;
    let line = b"step done without anything of interest in this line of the log\n";
    let mut source = Endless { line, left: LENGTH, at: 0 };
    let mut tail = &b"\nmean return: 7\n"[..];
    let read = log::read(&mut (&mut source).chain(&mut tail), &[Pattern::After("mean return:")]);
    assert_eq!(values(&read[0]), [7.0]);
    // Nothing but digits: no line ever ends.
    for left in [LENGTH, usize::MAX] {
        let endless = || Endless { line: b"7", left, at: 0 };
        let detail = "longer than";
        check(&log::read(&mut endless(), &[Pattern::After("x")])[0], TroubleKind::Unreadable, detail);
        let column = Column { value: "/x", step: None };
        check(&jsonl::read(&mut endless(), &[column])[0], TroubleKind::Unreadable, detail);
        let quoted = &mut &b"r\n\""[..];
        let column = Column { value: "r", step: None };
        check(&csv::read(&mut quoted.chain(endless()), &[column])[0], TroubleKind::Unreadable, detail);
    }
    let forever = Endless { line: b"7", left: usize::MAX, at: 0 };
    check(&json::read(&mut { forever }, &["/x"])[0], TroubleKind::Unreadable, "longer than 64 MiB");
}

/// Ten thousand steps out of order are all there; the order is a matter of the computation.
#[test]
fn steps_out_of_order_are_kept() {
    let points: Vec<(u64, f32)> = (0..10_000).map(|index| (index * 7919 % 10_000, index as f32)).collect();
    let read = tensorboard::read(&mut events(&points).as_slice(), &["eval/return"]);
    let expected: Vec<f64> = points.iter().map(|(step, _)| *step as f64).collect();
    assert_eq!(steps(&read[0]), expected);
}

/// A format, a file of it with one series, and how that is read.
type Sample = (&'static str, Vec<u8>, fn(&[u8]) -> Reading);

/// One file of each format.
fn every_format() -> Vec<Sample> {
    let records: Vec<Vec<u8>> = (0..50).map(|step| history(step, &[item(&["r"], "0.25")])).collect();
    vec![
        ("json", b"{\"a\": [1, 2.5], \"r\": [0.25, 1e3, NaN], \"b\": {\"c\": \"d\"}}".to_vec(), |bytes| {
            json::read(&mut &*bytes, &["/r"]).remove(0)
        }),
        ("jsonl", b"{\"step\": 1, \"r\": 0.25}\n".repeat(20), |bytes| {
            jsonl::read(&mut &*bytes, &[Column { value: "/r", step: Some("/step") }]).remove(0)
        }),
        ("csv", [&b"step,r,\"note\"\n"[..], &b"1,0.25,\"a, b\"\n".repeat(20)].concat(), |bytes| {
            csv::read(&mut &*bytes, &[Column { value: "r", step: Some("step") }]).remove(0)
        }),
        ("log", b"step 1: r = 0.25 (fine)\n".repeat(20), |bytes| {
            log::read(&mut &*bytes, &[Pattern::Expression(r"step (?<step>\d+): r = (?<value>\S+)")]).remove(0)
        }),
        ("tensorboard", events(&[(0, 0.25), (1, 0.5), (2, 0.75)]), |bytes| {
            tensorboard::read(&mut &*bytes, &["eval/return"]).remove(0)
        }),
        ("wandb", offline_run(&records), |bytes| wandb::read(&mut &*bytes, &["r"]).remove(0)),
    ]
}

/// Every single flipped bit of a format with checksums is damage.
#[test]
fn every_flipped_bit_of_a_file_with_checksums_is_found() {
    for (format, file, read) in every_format() {
        assert!(read(&file).is_ok(), "{format}: {:?}", read(&file));
        if !matches!(format, "tensorboard" | "wandb") {
            continue;
        }
        for bit in 0..file.len() * 8 {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let reading = read(&damaged);
            let found = reading.as_ref().is_err_and(|trouble| trouble.kind == TroubleKind::Unreadable);
            assert!(found, "{format}: bit {bit}: {reading:?}");
        }
    }
}

proptest! {
    /// Bytes that are changed, cut off, put in or repeated anywhere never stop a reader, and it never has more points
    /// than a file of that size can have.
    #[test]
    fn no_damage_stops_a_reader(
        edits in prop::collection::vec((0..4_u8, any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for (format, mut file, read) in every_format() {
            for (kind, place, byte) in &edits {
                let at = place.index(file.len().max(1));
                match kind {
                    0 if !file.is_empty() => file[at] ^= byte | 1,
                    1 => file.truncate(at),
                    2 if at < file.len() => file.insert(at, *byte),
                    _ => file.extend_from_within(at.min(file.len())..),
                }
            }
            if let Ok(points) = read(&file) {
                prop_assert!(points.len() <= file.len(), "{format}");
            }
        }
    }

    /// Any bytes at all.
    #[test]
    fn no_bytes_stop_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for (_, file, read) in every_format() {
            let _ = read(&bytes);
            let _ = read(&[&file[..file.len() / 2], &bytes].concat());
        }
    }

    /// A file with checksums that is cut off anywhere but between two records is reported.
    #[test]
    fn a_truncated_file_is_reported(count in 1..20_usize, cut in any::<prop::sample::Index>()) {
        let points: Vec<(u64, f32)> = (0..count).map(|step| (step as u64, step as f32)).collect();
        let file = events(&points);
        let header = events(&[]).len();
        let cut = cut.index(file.len());
        let reading = tensorboard::read(&mut &file[..cut], &["eval/return"]).remove(0);
        let mut ends: Vec<usize> = vec![0, header];
        ends.extend((1..=count).map(|count| events(&points[..count]).len()));
        let is_between = ends.contains(&cut);
        let is_reported = reading.is_err_and(|trouble| trouble.kind == TroubleKind::Unreadable);
        prop_assert_eq!(is_reported, !is_between);
    }
}

/// A file that is being written ends anywhere; what is complete of it can be read.
#[test]
fn complete_records_of_a_growing_file_can_be_read() {
    let points: Vec<(u64, f32)> = (0..5).map(|step| (step, step as f32)).collect();
    let file = events(&points);
    let mut counts = Vec::new();
    for cut in 0..=file.len() {
        let whole = tensorboard::complete(&file[..cut]);
        assert!(whole <= cut);
        let read = tensorboard::read(&mut &file[..whole], &["eval/return"]).remove(0);
        counts.push(match read {
            Ok(points) => points.len(),
            Err(trouble) => {
                assert_eq!(trouble.kind, TroubleKind::Missing, "{}", trouble.detail);
                0
            }
        });
    }
    assert!(counts.is_sorted());
    assert_eq!((counts[0], counts[file.len()]), (0, points.len()));
    // A length that can't be is the end.
    assert_eq!(tensorboard::complete(&[0xff; 64]), 0);
}
