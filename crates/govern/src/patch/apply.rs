//! Applies a unified diff of one file, exactly: every line of a hunk must be where its header says, or
//! nothing is changed. A patch approved for one text never applies to another.

use super::facts;

/// The content of the file after the patch; `None` means no file, before and after. Line endings are part of the
/// lines, so CRLF stays CRLF. The error names the hunk and the line.
pub fn apply(before: Option<&str>, patch: &str) -> Result<Option<String>, String> {
    let told = facts(patch);
    if let Some(trick) = told.tricks.first() {
        return Err(trick.clone());
    }
    if told.paths.len() != 1 {
        return Err(format!("a patch may change only one file, but this one names {}", told.paths.len()));
    }
    let old: Vec<&str> = match (before, told.adds, told.removes) {
        (_, true, true) => return Err("it both creates and removes a file".into()),
        (Some(_), true, false) => return Err(format!("it creates {}, which already exists", told.paths[0])),
        (None, false, _) => return Err(format!("it changes {}, which does not exist", told.paths[0])),
        (text, ..) => text.unwrap_or_default().split_inclusive('\n').collect(),
    };
    let mut text = Text { old, at: 0, new: Vec::new() };
    for (index, hunk) in hunks(patch)?.into_iter().enumerate() {
        text.hunk(&hunk).map_err(|why| format!("hunk {}: {why}", index + 1))?;
    }
    let after = text.finish()?;
    match (told.removes, after.is_empty()) {
        (true, true) => Ok(None),
        (true, false) => Err(format!("it removes {}, but not all of its lines", told.paths[0])),
        (false, _) => Ok(Some(after)),
    }
}

/// A hunk: its position in both texts, as the number of lines before it, and its lines.
struct Hunk {
    old: usize,
    new: usize,
    lines: Vec<Line>,
}

/// One line of a hunk, with its end.
struct Line {
    side: Side,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Both,
    Old,
    New,
}

/// A text that is being changed.
struct Text<'t> {
    old: Vec<&'t str>,
    /// Lines of the old text that are used.
    at: usize,
    new: Vec<String>,
}

impl Text<'_> {
    fn hunk(&mut self, hunk: &Hunk) -> Result<(), String> {
        if hunk.old < self.at {
            return Err("it overlaps the previous one".into());
        }
        if hunk.old > self.old.len() {
            let lines = self.old.len();
            return Err(format!(
                "it starts after line {}, past the end of the file (line {lines})",
                hunk.old
            ));
        }
        while self.at < hunk.old {
            self.keep()?;
        }
        if self.new.len() != hunk.new {
            let (says, stands) = (hunk.new + 1, self.new.len() + 1);
            return Err(format!(
                "its header puts it at line {says} of the new file, but it is at line \
                                {stands}"
            ));
        }
        for line in &hunk.lines {
            if line.side != Side::New {
                let number = self.at + 1;
                match self.old.get(self.at) {
                    None => {
                        return Err(format!(
                            "line {number} should be {:?}, but the file ends before it",
                            line.text
                        ));
                    }
                    Some(found) if *found != line.text => {
                        return Err(format!(
                            "line {number} is {found:?}, but the patch expects {:?}",
                            line.text
                        ));
                    }
                    Some(_) => self.at += 1,
                }
            }
            if line.side != Side::Old {
                self.push(line.text.clone())?;
            }
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<(), String> {
        let line = self.old[self.at].to_owned();
        self.at += 1;
        self.push(line)
    }

    /// A line without an end is the last one.
    fn push(&mut self, line: String) -> Result<(), String> {
        if self.new.last().is_some_and(|last| !last.ends_with('\n')) {
            return Err(format!("line {} has no newline, but another line follows it", self.new.len()));
        }
        self.new.push(line);
        Ok(())
    }

    fn finish(mut self) -> Result<String, String> {
        while self.at < self.old.len() {
            self.keep()?;
        }
        Ok(self.new.concat())
    }
}

/// The hunks of a patch whose headers were already checked.
fn hunks(patch: &str) -> Result<Vec<Hunk>, String> {
    let mut found: Vec<Hunk> = Vec::new();
    let (mut old_left, mut new_left) = (0u64, 0u64);
    let (mut headers, mut may_lack_end) = (0, false);
    for (index, raw) in patch.split('\n').enumerate() {
        let wrong = |what: &str| Err(format!("line {} of the patch {what}: {raw:?}", index + 1));
        if raw.starts_with('\\') {
            let last = found.last_mut().and_then(|hunk| hunk.lines.last_mut()).filter(|_| may_lack_end);
            let Some(line) = last else { return wrong("refers to a missing line") };
            line.text.pop();
            may_lack_end = false;
            continue;
        }
        may_lack_end = false;
        if old_left > 0 || new_left > 0 {
            let (side, text) = match raw.as_bytes().first() {
                // An empty context line whose leading space was trimmed.
                None => (Side::Both, ""),
                Some(b' ') => (Side::Both, &raw[1..]),
                Some(b'-') => (Side::Old, &raw[1..]),
                Some(b'+') => (Side::New, &raw[1..]),
                Some(_) => return wrong("is not a line of a hunk"),
            };
            let left = (
                old_left.checked_sub(u64::from(side != Side::New)),
                new_left.checked_sub(u64::from(side != Side::Old)),
            );
            let (Some(old), Some(new)) = left else { return wrong("exceeds the length in its hunk header") };
            (old_left, new_left) = (old, new);
            let hunk = found.last_mut().expect("lines of it are missing");
            hunk.lines.push(Line { side, text: format!("{text}\n") });
            may_lack_end = true;
            continue;
        }
        let line = raw.strip_suffix('\r').unwrap_or(raw);
        if let Some(header) = line.strip_prefix("@@ ") {
            let Some((old, new)) = ranges(header) else { return wrong("is not a hunk header") };
            (old_left, new_left) = (old.1, new.1);
            match (before(old), before(new)) {
                (Some(old), Some(new)) => found.push(Hunk { old, new, lines: Vec::new() }),
                _ => return wrong("starts before the first line"),
            }
        } else if line.starts_with("--- ") {
            headers += 1;
            if headers > 1 {
                return wrong("starts another file");
            }
        } else if !found.is_empty() && line.starts_with(['+', '-', ' ']) && line != "-- " {
            return wrong("belongs to no hunk");
        }
    }
    if headers == 0 {
        return Err("it doesn't name the file it changes".into());
    }
    Ok(found)
}

/// Lines before the first of a range; where the range is empty, its number is that already.
fn before((first, length): (u64, u64)) -> Option<usize> {
    let lines = if length == 0 { first } else { first.checked_sub(1)? };
    usize::try_from(lines).ok()
}

/// First line and length, on both sides.
pub(super) fn ranges(header: &str) -> Option<((u64, u64), (u64, u64))> {
    let (old, rest) = header.strip_prefix('-')?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let range = |range: &str| match range.split_once(',') {
        Some((first, length)) => Some((number(first)?, number(length)?)),
        None => Some((number(range)?, 1)),
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests;
