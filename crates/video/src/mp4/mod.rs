//! H.264 in an mp4: the encoder is OpenH264, everything around it is ours.
//!
//! Pictures of environments are flat areas, thin lines and text, so every frame gets the same quantiser instead of a
//! bit rate: a still scene then costs nearly nothing, and nothing gets blurred because the scene before it was busy.
//! The settings are also those that OpenH264 accepts silently; it prints a warning for each that it has to change.

mod container;
mod yuv;

use openh264::encoder::{
    Complexity, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, MatrixCoefficients, Profile,
    RateControlMode, UsageType, VuiConfig,
};
use openh264::formats::YUVSlices;
use openh264::{OpenH264API, Timestamp};

use self::container::Track;
use self::yuv::{Matrix, Planes};
use crate::error::VideoError;
use crate::size::{FrameSize, Limits, check_frame};

/// The encoder's own limits.
const LIMITS: Limits = Limits { longer: 3840, shorter: 2160, least: 16, even: true };
/// A seek decodes at most this many frames.
const FRAMES_PER_KEY_FRAME: u32 = 60;
/// The encoder takes no more; it uses the rate for nothing but its level.
const ENCODER_FRAMES_PER_SECOND_MAX: u32 = 60;

const SEQUENCE_PARAMETERS: u8 = 7;
const PICTURE_PARAMETERS: u8 = 8;

/// Encodes frames into an mp4: H.264 Constrained Baseline, 4:2:0, index in front.
pub struct Mp4 {
    size: FrameSize,
    frames_per_second: u32,
    encoder: Encoder,
    matrix: Matrix,
    planes: Planes,
    track: Track,
}

impl Mp4 {
    /// An encoder for frames of one size, of which each is shown for 1/`frames_per_second`.
    ///
    /// # Errors
    /// Width and height must be even, from 16×16 and within 3840×2160 (or 2160×3840), the rate within 1 to 240.
    pub fn new(size: FrameSize, frames_per_second: u32) -> Result<Self, VideoError> {
        LIMITS.check(size, frames_per_second)?;
        let matrix = Matrix::for_size(size);
        let coefficients = match matrix {
            Matrix::Bt601 => MatrixCoefficients::Smpte170M,
            Matrix::Bt709 => MatrixCoefficients::Bt709,
        };
        let config = EncoderConfig::new()
            // Against the usage type for screens: half the time at the same quality and size.
            .usage_type(UsageType::CameraVideoRealTime)
            .scene_change_detect(false)
            .rate_control_mode(RateControlMode::Off)
            .profile(Profile::Baseline)
            .complexity(Complexity::Medium)
            .max_frame_rate(FrameRate::from_hz(frames_per_second.min(ENCODER_FRAMES_PER_SECOND_MAX) as f32))
            .intra_frame_period(IntraFramePeriod::from_num_frames(FRAMES_PER_KEY_FRAME))
            // More threads would share out slices, and there is only one.
            .num_threads(1)
            .skip_frames(false)
            .adaptive_quantization(false)
            .background_detection(false)
            .vui(VuiConfig::bt709().matrix_coefficients(coefficients))
            .debug(false);
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config)
            .map_err(|error| refused(0, code(&error)))?;
        Ok(Self {
            size,
            frames_per_second,
            encoder,
            matrix,
            planes: Planes::new(size),
            track: Track::default(),
        })
    }

    /// Adds one frame of RGBA bytes.
    ///
    /// # Errors
    /// The frame has another length than the size asks for, or the encoder refused it.
    pub fn push(&mut self, rgba: &[u8]) -> Result<(), VideoError> {
        let frame = self.track.frames();
        check_frame(self.size, frame, rgba)?;
        self.planes.fill(rgba, self.matrix);
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let Planes { luma, blue, red, .. } = &self.planes;
        let picture = YUVSlices::new((luma, blue, red), (width, height), (width, width / 2, width / 2));
        let time = Timestamp::from_millis(frame * 1000 / u64::from(self.frames_per_second));
        let encoded = self.encoder.encode_at(&picture, time).map_err(|error| refused(frame, code(&error)))?;
        let is_key = encoded.frame_type() == FrameType::IDR;
        let mut sample = self.track.begin(is_key);
        for layer in (0..encoded.num_layers()).filter_map(|index| encoded.layer(index)) {
            for unit in (0..layer.nal_count()).filter_map(|index| layer.nal_unit(index)) {
                let unit = without_start_code(unit);
                match unit.first().map(|header| header & 31) {
                    None => {}
                    Some(SEQUENCE_PARAMETERS) => sample.sequence_parameters(unit),
                    Some(PICTURE_PARAMETERS) => sample.picture_parameters(unit),
                    Some(_) => sample.unit(unit),
                }
            }
        }
        sample.end().map_err(|why| refused(frame, why.to_owned()))
    }

    /// The finished file.
    ///
    /// # Errors
    /// There is no frame, or the video outgrows the format.
    pub fn finish(self) -> Result<Vec<u8>, VideoError> {
        self.track.into_file(self.size, self.frames_per_second, self.matrix)
    }
}

fn refused(frame: u64, why: String) -> VideoError {
    VideoError::Encoder { frame, source: why.into() }
}

/// Its own text is about decoding, native states and backtraces.
fn code(error: &openh264::Error) -> String {
    format!("OpenH264 returned {}", error.native_code())
}

/// A unit without the zeros and the one that mark its beginning in a stream.
fn without_start_code(unit: &[u8]) -> &[u8] {
    match unit {
        [0, 0, 0, 1, rest @ ..] | [0, 0, 1, rest @ ..] => rest,
        other => other,
    }
}
