//! What spreadsheets and keyboards do to texts, undone: outer spaces, characters that nobody
//! sees, full-width forms, marks that keep a number text.

use std::borrow::Cow;

/// Without outer spaces of any width and without outer characters that take no room and that
/// nobody can see, such as byte order marks and zero-width spaces.
pub(super) fn trimmed(text: &str) -> &str {
    // Most fields are clean at both ends.
    match (text.as_bytes().first(), text.as_bytes().last()) {
        (Some(first), Some(last)) if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c)),
    }
}

/// Zero-width spaces and marks of writing direction.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// With full-width forms (`１`, `：`, `Ａ`, the ideographic space) as their ASCII counterparts.
pub(super) fn fold_width(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(fold_char).collect())
}

/// One character of [`fold_width`].
pub(super) fn fold_char(c: char) -> char {
    match c {
        '\u{3000}' => ' ',
        // The block of full-width forms repeats ASCII from `!` to `~` in order.
        '\u{FF01}'..='\u{FF5E}' => {
            char::from_u32(u32::from(c) - 0xFF01 + u32::from('!')).unwrap_or(c)
        }
        _ => c,
    }
}

/// Without the apostrophe in front by which a spreadsheet is told to leave a number as it is.
pub(super) fn without_text_mark(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if rest.starts_with(|c: char| c == '+' || fold_char(c).is_ascii_digit()) => rest,
        _ => text,
    }
}

/// Whether a spreadsheet has turned a long number into one like `1.38E+10`, whose last digits
/// are lost.
pub(super) fn is_rounded_number(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.split_once(['E', 'e']) else {
        return false;
    };
    let Some(exponent) = exponent.strip_prefix('+') else {
        return false;
    };
    let all = |text: &str, more: &[u8]| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || more.contains(&b))
    };
    all(mantissa, b".,") && all(exponent, b"")
}

/// What to answer where [`is_rounded_number`].
pub(super) const ROUNDED_NUMBER: &str =
    "a spreadsheet destroyed this number; format the column as text and export it again";
