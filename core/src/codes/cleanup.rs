//! What scanners put around a code, taken off again: the listed marks in the listed order, and
//! nothing else (code-formats, Common rules).

use super::Malformed;

/// The longest text that can be a code, in bytes, after clean-up.
pub const MAX_CODE_BYTES: usize = 256;

/// Strips one AIM symbology identifier (`]Q0` … `]Q6`), one ECI mark (`\` and six digits), then
/// leading and trailing CR, LF, TAB, space and NUL; what is left must be 1 to
/// [`MAX_CODE_BYTES`] bytes of printable ASCII.
pub fn clean(reading: &[u8]) -> Result<&str, Malformed> {
    let text = trimmed(without_eci_mark(without_aim_identifier(reading)));
    if text.is_empty() {
        return Err(Malformed::Empty);
    }
    if text.len() > MAX_CODE_BYTES {
        return Err(Malformed::TooLong);
    }
    if !text.iter().all(|b| (0x20..=0x7E).contains(b)) {
        return Err(Malformed::NotPrintable);
    }
    std::str::from_utf8(text).map_err(|_| Malformed::NotPrintable)
}

fn without_aim_identifier(reading: &[u8]) -> &[u8] {
    match reading {
        [b']', b'Q', b'0'..=b'6', rest @ ..] => rest,
        _ => reading,
    }
}

fn without_eci_mark(reading: &[u8]) -> &[u8] {
    match reading.split_first_chunk::<7>() {
        Some(([b'\\', digits @ ..], rest)) if digits.iter().all(u8::is_ascii_digit) => rest,
        _ => reading,
    }
}

fn trimmed(mut text: &[u8]) -> &[u8] {
    let stray = |b: &u8| matches!(b, b'\r' | b'\n' | b'\t' | b' ' | 0);
    while let Some((first, rest)) = text.split_first()
        && stray(first)
    {
        text = rest;
    }
    while let Some((last, rest)) = text.split_last()
        && stray(last)
    {
        text = rest;
    }
    text
}
