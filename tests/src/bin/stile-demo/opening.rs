//! The museum opens: server, timetable, tickets, gates.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use stile_tests::booking::{BookingDay, Header, Order};
use stile_tests::gate::Gate;
use stile_tests::museum::{
    ENTRANCE, Museum, Plan, SPARE, TIME_ZONE, TURNSTILE, VENUE, wait_for_today,
};
use stile_tests::network::Fault;
use stile_tests::qr;

use crate::folder;
use crate::paper::{Ink, Paper, padded};

/// What there is once the museum has opened.
pub struct Opened {
    /// The museum.
    pub museum: Museum,
    /// Its day.
    pub day: BookingDay,
    /// The staffed gate and the unattended one, at work.
    pub gates: [Gate; 2],
    /// A turnstile that is enrolled, without a list, and not at work.
    pub spare: Gate,
}

/// Says what is coming.
pub fn introduce(paper: &Paper) {
    println!(
        "{}",
        paper.ink(Ink::Heading, "Stile: one day at a museum's gates")
    );
    paper.say(
        "Real programs do all of what follows: one stile-server, and stile-gate processes as they \
         run in turnstiles. The booking system, the visitors and a network that can fail are \
         played by this program. Each answer of a gate is checked against what the booking file \
         says; the first wrong one would end the demo. It takes one to two minutes.",
    );
    paper.remark(&format!(
        "Everything lies in {}/ and is removed at the next start.",
        folder::PATH
    ));
}

/// Opens it.
pub fn open(paper: &Paper, folder: &Path, tickets: usize, seed: u64) -> Result<Opened> {
    paper.heading("A server, a museum, a timetable");
    let museum = Museum::found(folder)?;
    paper.detail(&format!(
        "stile-server venue add {VENUE} --time-zone {TIME_ZONE} …"
    ));
    paper.detail("stile-server key add --scopes tickets:write,codes:mint,records:read,admin …");
    paper.detail(&format!(
        "stile-server serve: new database, {}",
        museum.server.url()
    ));
    let timetable = Museum::timetable()?;
    let sessions = museum.api.put_timetable(&timetable)?;
    explain_timetable(paper, sessions, &timetable);

    paper.heading("The day's tickets, as a booking system exports them");
    let day = BookingDay::generate(timetable, tickets, seed);
    import(paper, &museum, &day)?;

    paper.heading("Two gates, enrolled by QR");
    let entrance = enrol(paper, &museum, &day, ENTRANCE)?;
    let turnstile = enrol(paper, &museum, &day, TURNSTILE)?;
    let spare = enrol_spare(paper, &museum)?;
    Ok(Opened {
        museum,
        day,
        gates: [entrance, turnstile],
        spare,
    })
}

fn explain_timetable(paper: &Paper, sessions: usize, timetable: &stile_tests::booking::Timetable) {
    let busy = timetable.busy();
    paper.say(&format!(
        "The timetable goes in over the API: {sessions} sessions. So that the demo can run at any \
         hour, this museum is open round the clock: hourly slots from 06:00 to 06:00, each \
         admitting from 30 minutes before its start to its end, and a night session {} that \
         belongs to the evening's service day although it ends tomorrow. What is after midnight \
         and before 06:00 counts to the day before.",
        timetable.night.hours(),
    ));
    paper.detail(&format!(
        "service day now: {}; the slot that admits now: {}",
        timetable.day,
        busy.hours()
    ));
}

