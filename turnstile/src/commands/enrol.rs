//! `stile-gate enrol`: makes this machine a device of the venue.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use stile_core::device::{Device, Identity, IdentityError, LiveStatus};
use stile_core::ids::GateId;
use stile_core::platform::Platform;
use stile_core::protocol::EnrolmentText;

use super::present::present;
use super::{CommandError, machine};
use crate::config::CONFIG_FILE;
use crate::event::{Event, Tell};
use crate::machine::{host_name, model};
use crate::platform::Linux;
use crate::sync_loop::{Wake, Work, client_of, runtime};

/// What may be said beside the text.
#[derive(Debug, Clone, Default)]
pub struct EnrolOptions {
    /// What people call the device; the machine's name if none.
    pub name: Option<String>,
    /// The gate that it is to serve.
    pub gate: Option<GateId>,
}

/// Enrols the folder's device, fetches its lists, and prints what it holds.
pub fn enrol(data: &Path, text: &str, options: &EnrolOptions) -> Result<(), CommandError> {
    let text: EnrolmentText = text
        .parse()
        .map_err(|error| CommandError::Usage(format!("{error}")))?;
    prepare_folder(data)?;
    let platform: Arc<dyn Platform> = Arc::new(Linux::new().map_err(machine)?);
    let runtime = runtime().map_err(machine)?;
    let name = options.name.clone().unwrap_or_else(host_name);
    let identity = runtime.block_on(present(&text, &name, &model(), &platform))?;
    let device = &identity.device_id;
    if let Err(error) = identity.save(data) {
        // The server has the device already, and sessions would wait for it.
        let stay = format!("{error}. The server has a device {device} that nobody is now");
        return Err(CommandError::Storage(format!(
            "{stay}: run there `stile-server device revoke {device}`"
        )));
    }
    let gate = choose(&identity, options.gate.as_ref())?;
    if let Some(gate) = &options.gate {
        remember(data, gate)?;
    }
    say(&format!(
        "enrolled: device {} of venue {}, gate {gate}",
        identity.device_id, identity.venue_id
    ));
    let device = Arc::new(Device::open(data, Some(&gate), Arc::clone(&platform))?);
    runtime.block_on(first_lists(&device, platform))?;
    runtime.shutdown_background();
    print_lists(&device.live_status());
    Ok(())
}

/// Makes the folder, and finds out before the token is spent whether it can be used.
fn prepare_folder(data: &Path) -> Result<(), CommandError> {
    let storage = |error: io::Error| CommandError::Storage(format!("{}: {error}", data.display()));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .map_err(storage)?;
    if Identity::exists(data) {
        return Err(IdentityError::AlreadyEnrolled(data.to_owned()).into());
    }
    let probe = data.join("enrol.probe");
    File::create(&probe)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::remove_file(&probe))
        .map_err(storage)
}

fn choose(identity: &Identity, asked: Option<&GateId>) -> Result<GateId, CommandError> {
    let ids = || identity.gates.iter().map(|gate| &gate.gate_id);
    let found = match asked {
        Some(asked) => ids().find(|gate| *gate == asked),
        None => ids().next(),
    };
    found.cloned().ok_or_else(|| {
        let allowed: Vec<_> = ids().map(GateId::as_str).collect();
        CommandError::Usage(format!(
            "this folder is enrolled now as device {}, which may serve {}, and not the gate asked \
             for: run it as one of these, or end it at the server with `stile-server device revoke \
             {}` and enrol an empty folder",
            identity.device_id,
            allowed.join(", "),
            identity.device_id
        ))
    })
}

/// Notes the gate for `run`, unless the folder has a configuration that may say another.
fn remember(data: &Path, gate: &GateId) -> Result<(), CommandError> {
    let path = data.join(CONFIG_FILE);
    if path.exists() {
        return Ok(());
    }
    // A gate's id holds nothing that TOML would read otherwise.
    fs::write(&path, format!("gate = \"{gate}\"\n"))
        .map_err(|error| CommandError::Storage(format!("{}: {error}", path.display())))
}

async fn first_lists(
    device: &Arc<Device>,
    platform: Arc<dyn Platform>,
) -> Result<(), CommandError> {
    let client = client_of(device, Arc::clone(&platform))?;
    let tell: Tell = Arc::new(|event| {
        if matches!(
            event,
            Event::ListRefused { .. } | Event::Unauthorised { .. } | Event::Revoked { .. }
        ) {
            tracing::warn!("{event}");
        }
    });
    let work = Work::new(Arc::clone(device), platform, client, tell, Wake::default());
    if let Err(error) = work.poll().await {
        tracing::warn!("{error}; the lists come when the gate runs");
    }
    Ok(())
}

fn print_lists(live: &LiveStatus) {
    if live.lists.is_empty() {
        say("no list yet");
    }
    for list in &live.lists {
        say(&format!(
            "list of {}: {} tickets, version {}",
            list.service_day, list.tickets, list.version
        ));
    }
}

/// Whoever does not listen misses only this.
pub fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
