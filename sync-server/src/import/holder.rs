//! What is kept of the holder: the name masked, of the phone the last four digits. The full
//! phone goes on as a secret that prints nothing.

use stile_core::ids::LastFour;
use unicode_segmentation::UnicodeSegmentation;
use zeroize::Zeroizing;

use super::limits::PHONE_DIGITS;
use super::line::Phone;
use super::text::{ROUNDED_NUMBER, fold_char, is_rounded_number, trimmed, without_text_mark};

/// The mask of a name: outer spaces trimmed, every user-perceived character but the last as `*`;
/// a single one stands. Empty for no name.
pub(super) fn mask(name: &str) -> String {
    let mut characters = trimmed(name).graphemes(true);
    let Some(last) = characters.next_back() else {
        return String::new();
    };
    let mut mask = "*".repeat(characters.count());
    mask.push_str(last);
    mask
}

/// The last four digits of a phone number from any country, written with spaces, dashes,
/// brackets, a country code, in full-width digits or already masked (`138****5678`). None for no
/// phone. The error says what is wrong without the number.
pub(super) fn last_four(phone: &str) -> Result<Option<LastFour>, &'static str> {
    let phone = without_text_mark(trimmed(phone));
    if phone.is_empty() {
        return Ok(None);
    }
    if is_rounded_number(phone) {
        return Err(ROUNDED_NUMBER);
    }
    if let Some((_, fraction)) = phone.rsplit_once('.')
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b == b'0')
    {
        // `13812345678.0` would end in another digit than the number does.
        return Err("written as a decimal number; format the column as text and export it again");
    }
    let (mut digits, mut since_mask, mut tail) = (0, 0, 0);
    for c in phone.chars().map(fold_char) {
        match c {
            '0'..='9' => {
                digits += 1;
                since_mask += 1;
                let digit = c.to_digit(10).unwrap_or(0) as u16;
                tail = (tail % 1000) * 10 + digit;
            }
            '*' => since_mask = 0,
            '+' if digits == 0 => {}
            '-' | '(' | ')' | '.' | '/' | '\u{2010}'..='\u{2015}' | '\u{2212}' => {}
            _ if c.is_whitespace() => {}
            _ => return Err("holds characters that no phone number has"),
        }
    }
    if since_mask < 4 {
        return Err("fewer than four digits");
    }
    if digits > PHONE_DIGITS {
        return Err("more digits than a phone number has; give one number only");
    }
    Ok(LastFour::new(tail))
}

/// The digits of a phone number that [`last_four`] takes and that is not masked, as the booking
/// system writes them. None for no phone.
pub(super) fn full_phone(phone: &str) -> Option<Phone> {
    let phone = without_text_mark(trimmed(phone));
    if phone.contains('*') {
        return None;
    }
    let folded = phone.chars().map(fold_char);
    let mut digits = Zeroizing::new(String::with_capacity(phone.len()));
    digits.extend(folded.filter(char::is_ascii_digit));
    (!digits.is_empty()).then(|| Phone::new(digits))
}
