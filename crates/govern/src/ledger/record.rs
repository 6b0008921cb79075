//! One line of a ledger: canonical JSON with the digest of everything else in the line.
//!
//! The digest is taken over the line's own bytes with the digest field cut out. As keys are sorted, that field stands
//! between `body` and `kind`, and what follows it has a fixed form; so checking needs no second writing of the line.

use rlxp_types::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Event;
use crate::canonical;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A person
    Person,
    /// A coding agent
    Agent,
    /// rlx, on its own account
    Rlx,
}

/// A line that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// When it was written; a label, nothing is decided by it.
    pub at: String,
    pub actor: Actor,
    /// What happened.
    pub event: Event,
    /// The digest of the record before; zeros for the first.
    pub prev: Digest,
    pub digest: Digest,
}

/// What `prev` of the first record is.
pub const NO_RECORD: Digest = Digest::ZERO;

impl Record {
    /// A new record after `prev`.
    pub fn new(seq: u64, at: impl Into<String>, actor: Actor, event: Event, prev: Digest) -> Self {
        let mut record = Self { seq, at: at.into(), actor, event, prev, digest: NO_RECORD };
        let mut value = record.value();
        value.as_object_mut().map(|fields| fields.remove("digest"));
        record.digest = canonical::digest(&value);
        record
    }

    /// The line, without its end.
    pub fn line(&self) -> String {
        canonical::text(&self.value())
    }

    fn value(&self) -> Value {
        json!({
            "seq": self.seq,
            "at": self.at,
            "actor": self.actor,
            "kind": self.event.kind(),
            "body": self.event.body(),
            "prev": self.prev,
            "digest": self.digest,
        })
    }

    /// Reads a line and checks its digest.
    pub fn parse(line: &str) -> Result<Self, String> {
        // The second one reports what is wrong.
        Self::parse_usual(line, &mut Vec::new()).map_or_else(|| Self::parse_any(line), Ok)
    }

    fn parse_any(line: &str) -> Result<Self, String> {
        let form: Form = serde_json::from_str(line).map_err(|error| format!("it can't be read: {error}"))?;
        let cut = Cut::split(line).ok_or("it isn't written the way rlx writes records")?;
        if Digest::of_parts(&[cut.head.as_bytes(), cut.tail.as_bytes()]) != form.digest {
            return Err("its content doesn't match its digest".into());
        }
        let event = Event::read(form.kind, form.body.get())?;
        Ok(Self {
            seq: form.seq,
            at: form.at,
            actor: form.actor,
            event,
            prev: form.prev,
            digest: form.digest,
        })
    }

    /// Reads a line in one pass and checks its digest: everything except the body is found by its position. `None` if
    /// something is wrong or only written differently; [`parse`](Self::parse) can tell which. `room` is a buffer that
    /// is reused.
    pub fn parse_usual(line: &str, room: &mut Vec<u8>) -> Option<Self> {
        let cut = Cut::split(line)?;
        let (actor, rest) = cut.head.strip_prefix("{\"actor\":\"")?.split_once('"')?;
        let actor = match actor {
            "person" => Actor::Person,
            "agent" => Actor::Agent,
            "rlx" => Actor::Rlx,
            _ => return None,
        };
        let (at, rest) = rest.strip_prefix(",\"at\":\"")?.split_once('"')?;
        if at.bytes().any(|byte| byte == b'\\' || byte < b' ')
            || cut.seq.len() > 1 && cut.seq.starts_with('0')
        {
            return None;
        }
        let body = rest.strip_prefix(",\"body\":")?;
        let digest = cut.digest.parse().ok()?;
        // One short text is hashed faster than two parts of it.
        room.clear();
        room.extend_from_slice(cut.head.as_bytes());
        room.extend_from_slice(cut.tail.as_bytes());
        if Digest::hash(room) != digest {
            return None;
        }
        Some(Self {
            seq: cut.seq.parse().ok()?,
            at: at.to_owned(),
            actor,
            // A text that is no whole value becomes no event, so nothing can hide between body and digest.
            event: Event::read(cut.kind, body).ok()?,
            prev: cut.prev.parse().ok()?,
            digest,
        })
    }
}

