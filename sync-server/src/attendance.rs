//! Attendance, counted from the rows of a day's list and what their tickets did. Knows no storage:
//! an engine hands over what it reads, ticket by ticket.

use std::collections::BTreeMap;

use stile_core::admissions::{Movement, attended, fold};
use stile_core::ids::{Checkpoint, SessionId};
use stile_core::protocol::{Attendance, RecordHead, SessionAttendance, WalkInCount};
use stile_core::ticket::Session;
use stile_core::time::{EpochSeconds, ServiceDay};

use crate::admissions::{UnreadableRecord, movement_of};

/// Counts attendance.
#[derive(Debug, Default)]
pub struct Tally {
    sessions: BTreeMap<(ServiceDay, EpochSeconds, SessionId), SessionAttendance>,
    walk_ins: Vec<WalkInCount>,
}

/// A ticket as it stands, or stood, in a day's list.
#[derive(Debug, Clone, Copy)]
pub struct TicketOfDay {
    /// Persons that it admits.
    pub admits: u8,
    /// Whether these persons are expected: the ticket itself, valid, of a session that takes
    /// place.
    pub is_expected: bool,
}

/// A record that moved people of a ticket.
#[derive(Debug, Clone)]
pub struct TicketMovement {
    /// Where.
    pub checkpoint: Checkpoint,
    /// Whether it was taken back.
    pub taken_back: bool,
    /// Whether its ticket was cancelled before its scan.
    pub after_cancel: bool,
    /// The record as the device wrote it.
    pub bytes: Vec<u8>,
}

impl Tally {
    /// A session that takes place on the day, whether or not anybody comes.
    pub fn session(&mut self, session: &Session) {
        self.of(session, &session.service_day);
    }

    /// A ticket of a day's list, with all that it did on that day.
    pub fn ticket(
        &mut self,
        session: &Session,
        day: &ServiceDay,
        ticket: TicketOfDay,
        movements: Vec<TicketMovement>,
    ) -> Result<(), UnreadableRecord> {
        if movements.is_empty() && !ticket.is_expected {
            return Ok(());
        }
        let counts = self.of(session, day);
        let mut checkpoints: BTreeMap<Checkpoint, Vec<Movement>> = BTreeMap::new();
        for movement in movements {
            let head: RecordHead = serde_json::from_slice(&movement.bytes)?;
            if head.is_check_in() {
                counts.check_ins += 1;
                counts.undone += u64::from(movement.taken_back);
                counts.overrides += u64::from(head.kind == "override");
                counts.after_cancel += u64::from(movement.after_cancel);
            }
            if !movement.taken_back {
                let here = checkpoints.entry(movement.checkpoint).or_default();
                here.extend(movement_of(head));
            }
        }
        let persons = checkpoints
            .into_values()
            .map(|movements| {
                let folded = fold(ticket.admits, session.reentry, movements);
                u64::from(attended(ticket.admits, session.reentry, &folded))
            })
            .max()
            .unwrap_or(0);
        counts.persons += persons;
        counts.tickets += u64::from(persons > 0);
        counts.expected += if ticket.is_expected {
            u64::from(ticket.admits)
        } else {
            persons
        };
        Ok(())
    }

    /// A conflict of one of its tickets.
    pub fn conflict(&mut self, session: &Session, day: &ServiceDay, is_cleared: bool) {
        let counts = self.of(session, day);
        if is_cleared {
            counts.conflicts_cleared += 1;
        } else {
            counts.conflicts_open += 1;
        }
    }

    /// Persons without a ticket.
    pub fn walk_ins(&mut self, count: WalkInCount) {
        self.walk_ins.push(count);
    }

    /// What was counted.
    pub fn finish(self) -> Attendance {
        Attendance {
            sessions: self.sessions.into_values().collect(),
            walk_ins: self.walk_ins,
        }
    }

    fn of(&mut self, session: &Session, day: &ServiceDay) -> &mut SessionAttendance {
        let id = session.session_id.clone();
        let key = (day.clone(), session.starts_at, id);
        self.sessions
            .entry(key)
            .or_insert_with(|| SessionAttendance {
                session_id: session.session_id.clone(),
                service_day: day.clone(),
                name: session.name.clone(),
                starts_at: session.starts_at,
                persons: 0,
                tickets: 0,
                expected: 0,
                check_ins: 0,
                undone: 0,
                overrides: 0,
                after_cancel: 0,
                conflicts_open: 0,
                conflicts_cleared: 0,
            })
    }
}
