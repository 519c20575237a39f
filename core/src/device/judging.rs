//! From what was read or looked up to a verdict: which ticket is meant, what it did so far, how
//! many persons are asked for. Writes nothing.

use std::sync::Arc;

use super::scan::TicketShown;
use super::{Device, Door};
use crate::admissions::{Fold, Movement, fold};
use crate::clock::Now;
use crate::codes::{self, Code, Format, Malformed};
use crate::ids::{Checkpoint, LastFour, OrderNumber, RecordId, TicketId, TicketNumber};
use crate::journal::MovementsOf;
use crate::key_manifest::KeyRing;
use crate::policy::{Party, Policy, V1Key};
use crate::reason::Reason;
use crate::record::Via;
use crate::ticket::{Direction, Gate, Reentry, Session, Standing, Ticket};
use crate::time::{EpochMillis, ServiceDay};
use crate::verdict::{Asked, Day, Judged, Listed, Question, Verdict, verdict};
use crate::whitelist::{HeldList, ListError};

/// Own admissions that name no day count for a ticket of no list if they are younger than this,
/// in ms (24 h), where no list says how long the day is.
const UNDATED_MS: i64 = 24 * 3_600_000;

/// What a verdict is wanted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// A reading, as it came.
    Reading(Vec<u8>),
    /// A ticket that staff chose.
    LookUp {
        ticket_id: TicketId,
        /// Its order, where it was chosen by that.
        order: Option<OrderNumber>,
        /// Digits of the person at the gate, where staff said them.
        last_four: Option<LastFour>,
    },
}

/// What is to be judged, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking<'a> {
    pub input: &'a Input,
    /// Persons, where staff chose; else as the venue's policy has it.
    pub persons: Option<u8>,
    /// When the code was read, if not now.
    pub read_at: Option<Now>,
    /// Reasons that a supervisor waived.
    pub waived: &'a [Reason],
    /// An admission that is left out of the fold: the one that is resumed.
    pub without: Option<RecordId>,
    /// Whether the server may be asked on the way.
    pub may_ask: bool,
    /// Whether it has just been asked in vain.
    pub nobody_answers: bool,
}

impl<'a> Asking<'a> {
    pub fn plain(input: &'a Input) -> Self {
        Self {
            input,
            persons: None,
            read_at: None,
            waived: &[],
            without: None,
            may_ask: true,
            nobody_answers: false,
        }
    }
}

/// A ticket as a held list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub ticket: Ticket,
    pub session: Option<Arc<Session>>,
    pub day: Arc<Day>,
}

impl Found {
    /// What the guard reads of it.
    pub fn shown(&self) -> TicketShown {
        TicketShown::of(&self.ticket, self.session.as_deref())
    }

    /// Its admission window.
    fn window(&self) -> (i64, i64) {
        let (ticket, session) = (&self.ticket, self.session.as_ref());
        let from = ticket.admit_from.or(session.map(|one| one.admit_from));
        let until = ticket.admit_until.or(session.map(|one| one.admit_until));
        (from.map_or(0, |at| at.0), until.map_or(0, |at| at.0))
    }

    /// Whether the list says the same of it, whatever the list's version.
    pub fn is_as(&self, before: &Found) -> bool {
        self.ticket == before.ticket && self.session == before.session
    }

    fn admits_at(&self, now: EpochMillis) -> bool {
        let (from, until) = self.window();
        (from..until).contains(&now.seconds().0)
    }
}

/// A question's parts, and what it was answered by.
pub(super) struct Prepared {
    pub input: Input,
    /// The code, of a reading.
    pub code: Option<Result<Code, Malformed>>,
    /// The tickets that it names, the first choice first.
    pub candidates: Vec<Found>,
    chosen: usize,
    pub admissions: Fold,
    pub persons: u8,
    pub policy: Arc<Policy>,
    pub gate: Arc<Gate>,
    pub list: Option<Arc<Day>>,
    pub now: Now,
    read_at: Now,
    pub reachable: bool,
    server_says_genuine: Option<bool>,
}

