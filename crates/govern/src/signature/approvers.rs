//! The people who may approve: a file in ssh's `allowed_signers` format.
//!
//! The format is the one that git and `ssh-keygen -Y verify` read, so one file serves all of them. Options that rlx
//! can't honour are refused and never skipped: a line that ssh would only accept until next May must not count
//! forever here.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::key::{self, Fingerprint, Key, KeyProblem};
use super::{NAMESPACE, shown};

/// A person whose signature is valid: one line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approver {
    /// The first name (ssh: principal) of the line; what reports call the person.
    pub name: String,
    /// The further names of the line.
    pub other_names: Vec<String>,
    /// The key that signs.
    pub key: Key,
    /// What follows the key on its line.
    pub comment: String,
    /// The line in the file, counted from 1.
    pub line: usize,
}

impl Approver {
    /// The key's fingerprint.
    pub fn fingerprint(&self) -> &Fingerprint {
        self.key.fingerprint()
    }
}

/// The approvers of a file, in its order. A person may have several keys; a key appears once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvers(Vec<Approver>);

/// What is wrong with a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ApproversProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Approvers {
    /// Reads lines of `name[,name] [options] kind base64 [comment]`; empty lines and those with `#` are comments.
    pub fn parse(text: &str) -> Result<Self, Vec<ApproversProblem>> {
        let (mut approvers, mut problems) = (Vec::new(), Vec::new());
        let mut seen = BTreeMap::new();
        for (line, content) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
            let content = content.trim_matches(is_blank);
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let mut messages = Vec::new();
            let approver = read_line(line, content, &mut messages);
            if let Some(approver) = &approver
                && let Some(first) = seen.insert(approver.fingerprint().clone(), line)
            {
                messages.push(format!("this key is already on line {first}; list each key once"));
            }
            if messages.is_empty() {
                approvers.extend(approver);
            }
            problems.extend(messages.into_iter().map(|message| ApproversProblem { line, message }));
        }
        if problems.is_empty() { Ok(Self(approvers)) } else { Err(problems) }
    }

    /// The fingerprints of all keys.
    pub fn fingerprints(&self) -> BTreeSet<Fingerprint> {
        self.0.iter().map(|approver| approver.fingerprint().clone()).collect()
    }

    /// The approver with this key.
    pub fn find(&self, fingerprint: &Fingerprint) -> Option<&Approver> {
        self.0.iter().find(|approver| approver.fingerprint() == fingerprint)
    }

    /// All approvers in the file's order.
    pub fn iter(&self) -> impl Iterator<Item = &Approver> {
        self.0.iter()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The approver of one line; `None` with a message if it has no usable key.
fn read_line(line: usize, content: &str, messages: &mut Vec<String>) -> Option<Approver> {
    let (names, rest) = take_names(content);
    if looks_like_a_kind(names) {
        messages.push(
            "the line starts with the key; put the name of its owner first, such as ada@example.org"
                .to_owned(),
        );
        return None;
    }
    let names = read_names(names, messages);
    let (mut word, mut rest) = take_word(rest);
    if !looks_like_a_kind(word) && !word.is_empty() {
        check_options(word, messages);
        (word, rest) = take_word(rest);
    }
    let (kind, (code, comment)) = (word, take_word(rest));
    let key = match read_key(kind, code) {
        Ok(key) => key,
        Err(message) => {
            messages.push(message);
            return None;
        }
    };
    let mut names = names.into_iter();
    let name = names.next()?;
    Some(Approver { name, other_names: names.collect(), key, comment: comment.to_owned(), line })
}

fn read_names(text: &str, messages: &mut Vec<String>) -> Vec<String> {
    let names: Vec<String> = text.split(',').map(str::to_owned).collect();
    for name in &names {
        if name.trim().is_empty() {
            messages.push(
                "a name is empty; a line starts with the name of the key's owner, such as ada@example.org"
                    .to_owned(),
            );
        } else if name.contains(['*', '?', '!']) {
            messages
                .push(format!("the name {name:?} is a pattern; an approval needs the name of one person"));
        } else if name.chars().any(char::is_control) {
            messages.push(format!("the name {name:?} contains control characters"));
        }
    }
    names
}

fn check_options(text: &str, messages: &mut Vec<String>) {
    let mut namespaces = 0;
    for option in split_outside_quotes(text, |character| character == ',') {
        let (name, value) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        match (name.to_ascii_lowercase().as_str(), value) {
            ("cert-authority", None) => {
                messages.push("cert-authority is not supported; list the keys themselves".to_owned())
            }
            (dated @ ("valid-after" | "valid-before"), Some(_)) => messages.push(format!(
                "{dated} is not supported: rlx doesn't use the clock, so a key is valid as long as it is \
                 listed"
            )),
            ("namespaces", Some(value)) => {
                namespaces += 1;
                match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
                    None => messages.push("namespaces needs its list in double quotes".to_owned()),
                    Some(list) if !admits(list, NAMESPACE) => messages.push(format!(
                        "namespaces={value} doesn't include {NAMESPACE}, so this key can't approve; add \
                         {NAMESPACE} or remove the line"
                    )),
                    Some(_) => {}
                }
            }
            _ => messages.push(format!(
                "{:?} is neither a key type nor a supported option (namespaces=\"…\")",
                shown(option.as_bytes())
            )),
        }
    }
    if namespaces > 1 {
        messages.push("namespaces is given more than once".to_owned());
    }
}

