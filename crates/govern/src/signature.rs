//! SSH signatures of approvals: what a person signs, whose keys count, and whether a signature holds.
//!
//! A person signs with their own `ssh-keygen -Y sign`; rlx only ever sees the public key and the result. What is
//! signed is a [`Statement`], which binds the study, the section with all it depends on, and the ledger's head, so a
//! signature can be used for nothing else and not a second time. One statement may have several valid texts for its
//! signature (wrapped at another width, or the other of the two forms that ECDSA allows), which is harmless because
//! each of them says the same thing in the name of the same key; never take the text as an identity.

mod approvers;
mod envelope;
mod key;

pub use approvers::{Approver, Approvers, ApproversProblem};
pub use key::{Fingerprint, Key, NotAFingerprint};

use rlxp_types::Digest;
use ssh_key::{Algorithm, SshSig};

use envelope::Envelope;

/// The namespace that `ssh-keygen -Y sign -n` is given, so that a signature made for git or mail is
/// not valid for rlx.
pub const NAMESPACE: &str = "rlx-approval";

/// The longest text that is accepted as a signature. Those of the accepted keys have less than a
/// tenth of it.
pub const LONGEST_SIGNATURE: usize = 16 * 1024;

/// The bit of a security key's flags that says that it was touched.
const USER_PRESENT: u8 = 0x01;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The study's unique id.
    pub study: String,
    /// The section that is approved.
    pub section: String,
    /// The digest of the section and of all it depends on.
    pub digest: Digest,
    /// The ledger's head at the moment of signing.
    pub head: Digest,
}

impl Statement {
    /// The exact bytes to sign: a few lines that a person can read before they sign.
    pub fn bytes(&self) -> Vec<u8> {
        let Self { study, section, digest, head } = self;
        let (study, section) = (quoted(study), quoted(section));
        format!("rlx approval 1\nstudy {study}\nsection {section}\ndigest {digest}\nhead {head}\n")
            .into_bytes()
    }
}

/// `text` in quotes, in printable ASCII only: no name can break its line, and none can look like another
/// through invisible or right-to-left characters. The rules are written here rather than taken from a
/// library, whose next version might produce a different text than the signed one.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ => quoted.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
        }
    }
    quoted + "\""
}

/// The verified signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The name beside the key in the list of approvers.
    pub name: String,
    /// The key's fingerprint.
    pub fingerprint: Fingerprint,
}

/// Why a text is not a valid signature of a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// The text isn't an armored SSH signature.
    #[error("this is not an SSH signature: {reason}")]
    NotASignature {
        /// What is wrong with its form.
        reason: &'static str,
    },
    /// Made for another purpose.
    #[error(
        "the signature was made for the namespace {found:?}; sign with `ssh-keygen -Y sign -n {NAMESPACE}`"
    )]
    WrongNamespace {
        /// The namespace in the signature.
        found: String,
    },
    /// The message was hashed in a way that SSH signatures don't have.
    #[error("the signature uses the hash {found:?}; only sha256 and sha512 are accepted")]
    UnsupportedHash {
        /// The hash in the signature.
        found: String,
    },
    /// Made by a kind of key that rlx doesn't accept.
    #[error("the signature was made by a key of kind {kind:?}; {}", key::ADVICE)]
    UnsupportedKey {
        /// The kind as SSH calls it.
        kind: String,
    },
    /// Made by a key that isn't in the list of approvers.
    #[error("the key {fingerprint} is not among the approvers")]
    UnknownKey {
        /// The key that the signature names.
        fingerprint: Fingerprint,
    },
    /// The key didn't sign this statement: it signed another study, section, content or ledger head, or nothing.
    #[error("the signature is not for this statement: study, section, content or ledger head differ")]
    DoesNotVerify,
    /// A security key signed without being touched.
    #[error(
        "the security key {fingerprint} signed without a touch; a touch proves that a person was present"
    )]
    UserNotPresent {
        /// The security key.
        fingerprint: Fingerprint,
    },
}

impl SignatureProblem {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotASignature { .. } => "not_a_signature",
            Self::WrongNamespace { .. } => "wrong_namespace",
            Self::UnsupportedHash { .. } => "unsupported_hash",
            Self::UnsupportedKey { .. } => "unsupported_key",
            Self::UnknownKey { .. } => "unknown_key",
            Self::DoesNotVerify => "does_not_verify",
            Self::UserNotPresent { .. } => "user_not_present",
        }
    }
}

