//! Visitors with good tickets.

use anyhow::Result;
use stile_core::codes::Format;
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;
use stile_tests::booking::{Kind, Order, Window};
use stile_tests::museum::now;

use crate::stage::{At, REPEAT, SOON_S, Stage};

/// One of each format, and what is special about some tickets.
pub fn good(stage: &mut Stage<'_>) -> Result<()> {
    stage.paper.heading("Visitors with good tickets");
    stage.paper.say(
        "Codes of three formats are minted by the server (POST /v1/codes); opaque ones stand in \
         the booking file. Each is drawn as a QR picture, the picture is read by zbarimg, a decoder \
         that is not ours, and what zbarimg prints goes to the gate's scanner line. This holds for \
         every code in this demo.",
    );
    let mut visits = Vec::new();
    for (format, at) in [
        (Format::V1, At::Entrance),
        (Format::G2, At::Turnstile),
        (Format::G3, At::Turnstile),
    ] {
        let ticket = stage.ticket(at, None)?;
        visits.push(stage.visit("a visitor in time", ticket, format, at, "admit")?);
    }
    let own_code = |ticket: &Order| ticket.code.is_some();
    let ticket = stage.ticket_that(At::Turnstile, None, "with a code of its own", own_code)?;
    visits.push(stage.visit(
        "with the booking system's own code",
        ticket,
        Format::Opaque,
        At::Turnstile,
        "admit",
    )?);

    let party = stage.ticket_that(At::Turnstile, None, "for three", |ticket| {
        ticket.admits == 3
    })?;
    let code = stage.mint(party, Format::V1)?;
    for who in ["a party of three: the first", "the second", "the third"] {
        let mut visit = stage.visit(who, party, Format::V1, At::Turnstile, "admit")?;
        visit.code = code.clone();
        visits.push(visit);
    }
    let mut again = stage.visit(
        "the phone still lies on the scanner",
        party,
        Format::V1,
        At::Turnstile,
        REPEAT,
    )?;
    again.code = code;
    visits.push(again);

    let special = |ticket: &_| is(ticket, Kind::SpecialOnly);
    let ticket = stage.ticket_that(At::Entrance, None, "for the special exhibition", special)?;
    visits.push(stage.visit(
        "for the special exhibition, at a gate that leads there",
        ticket,
        Format::G2,
        At::Entrance,
        "admit",
    )?);
    let marked = |ticket: &Order| matches!(ticket.kind, Kind::Marked(_));
    let ticket = stage.ticket_that(At::Entrance, None, "with an attention mark", marked)?;
    visits.push(stage.visit(
        "a marked ticket: the guard is told what to look at",
        ticket,
        Format::G3,
        At::Entrance,
        "admit",
    )?);
    let wider = |ticket: &_| is(ticket, Kind::OwnWindow(Window::Wider));
    let ticket = stage.ticket_that(At::Entrance, None, "with a window of its own", wider)?;
    visits.push(stage.visit(
        "with a window of its own, wider than the session's",
        ticket,
        Format::V1,
        At::Entrance,
        "admit",
    )?);
    stage.show(visits)?;
    night(stage)
}

/// A ticket of the night session, whatever it is worth at this hour.
fn night(stage: &mut Stage<'_>) -> Result<()> {
    let night = &stage.day.timetable.night;
    let (from, until) = night.admits();
    let answer = |time: EpochSeconds| match time {
        time if time < from => (Some(Reason::TooEarly), "for tonight's night session"),
        time if time >= until => (Some(Reason::TooLate), "for last night's night session"),
        _ => (None, "for the night session"),
    };
    let (expected, who) = answer(now());
    if answer(EpochSeconds(now().0 + SOON_S)).0 != expected {
        stage
            .paper
            .remark("(the night session begins or ends just now, so none of its tickets is shown)");
        return Ok(());
    }
    let of_the_night = |ticket: &Order| ticket.session_id == night.session_id;
    let ticket = stage.ticket_that(
        At::Turnstile,
        expected,
        "of the night session",
        of_the_night,
    )?;
    let outcome = expected.map_or("admit", Reason::name);
    let visit = stage.visit(who, ticket, Format::G2, At::Turnstile, outcome)?;
    stage.show(vec![visit])
}

fn is(ticket: &Order, kind: Kind) -> bool {
    ticket.kind == kind
}
