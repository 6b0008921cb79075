//! CRC-32C (Castagnoli), as TensorBoard's record files use it, eight bytes at a time.

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Table k gives the effect of a byte that is k bytes before the end of a group of eight.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    let (groups, rest) = bytes.as_chunks::<8>();
    for group in groups {
        let mixed = u64::from_le_bytes(*group) ^ u64::from(crc);
        crc = 0;
        for (place, byte) in mixed.to_le_bytes().into_iter().enumerate() {
            crc ^= TABLES[7 - place][usize::from(byte)];
        }
    }
    for byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    }
    !crc
}

/// The checksum as record files store it: a checksum of bytes that contain checksums would be weak.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4, and a text whose length is not a multiple of eight.
    #[test]
    fn known_checksums() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
