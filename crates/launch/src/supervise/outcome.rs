//! What a step that has ended left behind, and the words for its end.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use rlxp_fs::{Fs, FsExt, Kind, RealFs};

use super::taken;
use super::words::clean;
use crate::confine::StepExit;
use crate::order::{LOADED_FILE, StepOutcome};

/// Bytes of [`LOADED_FILE`] that are read, and the most that one line of it may have.
const LOADED_BYTES: usize = 1 << 20;
const PATH_BYTES: usize = 4096;
/// Lines of the log that say why a step failed.
const LAST_LINES: usize = 5;

/// Whether `name` names a file below a folder and nothing else.
pub(super) fn is_plain(name: &str) -> bool {
    let is_normal = |component| matches!(component, Component::Normal(_));
    !name.is_empty()
        && !name.ends_with('/')
        && !name.chars().any(char::is_control)
        && Path::new(name).components().all(is_normal)
}

/// How a step ended on its own. `own` is its folder, `changed` what it wrote into its tree, `last_words` the end of what
/// it wrote.
pub(super) fn judge(
    exit: StepExit,
    [own, changed]: [&Path; 2],
    artifacts: &[String],
    is_check: bool,
    last_words: &str,
) -> (StepOutcome, String) {
    let not_well = if is_check { StepOutcome::Blocked } else { StepOutcome::Failed };
    let said = match last_lines(last_words) {
        said if said.is_empty() => String::new(),
        said => format!(": {said}"),
    };
    match exit {
        StepExit { code: Some(0), .. } => match first_missing(own, artifacts) {
            Some(name) => (not_well, format!("it did not produce {}", clean(name))),
            // What is read later must be what the step made.
            None => match taken::link_out(own) {
                Some(link) => {
                    let link = clean(&taken::text(&link));
                    (not_well, format!("its output has a link that leads out of its folder: {link}"))
                }
                None => match [own, changed].into_iter().find_map(taken::unread) {
                    Some(unread) => {
                        let unread = clean(&taken::text(&unread));
                        (not_well, format!("its output can't be read: {unread}"))
                    }
                    None => (StepOutcome::Ok, "it succeeded".to_owned()),
                },
            },
        },
        StepExit { code: Some(code), .. } => (not_well, format!("it exited with code {code}{said}")),
        StepExit { signal: Some(signal), .. } => {
            (not_well, format!("it was killed by signal {signal} ({}){said}", signal_name(signal)))
        }
        StepExit { .. } => (not_well, format!("it ended for an unknown reason{said}")),
    }
}

/// The first artifact that is missing or not a plain file. A symlink would let a step hand in a file that isn't its
/// own. Unreadable files count as missing: a step that makes its folder unreadable has produced nothing.
fn first_missing<'a>(own: &Path, artifacts: &'a [String]) -> Option<&'a str> {
    for name in artifacts {
        let mut at = own.to_owned();
        let mut kind = Some(Kind::Folder);
        for component in Path::new(name).components() {
            at.push(component);
            if kind == Some(Kind::Folder) {
                kind = RealFs.metadata(&at).ok().map(|meta| meta.kind);
            } else {
                kind = None;
            }
        }
        if kind != Some(Kind::File) || !is_plain(name) {
            return Some(name);
        }
    }
    None
}

/// Where code was loaded from, as the step says.
pub(super) fn loaded(own: &Path) -> BTreeSet<String> {
    let path = own.join(LOADED_FILE);
    if !RealFs.is_file(&path).unwrap_or(false) {
        return BTreeSet::new();
    }
    let bytes = RealFs.read_at(&path, 0, LOADED_BYTES).unwrap_or_default();
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && line.len() <= PATH_BYTES)
        .map(|line| String::from_utf8_lossy(line))
        .filter(|line| !line.chars().any(char::is_control))
        .map(std::borrow::Cow::into_owned)
        .collect()
}

fn last_lines(log: &str) -> String {
    let lines: Vec<_> =
        log.lines().map(|line| without_frame(&clean(line))).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ")
}

