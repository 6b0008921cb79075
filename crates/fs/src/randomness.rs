//! Unpredictable randomness, for names that must be unique. Not for anything that must be reproducible: learning has
//! its own streams.

use std::io;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::{FsError, Result};

/// Bytes from the operating system.
pub fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let failed = |error: io::Error| FsError::new("read", Path::new("the system's randomness"), error);
    let read = getrandom(&mut bytes[..], GetRandomFlags::empty()).map_err(|error| failed(error.into()))?;
    // Up to 256 bytes are never split; rlx asks for fewer.
    if read < N { Err(failed(io::Error::from(io::ErrorKind::UnexpectedEof))) } else { Ok(bytes) }
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