impl Prepared {
    pub fn question<'a>(&'a self, keys: &'a KeyRing, waived: &'a [Reason]) -> Question<'a> {
        Question {
            asked: match (&self.input, &self.code) {
                (Input::LookUp { last_four, .. }, _) => Asked::LookUp {
                    last_four: *last_four,
                },
                (Input::Reading(_), Some(Ok(code))) => Asked::Code(code),
                (Input::Reading(_), _) => Asked::NoCode,
            },
            server_says_genuine: self.server_says_genuine,
            keys,
            policy: &self.policy,
            gate: &self.gate,
            list: self.list.as_deref(),
            listed: self.found().map(|found| Listed {
                ticket: &found.ticket,
                session: found.session.as_deref(),
                day: &found.day,
            }),
            admissions: &self.admissions,
            persons: self.persons,
            reachable: self.reachable,
            now: self.now,
            read_at: self.read_at,
            waived,
        }
    }

    /// The ticket that was judged.
    pub fn found(&self) -> Option<&Found> {
        self.candidates.get(self.chosen)
    }

    /// The code that was read, if it is one.
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref()?.as_ref().ok()
    }

    /// What was read, unless staff looked the ticket up.
    pub fn reading(&self) -> Option<&[u8]> {
        match &self.input {
            Input::Reading(text) => Some(text),
            Input::LookUp { .. } => None,
        }
    }

    pub fn format(&self) -> Option<Format> {
        self.code().map(Code::format)
    }

    /// The ticket's number, if anything names it.
    pub fn ticket_number(&self) -> Option<TicketNumber> {
        let listed = self.found().map(|found| found.ticket.number);
        let said = self.code().and_then(Code::payload);
        listed.or(said.map(|payload| payload.ticket_number))
    }

    pub fn reentry(&self) -> Reentry {
        let session = self.found().and_then(|found| found.session.as_ref());
        session.map_or(Reentry::None, |session| session.reentry)
    }

    pub fn via(&self) -> Via {
        match &self.input {
            Input::Reading(_) if self.format() == Some(Format::Document) => Via::Document,
            Input::Reading(_) => Via::Code,
            Input::LookUp { order: None, .. } => Via::LookUp,
            Input::LookUp { order: Some(_), .. } => Via::Order,
        }
    }
}

impl Device {
    /// Judges.
    pub(super) fn judge(
        &self,
        door: &mut Door,
        asking: &Asking<'_>,
        now: Now,
    ) -> Result<(Prepared, Judged), ListError> {
        let mut prepared = self.prepare(door, asking, now)?;
        let keys = Arc::clone(&door.keys);
        let mut first = None;
        for at in 0..prepared.candidates.len().max(1) {
            // The one that admits now is taken, of several whose window is open.
            let is_open = |found: &Found| found.admits_at(now.at);
            if at > 0 && !prepared.candidates.get(at).is_some_and(is_open) {
                break;
            }
            prepared.chosen = at;
            prepared.admissions = self.admissions(door, &prepared, asking.without)?;
            prepared.persons = persons(&prepared, asking.persons);
            let judged = verdict(&prepared.question(&keys, asking.waived));
            let fits = match prepared.gate.direction {
                Direction::In => matches!(judged.verdict, Verdict::Admit(_)),
                Direction::Out => prepared.admissions.inside > 0,
            };
            if fits {
                return Ok((prepared, judged));
            }
            let tried = (at, prepared.admissions.clone(), prepared.persons, judged);
            first.get_or_insert(tried);
        }
        let (chosen, admissions, persons, judged) =
            first.expect("the first candidate is always judged");
        (prepared.chosen, prepared.admissions, prepared.persons) = (chosen, admissions, persons);
        Ok((prepared, judged))
    }

