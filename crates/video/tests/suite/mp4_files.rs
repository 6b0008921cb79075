//! An mp4 taken apart box by box, and decoded again.

use openh264::decoder::Decoder;
use openh264::formats::YUVSource;
use rlxp_video::{FrameSize, Mp4};

use crate::animation::{frame, mp4};

const SIZE: FrameSize = FrameSize { width: 90, height: 60 };

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The names and contents of the boxes in `bytes`, which they fill exactly.
fn boxes(bytes: &[u8]) -> Vec<(&str, &[u8])> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (this, after) = rest.split_at(number(rest, 0));
        found.push((std::str::from_utf8(&this[4..8]).unwrap(), &this[8..]));
        rest = after;
    }
    found
}

/// The content of the one box that is reached by these names.
fn at<'a>(bytes: &'a [u8], path: &[&str]) -> &'a [u8] {
    path.iter().fold(bytes, |bytes, name| {
        let mut fitting = boxes(bytes).into_iter().filter(|(found, _)| found == name);
        let (_, content) = fitting.next().unwrap_or_else(|| panic!("no {name} of {path:?}"));
        assert!(fitting.next().is_none(), "{name} is listed twice");
        content
    })
}

const TABLES: [&str; 5] = ["moov", "trak", "mdia", "minf", "stbl"];

fn table<'a>(file: &'a [u8], name: &'a str) -> &'a [u8] {
    at(at(file, &TABLES), &[name])
}

/// The boxes inside of the description of the frames.
fn sample_entry<'a>(file: &'a [u8], name: &'a str) -> &'a [u8] {
    let description = table(file, "stsd");
    assert_eq!(number(description, 4), 1, "one description");
    let entry = at(&description[8..], &["avc1"]);
    assert_eq!(entry[24..28], [0, SIZE.width as u8, 0, SIZE.height as u8]);
    at(&entry[78..], &[name])
}

/// The numbers in a table, from one byte offset to the end.
fn list(table: &[u8], from: usize) -> Vec<usize> {
    (from..table.len()).step_by(4).map(|at| number(table, at)).collect()
}

/// The frames as the index finds them, each as its units.
fn samples(file: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut from = number(table(file, "stco"), 8);
    let mut samples = Vec::new();
    for size in list(table(file, "stsz"), 12) {
        let mut rest = &file[from..from + size];
        let mut units = Vec::new();
        while !rest.is_empty() {
            let (unit, after) = rest[4..].split_at(number(rest, 0));
            units.push(unit);
            rest = after;
        }
        samples.push(units);
        from += size;
    }
    assert_eq!(from, file.len(), "the frames fill the data");
    samples
}

fn frames(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| frame(SIZE, number)).collect()
}

#[test]
fn the_index_comes_first_and_counts_every_frame() {
    let file = mp4(SIZE, 25, &frames(150));
    let names: Vec<&str> = boxes(&file).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["ftyp", "moov", "mdat"]);
    let sizes = table(&file, "stsz");
    assert_eq!((number(sizes, 8), list(sizes, 12).len()), (150, 150));
    assert_eq!(list(table(&file, "stts"), 4), [1, 150, 1000], "every frame has the same duration");
    assert_eq!(list(table(&file, "stss"), 8), [1, 61, 121], "a key frame every 60 frames");
    for header in [at(&file, &["moov", "mvhd"]), at(&file, &["moov", "trak", "mdia", "mdhd"])] {
        assert_eq!(list(&header[12..20], 0), [25_000, 150_000], "150 frames at 25 per second are 6 s");
    }
    assert_eq!(number(at(&file, &["moov", "trak", "tkhd"]), 20), 150_000);
    let shown = at(&file, &["moov", "trak", "tkhd"]);
    assert_eq!(list(shown, 76), [SIZE.width as usize * 65536, SIZE.height as usize * 65536]);
}

