//! Records: what a device logs, one JSON text each, never changed once written. The same bytes
//! lie in the journal, travel in signed batches and are kept by the server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admissions::Way;
use crate::clock::Trust;
use crate::codes::Format;
use crate::ids::{
    Checkpoint, DeviceId, GateId, Kid, LogId, OperatorId, RecordId, SessionId, TicketId,
    TicketNumber, VenueId,
};
use crate::reason::Reason;
use crate::ticket::Direction;
use crate::time::{EpochMillis, ServiceDay};

/// One record of a device's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Record {
    /// Its own id, made with it and never again.
    pub id: RecordId,
    /// The log that it stands in.
    pub log_id: LogId,
    /// Its place in that log, from 1, without gaps.
    pub sequence: u64,
    /// The venue that the device was enrolled in when it wrote this.
    pub venue_id: VenueId,
    /// The device.
    pub device_id: DeviceId,
    /// The gate that the device served.
    pub gate_id: GateId,
    /// That gate's checkpoint.
    pub checkpoint: Checkpoint,
    /// When, by the device's trusted clock.
    pub at: EpochMillis,
    /// Uncertainty of that time, in ms.
    pub u_ms: i64,
    /// How far that time could be trusted.
    pub trust: Trust,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// The kinds of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// One reading at a gate, whatever came of it.
    Scan(Scan),
    /// A refusal that a supervisor waived, or the try.
    Override(Override),
    /// An admission taken back, or the try.
    Undo(Undo),
    /// What a sensor said of the passage behind an admission.
    Passage(Passage),
    /// An admission whose visitor had not passed when the power failed is carried out now.
    Resume(Resume),
    /// Persons let in, or out, without a ticket.
    WalkIn(WalkIn),
    /// The gate stands open for everybody, or does so no longer.
    FreePassage(FreePassage),
    /// A supervisor set the clock's floor anew.
    ClockSet(ClockSet),
    /// Refusals above those that are kept one by one.
    Refusals(Refusals),
}

/// Whom a record moves past its checkpoint, for the fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moves {
    /// The ticket.
    pub ticket_number: TicketNumber,
    /// Its day; none for a ticket that no held list had.
    pub service_day: Option<ServiceDay>,
    /// Entry or exit.
    pub way: Way,
    /// Persons.
    pub persons: u8,
    /// Whether server or hub had granted a claim.
    pub claim_granted: bool,
    /// Whether a supervisor waived `already_used` for it.
    pub waived_already_used: bool,
}

impl Record {
    /// Whom it moves, if it admits a ticket or lets a listed one out. Practice moves nobody.
    pub fn moves(&self) -> Option<Moves> {
        let (scan, waived): (_, &[Reason]) = match &self.what {
            What::Scan(scan) => (scan, &[]),
            What::Override(one) if one.denied.is_none() => (&one.scan, &one.waived),
            _ => return None,
        };
        let way = match scan.direction {
            Direction::In => Way::Entry,
            Direction::Out => Way::Exit,
        };
        let counts = scan.verdict == Answer::Admit && !scan.flags.contains(&Flag::Practice);
        let listed = scan.service_day.is_some();
        if !counts || (way == Way::Exit && !listed) {
            return None;
        }
        Some(Moves {
            ticket_number: scan.ticket_number?,
            service_day: scan.service_day.clone(),
            way,
            persons: scan.persons,
            claim_granted: scan.claim == Some(ClaimOutcome::Granted),
            waived_already_used: waived.contains(&Reason::AlreadyUsed),
        })
    }

    /// The record that counts no longer by this one: undone, or nobody passed.
    pub fn takes_back(&self) -> Option<RecordId> {
        match &self.what {
            What::Undo(undo) if undo.denied.is_none() => undo
                .refers_to
                .filter(|_| !undo.flags.contains(&Flag::Practice)),
            What::Passage(passage) if passage.frees => passage.refers_to,
            _ => None,
        }
    }

    /// Whether it was made in practice mode.
    pub fn is_practice(&self) -> bool {
        let flags: &[Flag] = match &self.what {
            What::Scan(scan) => &scan.flags,
            What::Override(one) => &one.scan.flags,
            What::Undo(undo) => &undo.flags,
            What::WalkIn(walk_in) => &walk_in.flags,
            _ => &[],
        };
        flags.contains(&Flag::Practice)
    }
}

/// How a reading came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A code was read.
    Code,
    /// Staff looked the ticket up.
    LookUp,
    /// Staff admitted it with its order.
    Order,
    /// An identity document was read.
    Document,
}

/// Whether the gate could ask anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Server or hub answered lately.
    Online,
    /// Neither did.
    Isolated,
}

/// `admit` or `refuse`, as records and answers say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The gate opens.
    Admit,
    /// It stays shut.
    Refuse,
}

/// What a record notes beside its verdict.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Admitted by a verified G2 code whose ticket was in no list.
    Unlisted,
    /// Admitted by a v1 code that nobody could verify.
    Unverified,
    /// The code was of a newer issue than the list knew.
    NewerRevision,
    /// The list was past its `not_after`.
    StaleList,
    /// Made in practice mode: counts nowhere.
    Practice,
}

