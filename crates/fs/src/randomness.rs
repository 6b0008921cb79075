//! Randomness that nobody can foresee, for names that must never meet. Nothing that should come out the same twice
//! may use it: learning has streams of its own.

use std::io;
use std::path::Path;

use crate::{Fs, FsError, RealFs, Result};

const DEVICE: &str = "/dev/urandom";

/// Bytes from the operating system.
pub fn bytes<const N: usize>() -> Result<[u8; N]> {
    let found = RealFs.read_at(Path::new(DEVICE), 0, N)?;
    let short = |_| FsError::new("read", Path::new(DEVICE), io::Error::from(io::ErrorKind::UnexpectedEof));
    found.try_into().map_err(short)
}

/// A name of 128 random bits, as 32 hexadecimal digits.
pub fn name() -> Result<String> {
    Ok(bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let (one, other) = (name().unwrap(), name().unwrap());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, other);
    }
}
