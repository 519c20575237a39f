//! What the guard at the screen has said to the scan loop: how many persons the next reading
//! admits, and whether it may be a staff QR. Read on the way of each reading, so it never waits
//! for anything but itself.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stile_core::device::{Say, ScanOutcome};
use stile_core::ids::{RecordId, TicketId};
use stile_core::verdict::Verdict;

/// How an admission came about, so that more persons can follow by the same ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// This was read.
    Reading(Vec<u8>),
    /// This ticket was looked up.
    Ticket(TicketId),
}

/// Takes a reading for a staff QR; false if it is none and goes to the gate.
pub type TakeBadge = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What screen and scan loop share.
pub struct Guard {
    take_badge: TakeBadge,
    awaits_badge: AtomicBool,
    /// 0 says nothing.
    next_persons: AtomicU8,
    admitted: Mutex<Option<(RecordId, Way)>>,
}

impl Guard {
    /// A guard who has said nothing yet.
    pub fn new(take_badge: TakeBadge) -> Self {
        Self {
            take_badge,
            awaits_badge: AtomicBool::new(false),
            next_persons: AtomicU8::new(0),
            admitted: Mutex::default(),
        }
    }

    /// The next reading may be a staff QR, or no longer.
    pub fn await_badge(&self, awaits: bool) {
        self.awaits_badge.store(awaits, Ordering::Relaxed);
    }

    /// The next reading admits so many persons.
    pub fn set_next_persons(&self, persons: u8) {
        self.next_persons.store(persons, Ordering::Relaxed);
    }

    /// Whether a reading is no visitor's: it was taken for a staff QR.
    pub fn takes(&self, reading: &[u8]) -> bool {
        self.awaits_badge.load(Ordering::Relaxed) && (self.take_badge)(reading)
    }

    /// What the guard says to the next reading, and to that alone.
    pub fn say(&self) -> Say {
        let persons = self.next_persons.swap(0, Ordering::Relaxed);
        Say {
            persons: (persons > 0).then_some(persons),
            one_more: false,
        }
    }

    /// What came of a reading or a look-up; a repeat shows its first admission again.
    pub fn saw(&self, outcome: &ScanOutcome, way: Way) {
        let record_id = outcome.record_id.or(outcome.repeats);
        if let (Verdict::Admit(_), Some(record_id)) = (&outcome.verdict, record_id) {
            *self.admitted() = Some((record_id, way));
        }
    }

    /// How an admission came about, if it is the last one.
    pub fn way_of(&self, admission: RecordId) -> Option<Way> {
        let admitted = self.admitted();
        let last = admitted.as_ref().filter(|(id, _)| *id == admission);
        last.map(|(_, way)| way.clone())
    }

    fn admitted(&self) -> MutexGuard<'_, Option<(RecordId, Way)>> {
        // A value is put in whole or not at all.
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
