//! Input that can't be encoded is refused with a reason.

use rlxp_video::{FrameSize, Gif, Mp4, VideoError};

const SIZE: FrameSize = FrameSize { width: 32, height: 16 };

/// The errors of both encoders for a size and a rate; `None` when they accept it.
fn answers(width: u32, height: u32, rate: u32) -> [Option<String>; 2] {
    let size = FrameSize { width, height };
    [Mp4::new(size, rate).err(), Gif::new(size, rate).err()].map(|error| error.map(|error| error.to_string()))
}

/// Each encoder accepts the settings or returns an error that contains the text.
#[track_caller]
fn check(width: u32, height: u32, rate: u32, mp4: Option<&str>, gif: Option<&str>) {
    for (answer, expected) in answers(width, height, rate).into_iter().zip([mp4, gif]) {
        assert_eq!(answer.is_some(), expected.is_some(), "{answer:?}");
        if let (Some(answer), Some(expected)) = (answer, expected) {
            assert!(answer.contains(expected), "{answer:?} doesn't say {expected:?}");
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let empty = Some("is empty");
    check(0, 400, 30, empty, empty);
    check(600, 0, 30, empty, empty);
    check(14, 400, 30, Some("14×400 pixels is too small for an mp4: at least 16×16"), None);
    check(16, 16, 30, None, None);
    let odd = Some("an mp4 needs even width and height, but 601×400 is odd; the next valid size is 602×400");
    check(601, 400, 30, odd, None);
    check(600, 401, 30, Some("the next valid size is 600×402"), None);
    let large = Some("is too large: at most");
    check(4098, 400, 30, large, large);
    check(400, u32::MAX, 30, large, large);
    check(4096, 4096, 30, Some("at most 3840 along the longer side and 2160 along the shorter"), None);
    check(3840, 2160, 30, None, None);
    check(2160, 3840, 30, None, None);
    check(3842, 16, 30, large, None);
    let rate = |given| Some(given);
    check(600, 400, 0, rate("0 frames per second"), rate("0 frames per second"));
    check(600, 400, 241, rate("241 frames per second"), rate("1 to 240"));
    check(600, 400, 1, None, None);
    check(600, 400, 240, None, None);
}

#[test]
fn every_problem_is_named_at_once() {
    let Err(VideoError::Settings { problems }) = Mp4::new(FrameSize { width: 0, height: 3 }, 0) else {
        panic!("these settings can't work");
    };
    assert_eq!(problems.len(), 3, "empty, odd, no rate: {problems:?}");
}

#[test]
fn a_video_without_frames_is_refused() {
    assert!(matches!(Mp4::new(SIZE, 30).unwrap().finish(), Err(VideoError::NoFrames)));
    assert!(matches!(Gif::new(SIZE, 30).unwrap().finish(), Err(VideoError::NoFrames)));
}

#[test]
fn a_frame_of_another_length_is_refused_and_the_video_goes_on() {
    let (mut mp4, mut gif) = (Mp4::new(SIZE, 30).unwrap(), Gif::new(SIZE, 30).unwrap());
    let whole = vec![9; SIZE.rgba_bytes()];
    mp4.push(&whole).unwrap();
    gif.push(&whole).unwrap();
    let says = "frame 1 has 2047 bytes, but 32×16 RGBA pixels have 2048";
    assert_eq!(mp4.push(&whole[1..]).unwrap_err().to_string(), says);
    assert_eq!(gif.push(&whole[1..]).unwrap_err().to_string(), says);
    assert!(mp4.push(&[]).is_err() && gif.push(&[]).is_err());
    mp4.push(&whole).unwrap();
    gif.push(&whole).unwrap();
    assert!(mp4.finish().is_ok() && gif.finish().is_ok());
}
