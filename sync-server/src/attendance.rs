//! Attendance, counted from the rows of a day's list and what their tickets did. Knows no storage:
//! an engine hands over what it reads, ticket by ticket.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use stile_core::admissions::{Fold, Movement, attended, fold};
use stile_core::ids::{Checkpoint, GateId, RecordId, SessionId, Zone};
use stile_core::protocol::{
    Attendance, AttendanceGroup, Finality, RecordHead, SessionAttendance, SessionFinality,
    WalkInCount, ZoneOccupancy,
};
use stile_core::ticket::{Capacity, Gate, Session};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use crate::admissions::{UnreadableRecord, movement_of};
use crate::occupancy::{GateZones, Inside, share};

/// What counts are told apart by.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    utoipa::ToSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum GroupBy {
    /// Session and service day.
    #[default]
    Session,
    /// The venue's business date.
    ServiceDay,
    /// The date in the venue's zone on which the session starts.
    NaturalDay,
    /// The gate of each check-in.
    Gate,
    /// The hour of each check-in, in the venue's zone.
    Hour,
    /// The ticket's category.
    Category,
}

/// What is counted.
#[derive(Debug, Clone)]
pub struct AttendanceQuery {
    /// The first service day.
    pub from: ServiceDay,
    /// The last one, included.
    pub to: ServiceDay,
    /// What counts are told apart by.
    pub by: GroupBy,
    /// The venue's zone.
    pub zone: TimeZone,
    /// Now.
    pub now: EpochMillis,
}

/// What a count is of, in the order of the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Session(ServiceDay, EpochSeconds, SessionId),
    Named(String),
}

/// Counts attendance.
#[derive(Debug)]
pub struct Tally {
    by: GroupBy,
    zone: TimeZone,
    gates: GateZones,
    groups: BTreeMap<Group, Counts>,
    sessions: BTreeSet<SessionId>,
    refused_elsewhere: BTreeMap<String, u64>,
    walk_ins: Vec<WalkInCount>,
}

/// What is counted of a group.
#[derive(Debug, Default)]
struct Counts {
    name: String,
    persons: u64,
    tickets: u64,
    expected: u64,
    booked: u64,
    check_ins: u64,
    undone: u64,
    overrides: u64,
    after_cancel: u64,
    late_check_ins: u64,
    absent_tickets: u64,
    refused: BTreeMap<String, u64>,
    /// The sessions of its tickets.
    sessions: BTreeSet<SessionId>,
    conflicts_open: u64,
    conflicts_cleared: u64,
    inside: Inside,
    capacity: Option<Capacity>,
    zone_capacities: BTreeMap<Zone, Capacity>,
}

impl Counts {
    fn check_in(&mut self, one: &CheckIn) {
        self.check_ins += 1;
        self.undone += u64::from(one.taken_back);
        self.overrides += u64::from(one.is_override);
        self.after_cancel += u64::from(one.after_cancel);
        self.late_check_ins += u64::from(one.late);
    }
}

/// What is counted of a check-in.
struct CheckIn {
    id: RecordId,
    gate: GateId,
    at: EpochMillis,
    persons: u8,
    taken_back: bool,
    is_override: bool,
    after_cancel: bool,
    late: bool,
}

/// A refused reading, or several of one reason.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// When, by the device's clock.
    pub at: EpochMillis,
    /// Where.
    pub gate: GateId,
    /// The day that it counts to.
    pub day: ServiceDay,
    /// The ticket's category, if a ticket of ours was read.
    pub category: Option<String>,
}

/// A ticket as it stands, or stood, in a day's list.
#[derive(Debug, Clone)]
pub struct TicketOfDay {
    /// Persons that it admits.
    pub admits: u8,
    /// Its category.
    pub category: String,
    /// Whether it is there, whatever its status.
    pub is_booked: bool,
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
    /// Nothing counted yet.
    pub fn new(by: GroupBy, zone: TimeZone, gates: Vec<Gate>) -> Self {
        Self {
            by,
            zone,
            gates: GateZones::of(gates),
            groups: BTreeMap::new(),
            sessions: BTreeSet::new(),
            refused_elsewhere: BTreeMap::new(),
            walk_ins: Vec::new(),
        }
    }

    /// A session that takes place on the day, whether or not anybody comes.
    pub fn session(&mut self, session: &Session) {
        if self.by == GroupBy::Session {
            let group = self.session_group(session, &session.service_day);
            self.of(group, Some(session));
        }
    }

