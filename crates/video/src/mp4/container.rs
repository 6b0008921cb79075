//! The mp4 around the encoded frames (ISO/IEC 14496-12 and -15): one video
//! track, the index before the data so that a browser can start and seek at
//! once, and times counted in whole frames so that no duration is rounded.

use crate::error::VideoError;
use crate::mp4::yuv::Matrix;
use crate::size::FrameSize;

/// Time units per frame; players dislike a clock that ticks once per frame.
const UNITS_PER_FRAME: u32 = 1000;
/// No rotation, no scaling.
const IDENTITY: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

/// The encoded frames of a video.
#[derive(Default)]
pub(super) struct Track {
    sequence_parameters: Vec<u8>,
    picture_parameters: Vec<u8>,
    data: Vec<u8>,
    sizes: Vec<u32>,
    /// Numbers, from 1, of the frames at which decoding can begin.
    key_frames: Vec<u32>,
}

/// The frame that is being added to a track.
pub(super) struct Sample<'a> {
    track: &'a mut Track,
    from: usize,
    is_key: bool,
    /// The encoder changed its parameters, which a file can state only once.
    changed: bool,
}

impl Track {
    /// How many frames there are.
    pub(super) fn frames(&self) -> u64 {
        self.sizes.len() as u64
    }

    /// Begins the next frame.
    pub(super) fn begin(&mut self, is_key: bool) -> Sample<'_> {
        Sample { from: self.data.len(), track: self, is_key, changed: false }
    }

    pub(super) fn into_file(
        self,
        size: FrameSize,
        frames_per_second: u32,
        matrix: Matrix,
    ) -> Result<Vec<u8>, VideoError> {
        if self.sizes.is_empty() {
            return Err(VideoError::NoFrames);
        }
        let too_long = VideoError::TooLong { frames: self.frames(), bytes: self.data.len() as u64 };
        let duration = self.frames() * u64::from(UNITS_PER_FRAME);
        let (Ok(duration), true) = (u32::try_from(duration), self.data.len() < 0xF000_0000) else {
            return Err(too_long);
        };
        let movie =
            Movie { track: &self, size, matrix, duration, timescale: frames_per_second * UNITS_PER_FRAME };
        let mut file = Vec::new();
        write_box(&mut file, b"ftyp", |out| {
            out.extend(b"isom\0\0\x02\0isomiso2avc1mp41");
        });
        // The index says where the data begins, which depends only on its own length.
        let mut index = Vec::new();
        movie.write(&mut index, 0);
        let data_from = file.len() + index.len() + 8;
        movie.write(&mut file, u32::try_from(data_from).map_err(|_| too_long)?);
        write_box(&mut file, b"mdat", |out| out.extend(&self.data));
        Ok(file)
    }
}

impl Sample<'_> {
    /// The parameters of the sequence, which go into the index.
    pub(super) fn sequence_parameters(&mut self, unit: &[u8]) {
        self.changed |= keep_first(&mut self.track.sequence_parameters, unit);
    }

    /// The parameters of pictures, which go into the index.
    pub(super) fn picture_parameters(&mut self, unit: &[u8]) {
        self.changed |= keep_first(&mut self.track.picture_parameters, unit);
    }

    /// A piece of the picture.
    pub(super) fn unit(&mut self, unit: &[u8]) {
        self.track.data.extend((unit.len() as u32).to_be_bytes());
        self.track.data.extend(unit);
    }

    /// Converts it to a frame of the track, or returns the reason.
    pub(super) fn end(self) -> Result<(), &'static str> {
        let Self { track, from, is_key, changed } = self;
        let bytes = track.data.len() - from;
        if changed {
            return Err("the encoder changed its parameters mid-stream");
        }
        if bytes == 0 {
            return Err("the encoder left it out");
        }
        if track.sizes.is_empty()
            && (!is_key || track.sequence_parameters.len() < 4 || track.picture_parameters.is_empty())
        {
            return Err("the encoder didn't start with a key frame");
        }
        track.sizes.push(bytes as u32);
        if is_key {
            track.key_frames.push(track.sizes.len() as u32);
        }
        Ok(())
    }
}

/// Keeps the first unit; whether this one differs from it.
fn keep_first(kept: &mut Vec<u8>, unit: &[u8]) -> bool {
    if kept.is_empty() {
        kept.extend(unit);
    }
    kept != unit
}

/// Everything that the index says.
struct Movie<'a> {
    track: &'a Track,
    size: FrameSize,
    matrix: Matrix,
    duration: u32,
    timescale: u32,
}