    fn prepare(
        &self,
        door: &mut Door,
        asking: &Asking<'_>,
        now: Now,
    ) -> Result<Prepared, ListError> {
        let list = door.list_for(now.at);
        let policy = list.map_or_else(Arc::default, |list| Arc::clone(list.policy()));
        let gate = self.gate(list);
        let list = list.map(|list| Arc::clone(list.day()));
        let (code, candidates) = match asking.input {
            Input::Reading(text) => {
                let code = codes::parse(text, &policy.shapes());
                let candidates = match &code {
                    Ok(code) => self.named_by(door, code, now.at)?,
                    Err(_) => Vec::new(),
                };
                (Some(code), candidates)
            }
            Input::LookUp {
                ticket_id, order, ..
            } => {
                let found = looked_up(door, ticket_id, order.as_ref(), now.at)?;
                (None, found)
            }
        };
        let mut prepared = Prepared {
            input: asking.input.clone(),
            code,
            candidates,
            chosen: 0,
            admissions: Fold::default(),
            persons: 1,
            policy,
            gate,
            list,
            now,
            read_at: asking.read_at.unwrap_or(now),
            reachable: self.is_reachable() && !asking.nobody_answers,
            server_says_genuine: None,
        };
        if asking.may_ask {
            prepared.server_says_genuine = self.ask_whether_genuine(door, &prepared);
        }
        Ok(prepared)
    }

    /// Asks the server about a v1 code of the shared key, which no gate has. Only where its answer
    /// decides: an exit opens anyway, and an unlisted ticket stays out anyway.
    fn ask_whether_genuine(&self, door: &mut Door, prepared: &Prepared) -> Option<bool> {
        let Some(Code::V1(code)) = prepared.code() else {
            return None;
        };
        let policy = &prepared.policy;
        let decides = policy.v1_key == V1Key::Shared
            && policy.formats.contains(&Format::V1)
            && prepared.gate.direction == Direction::In
            && prepared.found().is_some();
        decides
            .then(|| self.ask_verify(door, prepared, code.text()))
            .flatten()
    }

    /// The gate as a list has it; without one, as it was when the device was enrolled. One that
    /// the device may not serve is neither, and opens nothing without a list.
    pub(super) fn gate(&self, list: Option<&HeldList>) -> Arc<Gate> {
        if let Some(gate) = list.and_then(|list| list.gate(&self.gate_id)) {
            return Arc::clone(gate);
        }
        let mut gates = self.identity.gates.iter();
        let enrolled = gates.find(|gate| gate.gate_id == self.gate_id).cloned();
        Arc::new(enrolled.unwrap_or_else(|| Gate {
            gate_id: self.gate_id.clone(),
            name: String::new(),
            direction: Direction::In,
            checkpoint: Checkpoint::default(),
            zones: Vec::new(),
            unattended: true,
        }))
    }

    /// The tickets that a code names, in any held list.
    fn named_by(
        &self,
        door: &Door,
        code: &Code,
        now: EpochMillis,
    ) -> Result<Vec<Found>, ListError> {
        let mut found = Vec::new();
        for list in &door.lists {
            let tickets = match code {
                Code::V1(code) => list.by_id(code.ticket_id())?.into_iter().collect(),
                Code::G2(_) | Code::G3(_) => match code.payload() {
                    // A sister venue's number may be one of ours by chance.
                    Some(payload) if payload.venue_number == self.identity.venue_number => {
                        list.by_number(payload.ticket_number)?.into_iter().collect()
                    }
                    _ => Vec::new(),
                },
                Code::Opaque(code) => list.by_opaque(&code.hash(&self.identity.venue_id))?,
                Code::Document(document) => list.by_document(document)?,
            };
            found.extend(tickets.into_iter().map(|ticket| in_list(list, ticket)));
        }
        Ok(by_choice(found, now))
    }

    /// A ticket in the held lists.
    pub(super) fn found_by_number(&self, number: TicketNumber) -> Option<Found> {
        let mut door = self.door();
        let now = door.clock.look(self.platform.moment());
        let mut found = Vec::new();
        for list in &door.lists {
            let ticket = list.by_number(number).ok().flatten();
            found.extend(ticket.map(|ticket| in_list(list, ticket)));
        }
        by_choice(found, now.at).into_iter().next()
    }

