//! What the scenes of the demo share: the museum, its gates, the tickets not yet shown; and how a
//! visit goes: the code is drawn, read by `zbarimg`, fed to the gate, and the answer checked.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use stile_core::codes::Format;
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;
use stile_tests::booking::{BookingDay, Order};
use stile_tests::gate::{Gate, Said};
use stile_tests::museum::{ENTRANCE, Museum, Plan, SPARE, TURNSTILE, Tickets, now};

use crate::paper::{Ink, Paper, padded};
use crate::pictures::Pictures;

/// The gates of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Where a guard stands.
    Entrance,
    /// Where nobody does.
    Turnstile,
}

impl At {
    /// How it was planned.
    pub fn plan(self) -> Plan {
        match self {
            Self::Entrance => ENTRANCE,
            Self::Turnstile => TURNSTILE,
        }
    }
}

/// A code shown to a gate, and what the gate must answer.
pub struct Visit {
    /// Who comes, in a few words.
    pub who: String,
    /// The text of the code.
    pub code: String,
    /// Its format, for people; `-` for what is no code.
    pub format: &'static str,
    /// The gate.
    pub at: At,
    /// `admit`, a reason, or `repeat`.
    pub expected: &'static str,
}

/// The answer to a reading that is the one before once more.
pub const REPEAT: &str = "repeat";
/// A ticket that is chosen must still answer so when it is shown, some seconds later.
pub const SOON_S: i64 = 120;
/// A ticket that is read again within three seconds is the same reading.
pub const BEYOND_A_REPEAT: Duration = Duration::from_millis(3_100);
/// How long the next of a party takes to step up: the gate must have closed behind the last.
const STEP: Duration = Duration::from_millis(100);

/// See the module.
pub struct Stage<'d> {
    /// What is printed on.
    pub paper: Paper,
    /// The museum.
    pub museum: Museum,
    /// What the booking system has sold.
    pub day: &'d BookingDay,
    /// Tickets not yet shown.
    pub tickets: Tickets<'d>,
    /// The staffed gate and the unattended one.
    pub gates: [Gate; 2],
    /// A turnstile that was enrolled and has no list.
    pub spare: Gate,
    /// Reasons that were shown.
    pub shown: Vec<&'static str>,
    /// The codes that were shown.
    pub pictures: Pictures,
}

impl<'d> Stage<'d> {
    /// The stage as it is when the museum has opened.
    pub fn new(
        paper: Paper,
        museum: Museum,
        day: &'d BookingDay,
        gates: [Gate; 2],
        spare: Gate,
    ) -> Result<Self> {
        let pictures = Pictures::new(museum.folder.join("qr"))?;
        Ok(Self {
            paper,
            museum,
            day,
            tickets: Tickets::of(day),
            gates,
            spare,
            shown: Vec::new(),
            pictures,
        })
    }

    /// A gate.
    pub fn gate(&mut self, at: At) -> &mut Gate {
        let [entrance, turnstile] = &mut self.gates;
        match at {
            At::Entrance => entrance,
            At::Turnstile => turnstile,
        }
    }

    /// A ticket that the gate must answer so.
    pub fn ticket(&mut self, at: At, expected: Option<Reason>) -> Result<&'d Order> {
        self.ticket_that(at, expected, "", |_| true)
    }

    /// The same, with something more about it.
    pub fn ticket_that(
        &mut self,
        at: At,
        expected: Option<Reason>,
        what: &str,
        fits: impl Fn(&Order) -> bool,
    ) -> Result<&'d Order> {
        let (day, now) = (self.day, now());
        let answer = expected.map_or("admit", Reason::name);
        let what = format!("{} answers with {answer} {what}", at.plan().id);
        self.tickets.take(&what, |ticket| {
            let stays = [now, EpochSeconds(now.0 + SOON_S)];
            let answers = |at_time: EpochSeconds| day.expected(ticket, at.plan().door, at_time, 0);
            stays.into_iter().all(|time| answers(time) == expected) && fits(ticket)
        })
    }

    /// A fresh code of a ticket.
    pub fn mint(&self, ticket: &Order, format: Format) -> Result<String> {
        let minted = self.museum.api.mint(&ticket.ticket_id, format, None)?;
        minted.code.context("the server gave no code")
    }

    /// A visit with a fresh code of a ticket.
    pub fn visit(
        &self,
        who: &str,
        ticket: &Order,
        format: Format,
        at: At,
        expected: &'static str,
    ) -> Result<Visit> {
        let code = match (format, &ticket.code) {
            (Format::Opaque, Some(code)) => code.clone(),
            _ => self.mint(ticket, format)?,
        };
        Ok(Visit {
            who: who.to_owned(),
            code,
            format: name_of(format),
            at,
            expected,
        })
    }

    /// Shows visits one after the other and checks each answer.
    pub fn show(&mut self, visits: Vec<Visit>) -> Result<()> {
        let codes: Vec<_> = visits.iter().map(|visit| visit.code.as_str()).collect();
        let read = self.pictures.through(&codes)?;
        for (visit, text) in visits.iter().zip(&read) {
            std::thread::sleep(STEP);
            let said = self.gate(visit.at).scan(text)?;
            self.print(visit, &said);
            self.check(visit, &said)?;
        }
        Ok(())
    }

    fn print(&self, visit: &Visit, said: &Said) {
        let (ink, outcome) = match (said.repeat, said.outcome()) {
            (true, _) => (Ink::Faint, REPEAT),
            (_, "admit") => (Ink::Admit, "admit"),
            (_, reason) => (Ink::Refuse, reason),
        };
        println!(
            "  {}  {}  {}  {}",
            self.paper.ink(ink, &padded(outcome, 19)),
            padded(visit.format, 6),
            padded(visit.at.plan().id, 13),
            visit.who,
        );
        self.paper
            .remark(&format!("{}  {}", said.sentence.zh_cn, said.sentence.en));
    }

    fn check(&mut self, visit: &Visit, said: &Said) -> Result<()> {
        let outcome = if said.repeat { REPEAT } else { said.outcome() };
        ensure!(
            outcome == visit.expected,
            "{}: {} had to answer {}, and answered {outcome}",
            visit.who,
            visit.at.plan().id,
            visit.expected
        );
        ensure!(
            said.opens == (outcome == "admit"),
            "{}: the gate opened, or did not",
            visit.who
        );
        ensure!(
            said.repeat == said.record_id.is_none(),
            "{}: no record was made",
            visit.who
        );
        self.saw(visit.expected);
        Ok(())
    }

    /// Notes that an outcome was shown.
    pub fn saw(&mut self, outcome: &'static str) {
        if !self.shown.contains(&outcome) {
            self.shown.push(outcome);
        }
    }

    /// Prints what the spare turnstile said.
    pub fn print_spare(&self, who: &str, format: Format, said: &Said) {
        println!(
            "  {}  {}  {}  {who}",
            self.paper.ink(Ink::Refuse, &padded(said.outcome(), 19)),
            padded(name_of(format), 6),
            padded(SPARE.id, 13),
        );
        self.paper
            .remark(&format!("{}  {}", said.sentence.zh_cn, said.sentence.en));
    }
}

/// A format's name.
pub fn name_of(format: Format) -> &'static str {
    match format {
        Format::V1 => "v1",
        Format::G2 => "G2",
        Format::G3 => "G3",
        Format::Opaque => "opaque",
        Format::Document => "document",
    }
}
