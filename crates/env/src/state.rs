//! The bytes of a saved environment: little-endian fields behind a version.
//!
//! Restoring reads bytes that may come from a damaged file, so every read is
//! checked and a value that no environment could have saved is refused.

use rlxp_types::Stream;
use rlxp_types::rng::SAVED_BYTES;

use crate::vector::BadState;

/// Version of the layout; raised when a saved field changes.
const VERSION: u8 = 1;

/// Writes the fields of a saved state.
#[derive(Debug)]
pub struct StateWriter {
    bytes: Vec<u8>,
}

impl StateWriter {
    /// Starts the state of `copies` copies of `kind`.
    pub fn new(kind: &str, copies: usize) -> Self {
        let mut writer = Self { bytes: vec![VERSION] };
        writer.blob(kind.as_bytes());
        writer.u64(copies as u64);
        writer
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A real number.
    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    /// Real numbers, one per copy.
    pub fn f64s(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.f64(*value));
    }

    /// Single precision numbers.
    pub fn f32s(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
    }

    /// Bytes of any length.
    pub fn blob(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Random streams.
    pub fn streams(&mut self, streams: &[Stream]) {
        streams.iter().for_each(|stream| self.bytes.extend_from_slice(&stream.save()));
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads the fields of a saved state in the order they were written.
#[derive(Debug)]
pub struct StateReader<'a> {
    rest: &'a [u8],
}

impl<'a> StateReader<'a> {
    /// Opens the state of `copies` copies of `kind`.
    pub fn new(saved: &'a [u8], kind: &str, copies: usize) -> Result<Self, BadState> {
        let mut reader = Self { rest: saved };
        let version = reader.u8()?;
        if version != VERSION {
            return Err(BadState(format!("it has version {version}, but this program reads {VERSION}")));
        }
        let found = reader.blob()?;
        if found != kind.as_bytes() {
            let found = String::from_utf8_lossy(&found[..found.len().min(60)]).into_owned();
            return Err(BadState(format!("it belongs to {found:?}, not to {kind:?}")));
        }
        let found = reader.u64()?;
        if found != copies as u64 {
            return Err(BadState(format!("it has {found} copies, but this environment has {copies}")));
        }
        Ok(reader)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], BadState> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| BadState(format!("it ends {} bytes too early", length - self.rest.len())))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadState> {
        Ok(self.take(N)?.try_into().expect("take gives exactly the length asked for"))
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, BadState> {
        Ok(self.array::<1>()?[0])
    }

    /// One byte that is at most `most`.
    pub fn u8_to(&mut self, most: u8, what: &str) -> Result<u8, BadState> {
        let value = self.u8()?;
        if value > most {
            Err(BadState(format!("{what} is {value}; the maximum is {most}")))
        } else {
            Ok(value)
        }
    }

    pub fn u64(&mut self) -> Result<u64, BadState> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn u64_below(&mut self, end: u64, what: &str) -> Result<u64, BadState> {
        let value = self.u64()?;
        if value < end {
            Ok(value)
        } else {
            Err(BadState(format!("{what} is {value}; it must be below {end}")))
        }
    }

    /// A finite number.
    pub fn f64(&mut self) -> Result<f64, BadState> {
        let value = f64::from_bits(self.u64()?);
        if value.is_finite() { Ok(value) } else { Err(BadState(format!("it contains {value}"))) }
    }

    /// Fills `values` with finite numbers.
    pub fn f64s(&mut self, values: &mut [f64]) -> Result<(), BadState> {
        values.iter_mut().try_for_each(|value| self.f64().map(|read| *value = read))
    }

    /// Fills `values` with finite single precision numbers.
    pub fn f32s(&mut self, values: &mut [f32]) -> Result<(), BadState> {
        for value in values {
            *value = f32::from_le_bytes(self.array()?);
            if !value.is_finite() {
                return Err(BadState(format!("it contains {value}")));
            }
        }
        Ok(())
    }

    /// Bytes of any length.
    pub fn blob(&mut self) -> Result<&'a [u8], BadState> {
        let length = self.u64()?;
        let length =
            usize::try_from(length).map_err(|_| BadState(format!("a part claims {length} bytes")))?;
        self.take(length)
    }

    /// Random streams, as many as `streams` holds.
    pub fn streams(&mut self, streams: &mut [Stream]) -> Result<(), BadState> {
        for stream in streams {
            *stream = Stream::restore(&self.array::<SAVED_BYTES>()?);
        }
        Ok(())
    }

    /// Nothing may follow the last field.
    pub fn finish(self) -> Result<(), BadState> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(BadState(format!("{more} bytes follow its end"))),
        }
    }
}
