//! What changes while the museum is open, and a line that is cut for a minute.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stile_core::codes::Format;
use stile_core::policy::{Isolation, Policy};
use stile_core::reason::Reason;
use stile_core::ticket::CancelCause;
use stile_tests::booking::Order;
use stile_tests::gate::GATE;
use stile_tests::museum::wait_until_drained;
use stile_tests::programs::program;

use crate::next_door::NextDoor;
use crate::stage::{At, BEYOND_A_REPEAT, Stage, Visit, name_of};

/// Readings after which a gate whose files may not grow must have noticed.
const FULL_AFTER: usize = 300;
/// 512-byte blocks that a file of the spare turnstile may have when its storage is to be full.
const FULL_BLOCKS: u32 = 128;

/// Cancelled, passed on, sold, withdrawn: the gates hear of it within seconds.
pub fn during_the_day(stage: &mut Stage<'_>, next_door: &NextDoor) -> Result<()> {
    stage.paper.heading("Things change during the day");
    stage.paper.say(
        "Codes are in visitors' hands when the booking system cancels one ticket, passes one on to \
         another person, issues one anew, and sells a new one; and the operator no longer takes v1 \
         codes, and names the museum next door as its sister.",
    );
    let plain = |ticket: &Order| ticket.phone.len() == 11 && ticket.admits == 1;
    let cancelled = stage.ticket(At::Turnstile, None)?;
    let passed_on = stage.ticket_that(At::Turnstile, None, "with a phone", plain)?;
    let lost = stage.ticket(At::Turnstile, None)?;
    let withdrawn = stage.ticket(At::Entrance, None)?;
    let mut visits = vec![
        stage.visit(
            "cancelled by the museum a minute ago",
            cancelled,
            Format::G2,
            At::Turnstile,
            Reason::Cancelled.name(),
        )?,
        stage.visit(
            "passed on to another person; the first one comes with the old code",
            passed_on,
            Format::G2,
            At::Turnstile,
            Reason::IdentityMismatch.name(),
        )?,
        stage.visit(
            "a lost ticket, issued anew; somebody has found the lost one",
            lost,
            Format::G2,
            At::Turnstile,
            Reason::Superseded.name(),
        )?,
        stage.visit(
            "a v1 code, no longer taken",
            withdrawn,
            Format::V1,
            At::Entrance,
            Reason::FormatNotAccepted.name(),
        )?,
        Visit {
            who: "a code of the museum next door again".into(),
            code: next_door.code()?,
            format: name_of(Format::G2),
            at: At::Turnstile,
            expected: Reason::WrongVenue.name(),
        },
    ];
    let api = &stage.museum.api;
    let before = api.policy()?;
    api.cancel(&cancelled.ticket_id, CancelCause::Operator)?;
    api.reissue(&lost.ticket_id)?;
    NextDoor::become_sister(&stage.museum)?;
    let mut line = line_of(passed_on);
    line["phone"] = json!("13800000000".replace("0000", &other_digits(&passed_on.phone)));
    let imported = api.import_ndjson(&[line, sold("NEW-1", stage)])?;
    ensure!(
        imported.accepted == 2,
        "the changes were refused: {:?}",
        imported.refused
    );
    api.put_policy(&with_strict_turnstiles(&before))?;
    let asked = Instant::now();
    stage
        .museum
        .wait_for_changes(&both(stage), &stage.day.timetable)?;
    stage.paper.detail(&format!(
        "both gates have the changed list after {:.1} s; they ask every five seconds",
        asked.elapsed().as_secs_f64()
    ));
    let code = stage
        .museum
        .api
        .mint("NEW-1", Format::G3, None)?
        .code
        .context("no code")?;
    visits.push(Visit {
        who: "bought at the counter a minute ago".into(),
        code,
        format: name_of(Format::G3),
        at: At::Turnstile,
        expected: "admit",
    });
    stage.show(visits)?;
    // Sooner it would be the finder's reading once more.
    std::thread::sleep(BEYOND_A_REPEAT);
    let owner = "the lost ticket's owner, with the new one";
    let owner = stage.visit(owner, lost, Format::G2, At::Turnstile, "admit")?;
    stage.show(vec![owner])
}