fn read_key(kind: &str, code: &str) -> Result<Key, String> {
    if kind.is_empty() || (code.is_empty() && key::is_accepted(kind)) {
        return Err("the key is missing; a line is: name kind base64, as in the .pub file".to_owned());
    }
    if !key::is_accepted(kind) {
        return Err(refused(kind));
    }
    let blob =
        STANDARD.decode(code).map_err(|_| "the key is not base64; copy it from the .pub file".to_owned())?;
    let key = Key::read(&blob).map_err(|problem| match problem {
        KeyProblem::Kind => "the key's type differs from the one on its line".to_owned(),
        KeyProblem::Broken(why) => format!("the key is broken: {why}; copy it from the .pub file"),
    })?;
    if key.kind() == kind {
        Ok(key)
    } else {
        Err(format!("the line says {kind}, but the key is {}", key.kind()))
    }
}

fn refused(kind: &str) -> String {
    let what = match kind {
        _ if kind.contains("-cert-v0") => "certificates are",
        _ if kind.contains("rsa") => "RSA keys are",
        _ if kind.contains("dss") => "DSA keys are",
        _ => return format!("keys of kind {:?} are not accepted; {}", shown(kind.as_bytes()), key::ADVICE),
    };
    format!("{what} not accepted; {}", key::ADVICE)
}

/// Whether a word is meant as a kind of key, accepted or not, and so isn't an option.
fn looks_like_a_kind(word: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-", "rsa-", "webauthn-"].iter().any(|beginning| word.starts_with(beginning))
}

/// The names, which may be enclosed in double quotes, and the rest of the line.
fn take_names(text: &str) -> (&str, &str) {
    match text.strip_prefix('"').and_then(|inside| inside.split_once('"')) {
        Some((names, rest)) => (names, rest.trim_start_matches(is_blank)),
        None => take_word(text),
    }
}

/// The first word, quoted parts kept together, and the rest of the line.
fn take_word(text: &str) -> (&str, &str) {
    let word = split_outside_quotes(text, is_blank).next().unwrap_or_default();
    (word, text[word.len()..].trim_start_matches(is_blank))
}

/// The pieces of `text` between separators outside double quotes; `\"` ends no quote.
fn split_outside_quotes(text: &str, is_separator: fn(char) -> bool) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        quoted ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        !quoted && is_separator(character)
    })
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r')
}

/// Whether ssh's pattern list admits `name`: some pattern matches it and none with `!` does.
fn admits(list: &str, name: &str) -> bool {
    let mut admitted = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches(pattern, name) => return false,
            Some(_) => {}
            None => admitted |= matches(pattern, name),
        }
    }
    admitted
}

/// Whether `name` is of the form `pattern`, where `*` matches any characters and `?` one.
fn matches(pattern: &str, name: &str) -> bool {
    // Whether what was read of the pattern so far matches the first n bytes of the name, for each n: no backtracking,
    // so no pattern takes long.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for wanted in pattern.bytes() {
        if wanted == b'*' {
            let first = reached.iter().position(|&reached| reached).unwrap_or(reached.len());
            reached[first..].fill(true);
        } else {
            for (end, byte) in name.bytes().enumerate().rev() {
                reached[end + 1] = reached[end] && (wanted == b'?' || wanted == byte);
            }
            reached[0] = false;
        }
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_pattern_lists() {
        for (list, expected) in [
            ("rlx-approval", true),
            ("git,rlx-approval", true),
            ("rlx-*", true),
            ("*", true),
            ("**l", true),
            ("rlx?approval", true),
            ("rlx-approval,!rlx-*", false),
            ("!rlx-approval,*", false),
            ("!git,*", true),
            ("!git", false),
            ("git", false),
            ("rlx-approva", false),
            ("rlx-approval?", false),
            ("*a", false),
            ("", false),
            (" rlx-approval", false),
        ] {
            assert_eq!(admits(list, NAMESPACE), expected, "{list:?}");
        }
    }

    #[test]
    fn words_keep_quoted_parts_together() {
        assert_eq!(take_word("a=\"b c\",d  e f"), ("a=\"b c\",d", "e f"));
        assert_eq!(take_word(r#"a="b \" c" d"#), (r#"a="b \" c""#, "d"));
        assert_eq!(take_names("\"Ada L\" ssh"), ("Ada L", "ssh"));
        assert_eq!(take_names("\"Ada ssh"), ("\"Ada ssh", ""));
        assert_eq!(take_word(""), ("", ""));
    }
}
