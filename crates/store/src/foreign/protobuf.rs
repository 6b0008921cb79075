//! The wire format of protocol buffers: the fields of one message, in place and in the order in which they are stored.

/// A field's value as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'b> {
    Varint(u64),
    Fixed64([u8; 8]),
    /// A text, bytes, a message or packed numbers.
    Bytes(&'b [u8]),
    Fixed32([u8; 4]),
}

/// The bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NotAMessage;

/// The fields of a message; ends after the first error.
pub(super) struct Fields<'b> {
    rest: &'b [u8],
}

pub(super) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u32, Value<'b>), NotAMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or(NotAMessage))
    }
}

impl<'b> Fields<'b> {
    fn field(&mut self) -> Option<(u32, Value<'b>)> {
        let key = varint(&mut self.rest)?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => Value::Fixed64(fixed(&mut self.rest)?),
            2 => {
                let length = usize::try_from(varint(&mut self.rest)?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(fixed(&mut self.rest)?),
            // Groups were never used by these formats.
            _ => return None,
        };
        Some((number, value))
    }
}

/// A number from the front of `rest`.
pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let (byte, more) = rest.split_first()?;
        *rest = more;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, more) = rest.split_first_chunk::<N>()?;
    *rest = more;
    Some(*bytes)
}

/// A signed number whose sign is in the lowest bit (`sint64`).
pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_order_and_damage_as_such() {
        let message = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f];
        let read: Result<Vec<_>, _> = fields(&message).collect();
        let one = Value::Fixed32(1.0_f32.to_le_bytes());
        assert_eq!(read, Ok(vec![(1, Value::Varint(150)), (2, Value::Bytes(b"hi")), (3, one)]));
        for cut in [1, 2, 4, 6, 8, 11] {
            assert_eq!(fields(&message[..cut]).last(), Some(Err(NotAMessage)), "{cut}");
        }
        // A field with number 0, a group, and a number that never ends.
        for bytes in [&[0x00, 0x01][..], &[0x0b], &[0x80; 12]] {
            assert_eq!(fields(bytes).last(), Some(Err(NotAMessage)), "{bytes:?}");
        }
    }

    #[test]
    fn signed_numbers() {
        assert_eq!([0, 1, 2, 3, u64::MAX].map(zigzag), [0, -1, 1, -2, i64::MIN]);
    }
}
