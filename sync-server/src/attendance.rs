//! Attendance, counted from the rows of a day's list and what their tickets did. Knows no storage:
//! an engine hands over what it reads, ticket by ticket.

use std::collections::{BTreeMap, HashMap};

use stile_core::admissions::{Movement, attended, fold};
use stile_core::ids::{Checkpoint, SessionId};
use stile_core::protocol::{
    Attendance, RecordHead, SessionAttendance, SessionFinality, WalkInCount,
};
use stile_core::ticket::Session;
use stile_core::time::{EpochSeconds, ServiceDay};

use crate::admissions::{UnreadableRecord, movement_of};

/// Counts attendance.
#[derive(Debug, Default)]
pub struct Tally {
    sessions: BTreeMap<(ServiceDay, EpochSeconds, SessionId), Counts>,
    walk_ins: Vec<WalkInCount>,
}

/// What is counted of a session on a day.
#[derive(Debug, Default)]
struct Counts {
    name: String,
    persons: u64,
    tickets: u64,
    expected: u64,
    absent_tickets: u64,
    check_ins: u64,
    undone: u64,
    overrides: u64,
    after_cancel: u64,
    late_check_ins: u64,
    conflicts_open: u64,
    conflicts_cleared: u64,
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
    /// Whether it came after its session was final.
    pub late_after_final: bool,
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
                counts.late_check_ins += u64::from(movement.late_after_final);
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
        counts.absent_tickets += u64::from(ticket.is_expected && persons == 0);
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

    /// The sessions that something was counted of.
    pub fn session_ids(&self) -> Vec<SessionId> {
        let keys = self.sessions.keys();
        keys.map(|(_, _, id)| id.clone()).collect()
    }

    /// What was counted, with how complete each session of [`Self::session_ids`] is.
    pub fn finish(self, finality: Vec<SessionFinality>) -> Attendance {
        let finality: HashMap<_, _> = finality
            .into_iter()
            .map(|one| (one.session_id, one.finality))
            .collect();
        let sessions = self.sessions.into_iter();
        let sessions = sessions.filter_map(|((service_day, starts_at, session_id), counts)| {
            let finality = finality.get(&session_id)?.clone();
            let is_final = finality.finalized_at.is_some();
            Some(SessionAttendance {
                session_id,
                service_day,
                name: counts.name,
                starts_at,
                persons: counts.persons,
                tickets: counts.tickets,
                expected: counts.expected,
                check_ins: counts.check_ins,
                undone: counts.undone,
                overrides: counts.overrides,
                after_cancel: counts.after_cancel,
                conflicts_open: counts.conflicts_open,
                conflicts_cleared: counts.conflicts_cleared,
                late_check_ins: counts.late_check_ins,
                no_show: is_final.then(|| counts.expected.saturating_sub(counts.persons)),
                no_show_tickets: is_final.then_some(counts.absent_tickets),
                finality,
            })
        });
        Attendance {
            sessions: sessions.collect(),
            walk_ins: self.walk_ins,
        }
    }

    fn of(&mut self, session: &Session, day: &ServiceDay) -> &mut Counts {
        let id = session.session_id.clone();
        let key = (day.clone(), session.starts_at, id);
        self.sessions.entry(key).or_insert_with(|| Counts {
            name: session.name.clone(),
            ..Counts::default()
        })
    }
}
