//! Tickets, and the lists that they stand in.

use serde::{Deserialize, Serialize};
use stile_core::codes::document::DOCUMENT_HASH_BYTES;
use stile_core::ids::{LastFour, OrderNumber, SessionId, TicketId, TicketNumber, Zone};
use stile_core::ticket::{CancelCause, DigitsOf, Session, Standing, TicketStatus};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::Change;

/// What an upsert may set of a ticket, whatever it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketFields {
    /// The booking system's id.
    pub ticket_id: TicketId,
    /// Its order.
    pub order_number: OrderNumber,
    /// The session that it enters.
    pub session_id: SessionId,
    /// Zones that it opens; empty means those of its session.
    pub zones: Vec<Zone>,
    /// What the guard reads; empty if nothing.
    pub label: String,
    /// The holder's name, masked; empty if none.
    pub holder_mask: String,
    /// Last four digits of the holder's phone or document.
    pub last_four: Option<LastFour>,
    /// What they are of; none where there are none.
    pub last_four_of: Option<DigitsOf>,
    /// Ticket category; empty if none.
    pub category: String,
    /// What a guard must look at; empty if nothing.
    pub attention: String,
    /// The channel it was booked by; empty if none.
    pub source: String,
    /// Age group of the holder; empty if none.
    pub age_group: String,
    /// Persons that it admits.
    pub admits: u8,
    /// Start of its own admission window, if it has one.
    pub admit_from: Option<EpochSeconds>,
    /// End of its own admission window, exclusive, if it has one.
    pub admit_until: Option<EpochSeconds>,
    /// Hashes of its opaque codes.
    pub opaque_hashes: Vec<[u8; 16]>,
    /// What is kept of the holder's document, if it has one.
    pub document: Option<DocumentHash>,
    /// The booking system's count of changes, if it has one.
    pub source_version: Option<i64>,
}

impl TicketFields {
    /// Takes out all that says who the holder is, and how to recognise them; says whether there
    /// was anything.
    pub fn erase_holder(&mut self) -> bool {
        let before = self.clone();
        self.holder_mask.clear();
        self.attention.clear();
        (self.last_four, self.last_four_of) = (None, None);
        self.opaque_hashes.clear();
        self.document = None;
        *self != before
    }
}

/// What became of a ticket whose holder is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// It said something of its holder, and does no more.
    Now,
    /// It said nothing.
    Before,
    /// There is no such ticket.
    Unknown,
}

/// A document, as far as it is kept: a hash under one day's key. It goes along when the ticket
/// moves, and stands in the list of its own day alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentHash {
    /// The service day whose key it is hashed under.
    pub day: ServiceDay,
    /// The hash.
    pub hash: [u8; DOCUMENT_HASH_BYTES],
}

/// One line of an upsert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketUpsert {
    /// Its number, derived from its id.
    pub number: TicketNumber,
    /// The bucket of its number.
    pub bucket: u8,
    /// What it is to be.
    pub fields: TicketFields,
    /// Where it is to stand, if the line says so.
    pub status: Option<TicketStatus>,
    /// Why it was cancelled, where `status` is cancelled.
    pub cancel_cause: Option<CancelCause>,
    /// The holder's phone, sealed, where codes are verified with it; none forgets an old one.
    pub holder: Option<Vec<u8>>,
}

/// What became of a line of an upsert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upserted {
    /// It is as the line says.
    Put(Change),
    /// There is no such session.
    UnknownSession,
    /// The stored `source_version` is this, and the line's is lower.
    Outdated(i64),
    /// Its document is hashed under another day's key than its session's.
    OtherDay,
    /// Another ticket has this number.
    NumberTaken,
    /// Its session is of another day than the set that the line is of.
    NotOfDay,
}

/// A row of a day's list: a ticket, or the tombstone of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRow {
    /// Its number.
    pub number: TicketNumber,
    /// What an upsert sets.
    pub fields: TicketFields,
    /// Where it stands.
    pub status: TicketStatus,
    /// Why it was cancelled, if it was.
    pub cancel_cause: Option<CancelCause>,
    /// When the store took it to be cancelled or deleted; none while it is neither.
    pub cancelled_at: Option<EpochMillis>,
    /// Counts up when it is issued anew.
    pub revision: u8,
    /// The ticket itself, or a tombstone.
    pub standing: Standing,
    /// The list's version at the row's last change.
    pub version: u64,
}

/// A ticket with its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketInSession {
    /// The ticket; never a tombstone of a moved one.
    pub ticket: ListRow,
    /// Its session.
    pub session: Session,
}

/// What is done to a ticket. Doing it again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketAct {
    /// Cancels it, or changes the cause of a cancelled one, which stays cancelled since when it
    /// was.
    Cancel(CancelCause),
    /// Makes it valid if it is cancelled, and takes it out of the deleted ones if it is one.
    Restore,
    /// Moves it to another session, whose admission window it has from then on.
    Move(SessionId),
    /// Issues it anew: gives it this revision, which must be one more than it has.
    Reissue(u8),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acted {
    /// The ticket is so.
    Done(Box<TicketInSession>),
    /// There is no such ticket.
    NoTicket,
    /// There is no such session.
    NoSession,
    /// It has this revision, which is neither the one asked for nor the one before.
    HasRevision(u8),
}

/// What holds for a day's list as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListState {
    /// Counts up with each change of rows or settings; 1 at first.
    pub version: u64,
    /// The day's first moment.
    pub day_from: EpochSeconds,
    /// The first moment that is no longer the day's.
    pub day_until: EpochSeconds,
}