/// The JSON Schema of a line. What a body holds depends on its kind.
pub fn schema() -> Value {
    let digest =
        json!({ "type": "string", "minLength": 64, "maxLength": 64, "description": "blake3, hexadecimal" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Record",
        "description": "One line of ledger.jsonl",
        "type": "object",
        "required": ["seq", "at", "actor", "kind", "body", "prev", "digest"],
        "additionalProperties": false,
        "properties": {
            "seq": { "type": "integer", "minimum": 0, "description": "its number, from 0" },
            "at": { "type": "string", "description": "when it was written; nothing is decided by it" },
            "actor": { "type": "string", "enum": ["person", "agent", "rlx"] },
            "kind": { "type": "string", "enum": Event::KINDS },
            "body": { "type": "object" },
            "prev": digest,
            "digest": digest,
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form<'l> {
    seq: u64,
    at: String,
    actor: Actor,
    kind: &'l str,
    #[serde(borrow)]
    body: &'l RawValue,
    prev: Digest,
    digest: Digest,
}

/// A line, cut around its digest field. From the end of the line everything has a fixed form, so the field is found
/// without looking into the body, which may hold any text.
struct Cut<'l> {
    /// Up to the end of the body.
    head: &'l str,
    digest: &'l str,
    /// From the comma after the digest on.
    tail: &'l str,
    kind: &'l str,
    prev: &'l str,
    seq: &'l str,
}

impl<'l> Cut<'l> {
    fn split(line: &'l str) -> Option<Self> {
        let (rest, seq) = split_end(line.strip_suffix('}')?, |byte| byte.is_ascii_digit());
        let (rest, prev) = split_digest(rest.strip_suffix("\",\"seq\":")?)?;
        let rest = rest.strip_suffix("\",\"prev\":\"")?;
        let (rest, kind) = split_end(rest, |byte| byte.is_ascii_lowercase() || byte == b'_');
        let before_kind = rest.strip_suffix("\",\"kind\":\"")?;
        let (rest, digest) = split_digest(before_kind)?;
        let head = rest.strip_suffix(",\"digest\":\"")?;
        // After the digest comes the quotation mark that ends it.
        Some(Self { head, digest, tail: &line[before_kind.len() + 1..], kind, prev, seq })
    }
}

/// Splits off the last bytes that are all `such`. They are ASCII, so no character is cut in two.
fn split_end(text: &str, such: impl Fn(u8) -> bool) -> (&str, &str) {
    let others = text.bytes().rposition(|byte| !such(byte)).map_or(0, |last| last + 1);
    text.split_at(others)
}

fn split_digest(text: &str) -> Option<(&str, &str)> {
    text.split_at_checked(text.len().checked_sub(64)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::event::Note;

    #[test]
    fn a_line_and_back() {
        let event = Event::Note(Note { text: "ü \" ,\"digest\":\"x\" \n".into() });
        let record = Record::new(7, "2026-01-02T03:04:05Z", Actor::Person, event, Digest::hash(b"before"));
        let line = record.line();
        assert!(!line.contains('\n'));
        assert_eq!(Record::parse(&line).unwrap(), record);
        let spaced = line.replace("\"at\":", "\"at\": ");
        assert!(Record::parse(&spaced).is_err());
    }

    #[test]
    fn every_changed_byte_is_found() {
        let event = Event::Note(Note { text: "all seeds drawn".into() });
        let line = Record::new(0, "2026-01-02T03:04:05Z", Actor::Rlx, event, NO_RECORD).line();
        for at in 0..line.len() {
            for flip in [1u8, 2, 4, 8, 16, 32] {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= flip;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                assert!(Record::parse(&text).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn the_quick_way_understands_what_rlx_writes_and_nothing_that_the_other_does_not() {
        let event = Event::Note(Note { text: "ü \" ,\"digest\":\"x\" \n".into() });
        let line = Record::new(10, "now", Actor::Agent, event, Digest::hash(b"before")).line();
        assert!(Record::parse_usual(&line, &mut Vec::new()).is_some());
        // With a digest that fits what was changed, so that only the form can be wrong.
        let fitting = |line: &str| {
            let cut = Cut::split(line).unwrap();
            let digest = Digest::of_parts(&[cut.head.as_bytes(), cut.tail.as_bytes()]);
            format!("{},\"digest\":\"{digest}\"{}", cut.head, cut.tail)
        };
        for (from, to) in [
            ("\"seq\":10", "\"seq\":010"),
            ("\"seq\":10", "\"seq\":"),
            ("\"seq\":10", "\"seq\":99999999999999999999"),
            ("\"now\"", "\"n\\u006fw\""),
            ("\"now\"", "\"n\tw\""),
            ("\"now\"", "\"now\",\"at\":\"now\""),
            ("\"agent\"", "\"robot\""),
            ("\"body\":{", "\"body\": {"),
            ("},\"digest\"", "},\"more\":{},\"digest\""),
            ("},\"digest\"", ",\"digest\""),
            ("{\"actor\"", " {\"actor\""),
            ("\"kind\":\"note\"", "\"kind\":\"\""),
        ] {
            let changed = line.replace(from, to);
            assert_ne!(changed, line, "{from}");
            let changed = fitting(&changed);
            let quick = Record::parse_usual(&changed, &mut Vec::new());
            let other = Record::parse_any(&changed);
            assert!(quick.is_none() || quick == other.clone().ok(), "{changed}: {quick:?} but {other:?}");
            assert_eq!(Record::parse(&changed), other);
        }
    }
}
