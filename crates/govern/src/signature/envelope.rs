//! The outer form of an SSH signature: the armor, and the fields inside it.
//!
//! Parsed by hand because the library is too lenient: it accepts text before the armor, other versions, and bytes
//! left over inside the fields. Lengths are checked against the available bytes, so a file can't cause a large
//! allocation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: [u8; 4] = 1_u32.to_be_bytes();
/// One byte of flags and four of a counter follow the signature of a security key.
const TRAILER: usize = 5;

/// The fields of an SSH signature, not verified yet.
pub(super) struct Envelope<'a> {
    pub(super) key: &'a [u8],
    pub(super) namespace: &'a [u8],
    pub(super) hash: &'a [u8],
    pub(super) algorithm: &'a [u8],
    signature: &'a [u8],
    pub(super) trailer: Option<&'a [u8; TRAILER]>,
}

/// The text between the two armor lines.
pub(super) fn without_armor(text: &str) -> Result<Vec<u8>, &'static str> {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let inside = text.strip_prefix(BEGIN).ok_or("it doesn't start with -----BEGIN SSH SIGNATURE-----")?;
    let inside = inside.strip_suffix(END).ok_or("it doesn't end with -----END SSH SIGNATURE-----")?;
    let mut lines = inside.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    // The first piece is what follows BEGIN on its line, the last what precedes END on its own.
    if lines.next() != Some("") || lines.next_back() != Some("") {
        return Err("its first or last line contains more than the armor");
    }
    // The engine refuses every other encoding of the same bytes: missing padding, spare bits, white space.
    STANDARD.decode(lines.collect::<String>()).map_err(|_| "the text between the armor lines is not base64")
}

impl<'a> Envelope<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("its content doesn't start with SSHSIG")?;
        let rest = rest.strip_prefix(&VERSION).ok_or("its version is not 1")?;
        let (key, rest) = field(rest)?;
        let (namespace, rest) = field(rest)?;
        let (reserved, rest) = field(rest)?;
        let (hash, rest) = field(rest)?;
        let (inner, rest) = field(rest)?;
        if !reserved.is_empty() {
            return Err("its reserved field is not empty");
        }
        let (algorithm, inner) = field(inner)?;
        let (signature, inner) = field(inner)?;
        let trailer = if super::key::is_security_key(algorithm) {
            Some(
                inner
                    .try_into()
                    .map_err(|_| "flags and counter of the security key are missing or too long")?,
            )
        } else if inner.is_empty() {
            None
        } else {
            return Err("there are extra bytes after the signature");
        };
        if !rest.is_empty() {
            return Err("there are extra bytes at its end");
        }
        Ok(Self { key, namespace, hash, algorithm, signature, trailer })
    }

    /// The signature as the library expects it: followed by flags and counter.
    pub(super) fn signature_with_trailer(&self) -> Vec<u8> {
        let trailer = self.trailer.map_or(&[][..], |trailer| trailer);
        [self.signature, trailer].concat()
    }
}

/// The first field of `bytes`, four bytes of length and then its content, and the rest.
pub(super) fn field(bytes: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let (length, rest) = bytes.split_first_chunk().ok_or("it is truncated")?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| "it is truncated")?;
    rest.split_at_checked(length).ok_or("it is truncated")
}
