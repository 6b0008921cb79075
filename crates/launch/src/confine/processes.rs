//! Who descends from a process, read from `/proc`.

use std::path::Path;

use rlxp_fs::{Fs, FsExt, RealFs};

const LIMIT: u64 = 4 * 1024 * 1024;

/// All descendants of `ancestor` that live or wait to be collected, without itself. Processes that come and go meanwhile
/// may be missed, so whoever needs certainty asks again.
pub(super) fn below(ancestor: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut to_ask = vec![ancestor];
    while let Some(process) = to_ask.pop() {
        for child in children(process) {
            if !found.contains(&child) {
                found.push(child);
                to_ask.push(child);
            }
        }
    }
    found
}

/// Children belong to the thread that made them.
fn children(process: u32) -> Vec<u32> {
    let threads = format!("/proc/{process}/task");
    let mut children = Vec::new();
    for thread in RealFs.list(Path::new(&threads)).unwrap_or_default() {
        let file = format!("{threads}/{}/children", thread.name);
        let text = RealFs.read_text(Path::new(&file), LIMIT).unwrap_or_default();
        children.extend(text.split_ascii_whitespace().filter_map(|number| number.parse::<u32>().ok()));
    }
    children
}
