//! The public keys that approvals may be signed with, and their fingerprints.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssh_key::PublicKey;
use ssh_key::public::{EcdsaPublicKey, Ed25519PublicKey, KeyData};
use ssh_key::sha2::{Digest as _, Sha256};

use super::envelope::field;

/// The kinds of keys that are accepted, as SSH calls them.
const KINDS: [&str; 4] = [
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// What to do with another kind of key.
pub(super) const ADVICE: &str = "rlx accepts ed25519 and ECDSA P-256 keys, also on a security key: \
     `ssh-keygen -t ed25519` or `ssh-keygen -t ed25519-sk` makes one";

/// A key's fingerprint, `SHA256:…` as `ssh-keygen -l` prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^SHA256:[A-Za-z0-9+/]{43}$"))]
pub struct Fingerprint(String);

/// The text is not a SHA-256 fingerprint.
#[derive(Debug, thiserror::Error)]
#[error("not a fingerprint such as `ssh-keygen -l` prints (SHA256: and 43 characters): {0:?}")]
pub struct NotAFingerprint(String);

impl Fingerprint {
    /// The fingerprint of a key in SSH's binary form.
    pub(super) fn from_blob(blob: &[u8]) -> Self {
        Self(format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob))))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.strip_prefix("SHA256:").and_then(|code| STANDARD_NO_PAD.decode(code).ok());
        // The engine knows one spelling for each digest, so the text can be kept as it is.
        match bytes {
            Some(bytes) if bytes.len() == 32 => Ok(Self(text.to_owned())),
            _ => Err(NotAFingerprint(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = NotAFingerprint;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.0
    }
}

/// A public key of an accepted kind that is mathematically one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    public: PublicKey,
    kind: &'static str,
    fingerprint: Fingerprint,
}

/// Why bytes are not an acceptable key.
pub(super) enum KeyProblem {
    /// Of a kind that isn't accepted.
    Kind,
    /// Of an accepted kind, and broken or worthless.
    Broken(&'static str),
}

impl Key {
    /// Reads a key in SSH's binary form.
    pub(super) fn read(blob: &[u8]) -> Result<Self, KeyProblem> {
        let kind = kind_of(blob).map_err(|_| KeyProblem::Kind)?;
        let public =
            PublicKey::from_bytes(blob).map_err(|_| KeyProblem::Broken("it is truncated or too long"))?;
        match public.key_data() {
            KeyData::Ed25519(key) => check_ed25519(key)?,
            KeyData::SkEd25519(key) => check_ed25519(key.public_key())?,
            KeyData::Ecdsa(key) => check_p256(*key)?,
            KeyData::SkEcdsaSha2NistP256(key) => check_p256(EcdsaPublicKey::NistP256(*key.ec_point()))?,
            _ => return Err(KeyProblem::Kind),
        }
        Ok(Self { public, kind, fingerprint: Fingerprint::from_blob(blob) })
    }

    /// Its kind as SSH calls it, such as `ssh-ed25519`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    pub(super) fn public(&self) -> &PublicKey {
        &self.public
    }
}

/// With a point of small order, anyone could forge valid signatures.
fn check_ed25519(key: &Ed25519PublicKey) -> Result<(), KeyProblem> {
    let key = ed25519_dalek::VerifyingKey::try_from(key);
    let key = key.map_err(|_| KeyProblem::Broken("it is not a point on its curve"))?;
    if key.is_weak() { Err(KeyProblem::Broken("it is a weak point on its curve")) } else { Ok(()) }
}

/// Compressed points are refused as ssh does: otherwise one key would have two fingerprints.
fn check_p256(key: EcdsaPublicKey) -> Result<(), KeyProblem> {
    const UNCOMPRESSED: u8 = 4;
    if key.as_sec1_bytes().first() != Some(&UNCOMPRESSED) {
        return Err(KeyProblem::Broken("its point is compressed, which ssh doesn't use"));
    }
    let key = p256::ecdsa::VerifyingKey::try_from(key);
    key.map(drop).map_err(|_| KeyProblem::Broken("it is not a point on its curve"))
}

/// The accepted kind that a key in SSH's binary form says it is of, or what it says instead.
pub(super) fn kind_of(blob: &[u8]) -> Result<&'static str, &[u8]> {
    let (name, _) = field(blob).map_err(|_| &b""[..])?;
    KINDS.into_iter().find(|kind| kind.as_bytes() == name).ok_or(name)
}

/// Whether `name` is one of the accepted kinds.
pub(super) fn is_accepted(name: &str) -> bool {
    KINDS.contains(&name)
}

/// Whether signatures of this kind carry flags and a counter.
pub(super) fn is_security_key(kind: &[u8]) -> bool {
    kind.starts_with(b"sk-")
}
