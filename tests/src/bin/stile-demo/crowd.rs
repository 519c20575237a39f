//! A crowd at one gate: some hundred visitors, most of them in order, each reading checked
//! against what the booking file says of the ticket.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail, ensure};
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use stile_core::codes::Format;
use stile_core::reason::Reason;
use stile_tests::api::Api;
use stile_tests::booking::{BookingDay, Door, Order};
use stile_tests::gate::{Gate, Said};
use stile_tests::journal;
use stile_tests::museum::{Plan, Tickets, now};
use stile_tests::visitor::App;

use crate::pictures::Pictures;

/// Of a hundred readings, so many are of tickets that are good now, …
const GOOD_PERCENT: usize = 85;
/// … and so many of tickets that were read before; the rest is of any tickets of the file.
const AGAIN_PERCENT: usize = 7;
/// Pictures drawn and read at a time: their rotating codes must still be fresh when they are
/// scanned.
const AT_A_TIME: usize = 40;
/// How long the codes that do not rotate are good, in seconds.
const TTL_S: u32 = 3_600;

/// A visitor's ticket and how it is shown.
#[derive(Clone)]
struct Visitor<'d> {
    ticket: &'d Order,
    shows: Shows,
}

#[derive(Clone)]
enum Shows {
    Code(String),
    App(std::sync::Arc<App>),
}

/// See the module.
pub struct Crowd<'d> {
    day: &'d BookingDay,
    door: Door,
    visitors: Vec<Visitor<'d>>,
    admitted: HashMap<&'d str, u32>,
    seen: HashSet<&'d str>,
}

/// A reading under way when its gate was killed.
pub struct Caught {
    /// The text on the line.
    pub text: String,
    /// Where in the crowd.
    at: usize,
}

impl<'d> Crowd<'d> {
    /// A crowd for a gate; its tickets are taken from those not yet shown.
    pub fn gather(
        api: &Api,
        day: &'d BookingDay,
        tickets: &mut Tickets<'d>,
        plan: Plan,
        readings: usize,
        seed: u64,
    ) -> Result<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let time = now();
        let is_good = |ticket: &Order| day.expected(ticket, plan.door, time, 0).is_none();
        let mut some = Vec::new();
        for _ in 0..readings * GOOD_PERCENT / 100 {
            some.push(tickets.take("is good now", is_good)?);
        }
        let others = readings.saturating_sub(readings * (GOOD_PERCENT + AGAIN_PERCENT) / 100);
        for _ in 0..others {
            some.push(tickets.take("is not good now", |ticket| !is_good(ticket))?);
        }
        some.shuffle(&mut random);
        let mut visitors = with_codes(api, day, &some)?;
        while visitors.len() < readings {
            let again = visitors[random.random_range(0..visitors.len() / 2)].clone();
            let place = random.random_range(visitors.len() / 2..visitors.len());
            // Right behind itself it would be the same reading once more.
            let is_same = |one: &Visitor<'_>| one.ticket.ticket_id == again.ticket.ticket_id;
            if !visitors[place - 1..=place].iter().any(is_same) {
                visitors.insert(place, again);
            }
        }
        Ok(Self {
            day,
            door: plan.door,
            visitors,
            admitted: HashMap::new(),
            seen: HashSet::new(),
        })
    }

    /// How many readings it is.
    pub fn len(&self) -> usize {
        self.visitors.len()
    }

    /// Walks a part of the crowd past the gate and checks each answer.
    pub fn walk(
        &mut self,
        gate: &mut Gate,
        pictures: &mut Pictures,
        part: std::ops::Range<usize>,
    ) -> Result<()> {
        let mut at = part.start;
        while at < part.end {
            let until = (at + AT_A_TIME).min(part.end);
            for (one, text) in (at..until).zip(self.texts(pictures, at..until)?) {
                let before = self.expected(one);
                let said = gate.scan(&text)?;
                self.check(one, &said, before)?;
            }
            at = until;
        }
        Ok(())
    }

    /// Puts one reading on the gate's line and does not wait for the answer.
    pub fn put_on_the_line(
        &self,
        gate: &mut Gate,
        pictures: &mut Pictures,
        at: usize,
    ) -> Result<Caught> {
        let text = self.texts(pictures, at..at + 1)?.remove(0);
        gate.send(&text)?;
        Ok(Caught { text, at })
    }

    /// Notes what became of a reading that was under way when its gate was killed: whether the
    /// gate had written down an admission.
    pub fn settle(&mut self, caught: &Caught, was_admitted: bool) {
        if was_admitted {
            *self
                .admitted
                .entry(&self.visitors[caught.at].ticket.ticket_id)
                .or_default() += 1;
        }
    }

    /// The visitor under way comes again; the gate must know what it had written down.
    pub fn come_again(&mut self, gate: &mut Gate, caught: &Caught) -> Result<Said> {
        let before = self.expected(caught.at);
        let said = gate.scan(&caught.text)?;
        // A check-in that the gate had not opened for is carried out now; it is counted already.
        if !is_resume(gate, &said)? {
            self.check(caught.at, &said, before)?;
        }
        Ok(said)
    }

    fn texts(&self, pictures: &mut Pictures, part: std::ops::Range<usize>) -> Result<Vec<String>> {
        let time = now();
        let texts: Vec<String> = self.visitors[part]
            .iter()
            .map(|visitor| match &visitor.shows {
                Shows::Code(code) => code.clone(),
                Shows::App(app) => app.code_at(time),
            })
            .collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        pictures.through(&texts)
    }

    fn expected(&self, at: usize) -> Option<Reason> {
        let ticket = self.visitors[at].ticket;
        let admitted = self.admitted.get(ticket.ticket_id.as_str()).copied();
        self.day
            .expected(ticket, self.door, now(), admitted.unwrap_or(0))
    }

    /// A session may begin or end between question and answer: either side is right then.
    fn check(&mut self, at: usize, said: &Said, before: Option<Reason>) -> Result<()> {
        let after = self.expected(at);
        let ticket = self.visitors[at].ticket;
        let name = |expected: Option<Reason>| expected.map_or("admit", Reason::name);
        // Within three seconds it is the same reading, whoever stood between.
        let is_again = !self.seen.insert(&ticket.ticket_id) && said.repeat && !said.opens;
        ensure!(
            is_again || [name(before), name(after)].contains(&said.outcome()) && !said.repeat,
            "ticket {} had to answer {}, and answered {}{}",
            ticket.ticket_id,
            name(before),
            said.outcome(),
            if said.repeat { " as a repeat" } else { "" },
        );
        if said.opens {
            *self.admitted.entry(&ticket.ticket_id).or_default() += 1;
        }
        Ok(())
    }
}