/// A line of a boxed message, as rich and tyro print them, without its box: `│ text │` is `text`, `╭─ Title ─╮` is
/// `Title`, and a line of nothing but frame is empty.
fn without_frame(line: &str) -> String {
    let is_frame = |character: char| ('\u{2500}'..='\u{257f}').contains(&character);
    line.trim_matches(|character: char| is_frame(character) || character.is_whitespace()).to_owned()
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        libc::SIGHUP => "SIGHUP",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "another one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32) -> StepExit {
        StepExit { code: Some(code), signal: None }
    }

    #[test]
    fn an_artifact_is_a_plain_file_in_the_steps_own_folder() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("train");
        RealFs.create_dir_all(&own.join("deep")).unwrap();
        RealFs.write_new(&own.join("deep/metrics.json"), b"{}").unwrap();
        RealFs.symlink(Path::new("deep/metrics.json"), &own.join("link")).unwrap();
        RealFs.symlink(Path::new("deep"), &own.join("through")).unwrap();
        let check = |name: &str| judge(exit(0), [&own, &own], &[name.to_owned()], false, "");
        let outside = own.join("deep/outside");
        RealFs.symlink(Path::new("/etc/hostname"), &outside).unwrap();
        let (how, reason) = check("deep/metrics.json");
        assert_eq!(
            (how, reason.ends_with("its folder: deep/outside")),
            (StepOutcome::Failed, true),
            "{reason}"
        );
        RealFs.remove_file(&outside).unwrap();
        assert_eq!(check("deep/metrics.json").0, StepOutcome::Ok);
        // No file name is that long, so its existence can't be checked.
        let long = "x".repeat(300);
        for name in [
            "absent",
            long.as_str(),
            "deep",
            "link",
            "through/metrics.json",
            "deep/metrics.json/x",
            "../train/deep/metrics.json",
        ] {
            assert_eq!(check(name), (StepOutcome::Failed, format!("it did not produce {name}")));
        }
    }

    #[test]
    fn an_end_is_told_with_the_last_words_and_nothing_that_moves_the_cursor() {
        let own = [Path::new("/absent"); 2];
        let log = "1\n2\n3\n4\n5\n\x1b[31mboom\r\n\n";
        let (how, reason) = judge(exit(3), own, &[], false, log);
        assert_eq!(
            (how, reason.as_str()),
            (
                StepOutcome::Failed,
                "it exited with code 3: 2 / 3 / 4 / 5 / \
                                                                  [31mboom"
            )
        );
        let (how, reason) = judge(exit(1), own, &[], true, "");
        assert_eq!((how, reason.as_str()), (StepOutcome::Blocked, "it exited with code 1"));
        let killed = StepExit { code: None, signal: Some(libc::SIGSEGV) };
        let (_, reason) = judge(killed, own, &[], false, "");
        assert_eq!(reason, "it was killed by signal 11 (SIGSEGV)");
    }

    #[test]
    fn the_reason_is_the_text_of_a_box_and_not_its_frame() {
        let log = "usage: dqn.py\n\n\
                   ╭─ Unrecognized options ─────────────╮\n\
                   │ Unrecognized options: --learn-rate │\n\
                   │ ────────────────────────────────── │\n\
                   │                                    │\n\
                   │ Similar: --learning-rate FLOAT     │\n\
                   ╰────────────────────────────────────╯\n";
        let (_, reason) = judge(exit(2), [Path::new("/absent"); 2], &[], false, log);
        assert_eq!(
            reason,
            "it exited with code 2: usage: dqn.py / Unrecognized options / Unrecognized options: --learn-rate / \
             Similar: --learning-rate FLOAT"
        );
    }

    #[test]
    fn what_was_loaded_is_read_with_care() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(LOADED_FILE);
        assert!(loaded(folder.path()).is_empty());
        let long = "x".repeat(PATH_BYTES + 1);
        RealFs
            .write_new(&file, format!("/a/reward.py\n\n{long}\n\x1b[1m\n/a/reward.py\n/b/torn").as_bytes())
            .unwrap();
        assert_eq!(Vec::from_iter(loaded(folder.path())), ["/a/reward.py", "/b/torn"]);
        RealFs.remove_file(&file).unwrap();
        RealFs.symlink(Path::new("/etc/hostname"), &file).unwrap();
        assert!(loaded(folder.path()).is_empty());
    }
}
