//! Messages between the processes of a step, one line each, through pipes.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::Report;

/// If a line can't be written, its reader has exited.
pub(super) fn tell(report: &OwnedFd, told: &Report) {
    let mut line = serde_json::to_vec(told).expect("a report is plain data");
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(report, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Everything until the other end is closed.
pub(super) fn read_all(from: &OwnedFd) -> Vec<Report> {
    let mut text = Vec::new();
    let mut buffer = [0u8; 4096];
    loop {
        match rustix::io::read(from, &mut buffer) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&buffer[..length]),
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), String> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| format!("can't create a pipe: {error}"))
}
