//! `device …`: who waits to be confirmed, what each device still holds back, which of them nothing
//! waits for, and which are revoked or taken back.

use std::io::{stderr, stdin};

use clap::Subcommand;
use stile_core::ids::{DeviceId, EnrolmentId, GateId, VenueId};
use stile_core::protocol::{EnrolmentDigits, Readmission};
use stile_sync_server::server::Server;

use super::CliError;
use super::ask::Ask;
use super::commands::{print_line, venue_meant};

#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// Prints the devices, one JSON object a line.
    List {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Prints the invitations that are not over, one JSON object a line: which devices wait to be
    /// confirmed.
    Waiting {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Revokes a device for good, such as one that was lost: it gives up keys and lists when it next
    /// asks for anything. What it admitted and has not delivered is set aside when it comes.
    Revoke {
        /// The device.
        #[arg(value_name = "DEVICE")]
        id: DeviceId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Confirms the device that waits by an invitation, by the six digits that it shows.
    Confirm {
        /// The invitation, as the device shows it.
        #[arg(value_name = "ID")]
        id: EnrolmentId,
        /// The six digits that stand on the device [default: asked for].
        #[arg(value_name = "DIGITS")]
        digits: Vec<String>,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Takes an invitation back, or refuses the device that waits by it.
    Refuse {
        /// The invitation.
        #[arg(value_name = "ID")]
        id: EnrolmentId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Makes a device one of the venue's again that the data forgot, since it was put back from a
    /// backup that is older than the device's enrolment.
    Readmit {
        /// The device.
        #[arg(value_name = "DEVICE")]
        id: DeviceId,
        /// A gate that it may serve; may be given several times [default: those that it names].
        #[arg(long = "gate", value_name = "GATE")]
        gates: Vec<GateId>,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Says that nobody uses a device any more: no session waits for it until it reports again.
    OutOfUse {
        /// The device.
        #[arg(value_name = "DEVICE")]
        id: DeviceId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
}

/// `device …`
pub fn device(command: DeviceCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        DeviceCommand::List { venue } => {
            let venue = venue_meant(server, venue).await?;
            let devices = server.devices(&venue).await?.devices;
            devices.iter().try_for_each(print_line)
        }
        DeviceCommand::Waiting { venue } => {
            let venue = venue_meant(server, venue).await?;
            let enrolments = server.enrolments(&venue).await?.enrolments;
            enrolments.iter().try_for_each(print_line)
        }
        DeviceCommand::Confirm { id, digits, venue } => {
            let venue = venue_meant(server, venue).await?;
            let digits = digits_of(&digits.join(" "))?;
            let view = server.confirm_enrolment(&venue, &id, digits).await?;
            let name = view.device.map(|device| device.name).unwrap_or_default();
            eprintln!("The device {name:?} is confirmed, and enrols within seconds.");
            if view.other_device_at.is_some() {
                eprintln!(
                    "WARNING: another device has shown the same text and was refused. Somebody may \
                     have copied it: show texts to the device alone."
                );
            }
            Ok(())
        }
        DeviceCommand::Refuse { id, venue } => {
            let venue = venue_meant(server, venue).await?;
            server.refuse_enrolment(&venue, &id).await?;
            eprintln!("No device is enrolled by {id}.");
            Ok(())
        }
        DeviceCommand::Revoke { id, venue } => {
            let venue = venue_meant(server, venue).await?;
            server.revoke_device(&venue, &id).await?;
            eprintln!(
                "{id} is revoked. When it next reaches the server it gives up its keys and lists. \
                 What it admitted and has not delivered is set aside for you: stile-server \
                 quarantine list --device {id}"
            );
            Ok(())
        }
        DeviceCommand::Readmit { id, gates, venue } => {
            let venue = venue_meant(server, venue).await?;
            let readmission = Readmission { gates };
            server.readmit_device(&venue, &id, readmission).await?;
            eprintln!(
                "{id} is one of the venue's. Judge what it sent meanwhile: stile-server \
                 quarantine list --device {id}"
            );
            Ok(())
        }
        DeviceCommand::OutOfUse { id, venue } => {
            let venue = venue_meant(server, venue).await?;
            server.device_out_of_use(&venue, &id).await?;
            eprintln!(
                "Nothing waits for {id} until it reports again. What it holds back is taken \
                 whenever it comes."
            );
            Ok(())
        }
    }
}

/// The digits as they were typed, or as they are asked for.
fn digits_of(typed: &str) -> Result<EnrolmentDigits, CliError> {
    let read = |text: &str| text.parse().map_err(|error| format!("{error}"));
    match typed {
        "" => {
            let mut ask = Ask::new(stdin().lock(), stderr(), false);
            ask.ask("The six digits that the device shows", None, "DIGITS", read)
        }
        typed => read(typed).map_err(CliError::Usage),
    }
}