impl Movie<'_> {
    fn write(&self, out: &mut Vec<u8>, data_from: u32) {
        write_box(out, b"moov", |out| {
            full_box(out, b"mvhd", 0, |out| {
                // Never created nor modified: the same frames give the same bytes.
                numbers(out, &[0, 0, self.timescale, self.duration]);
                // Normal speed, full volume, then nothing.
                numbers(out, &[0x0001_0000, 0x0100_0000, 0, 0]);
                numbers(out, &IDENTITY);
                numbers(out, &[0; 6]);
                // The number that a further track would get.
                numbers(out, &[2]);
            });
            write_box(out, b"trak", |out| {
                // Enabled, in the movie, in its preview.
                full_box(out, b"tkhd", 7, |out| {
                    numbers(out, &[0, 0, 1, 0, self.duration]);
                    numbers(out, &[0; 4]);
                    numbers(out, &IDENTITY);
                    numbers(out, &[self.size.width << 16, self.size.height << 16]);
                });
                write_box(out, b"mdia", |out| self.write_media(out, data_from));
            });
        });
    }

    fn write_media(&self, out: &mut Vec<u8>, data_from: u32) {
        full_box(out, b"mdhd", 0, |out| {
            numbers(out, &[0, 0, self.timescale, self.duration]);
            // Language "und", three letters of five bits.
            numbers(out, &[0x55C4_0000]);
        });
        full_box(out, b"hdlr", 0, |out| {
            numbers(out, &[0]);
            out.extend(b"vide");
            numbers(out, &[0; 3]);
            out.extend(b"video\0");
        });
        write_box(out, b"minf", |out| {
            full_box(out, b"vmhd", 1, |out| numbers(out, &[0, 0]));
            write_box(out, b"dinf", |out| {
                full_box(out, b"dref", 0, |out| {
                    numbers(out, &[1]);
                    // The data is in this file.
                    full_box(out, b"url ", 1, |_| {});
                });
            });
            write_box(out, b"stbl", |out| self.write_samples(out, data_from));
        });
    }

    fn write_samples(&self, out: &mut Vec<u8>, data_from: u32) {
        let Track { sizes, key_frames, .. } = self.track;
        let count = sizes.len() as u32;
        full_box(out, b"stsd", 0, |out| {
            numbers(out, &[1]);
            self.write_sample_entry(out);
        });
        full_box(out, b"stts", 0, |out| numbers(out, &[1, count, UNITS_PER_FRAME]));
        full_box(out, b"stss", 0, |out| {
            numbers(out, &[key_frames.len() as u32]);
            numbers(out, key_frames);
        });
        // One chunk with all frames.
        full_box(out, b"stsc", 0, |out| numbers(out, &[1, 1, count, 1]));
        full_box(out, b"stsz", 0, |out| {
            numbers(out, &[0, count]);
            numbers(out, sizes);
        });
        full_box(out, b"stco", 0, |out| numbers(out, &[1, data_from]));
    }

    fn write_sample_entry(&self, out: &mut Vec<u8>) {
        let Track { sequence_parameters, picture_parameters, .. } = self.track;
        write_box(out, b"avc1", |out| {
            out.extend([0, 0, 0, 0, 0, 0, 0, 1]);
            numbers(out, &[0; 4]);
            numbers(out, &[self.size.width << 16 | self.size.height]);
            // 72 dots per inch, one frame per sample, no name, 24 bits deep, no colour table.
            numbers(out, &[0x0048_0000, 0x0048_0000, 0]);
            out.extend([0, 1]);
            out.extend([0; 32]);
            out.extend([0, 24, 0xFF, 0xFF]);
            write_box(out, b"avcC", |out| {
                // Profile, constraints and level as the sequence parameters begin with
                // them; lengths have four bytes; one set of each kind.
                out.push(1);
                out.extend(&sequence_parameters[1..4]);
                out.extend([0xFF, 0xE1]);
                out.extend((sequence_parameters.len() as u16).to_be_bytes());
                out.extend(sequence_parameters);
                out.push(1);
                out.extend((picture_parameters.len() as u16).to_be_bytes());
                out.extend(picture_parameters);
            });
            write_box(out, b"colr", |out| {
                // Primaries and curve of Rec. 709, limited range.
                out.extend(b"nclx\0\x01\0\x01");
                out.extend(self.matrix.code().to_be_bytes());
                out.push(0);
            });
            write_box(out, b"pasp", |out| numbers(out, &[1, 1]));
        });
    }
}

/// A box: its length, its name, and what `content` writes.
fn write_box(out: &mut Vec<u8>, name: &[u8; 4], content: impl FnOnce(&mut Vec<u8>)) {
    let from = out.len();
    out.extend([0; 4]);
    out.extend(name);
    content(out);
    let length = (out.len() - from) as u32;
    out[from..from + 4].copy_from_slice(&length.to_be_bytes());
}

/// A box of version 0 with flags.
fn full_box(out: &mut Vec<u8>, name: &[u8; 4], flags: u32, content: impl FnOnce(&mut Vec<u8>)) {
    write_box(out, name, |out| {
        numbers(out, &[flags]);
        content(out);
    });
}

fn numbers(out: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| out.extend(value.to_be_bytes()));
}
