//! Visitors who have to be turned away, for reasons that codes and the booking file give.

use anyhow::Result;
use stile_core::codes::Format;
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;
use stile_tests::booking::{Kind, Order, Timetable};
use stile_tests::museum::now;
use stile_tests::visitor::{App, with_later_expiry, with_one_character_changed};

use crate::next_door::NextDoor;
use crate::stage::{At, BEYOND_A_REPEAT, Stage, Visit};

/// How far a phone's clock is off, and how old a screenshot is, in seconds: beyond what a rotating
/// code is taken for.
const OFF_S: i64 = 200;

/// Every reason that can be had now, in the order of the rules.
pub fn from_the_file(stage: &mut Stage<'_>, next_door: &NextDoor) -> Result<()> {
    stage.paper.heading("Visitors who have to be turned away");
    stage.paper.say(
        "Each refusal has one of 24 named reasons, which stand in the log and the API, and a \
         sentence for the person at the gate. These come from the codes themselves and from the \
         booking file.",
    );
    let mut visits = codes(stage, next_door)?;
    visits.extend(tickets(stage)?);
    stage.show(visits)?;
    used(stage)
}

/// Faults of the code.
fn codes(stage: &mut Stage<'_>, next_door: &NextDoor) -> Result<Vec<Visit>> {
    let at = At::Turnstile;
    let text = |who: &str, code: String, format, expected: Reason| Visit {
        who: who.to_owned(),
        code,
        format,
        at,
        expected: expected.name(),
    };
    let [forged, changed, late, ahead] = {
        let mut good = || stage.ticket(at, None);
        [good()?, good()?, good()?, good()?]
    };
    let v1 = with_later_expiry(&stage.mint(forged, Format::V1)?, 3_600)?;
    let g2 = with_one_character_changed(&stage.mint(changed, Format::G2)?, 100)?;
    let shown = |ticket: &Order, by: i64| -> Result<String> {
        let app = App::with(&stage.museum.api.mint(&ticket.ticket_id, Format::G3, None)?)?;
        Ok(app.code_at(EpochSeconds(now().0 + by)))
    };
    let (late, ahead) = (shown(late, -OFF_S)?, shown(ahead, OFF_S)?);
    let unsold = format!("MUS20200101{}", "3f0e7c1a-0000-4000-8000-5d1c2b3a4958");
    Ok(vec![
        text(
            "a poster's QR",
            "https://museum.example/wifi".into(),
            "-",
            Reason::Malformed,
        ),
        text(
            "a code of the museum next door",
            next_door.code()?,
            "G2",
            Reason::UnknownKey,
        ),
        text(
            "somebody put off his code's expiry",
            v1,
            "v1",
            Reason::BadSignature,
        ),
        text("one character changed", g2, "G2", Reason::BadSignature),
        text(
            "a screenshot, three minutes old",
            late,
            "G3",
            Reason::CodeExpired,
        ),
        text(
            "a phone three minutes ahead",
            ahead,
            "G3",
            Reason::CodeNotYetValid,
        ),
        text(
            "a code that was never sold",
            unsold,
            "opaque",
            Reason::NotListed,
        ),
    ])
}

/// A kind of ticket, and how the turnstile must answer it.
struct Case(&'static str, Format, Reason, fn(&Timetable, &Order) -> bool);

/// In the order of the rules.
const CASES: [Case; 12] = [
    Case(
        "for next week, whose list is not here yet",
        Format::G2,
        Reason::NotListed,
        |times, ticket| ticket.session_id == times.next_week.session_id,
    ),
    Case("reported stolen", Format::V1, Reason::Blocked, |_, _| true),
    Case("paid back", Format::G2, Reason::Cancelled, |_, ticket| {
        ticket.kind.cancel_cause() == "refunded"
    }),
    Case(
        "for a guided tour that was called off",
        Format::G3,
        Reason::Cancelled,
        |times, ticket| {
            ticket.session_id == times.called_off.session_id && ticket.kind == Kind::Plain
        },
    ),
    Case("not paid yet", Format::G2, Reason::NotConfirmed, |_, _| {
        true
    }),
    Case(
        "yesterday's ticket",
        Format::V1,
        Reason::WrongDay,
        |times, ticket| ticket.session_id == times.day_before.session_id,
    ),
    Case(
        "tomorrow's ticket",
        Format::G3,
        Reason::WrongDay,
        |times, ticket| ticket.session_id == times.day_after.session_id,
    ),
    Case(
        "for the special exhibition, where it is not",
        Format::G2,
        Reason::WrongGate,
        |_, _| true,
    ),
    Case("for a later slot", Format::V1, Reason::TooEarly, |_, _| {
        true
    }),
    Case(
        "for an earlier slot",
        Format::G2,
        Reason::TooLate,
        |_, _| true,
    ),
    Case(
        "to be looked at, where nobody stands",
        Format::G3,
        Reason::SeeStaff,
        |_, _| true,
    ),
    Case(
        "the same, an opaque code",
        Format::Opaque,
        Reason::SeeStaff,
        |_, ticket| ticket.code.is_some(),
    ),
];

/// What the booking file says of tickets.
fn tickets(stage: &mut Stage<'_>) -> Result<Vec<Visit>> {
    let times = &stage.day.timetable;
    let mut visits = Vec::new();
    for Case(who, format, reason, fits) in CASES {
        let fits = |ticket: &Order| fits(times, ticket);
        let ticket = stage.ticket_that(At::Turnstile, Some(reason), who, fits)?;
        visits.push(stage.visit(who, ticket, format, At::Turnstile, reason.name())?);
    }
    Ok(visits)
}

/// A ticket that is used up.
fn used(stage: &mut Stage<'_>) -> Result<()> {
    let single = |ticket: &Order| ticket.admits == 1;
    let ticket = stage.ticket_that(At::Entrance, None, "for one", single)?;
    let other = stage.ticket(At::Entrance, None)?;
    let visits = vec![
        stage.visit("a visitor", ticket, Format::V1, At::Entrance, "admit")?,
        stage.visit("the next one", other, Format::G2, At::Entrance, "admit")?,
    ];
    stage.show(visits)?;
    // Sooner it would be the same reading once more.
    std::thread::sleep(BEYOND_A_REPEAT);
    let again = stage.visit(
        "the first one's ticket once more, in another format",
        ticket,
        Format::G2,
        At::Entrance,
        Reason::AlreadyUsed.name(),
    )?;
    stage.show(vec![again])
}
