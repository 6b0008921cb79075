//! Recognises texts that look like a secret: keys with a known prefix, credentials in a URL, values of settings whose
//! name indicates a secret.
//!
//! Hand-written, because each pattern is a prefix, a class of bytes and a minimum length, and because redacting too
//! much costs a reader little, while a missed secret stays on disk.

/// Prefixes of keys, the fewest bytes that must follow, and their class.
const BEGINNINGS: [(&[u8], usize, Class); 11] = [
    (b"ghp_", 10, Class::Word),
    (b"gho_", 10, Class::Word),
    (b"ghu_", 10, Class::Word),
    (b"ghs_", 10, Class::Word),
    (b"ghr_", 10, Class::Word),
    (b"github_pat_", 10, Class::Word),
    (b"hf_", 10, Class::Word),
    (b"sk-", 16, Class::Word),
    (b"xoxb-", 10, Class::Word),
    (b"AKIA", 16, Class::Capitals),
    (b"ASIA", 16, Class::Capitals),
];

/// Suffixes of names of settings that hold a secret. Anything may come before (`HF_TOKEN`), but nothing after
/// (`max_tokens` is a number).
const SETTINGS: [&[u8]; 7] = [b"password", b"passwd", b"token", b"api_key", b"api-key", b"apikey", b"secret"];

/// More spaces than this between a name and a value mean something else.
const SPACES: usize = 4;
/// Longer than any user and password in a URL.
const USER_BYTES: usize = 1024;

/// The bytes that a secret consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters, digits and dashes.
    Word,
    /// Capitals and digits.
    Capitals,
    /// Characters of a bearer token.
    Bearer,
    /// Everything up to a space or the next parameter.
    Value,
    /// Everything up to this quotation mark or the end of the line.
    Quoted(u8),
}

impl Class {
    fn has(self, byte: u8) -> bool {
        match self {
            Class::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Bearer => byte.is_ascii_alphanumeric() || b"-._~+/=:".contains(&byte),
            Class::Value => !byte.is_ascii_whitespace() && !matches!(byte, b'&' | b'"' | b'\''),
            Class::Quoted(quote) => byte != quote && byte != b'\n',
        }
    }

    /// Where the bytes from `from` on stop being of this class.
    pub(super) fn end(self, text: &[u8], from: usize) -> usize {
        text[from..].iter().position(|byte| !self.has(*byte)).map_or(text.len(), |length| from + length)
    }
}

/// The secret that is recognised at `at`: its start, its end, its class.
pub(super) fn at(text: &[u8], at: usize) -> Option<(usize, usize, Class)> {
    match text[at] {
        b'b' | b'B' => bearer(text, at),
        b':' => address(text, at),
        b'g' | b'h' | b'x' => key(text, at),
        b'A' => key(text, at).or_else(|| setting(text, at)),
        b's' => key(text, at).or_else(|| setting(text, at)),
        b'S' | b'p' | b'P' | b't' | b'T' | b'a' => setting(text, at),
        _ => None,
    }
}

fn key(text: &[u8], at: usize) -> Option<(usize, usize, Class)> {
    // Only at the beginning of a word: `task-…` contains `sk-`.
    if at > 0 && text[at - 1].is_ascii_alphanumeric() {
        return None;
    }
    let (beginning, least, class) =
        BEGINNINGS.into_iter().find(|(beginning, _, _)| text[at..].starts_with(beginning))?;
    let end = class.end(text, at + beginning.len());
    (end - at - beginning.len() >= least).then_some((at, end, class))
}

fn bearer(text: &[u8], at: usize) -> Option<(usize, usize, Class)> {
    const NAME: &[u8] = b"bearer";
    let after = starts_with(text, at, NAME)?;
    let start = skip(text, after, b" :=\t");
    let end = Class::Bearer.end(text, start);
    (start > after && end - start >= 8).then_some((start, end, Class::Bearer))
}

/// `scheme://user:password@`, and a token without a user.
fn address(text: &[u8], at: usize) -> Option<(usize, usize, Class)> {
    let start = starts_with(text, at, b"://")?;
    let reach = &text[start..text.len().min(start + USER_BYTES)];
    let host = reach
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b"/?#\"'<>".contains(byte))
        .unwrap_or(reach.len());
    let end = reach[..host].iter().rposition(|byte| *byte == b'@')?;
    // The user of every URL of a shared repository.
    (end > 0 && &reach[..end] != b"git").then_some((start, start + end, Class::Value))
}

/// `password=…`, `"token": "…"`, `--api-key …`.
fn setting(text: &[u8], at: usize) -> Option<(usize, usize, Class)> {
    let after = SETTINGS.into_iter().find_map(|name| starts_with(text, at, name))?;
    let closed = match text.get(after) {
        Some(b'"' | b'\'') => after + 1,
        _ => after,
    };
    let mut start = skip(text, closed, b" \t");
    match text.get(start) {
        Some(b'=' | b':') => start = skip(text, skip(text, start, b"=:"), b" \t"),
        // An argument of a command.
        _ if start > closed && is_option(text, at) => {}
        _ => return None,
    }
    let (start, class) = match text.get(start) {
        Some(quote @ (b'"' | b'\'')) => (start + 1, Class::Quoted(*quote)),
        _ => (start, Class::Value),
    };
    let end = class.end(text, start);
    (end > start).then_some((start, end, class))
}

/// Whether the word around `at` begins with `--`.
fn is_option(text: &[u8], at: usize) -> bool {
    let start = text[..at].iter().rposition(|byte| !Class::Word.has(*byte)).map_or(0, |before| before + 1);
    text[start..].starts_with(b"--")
}

/// The end of `name` if it is at `at`, ignoring case.
fn starts_with(text: &[u8], at: usize, name: &[u8]) -> Option<usize> {
    let end = at + name.len();
    text.get(at..end)?.eq_ignore_ascii_case(name).then_some(end)
}

fn skip(text: &[u8], from: usize, bytes: &[u8]) -> usize {
    let reach = text.len().min(from + SPACES);
    (from..reach).find(|at| !bytes.contains(&text[*at])).unwrap_or(reach)
}
