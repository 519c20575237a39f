//! One ticket as the booking back end states it: typed and checked, its personal data already
//! masked. What the server keeps of it is the store's matter.

use std::fmt;

use stile_core::codes::Document;
use stile_core::ids::{LastFour, OrderNumber, SessionId, TicketId, Zone};
use stile_core::ticket::{CancelCause, TicketStatus};
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::limits::CODE_BYTES;

/// A ticket, and the line of the file that it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedLine {
    /// From 1, counted by line breaks, those inside quotes included.
    pub line: u64,
    /// What stands there.
    pub ticket: TicketLine,
}

/// A piece of a file, for whoever puts its tickets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Its tickets, in the order of the file. The same one may come twice: the later line stands.
    pub tickets: Vec<NumberedLine>,
    /// Its lines that could not be read: the ticket of each, where that could be read.
    pub unread: Vec<Option<TicketId>>,
}

/// One ticket of an import. An upsert replaces all of an existing ticket but its status, so a
/// column that is absent and one that is empty say the same: there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketLine {
    /// The booking system's id.
    pub ticket_id: TicketId,
    /// The order that it belongs to.
    pub order_number: OrderNumber,
    /// The session that it enters; whether there is one is the sink's to know.
    pub session_id: SessionId,
    /// The holder's name, masked; empty if none.
    pub holder_mask: String,
    /// The last four digits of the holder's phone.
    pub last_four: Option<LastFour>,
    /// That phone in full, where it is written in full: for venues whose codes are bound to it.
    pub phone: Option<Phone>,
    /// The holder's document, where the venue takes them: to be hashed and dropped.
    pub document: Option<Document>,
    /// The code that the booking system printed on it, where it has codes of its own.
    pub code: Option<OpaqueCode>,
    /// Persons that it admits, 1 to 255.
    pub admits: u8,
    /// Zones that it opens; empty means those of its session.
    pub zones: Vec<Zone>,
    /// What the guard reads, such as a seat ("A-12-5"); empty if none.
    pub label: String,
    /// Ticket category; empty if none.
    pub category: String,
    /// What a guard must look at; may have several lines; empty if nothing.
    pub attention: String,
    /// Start of its own admission window, if it has one.
    pub admit_from: Option<EpochSeconds>,
    /// End (exclusive) of its own admission window, if it has one; lies after `admit_from`.
    pub admit_until: Option<EpochSeconds>,
    /// Where it stands, if the line says so. None leaves an existing ticket as it stands.
    pub status: Option<TicketStatus>,
    /// Why it was cancelled; only where `status` is cancelled.
    pub cancel_cause: Option<CancelCause>,
    /// The channel it was booked by; empty if none.
    pub source: String,
    /// Age group of the holder; empty if none.
    pub age_group: String,
    /// The booking system's own count of changes to this ticket. The sink refuses a line whose
    /// count is lower than the stored one.
    pub source_version: Option<i64>,
}

/// A full phone number, digits only. Zeroized, never printed; the store keeps it sealed, and only
/// where codes are verified with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Phone(Zeroizing<String>);

impl Phone {
    /// Takes digits.
    pub(super) fn new(digits: Zeroizing<String>) -> Self {
        Self(digits)
    }

    /// The digits.
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Phone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Phone(…)")
    }
}

/// The text in the QR of a booking system without signatures: 1 to 256 bytes of printable ASCII.
/// It opens gates, so it is not printed in debug output; the store keeps its hash only.
#[derive(Clone, PartialEq, Eq)]
pub struct OpaqueCode(String);

impl OpaqueCode {
    /// Takes a text that can be a code. Whether it fits the venue's shapes is not asked here.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=CODE_BYTES).contains(&text.len())
            && text.bytes().all(|b| (0x20..0x7F).contains(&b));
        fits.then(|| Self(text.to_owned()))
    }

    /// The text as a scanner reads it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for OpaqueCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpaqueCode(…)")
    }
}
