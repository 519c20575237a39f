//! Hexadecimal digits as clients write them, in either case.

use data_encoding::HEXLOWER_PERMISSIVE;

/// The 32 bytes of 64 digits, such as a SHA-256; none of any other text.
pub fn bytes_32(text: &str) -> Option<[u8; 32]> {
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
    bytes.try_into().ok()
}
