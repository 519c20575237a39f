//! `stile-gate status`: how a gate is, beside its controller or without one. Counts come from the
//! journal; what only a running controller knows comes from its status file.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use stile_core::device::{Device, Identity, LiveStatus, Network};
use stile_core::ids::{DeviceId, GateId, VenueId};
use stile_core::journal::{self, Counts};
use stile_core::journal::{ROOM_WANTED_BYTES, RoomWarning};
use stile_core::platform::Platform;
use stile_core::record::FreePassageCause;

use super::{CommandError, machine, name_of};
use crate::platform::Linux;
use crate::status_file::StatusFile;
use crate::words::Words;

/// What is said of a gate.
#[derive(Debug, Serialize)]
struct GateStatus {
    venue_id: VenueId,
    device_id: DeviceId,
    server: String,
    gate_id: GateId,
    /// Whether a controller is at work.
    running: bool,
    /// How old the controller's own word is, in ms; none if there is none of this boot.
    age_ms: Option<i64>,
    records: u64,
    unsent: u64,
    synced: u64,
    quarantined: u64,
    stuck: u64,
    #[serde(flatten)]
    live: LiveStatus,
}

/// Prints how the gate is.
pub fn status(data: &Path, gate: Option<&GateId>, json: bool) -> Result<(), CommandError> {
    let identity = Identity::load(data)?;
    let platform: Arc<dyn Platform> = Arc::new(Linux::new().map_err(machine)?);
    let moment = platform.moment();
    let file = StatusFile::read(data);
    let age_ms = file.as_ref().and_then(|file| file.age_ms(moment));
    let counts = count(data)?;
    let running = file.filter(|file| file.is_alive(moment));
    let is_running = running.is_some();
    let (gate_id, live) = match running {
        Some(file) => (file.gate_id, file.live),
        None => {
            let device = Device::open_to_look(data, gate, platform)?;
            (device.gate_id().clone(), device.live_status())
        }
    };
    let status = GateStatus {
        venue_id: identity.venue_id.clone(),
        device_id: identity.device_id.clone(),
        server: identity.server.clone(),
        gate_id,
        running: is_running,
        age_ms,
        records: counts.records,
        unsent: counts.unsent,
        synced: counts.synced,
        quarantined: counts.quarantined,
        stuck: counts.stuck,
        live,
    };
    let mut out = io::stdout();
    let printed = match json {
        true => serde_json::to_writer(&mut out, &status)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        false => print(&status, &Words::of(&identity), &mut out),
    };
    printed.map_err(|error| CommandError::Storage(format!("standard output: {error}")))
}

fn count(data: &Path) -> Result<Counts, CommandError> {
    let (_, sync_log) = journal::open_to_look(data)?;
    Ok(sync_log.counts()?)
}

fn print(status: &GateStatus, words: &Words, out: &mut impl Write) -> io::Result<()> {
    let live = &status.live;
    writeln!(
        out,
        "gate {} of venue {}, device {}, server {}",
        status.gate_id, status.venue_id, status.device_id, status.server
    )?;
    match (status.running, status.age_ms) {
        (true, Some(age)) => writeln!(
            out,
            "controller running, {}; as of {:.1} s ago",
            match live.network() {
                Network::Online => "online",
                Network::NoAnswer =>
                    "online, but the server left the last question of a scan unanswered",
                Network::Offline => "offline",
            },
            age as f64 / 1000.0
        )?,
        (_, Some(age)) => writeln!(
            out,
            "no controller running; the last one was ended or hangs, and wrote {} s ago",
            age / 1000
        )?,
        _ => writeln!(out, "no controller running")?,
    }
    if let Some(at) = live.revoked_at {
        writeln!(
            out,
            "warning: this device was revoked on {}; it has no keys and lists any more. Enrol it \
             anew with an empty folder",
            words.date_and_clock(at)
        )?;
    }
    writeln!(
        out,
        "time {} ± {} ms, {}",
        words.date_and_clock(live.clock.now),
        live.clock.u_ms,
        name_of(&live.clock.trust)
    )?;
    if let Some(off) = live.clock.wall_off_ms {
        writeln!(
            out,
            "warning: this machine's clock is off by {} s",
            off / 1000
        )?;
    }
    if let Some(server) = live.clock.disputed {
        let server = words.date_and_clock(server);
        writeln!(
            out,
            "warning: the server says {server}, which is not believed"
        )?;
    }
    match live.room.warning {
        Some(RoomWarning::Low) => {
            writeln!(out, "warning: the disk is nearly full; make room today")?
        }
        Some(RoomWarning::LastHour) => writeln!(
            out,
            "warning: no room is held for an hour of admissions: {} MiB are free, and {} are \
             needed; make room now",
            live.room.free_bytes.unwrap_or_default() >> 20,
            ROOM_WANTED_BYTES >> 20
        )?,
        None => {}
    }
    if live.keys.overdue {
        writeln!(
            out,
            "warning: newer keys are due and have not come; the ones held go on"
        )?;
    }
    if let Some(open) = live.free_passage {
        let cause = match open.cause {
            FreePassageCause::Emergency => "by the emergency input",
            FreePassageCause::Scheduled => "by the venue's plan",
            FreePassageCause::Staff => "by staff, until `stile-gate shut`",
        };
        let since = words.date_and_clock(open.since);
        write!(
            out,
            "warning: the gate stands open for everybody, {cause}, since {since}"
        )?;
        match open.passages {
            Some(passages) => writeln!(out, "; passed: {passages}")?,
            None => writeln!(out)?,
        }
    }
    if live.practice {
        writeln!(
            out,
            "practice: nothing counts, and no reading opens the gate"
        )?;
    }
    if let Some(operator) = &live.signed_in {
        let since = words.date_and_clock(operator.since);
        writeln!(out, "signed in: {} since {since}", operator.operator_id)?;
    }
    if live.lists.is_empty() {
        writeln!(out, "no list")?;
    }
    for list in &live.lists {
        writeln!(
            out,
            "list of {}: {} tickets, version {}, signed {}, good until {}",
            list.service_day,
            list.tickets,
            list.version,
            words.date_and_clock(list.issued_at),
            words.date_and_clock(list.not_after.millis())
        )?;
    }
    writeln!(
        out,
        "records {}: {} on the server, {} wait, {} set aside by the server, {} stuck",
        status.records, status.synced, status.unsent, status.quarantined, status.stuck
    )?;
    if live.unlogged > 0 {
        writeln!(
            out,
            "warning: {} readings could not be stored since the start",
            live.unlogged
        )?;
    }
    match &live.upload_trouble {
        Some(what) => writeln!(out, "warning: check-ins do not go up: {what}"),
        None => Ok(()),
    }
}