/// Checks that `armored` (`-----BEGIN SSH SIGNATURE-----` …) is one of the approvers' signatures of `statement`.
///
/// Anything but white space around the armor is refused, and so is every byte of the content that the format doesn't
/// ask for.
pub fn verify(
    statement: &Statement,
    armored: &str,
    approvers: &Approvers,
) -> Result<Signed, SignatureProblem> {
    let malformed = |reason| SignatureProblem::NotASignature { reason };
    if armored.len() > LONGEST_SIGNATURE {
        return Err(malformed("it is too long for a signature"));
    }
    let bytes = envelope::without_armor(armored).map_err(malformed)?;
    let envelope = Envelope::read(&bytes).map_err(malformed)?;
    if envelope.namespace != NAMESPACE.as_bytes() {
        return Err(SignatureProblem::WrongNamespace { found: shown(envelope.namespace) });
    }
    let kind = key::kind_of(envelope.key)
        .map_err(|found| SignatureProblem::UnsupportedKey { kind: shown(found) })?;
    let hash = match envelope.hash {
        b"sha256" => ssh_key::HashAlg::Sha256,
        b"sha512" => ssh_key::HashAlg::Sha512,
        other => return Err(SignatureProblem::UnsupportedHash { found: shown(other) }),
    };
    let fingerprint = Fingerprint::from_blob(envelope.key);
    let Some(approver) = approvers.find(&fingerprint) else {
        return Err(SignatureProblem::UnknownKey { fingerprint });
    };
    if envelope.algorithm != kind.as_bytes() {
        return Err(malformed("it names a different kind of key than the one that made it"));
    }
    let algorithm = Algorithm::new(kind).map_err(|_| malformed("its algorithm is unknown"))?;
    let signature = ssh_key::Signature::new(algorithm, envelope.signature_with_trailer())
        .map_err(|_| malformed("its values are not a valid signature"))?;
    let key = approver.key.public();
    let whole = SshSig::new(key.key_data().clone(), NAMESPACE, hash, signature)
        .map_err(|_| malformed("its namespace is empty"))?;
    key.verify(NAMESPACE, &statement.bytes(), &whole).map_err(|_| SignatureProblem::DoesNotVerify)?;
    // Only now are the flags known to come from the security key.
    if envelope.trailer.is_some_and(|trailer| trailer[0] & USER_PRESENT == 0) {
        return Err(SignatureProblem::UserNotPresent { fingerprint });
    }
    Ok(Signed { name: approver.name.clone(), fingerprint })
}

/// Untrusted bytes for a message, shortened.
fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 64;
    let text = String::from_utf8_lossy(bytes);
    if text.chars().count() <= LONGEST {
        return text.into_owned();
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(study: &str, section: &str) -> String {
        let (digest, head) = (Digest::from_bytes([0xab; 32]), Digest::from_bytes([0; 32]));
        let bytes = Statement { study: study.to_owned(), section: section.to_owned(), digest, head }.bytes();
        String::from_utf8(bytes).unwrap()
    }

    /// Existing signatures cover these bytes: a change here voids all of them.
    #[test]
    fn statement_is_five_lines() {
        let (digest, head) = ("ab".repeat(32), "00".repeat(32));
        assert_eq!(
            statement("s-1", "metrics"),
            format!("rlx approval 1\nstudy \"s-1\"\nsection \"metrics\"\ndigest {digest}\nhead {head}\n")
        );
    }

    #[test]
    fn statement_lines_cannot_be_forged_by_a_name() {
        let forged = statement("a\"\nsection \"budget", "m\r\\\u{202e}ü");
        assert_eq!(forged.lines().count(), 5);
        assert!(forged.contains(r#"study "a\"\u{a}section \"budget""#), "{forged}");
        assert!(forged.contains(r#"section "m\u{d}\\\u{202e}\u{fc}""#), "{forged}");
        assert_ne!(statement("a", r"\u{a}"), statement("a", "\n"));
    }

    #[test]
    fn messages_stay_short() {
        assert_eq!(shown(b"git"), "git");
        assert_eq!(shown(&[0xff; 5000]).chars().count(), 65);
    }
}