    /// A ticket of a day's list, with all that it did on that day.
    pub fn ticket(
        &mut self,
        session: &Session,
        day: &ServiceDay,
        ticket: &TicketOfDay,
        movements: Vec<TicketMovement>,
    ) -> Result<(), UnreadableRecord> {
        if movements.is_empty() && !ticket.is_expected && !ticket.is_booked {
            return Ok(());
        }
        let mut check_ins = Vec::new();
        let mut checkpoints: BTreeMap<Checkpoint, Vec<Movement>> = BTreeMap::new();
        for movement in movements {
            let head: RecordHead = serde_json::from_slice(&movement.bytes)?;
            if head.is_check_in() {
                check_ins.push(CheckIn {
                    id: head.id,
                    gate: head.gate_id.clone(),
                    at: head.at,
                    persons: head.persons,
                    taken_back: movement.taken_back,
                    is_override: head.kind == "override",
                    after_cancel: movement.after_cancel,
                    late: movement.late_after_final,
                });
            }
            if !movement.taken_back {
                let here = checkpoints.entry(movement.checkpoint).or_default();
                here.extend(movement_of(head));
            }
        }
        if self.by == GroupBy::Session {
            let group = self.session_group(session, day);
            self.of(group.clone(), Some(session));
            if let Some(counts) = self.groups.get_mut(&group) {
                let (admits, reentry) = (ticket.admits, session.reentry);
                counts
                    .inside
                    .add(admits, reentry, &checkpoints, &self.gates);
            }
        }
        let folds = checkpoints
            .into_values()
            .map(|movements| fold(ticket.admits, session.reentry, movements));
        let folds: Vec<Fold> = folds.collect();
        match self.by {
            GroupBy::Gate | GroupBy::Hour => self.add_where(&check_ins, &folds),
            _ => self.add_ticket(session, day, ticket, &check_ins, &folds),
        }
        Ok(())
    }

    /// Counts a ticket where it belongs.
    fn add_ticket(
        &mut self,
        session: &Session,
        day: &ServiceDay,
        ticket: &TicketOfDay,
        check_ins: &[CheckIn],
        folds: &[Fold],
    ) {
        let group = match self.by {
            GroupBy::NaturalDay => Group::Named(self.date(session.starts_at.millis())),
            GroupBy::Category => Group::Named(ticket.category.clone()),
            GroupBy::ServiceDay => Group::Named(day.to_string()),
            GroupBy::Session | GroupBy::Gate | GroupBy::Hour => self.session_group(session, day),
        };
        let came = folds
            .iter()
            .map(|fold| u64::from(attended(ticket.admits, session.reentry, fold)));
        let persons = came.max().unwrap_or(0);
        let all = u64::from(ticket.admits);
        let counts = self.of(group, Some(session));
        check_ins.iter().for_each(|one| counts.check_in(one));
        counts.persons += persons;
        counts.tickets += u64::from(persons > 0);
        counts.expected += if ticket.is_expected { all } else { persons };
        counts.booked += if ticket.is_booked { all } else { persons };
        counts.absent_tickets += u64::from(ticket.is_expected && persons == 0);
    }

    /// Counts check-ins at the gates, or in the hours, at which they were made.
    fn add_where(&mut self, check_ins: &[CheckIn], folds: &[Fold]) {
        let losers: HashSet<_> = folds.iter().flat_map(|fold| &fold.losers).collect();
        let mut came = BTreeSet::new();
        for one in check_ins {
            let group = self.place(&one.gate, one.at);
            let counts = self.of(group.clone(), None);
            counts.check_in(one);
            if !one.taken_back && !losers.contains(&one.id) {
                counts.persons += u64::from(one.persons);
                came.insert(group);
            }
        }
        for group in came {
            self.of(group, None).tickets += 1;
        }
    }

    /// Readings that were refused.
    pub fn refused(&mut self, session: Option<&Session>, refused: &Refused) {
        let group = match (self.by, session, &refused.category) {
            (GroupBy::Session, Some(session), _) => self.session_group(session, &refused.day),
            (GroupBy::ServiceDay, ..) => Group::Named(refused.day.to_string()),
            (GroupBy::NaturalDay, Some(session), _) => {
                Group::Named(self.date(session.starts_at.millis()))
            }
            (GroupBy::NaturalDay, None, _) => Group::Named(self.date(refused.at)),
            (GroupBy::Gate | GroupBy::Hour, ..) => self.place(&refused.gate, refused.at),
            (GroupBy::Category, _, Some(category)) => Group::Named(category.clone()),
            (GroupBy::Session, None, _) | (GroupBy::Category, _, None) => {
                let of_reason = self.refused_elsewhere.entry(refused.reason.clone());
                *of_reason.or_default() += refused.count;
                return;
            }
        };
        let session = session.filter(|_| self.by == GroupBy::Session);
        let counts = self.of(group, session);
        *counts.refused.entry(refused.reason.clone()).or_default() += refused.count;
    }

    /// A conflict of one of a session's tickets.
    pub fn conflict(&mut self, session: &Session, day: &ServiceDay, is_cleared: bool) {
        if self.by != GroupBy::Session {
            return;
        }
        let group = self.session_group(session, day);
        let counts = self.of(group, Some(session));
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
        self.sessions.iter().cloned().collect()
    }