/// Whether what a gate said carries out an admission from before it was killed.
fn is_resume(gate: &Gate, said: &Said) -> Result<bool> {
    #[derive(serde::Deserialize)]
    struct Head {
        id: stile_core::ids::RecordId,
        kind: String,
    }
    for kept in journal::read(gate.data())? {
        let head: Head = serde_json::from_str(&kept.record)?;
        if Some(head.id) == said.record_id {
            return Ok(head.kind == "resume");
        }
    }
    Ok(false)
}

/// Opaque codes from the file where it has them; of the others v1, G2 and rotating G3 in turns.
/// What is listed nowhere yet shows its v1 code: there the rules have one answer only.
fn with_codes<'d>(api: &Api, day: &BookingDay, tickets: &[&'d Order]) -> Result<Vec<Visitor<'d>>> {
    const TURNS: [Format; 3] = [Format::V1, Format::G2, Format::G3];
    let next_week = &day.timetable.next_week.session_id;
    let mut wanted: [Vec<&str>; 3] = Default::default();
    for (at, ticket) in tickets
        .iter()
        .filter(|ticket| ticket.code.is_none())
        .enumerate()
    {
        let turn = if ticket.session_id == *next_week {
            0
        } else {
            at % TURNS.len()
        };
        wanted[turn].push(&ticket.ticket_id);
    }
    let mut codes: HashMap<&str, Shows> = HashMap::new();
    for (format, theirs) in TURNS.into_iter().zip(&wanted) {
        for (id, minted) in theirs
            .iter()
            .zip(api.mint_all(theirs, format, Some(TTL_S))?)
        {
            let shows = match (format, &minted.code) {
                (Format::G3, _) => Shows::App(App::with(&minted)?.into()),
                (_, Some(code)) => Shows::Code(code.clone()),
                (_, None) => bail!("the server gave no code for {id}"),
            };
            codes.insert(id, shows);
        }
    }
    let visitor = |ticket: &&'d Order| {
        let printed = ticket.code.clone().map(Shows::Code);
        let shows = printed.or_else(|| codes.get(ticket.ticket_id.as_str()).cloned())?;
        Some(Visitor { ticket, shows })
    };
    Ok(tickets.iter().filter_map(visitor).collect())
}