#[test]
fn frames_are_constrained_baseline_with_their_parameters_in_the_index() {
    let file = mp4(SIZE, 30, &frames(70));
    let configuration = sample_entry(&file, "avcC");
    assert_eq!(configuration[..2], [1, 66], "baseline");
    assert_eq!(configuration[2] & 0x40, 0x40, "constrained");
    let length = usize::from(configuration[7]);
    assert_eq!(configuration[1..4], configuration[9..12], "as the sequence parameters begin");
    assert_eq!((configuration[8] & 31, configuration[8 + length + 3] & 31), (7, 8));
    assert_eq!(sample_entry(&file, "colr"), b"nclx\0\x01\0\x01\0\x06\0", "the usual matrix for small sizes");
    for (index, units) in samples(&file).into_iter().enumerate() {
        let kinds: Vec<u8> = units.iter().map(|unit| unit[0] & 31).collect();
        assert_eq!(kinds, [if index % 60 == 0 { 5 } else { 1 }], "frame {index}");
    }
}

/// The decoder wants a stream: parameters and frames behind start codes.
fn decode(file: &[u8]) -> Vec<Vec<u8>> {
    let configuration = sample_entry(file, "avcC");
    let length = usize::from(configuration[7]);
    let (sequence, picture) = (&configuration[8..8 + length], &configuration[8 + length + 3..]);
    let mut decoder = Decoder::new().unwrap();
    let stream = |units: &[&[u8]]| -> Vec<u8> {
        units.iter().flat_map(|unit| [&[0, 0, 0, 1], *unit].concat()).collect()
    };
    assert!(decoder.decode(&stream(&[sequence, picture])).unwrap().is_none());
    let mut pictures = Vec::new();
    for units in samples(file) {
        let decoded = decoder.decode(&stream(&units)).unwrap().expect("one picture per frame");
        let ((width, height), (stride, _, _)) = (decoded.dimensions(), decoded.strides());
        assert_eq!((width, height), (SIZE.width as usize, SIZE.height as usize));
        let rows = decoded.y().chunks(stride).take(height);
        pictures.push(rows.flat_map(|row| &row[..width]).copied().collect());
    }
    pictures
}

#[test]
fn every_frame_decodes_to_what_went_in() {
    let file = mp4(SIZE, 30, &frames(130));
    let pictures = decode(&file);
    assert_eq!(pictures.len(), 130);
    for (index, picture) in pictures.iter().enumerate() {
        let errors: Vec<f64> = frame(SIZE, index)
            .as_chunks::<4>()
            .0
            .iter()
            .zip(picture)
            .map(|(pixel, found)| (brightness(pixel) - f64::from(*found)).abs())
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        // Square and ground are 137 apart: a shift by one pixel would show as that much.
        assert!(mean < 1.0 && worst < 40.0, "frame {index}: off by {mean} on average, {worst} at worst");
    }
}

fn brightness([red, green, blue, _]: &[u8; 4]) -> f64 {
    16.0 + (0.299 * f64::from(*red) + 0.587 * f64::from(*green) + 0.114 * f64::from(*blue)) * 219.0 / 255.0
}

#[test]
fn the_same_frames_give_the_same_bytes() {
    let frames = frames(70);
    let first = mp4(SIZE, 30, &frames);
    assert_eq!(first, mp4(SIZE, 30, &frames));
    // Also next to another encoder, and on another thread.
    let (mut one, mut other) = (Mp4::new(SIZE, 30).unwrap(), Mp4::new(SIZE, 30).unwrap());
    for frame in &frames {
        one.push(frame).unwrap();
        other.push(&vec![90; SIZE.rgba_bytes()]).unwrap();
    }
    assert_eq!(std::thread::spawn(move || one.finish().unwrap()).join().unwrap(), first);
    assert_ne!(other.finish().unwrap(), first);
}

#[test]
fn the_smallest_size_and_single_frames_work_at_any_rate() {
    for (width, height, rate) in [(16, 16, 1), (16, 400, 60), (18, 34, 240), (258, 16, 7)] {
        let size = FrameSize { width, height };
        let file = mp4(size, rate, &[vec![200; size.rgba_bytes()]]);
        assert_eq!(number(table(&file, "stsz"), 8), 1, "{size}");
    }
}

/// OpenH264 writes to the file descriptor itself, which no test harness
/// captures, so another process encodes and its stderr is read.
#[test]
fn the_encoder_says_nothing() {
    #![expect(clippy::disallowed_types, reason = "only a process of its own has a stderr that can be read")]
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mp4_files::the_smallest_size_and_single_frames_work_at_any_rate", "--nocapture"])
        .output()
        .unwrap();
    assert!(child.status.success() && String::from_utf8_lossy(&child.stdout).contains("1 passed"));
    assert_eq!(String::from_utf8_lossy(&child.stderr), "");
}