    /// What the ticket that is judged did at this checkpoint.
    fn admissions(
        &self,
        door: &Door,
        prepared: &Prepared,
        without: Option<RecordId>,
    ) -> Result<Fold, ListError> {
        let span = |day: &Day| (day.day_from.millis(), day.day_until.millis());
        let said = prepared.code().and_then(Code::payload);
        let held: Vec<_>;
        let (ticket, admits, days, undated) = match (prepared.found(), said) {
            (Some(found), _) => {
                held = vec![&found.day.service_day];
                let ticket = &found.ticket;
                (ticket.number, ticket.admits, &held, span(&found.day))
            }
            // Its day is not known here, so that whatever it did on any held day counts.
            (None, Some(payload)) => {
                held = door.lists.iter().map(day_of).collect();
                let lately = (prepared.now.at.plus(-UNDATED_MS), EpochMillis(i64::MAX));
                let undated = prepared.list.as_deref().map_or(lately, span);
                (payload.ticket_number, payload.admits, &held, undated)
            }
            (None, None) => return Ok(Fold::default()),
        };
        let mut movements = door
            .journal
            .movements(&MovementsOf {
                ticket,
                checkpoint: &prepared.gate.checkpoint,
                days,
                undated,
                device: &self.identity.device_id,
            })
            .map_err(|error| ListError::Io(std::io::Error::other(error)))?;
        movements.retain(|movement: &Movement| Some(movement.record_id) != without);
        Ok(fold(admits, prepared.reentry(), movements))
    }
}

fn day_of(list: &HeldList) -> &ServiceDay {
    &list.day().service_day
}

fn in_list(list: &HeldList, ticket: Ticket) -> Found {
    Found {
        session: list.session(&ticket.session_id).cloned(),
        day: Arc::clone(list.day()),
        ticket,
    }
}

/// The ticket that staff chose, in any held list, if it is of the order that they named.
fn looked_up(
    door: &Door,
    ticket_id: &TicketId,
    order: Option<&OrderNumber>,
    now: EpochMillis,
) -> Result<Vec<Found>, ListError> {
    let mut found = Vec::new();
    for list in &door.lists {
        let ticket = list.by_id(ticket_id)?;
        let fits = |ticket: &Ticket| order.is_none_or(|order| *order == ticket.order_number);
        found.extend(ticket.filter(fits).map(|ticket| in_list(list, ticket)));
    }
    Ok(by_choice(found, now))
}

/// Persons that are asked for: as staff chose, else one, or all that remain (at an exit all that
/// are inside) where a party passes at once.
fn persons(prepared: &Prepared, chosen: Option<u8>) -> u8 {
    let left = match prepared.gate.direction {
        Direction::In => prepared.admissions.remaining,
        Direction::Out => prepared.admissions.inside,
    };
    let all = u8::try_from(left).unwrap_or(u8::MAX);
    let by_policy = match prepared.policy.at(&prepared.gate).party {
        Party::OneByOne => 1,
        Party::All => all,
    };
    chosen.unwrap_or(by_policy).max(1)
}

/// The tickets behind a code in the order of choice: live rows beat tombstones; then those that
/// admit now (the earliest end, then the lowest number), then those whose window comes next, then
/// the latest past.
fn by_choice(mut found: Vec<Found>, now: EpochMillis) -> Vec<Found> {
    if found.len() > 1 {
        let is_live = |found: &Found| found.ticket.standing == Standing::Live;
        if found.iter().any(is_live) {
            found.retain(is_live);
        }
        let at = now.seconds().0;
        found.sort_by_key(|one| {
            let ((from, until), number) = (one.window(), one.ticket.number);
            match () {
                () if from <= at && at < until => (0, until, number),
                () if at < from => (1, from, number),
                () => (2, -until, number),
            }
        });
    }
    found
}