    /// What was counted, with how complete each session of [`Self::session_ids`] is.
    pub fn finish(self, finality: Vec<SessionFinality>) -> Attendance {
        let finality: HashMap<_, _> = finality
            .into_iter()
            .map(|one| (one.session_id, one.finality))
            .collect();
        let (mut sessions, mut groups) = (Vec::new(), Vec::new());
        for (group, counts) in self.groups {
            match group {
                Group::Named(name) => groups.push(of_group(self.by, name, counts, &finality)),
                Group::Session(day, starts_at, id) => {
                    let known = finality.get(&id).cloned();
                    sessions
                        .extend(known.map(|known| of_session(day, starts_at, id, counts, known)));
                }
            }
        }
        Attendance {
            sessions,
            groups,
            refused_elsewhere: self.refused_elsewhere,
            walk_ins: self.walk_ins,
            kept_since: None,
        }
    }

    fn session_group(&self, session: &Session, day: &ServiceDay) -> Group {
        Group::Session(day.clone(), session.starts_at, session.session_id.clone())
    }

    fn place(&self, gate: &GateId, at: EpochMillis) -> Group {
        Group::Named(match self.by {
            GroupBy::Gate => gate.to_string(),
            _ => self.local(at, "%Y-%m-%dT%H:00"),
        })
    }

    fn date(&self, at: EpochMillis) -> String {
        self.local(at, "%Y-%m-%d")
    }

    /// Empty for a time that no calendar has.
    fn local(&self, at: EpochMillis, format: &str) -> String {
        let at = Timestamp::from_millisecond(at.0);
        at.map_or_else(
            |_| String::new(),
            |at| {
                at.to_zoned_datetime(self.zone.clone())
                    .strftime(format)
                    .to_string()
            },
        )
    }

    fn of(&mut self, group: Group, session: Option<&Session>) -> &mut Counts {
        let counts = self.groups.entry(group).or_default();
        if let Some(session) = session {
            if counts.sessions.is_empty() {
                counts.inside = Inside::of(session);
                counts.capacity = session.capacity;
                counts.zone_capacities.clone_from(&session.zone_capacities);
            }
            counts.name.clone_from(&session.name);
            counts.sessions.insert(session.session_id.clone());
            self.sessions.insert(session.session_id.clone());
        }
        counts
    }
}

fn of_session(
    service_day: ServiceDay,
    starts_at: EpochSeconds,
    session_id: SessionId,
    counts: Counts,
    finality: Finality,
) -> SessionAttendance {
    let is_final = finality.finalized_at.is_some();
    SessionAttendance {
        session_id,
        service_day,
        name: counts.name,
        starts_at,
        persons: counts.persons,
        tickets: counts.tickets,
        inside: counts.inside.persons,
        capacity: counts.capacity,
        share_of_capacity: counts
            .capacity
            .map(|capacity| share(counts.inside.persons, capacity)),
        zones: counts
            .zone_capacities
            .into_iter()
            .map(|(zone, capacity)| {
                let inside = counts.inside.zones.get(&zone).copied().unwrap_or(0);
                ZoneOccupancy {
                    zone,
                    inside,
                    capacity,
                    share_of_capacity: share(inside, capacity),
                }
            })
            .collect(),
        expected: counts.expected,
        booked: counts.booked,
        rate_of_expected: rate(counts.persons, counts.expected),
        rate_of_booked: rate(counts.persons, counts.booked),
        refused: counts.refused,
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
    }
}

fn of_group(
    by: GroupBy,
    name: String,
    counts: Counts,
    finality: &HashMap<SessionId, Finality>,
) -> AttendanceGroup {
    let is_expected = !matches!(by, GroupBy::Gate | GroupBy::Hour);
    let is_open = |id: &&SessionId| {
        let known = finality.get(*id);
        known.is_none_or(|known| known.finalized_at.is_none())
    };
    let open = counts.sessions.iter().filter(is_open).count() as u64;
    let (expected, booked) = (
        is_expected.then_some(counts.expected),
        is_expected.then_some(counts.booked),
    );
    let is_final = is_expected && open == 0;
    AttendanceGroup {
        name,
        persons: counts.persons,
        tickets: counts.tickets,
        expected,
        booked,
        rate_of_expected: expected.and_then(|of| rate(counts.persons, of)),
        rate_of_booked: booked.and_then(|of| rate(counts.persons, of)),
        refused: counts.refused,
        check_ins: counts.check_ins,
        undone: counts.undone,
        overrides: counts.overrides,
        after_cancel: counts.after_cancel,
        late_check_ins: counts.late_check_ins,
        no_show: is_final.then(|| counts.expected.saturating_sub(counts.persons)),
        no_show_tickets: is_final.then_some(counts.absent_tickets),
        open_sessions: is_expected.then_some(open),
    }
}

/// To four places, which is a hundredth of a percent.
fn rate(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| ((part as f64 / of as f64) * 10_000.0).round() / 10_000.0)
}
