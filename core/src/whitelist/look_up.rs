//! Finding a ticket by what a visitor says: texts folded so that case, width, accents and spaces
//! do not matter, and the list's indexes over the folded texts.

use rusqlite::params;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::file::{HeldList, ListError};
use crate::ids::{LastFour, OrderNumber};
use crate::ticket::Ticket;

/// A text as it is compared: compatibility forms (full-width digits, ligatures) taken apart,
/// accents and spaces dropped, case folded.
pub fn fold(text: &str) -> String {
    let parts = |c: &char| !is_combining_mark(*c) && !c.is_whitespace();
    // Up and down again is full case folding: ß and ẞ are ss, both small sigmas are one.
    text.nfkd()
        .filter(parts)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfkd()
        .filter(parts)
        .collect()
}

/// A folded text with its last character first, so that an index finds what ends alike.
pub(super) fn backwards(text: &str) -> String {
    fold(text).chars().rev().collect()
}

/// Whether a name could be the one behind a mask, in which every character but the last is `*`:
/// compared from the end, folded; a part of the name is enough.
pub fn fits_mask(name: &str, mask: &str) -> bool {
    let (name, mask) = (fold(name), fold(mask));
    let mut masked = mask.chars().rev();
    name.chars().rev().all(|said| {
        masked
            .next()
            .is_some_and(|known| known == '*' || known == said)
    })
}

impl HeldList {
    /// Tickets whose order number ends with a text, at most `limit`.
    pub fn by_order_end(&self, text: &str, limit: u32) -> Result<Vec<Ticket>, ListError> {
        let from = backwards(text);
        let to = format!("{from}\u{10FFFF}");
        self.all(
            "SELECT row FROM ticket WHERE order_end >= ?1 AND order_end < ?2
              ORDER BY order_end, number LIMIT ?3",
            params![from, to, limit],
        )
    }

    /// All tickets of an order, as it is written.
    pub fn by_order(&self, order: &OrderNumber) -> Result<Vec<Ticket>, ListError> {
        let mut tickets = self.all(
            "SELECT row FROM ticket WHERE order_end = ?1 ORDER BY number",
            params![backwards(order.as_str())],
        )?;
        tickets.retain(|ticket| ticket.order_number == *order);
        Ok(tickets)
    }

    /// Tickets with these digits of phone or document, at most `limit`.
    pub fn by_digits(&self, digits: LastFour, limit: u32) -> Result<Vec<Ticket>, ListError> {
        self.all(
            "SELECT row FROM ticket WHERE last_four = ?1 ORDER BY number LIMIT ?2",
            params![digits.get(), limit],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_width_accents_and_spaces_do_not_matter() {
        assert_eq!(fold(" ＯＲＤ－２０２６ "), fold("ord-2026"));
        assert_eq!(fold("Müller Straße"), fold("MULLER\u{a0}STRASSE"));
        assert_eq!(fold("Ångström"), fold("A\u{30a}ngstro\u{308}m"));
        assert_eq!(fold("ﬁle"), "file");
        assert_ne!(fold("张三"), fold("张四"));
    }

    #[test]
    fn a_name_is_held_against_the_mask_from_its_end() {
        assert!(fits_mask("张三", "*三"));
        assert!(fits_mask("三", "*三"));
        assert!(!fits_mask("张四", "*三"));
        assert!(
            !fits_mask("欧阳张三", "*三"),
            "the name is longer than the mask"
        );
        assert!(fits_mask("Renée", "****E"));
        assert!(fits_mask("", "*三"));
        assert!(!fits_mask("李", ""));
    }
}
