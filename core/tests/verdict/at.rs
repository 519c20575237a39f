//! A reading with all that a verdict needs, for each test to spoil one thing of it.

use stile_core::admissions::{Movement, Way, fold};
use stile_core::clock::{Now, Trust};
use stile_core::codes::parse;
use stile_core::ids::{LastFour, LogId, RecordId};
use stile_core::reason::Reason;
use stile_core::record::Flag;
use stile_core::ticket::{Gate, Session, Ticket};
use stile_core::time::EpochSeconds;
use stile_core::verdict::{Asked, Day, Judged, Listed, Question, Refusal, Verdict, verdict};

use crate::common::{NINE, Venue, gate, id, session};

/// A reading of a good ticket at a good time; each test spoils one thing.
pub struct At {
    pub venue: Venue,
    pub gate: Gate,
    pub ticket: Option<Ticket>,
    pub session: Session,
    pub day: Option<Day>,
    pub ticket_day: Day,
    pub code: Vec<u8>,
    pub entered: Vec<Movement>,
    pub reachable: bool,
    pub now: Now,
    pub read_at: Option<Now>,
    pub persons: u8,
    pub waived: Vec<Reason>,
    pub look_up: Option<Option<LastFour>>,
    pub server_says_genuine: Option<bool>,
}

pub fn day() -> Day {
    Day {
        service_day: id("2026-10-01"),
        day_from: EpochSeconds(NINE - 8 * 3600),
        day_until: EpochSeconds(NINE + 12 * 3600),
        not_after: EpochSeconds(NINE + 12 * 3600),
    }
}

impl At {
    pub fn new() -> Self {
        let venue = Venue::new();
        let ticket = venue.ticket("A1");
        Self {
            gate: gate("east", false),
            code: venue.g2(&ticket, NINE).into_bytes(),
            ticket: Some(ticket),
            session: session("am"),
            day: Some(day()),
            ticket_day: day(),
            entered: Vec::new(),
            reachable: true,
            now: Now {
                at: EpochSeconds(NINE).millis(),
                u_ms: 0,
                trust: Trust::Anchored,
            },
            read_at: None,
            persons: 1,
            waived: Vec::new(),
            look_up: None,
            server_says_genuine: None,
            venue,
        }
    }

    pub fn at_turnstile() -> Self {
        Self {
            gate: gate("arm-1", true),
            ..Self::new()
        }
    }

    pub fn ticket(&mut self) -> &mut Ticket {
        self.ticket.as_mut().unwrap()
    }

    pub fn v1(mut self) -> Self {
        self.code = self
            .venue
            .v1(self.ticket.as_ref().unwrap(), NINE + 600)
            .into_bytes();
        self
    }

    pub fn g3(mut self) -> Self {
        self.code = self
            .venue
            .g3(self.ticket.as_ref().unwrap(), NINE)
            .into_bytes();
        self
    }

    pub fn asked<T>(&self, answer: impl FnOnce(&Question<'_>) -> T) -> T {
        let code = parse(&self.code, &self.venue.policy.shapes()).ok();
        let admits = self.ticket.as_ref().map_or(1, |ticket| ticket.admits);
        let keys = self.venue.key_ring();
        answer(&Question {
            asked: match self.look_up {
                Some(last_four) => Asked::LookUp { last_four },
                None => code.as_ref().map_or(Asked::NoCode, Asked::Code),
            },
            server_says_genuine: self.server_says_genuine,
            keys: &keys,
            policy: &self.venue.policy,
            gate: &self.gate,
            list: self.day.as_ref(),
            listed: self.ticket.as_ref().map(|ticket| Listed {
                ticket,
                session: Some(&self.session),
                day: &self.ticket_day,
            }),
            admissions: &fold(admits, self.session.reentry, self.entered.clone()),
            persons: self.persons,
            reachable: self.reachable,
            now: self.now,
            read_at: self.read_at.unwrap_or(self.now),
            waived: &self.waived,
        })
    }

    pub fn judged(&self) -> Judged {
        self.asked(verdict)
    }

    pub fn reason(&self) -> Option<Reason> {
        self.refusal().map(|refusal| refusal.reason)
    }

    pub fn refusal(&self) -> Option<Refusal> {
        match self.judged().verdict {
            Verdict::Admit(_) => None,
            Verdict::Refuse(refusal) => Some(refusal),
        }
    }

    pub fn flags(&self) -> Vec<Flag> {
        match self.judged().verdict {
            Verdict::Admit(admission) => admission.flags,
            Verdict::Refuse(refusal) => panic!("refused: {}", refusal.reason),
        }
    }

    pub fn enter(&mut self, seconds: i64) {
        self.move_at(seconds, Way::Entry);
    }

    pub fn move_at(&mut self, seconds: i64, way: Way) {
        let n = self.entered.len() as u128 + 1;
        self.entered.push(Movement {
            record_id: RecordId(uuid::Uuid::from_u128(n)),
            way,
            persons: 1,
            at: EpochSeconds(seconds).millis(),
            anchored: true,
            claim_granted: false,
            waived_already_used: false,
            gate_id: id("west"),
            device_id: id("pda-2"),
            log_id: LogId(uuid::Uuid::from_u128(9)),
            sequence: n as u64,
        });
    }
}