fn import(paper: &Paper, museum: &Museum, day: &BookingDay) -> Result<()> {
    let path = museum.export(day, Header::Chinese)?;
    let started = Instant::now();
    let imported = museum.api.import_csv(&path)?;
    let took = started.elapsed();
    let text = fs::read_to_string(&path)?;
    paper.detail(&format!(
        "{}, {} MB; its first lines:",
        path.display(),
        text.len() / 1_000_000
    ));
    for line in text.lines().take(4) {
        let line: String = line.chars().take(84).collect();
        paper.remark(&format!("{line} …"));
    }
    let count = |fits: fn(&Order) -> bool| day.tickets.iter().filter(|ticket| fits(ticket)).count();
    paper.detail(&format!(
        "parties {}, cancelled {}, unpaid {}, blocked {}, with a code of the booking system's own {}",
        count(|ticket| ticket.admits > 1),
        count(|ticket| ticket.kind.status() == "cancelled"),
        count(|ticket| ticket.kind.status() == "pending"),
        count(|ticket| ticket.kind.status() == "blocked"),
        count(|ticket| ticket.code.is_some()),
    ));
    ensure!(
        imported.refused_count == 0,
        "lines were refused: {:?}",
        imported.refused
    );
    ensure!(
        imported.accepted == day.tickets.len() as u64,
        "not every line went in"
    );
    paper.detail(&format!(
        "POST /v1/tickets: {} accepted, {} refused, in {:.1} s",
        imported.accepted,
        imported.refused_count,
        took.as_secs_f64()
    ));
    let named =
        |ticket: &&Order| ticket.holder_name.chars().count() == 3 && ticket.phone.len() == 11;
    let one = day
        .tickets
        .iter()
        .find(named)
        .context("no ticket with a short name")?;
    let kept = museum.api.ticket(&one.ticket_id)?;
    paper.detail(&format!(
        "of {}, {} the server keeps {}, {}; gates get no more than that",
        one.holder_name,
        one.phone,
        kept.holder_mask,
        kept.last_four
            .map(|digits| digits.to_string())
            .unwrap_or_default(),
    ));
    Ok(())
}

/// The invitation as a QR, read back by `zbarimg`.
fn invitation(museum: &Museum, plan: Plan) -> Result<String> {
    let text = museum.invite(plan)?;
    let folder = museum.folder.join("qr");
    fs::create_dir_all(&folder)?;
    let picture = folder.join(format!("enrol-{}.png", plan.id));
    qr::draw(&text, &picture)?;
    let read = qr::read(&[picture])?.pop().context("nothing was read")?;
    ensure!(read == text, "the enrolment QR reads {read}");
    Ok(read)
}

fn enrol(paper: &Paper, museum: &Museum, day: &BookingDay, plan: Plan) -> Result<Gate> {
    let text = invitation(museum, plan)?;
    let started = Instant::now();
    let mut gate = Gate::enrol(&museum.folder.join(plan.id), &text, plan.id)?;
    gate.start()?;
    let tickets = wait_for_today(&gate, &day.timetable)?;
    let took = started.elapsed();
    let staffed = if plan.door.unattended {
        "nobody stands there"
    } else {
        "a guard stands there"
    };
    paper.line(&format!(
        "{}  {staffed}; leads to: {}",
        padded(plan.id, 13),
        plan.door.zones.join(", ")
    ));
    paper.line(&format!(
        "{}  enrolled; list of {tickets} tickets fetched, verified and in use in {:.1} s",
        padded("", 13),
        took.as_secs_f64()
    ));
    let today = |ticket: &&Order| {
        day.timetable
            .session(&ticket.session_id)
            .is_some_and(|slot| slot.day == day.timetable.day)
    };
    let sold = day.tickets.iter().filter(today).count() as u64;
    ensure!(
        tickets == sold,
        "{} holds {tickets} tickets of today, and {sold} were sold",
        plan.id
    );
    if let Some(scanner) = gate.scanner() {
        paper.line(&format!(
            "{}  scanner line tcp:{scanner}, relay log",
            padded("", 13)
        ));
    }
    Ok(gate)
}

/// Enrols a turnstile over a line that breaks before its list comes.
fn enrol_spare(paper: &Paper, museum: &Museum) -> Result<Gate> {
    let text = invitation(museum, SPARE)?;
    let lists = |path: &str, _: &[u8]| {
        path.starts_with("/v1/gate/lists")
            .then_some(Fault::LoseRequest)
    };
    museum.network.plan(lists);
    let spare = Gate::enrol(&museum.folder.join(SPARE.id), &text, SPARE.id)?;
    museum.network.mend();
    ensure!(
        spare.status()?.lists.is_empty(),
        "the spare turnstile got a list all the same"
    );
    paper.line(&format!(
        "{}  a spare: its line broke behind the enrolment; no list, switched off",
        padded(SPARE.id, 13)
    ));
    Ok(spare)
}
