//! How long reading an event file takes, its digest included, as `rlx study extract` reads it.
//!
//! `cargo run --release -p rlxp-store --example log_speed -- FILE TAG`
#![expect(clippy::print_stdout, reason = "it reports its measurements")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use rlxp_fs::RealFs;
use rlxp_store::foreign::{DigestedFile, tensorboard};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(file), Some(tag)) = (words.next(), words.next()) else {
        return Err("name an event file and a tag".into());
    };
    let path = PathBuf::from(file);
    let mut times = Vec::new();
    let mut points = 0;
    for _ in 0..9 {
        let begin = Instant::now();
        let mut progress = |_| {};
        let mut source = DigestedFile::new(&RealFs, &path, u64::MAX - 1, &mut progress);
        let read = tensorboard::read(&mut source, &[&tag]).remove(0).map_err(|trouble| trouble.detail)?;
        source.finish()?;
        times.push(begin.elapsed());
        points = read.len();
    }
    times.sort();
    println!("{points} scalars: median {:?}, slowest {:?}", times[times.len() / 2], times[times.len() - 1]);
    Ok(())
}
