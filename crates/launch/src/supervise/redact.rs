//! Redacts secrets from a stream before it is stored.
//!
//! Two kinds are known: values that the step was given by name, and texts that look like a secret. The
//! stream comes in pieces that are torn anywhere, so a piece is released only up to a position that no
//! secret crosses: the end of a line, and for lines without an end a cut far enough before the last byte.

mod patterns;

use std::sync::Arc;

use patterns::Class;

/// Lines are cut here, so that a step without line ends can't fill the memory.
pub(super) const LINE_BYTES: usize = 64 * 1024;
/// A value that is shorter is no secret, and taking it out would only spoil the text.
const LEAST_VALUE: usize = 6;
/// No pattern needs more than this to be recognised.
const PATTERN_BYTES: usize = 4096;

/// Secret values, with the names that replace them.
#[derive(Default)]
pub(super) struct Secrets {
    values: Vec<(String, Vec<u8>)>,
    longest: usize,
}

impl Secrets {
    /// From variables and their values.
    pub(super) fn new(variables: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut values: Vec<_> =
            variables.into_iter().filter(|(_, value)| value.len() >= LEAST_VALUE).collect();
        // The lines of a value of many lines are secrets each: a program may print them with something before.
        let lines: Vec<_> = values
            .iter()
            .filter(|(_, value)| value.contains(&b'\n'))
            .flat_map(|(name, value)| value.split(|byte| *byte == b'\n').map(move |line| (name, line)))
            .filter(|(_, line)| line.len() >= LEAST_VALUE)
            .map(|(name, line)| (name.clone(), line.to_vec()))
            .collect();
        values.extend(lines);
        let longest = values.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
        Self { values, longest }
    }

    /// `text` without secrets, for a complete text.
    pub(super) fn out_of(self: &Arc<Self>, text: &str) -> String {
        let mut redactor = Redactor::new(Arc::clone(self));
        let mut out = Vec::new();
        redactor.feed(text.as_bytes(), &mut out);
        redactor.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Whether a value may begin in `held` at `at` and go on after its end.
    fn may_go_on(&self, held: &[u8], at: usize) -> bool {
        let rest = &held[at..];
        self.values.iter().any(|(_, value)| value.len() > rest.len() && value.starts_with(rest))
    }
}

/// Part of the held bytes that must not be seen.
struct Span {
    start: usize,
    end: usize,
    name: Option<String>,
    class: Option<Class>,
}

/// One stream on its way to a file.
pub(super) struct Redactor {
    secrets: Arc<Secrets>,
    held: Vec<u8>,
    /// The last piece ended inside of something that looked like a secret, and may still be going on.
    swallowing: Option<Class>,
}

impl Redactor {
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, held: Vec::new(), swallowing: None }
    }

    /// Takes more of the stream and appends to `out` what can be released: complete lines, or pieces of a line that
    /// is too long, each as a separate line.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(LINE_BYTES) {
            self.held.extend_from_slice(piece);
            let cut = self.last_line_end();
            if cut > 0 {
                self.let_go(cut, out);
            }
            while self.held.len() >= LINE_BYTES + self.margin() {
                self.let_go(LINE_BYTES, out);
                if out.last().is_some_and(|last| *last != b'\n') {
                    out.push(b'\n');
                }
            }
        }
    }

    /// The stream has ended: what is left of it, mostly a torn last line.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.let_go(self.held.len(), out);
    }

    fn margin(&self) -> usize {
        PATTERN_BYTES.max(self.secrets.longest)
    }

    /// Where the last whole line ends that no value of several lines crosses.
    fn last_line_end(&self) -> usize {
        let Some(newline) = self.held.iter().rposition(|byte| *byte == b'\n') else { return 0 };
        let end = newline + 1;
        let from = self.held.len().saturating_sub(self.secrets.longest);
        let begun = (from..end).find(|at| self.secrets.may_go_on(&self.held, *at));
        match begun {
            None => end,
            Some(at) => {
                self.held[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
            }
        }
    }

    /// Appends the held bytes up to `cut` without secrets; one that crosses the cut goes as a whole.
    fn let_go(&mut self, cut: usize, out: &mut Vec<u8>) {
        let spans = self.spans(cut);
        let mut done = 0;
        self.swallowing = None;
        for span in spans {
            out.extend_from_slice(&self.held[done..span.start]);
            match &span.name {
                Some(name) => out.extend_from_slice(format!("[redacted {name}]").as_bytes()),
                None => out.extend_from_slice(b"[redacted]"),
            }
            done = span.end;
            if span.end == self.held.len() {
                self.swallowing = span.class;
            }
        }
        if done < cut {
            out.extend_from_slice(&self.held[done..cut]);
            done = cut;
        }
        self.held.drain(..done);
    }

    /// Everything secret that begins before `cut`, in order, what overlaps made one.
    fn spans(&self, cut: usize) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        if let Some(class) = self.swallowing {
            let end = class.end(&self.held, 0);
            if end > 0 {
                spans.push(Span { start: 0, end, name: None, class: Some(class) });
            }
        }
        for at in 0..cut {
            for (name, value) in &self.secrets.values {
                if self.held[at] == value[0] && self.held[at..].starts_with(value) {
                    join(
                        &mut spans,
                        Span { start: at, end: at + value.len(), name: Some(name.clone()), class: None },
                    );
                }
            }
            if let Some((start, end, class)) = patterns::at(&self.held, at) {
                join(&mut spans, Span { start, end, name: None, class: Some(class) });
            }
        }
        spans
    }
}

/// Adds a span, or widens those that it touches. A pattern may lie behind where it was recognised, so spans come
/// nearly in order, but not quite.
fn join(spans: &mut Vec<Span>, mut new: Span) {
    while let Some(last) = spans.last() {
        if last.end <= new.start {
            break;
        }
        if new.end <= last.start {
            let later = spans.pop().expect("it was just looked at");
            join(spans, new);
            spans.push(later);
            return;
        }
        let last = spans.pop().expect("it was just looked at");
        new = Span {
            start: last.start.min(new.start),
            class: if new.end > last.end { new.class } else { last.class.or(new.class) },
            end: last.end.max(new.end),
            name: last.name.or(new.name),
        };
    }
    spans.push(new);
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