/// The line to the gates is cut, the server goes on.
pub fn line_cut(stage: &mut Stage<'_>) -> Result<()> {
    stage
        .paper
        .heading("The line to the gates is cut for a minute");
    stage.paper.say(
        "Meanwhile somebody buys a ticket at the counter, so that no gate has it in its list. A \
         G2 code is signed and can be verified all the same: with staff at the gate it is let in \
         and marked, at a turnstile it is not. The turnstiles were told to be strict: switched on \
         without a network they admit nobody.",
    );
    stage.museum.network.cut();
    let imported = stage.museum.api.import_ndjson(&[sold("NEW-2", stage)])?;
    ensure!(
        imported.accepted == 1,
        "the sale was refused: {:?}",
        imported.refused
    );
    let code = stage
        .museum
        .api
        .mint("NEW-2", Format::G2, None)?
        .code
        .context("no code")?;
    let visit = |at, expected| Visit {
        who: "bought just now".into(),
        code: code.clone(),
        format: name_of(Format::G2),
        at,
        expected,
    };
    let visits = vec![
        visit(At::Turnstile, Reason::NotListed.name()),
        visit(At::Entrance, "admit"),
    ];
    stage.show(visits)?;
    strict(stage)?;
    let before = stage.museum.api.policy()?;
    spare(stage)?;
    stage.museum.network.mend();
    stage
        .museum
        .api
        .put_policy(&with_lenient_turnstiles(&before))?;
    stage.spare.start()?;
    let gates = [&stage.gates[0], &stage.gates[1], &stage.spare];
    stage
        .museum
        .wait_for_changes(&gates, &stage.day.timetable)?;
    wait_until_drained(&gates)?;
    stage.spare.stop()?;
    full_storage(stage)?;
    stage
        .paper
        .detail("the line is mended; v1 is taken again, turnstiles may decide alone again,");
    stage
        .paper
        .detail("the spare turnstile has got its list and sent its records");
    Ok(())
}

/// A strict turnstile that is switched on without a network.
fn strict(stage: &mut Stage<'_>) -> Result<()> {
    let ticket = stage.ticket(At::Turnstile, None)?;
    let visit = stage.visit(
        "a good ticket at a strict turnstile, switched off and on",
        ticket,
        Format::G2,
        At::Turnstile,
        Reason::Isolated.name(),
    )?;
    let turnstile = stage.gate(At::Turnstile);
    turnstile.stop()?;
    turnstile.start()?;
    stage.show(vec![visit])
}

/// The turnstile that never got a list.
fn spare(stage: &mut Stage<'_>) -> Result<()> {
    let ticket = stage.ticket(At::Turnstile, None)?;
    let code = stage.mint(ticket, Format::G2)?;
    let read = stage.pictures.through(&[code.as_str()])?;
    stage.spare.start()?;
    let said = stage.spare.scan(&read[0])?;
    stage.print_spare(
        "a good ticket at the spare turnstile, which has no list",
        Format::G2,
        &said,
    );
    ensure!(
        said.reason == Some(Reason::WhitelistStale),
        "it answered {}",
        said.outcome()
    );
    stage.saw(Reason::WhitelistStale.name());
    stage.spare.stop()
}

/// The spare turnstile with its list, when its storage is full. Whom it admitted before that is on
/// its disk, and goes up when there is room again.
fn full_storage(stage: &mut Stage<'_>) -> Result<()> {
    // `ulimit -f` lets files grow no further, as a full disk does; the signal that goes with it
    // is ignored, so that the program gets the error.
    let mut shell = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {FULL_BLOCKS}; exec \"$0\" \"$@\"");
    shell.arg("-c").arg(script).arg(program(GATE)?);
    stage.spare.start_as(shell)?;
    for reading in 0..FULL_AFTER {
        let ticket = stage.ticket(At::Turnstile, None)?;
        let code = stage.mint(ticket, Format::G2)?;
        let said = stage.spare.scan(&code)?;
        if said.reason == Some(Reason::StoreUnavailable) {
            ensure!(!said.opens, "a gate opened without a check-in on disk");
            let who = format!("there, when its storage is full, after {reading} admissions");
            stage.print_spare(&who, Format::G2, &said);
            stage.saw(Reason::StoreUnavailable.name());
            stage.spare.stop()?;
            stage.spare.start()?;
            wait_until_drained(&[&stage.spare])?;
            return stage.spare.stop();
        }
        ensure!(said.outcome() == "admit", "it answered {}", said.outcome());
    }
    anyhow::bail!("{FULL_AFTER} readings have not filled the spare turnstile's storage")
}

fn both<'s>(stage: &'s Stage<'_>) -> [&'s stile_tests::gate::Gate; 2] {
    [&stage.gates[0], &stage.gates[1]]
}

fn with_strict_turnstiles(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    policy.formats.retain(|format| *format != Format::V1);
    policy.unattended.isolation = Isolation::Strict;
    policy
}

fn with_lenient_turnstiles(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    policy.formats.push(Format::V1);
    policy.unattended.isolation = Isolation::Lenient;
    policy
}

/// A ticket's line as the booking system sends it after a change.
fn line_of(ticket: &Order) -> Value {
    json!({
        "ticket_id": ticket.ticket_id,
        "order_number": ticket.order_number,
        "session_id": ticket.session_id,
        "holder_name": ticket.holder_name,
        "phone": ticket.phone,
        "admits": ticket.admits,
        "zones": ticket.kind.zones(),
        "code": ticket.code.clone().unwrap_or_default(),
        "label": ticket.label,
    })
}

/// A new ticket for the slot that admits now.
fn sold(id: &str, stage: &Stage<'_>) -> Value {
    json!({
        "ticket_id": id,
        "order_number": format!("COUNTER-{id}"),
        "session_id": stage.day.timetable.busy().session_id,
        "holder_name": "林晓",
        "phone": "13911112222",
    })
}

/// Four digits that are not the last four of a phone.
fn other_digits(phone: &str) -> String {
    match phone.ends_with("1234") {
        true => "4321".into(),
        false => "1234".into(),
    }
}