/// What came of asking server or hub before an admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// The admission was free, and is this gate's now.
    Granted,
    /// Another gate had it.
    Denied,
    /// No answer came in time.
    NoAnswer,
}

/// Why an undo or an override was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Denied {
    /// There is no such admission of this device, or no refused reading just before.
    NothingThere,
    /// It is taken back already.
    AlreadyUndone,
    /// Too long ago.
    TooLate,
    /// No reason was given.
    NoReason,
    /// The PIN is no supervisor's.
    WrongPin,
    /// Too many wrong PINs; wait.
    LockedOut,
    /// The refusal may not be waived, at this venue or at all.
    NotWaivable,
    /// A further reason stands against it, which was not waived by name.
    FurtherReason,
}

/// One reading of a code at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Scan {
    /// How it came about.
    pub via: Via,
    /// Which way people pass the gate.
    pub direction: Direction,
    /// The ticket, once the code says which and is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// Its number, likewise; an unlisted G2 code knows only this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_number: Option<TicketNumber>,
    /// Its session, if listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The day of that session, if listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
    /// The code's format; none for `malformed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The key that the code names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<Kid>,
    /// HMAC-SHA256 of the text under a random key of the log, first 16 bytes in hex; none for
    /// `malformed`, nor for a document, whose number could be guessed from it. Tells two readings of one text without telling the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_hash: Option<String>,
    /// The verdict.
    pub verdict: Answer,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Persons admitted; 0 when refused.
    pub persons: u8,
    /// Whether anybody could be asked.
    pub mode: Mode,
    /// What server or hub said to the claim, if one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimOutcome>,
    /// Who was signed in at the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorId>,
    /// From the reading to the verdict, in µs.
    pub decision_us: u32,
    /// What else is to be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The ticket's booking channel, where the venue uses it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The ticket's age group, where the venue uses it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub age_group: String,
}

/// A supervisor lets in whom the gate refused. Counts in the fold like a scan that admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Override {
    /// The verdict with what was waived left out, and everything that a scan holds. `reason` is
    /// the one that still stands, if one does.
    #[serde(flatten)]
    pub scan: Scan,
    /// The refused reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to: Option<RecordId>,
    /// Each reason that was waived, by name.
    pub waived: Vec<Reason>,
    /// Whose PIN it was; none if it was nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<OperatorId>,
    /// The supervisor's words.
    pub why: String,
    /// Why it was not carried out, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denied>,
}

/// An admission, exit or walk-in of this device is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Undo {
    /// What is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to: Option<RecordId>,
    /// Its ticket, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// That ticket's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_number: Option<TicketNumber>,
    /// That ticket's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The day that it was counted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
    /// Whether the person in front of the guard is not the one that the ticket names.
    #[serde(default)]
    pub mismatch: bool,
    /// The guard's words.
    pub why: String,
    /// Who was signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorId>,
    /// Why it was not carried out, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denied>,
    /// What else is to be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// What a sensor said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassageOutcome {
    /// Somebody passed.
    Passed,
    /// The arm closed, and nobody had.
    NotPassed,
}

/// A passage, or that there was none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Passage {
    /// The admission that the gate had opened for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to: Option<RecordId>,
    /// What the sensor said.
    pub outcome: PassageOutcome,
    /// Whether it gives the admission back: once per ticket, when nobody passed. The fold leaves
    /// the admission out, as after an undo.
    #[serde(default)]
    pub frees: bool,
    /// The ticket's number, where it frees one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_number: Option<TicketNumber>,
    /// The day that the admission was counted on, where it frees one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
}

/// An admission from before a crash, carried out once. Moves nobody in the fold: the admission
/// stands already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resume {
    /// The admission.
    pub refers_to: RecordId,
    /// Its ticket, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// Its number, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_number: Option<TicketNumber>,
    /// Always 0.
    pub persons: u8,
}

/// Persons without a ticket: a child, a guest, staff. Counts inside; has no conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WalkIn {
    /// Which way they passed.
    pub direction: Direction,
    /// How many.
    pub persons: u8,
    /// One of the venue's categories.
    pub category: String,
    /// The day that they count to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
    /// Who was signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorId>,
    /// What else is to be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// What opened a gate for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FreePassageCause {
    /// The emergency input.
    Emergency,
    /// The venue's schedule.
    Scheduled,
    /// A person, by command.
    Staff,
}

/// Begin or end of free passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FreePassage {
    /// True where it begins.
    pub begins: bool,
    /// What opened the gate.
    pub cause: FreePassageCause,
    /// The words of whoever opened it; empty where nobody did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// At its end: passages counted meanwhile, where a sensor counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<u64>,
    /// At its end: the record of its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to: Option<RecordId>,
}

/// A supervisor corrected the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClockSet {
    /// What the device took for the time before.
    pub from: EpochMillis,
    /// What it takes for the time now.
    pub to: EpochMillis,
    /// Whose PIN it was.
    pub supervisor: OperatorId,
    /// The supervisor's words.
    pub why: String,
}

/// Refusals of one minute and reason above those that have a record each: noise, or somebody who
/// tries codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refusals {
    /// Why.
    pub reason: Reason,
    /// Start of the minute.
    pub minute: EpochMillis,
    /// How many.
    pub count: u32,
}
