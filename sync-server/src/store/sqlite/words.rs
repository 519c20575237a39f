//! The words that stand in the database for the domain's enumerations. They never change: rows
//! written years ago are read with them.

use stile_core::admissions::Way;
use stile_core::protocol::{
    AlarmKind, DeviceStanding, OperatorRole, QuarantineCause, ReconciliationForm, RecordStanding,
};
use stile_core::ticket::{CancelCause, DigitsOf, Direction, Reentry, SessionStatus, TicketStatus};

use crate::store::{EventKind, RetentionJob, Scope, SecretKind, Source};

/// An enumeration whose members have words.
pub(super) trait Word: Sized {
    /// The member's word.
    fn word(self) -> &'static str;
    /// The member of a word.
    fn of_word(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($name:ident { $($member:ident = $word:literal,)* })*) => {$(
        impl Word for $name {
            fn word(self) -> &'static str {
                match self { $(Self::$member => $word,)* }
            }

            fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$member),)* _ => None }
            }
        }
    )*};
}

words! {
    TicketStatus { Pending = "pending", Valid = "valid", Blocked = "blocked", Cancelled = "cancelled", }
    CancelCause {
        Visitor = "visitor",
        Operator = "operator",
        Refunded = "refunded",
        Expired = "expired",
        SessionCancelled = "session_cancelled",
    }
    DigitsOf { Phone = "phone", Document = "document", }
    Direction { In = "in", Out = "out", }
    Reentry { None = "none", AfterExit = "after_exit", Free = "free", }
    SessionStatus { Open = "open", Cancelled = "cancelled", }
    OperatorRole { Guard = "guard", Supervisor = "supervisor", }
    Way { Entry = "entry", Exit = "exit", }
    RecordStanding { Winner = "winner", Loser = "loser", }
    QuarantineCause {
        UnknownTicket = "unknown_ticket",
        ForeignVenue = "foreign_venue",
        IdTaken = "id_taken",
        SequenceTaken = "sequence_taken",
        RevokedDevice = "revoked_device",
        ForgottenDevice = "forgotten_device",
    }
    DeviceStanding {
        Enrolled = "enrolled",
        Revoked = "revoked",
        Forgotten = "forgotten",
    }
    Scope {
        TicketsWrite = "tickets:write",
        CodesMint = "codes:mint",
        RecordsRead = "records:read",
        Admin = "admin",
    }
    EventKind {
        SessionFinalized = "session.finalized",
        ConflictOpened = "conflict.opened",
        ConflictCleared = "conflict.cleared",
        AlarmOpened = "alarm.opened",
        AlarmEnded = "alarm.ended",
    }
    AlarmKind {
        Capacity80 = "capacity_80",
        Capacity100 = "capacity_100",
        NoTicketsTomorrow = "no_tickets_tomorrow",
        FeedSilent = "feed_silent",
        ReconciliationDiffers = "reconciliation_differs",
        ReconciliationOverdue = "reconciliation_overdue",
    }
    ReconciliationForm {
        Set = "set",
        PutDay = "put_day",
        Digest = "digest",
        Nightly = "nightly",
    }
    Source { Log = "log", Events = "events", }
    RetentionJob {
        Phones = "phones",
        DocumentKeys = "document_keys",
        Hashes = "hashes",
        Acts = "acts",
        Records = "records",
        Quarantine = "quarantine",
        Events = "events",
        RecordIds = "record_ids",
    }
    SecretKind {
        Root = "root",
        List = "list",
        Code = "code",
        Issuer = "issuer",
        Numbering = "numbering",
        Cursor = "cursor",
        Bearer = "bearer",
        V1Shared = "v1_shared",
    }
}
