//! Which act each command is, for the audit log: a command that is not named here does not compile.

use stile_core::ids::VenueId;
use stile_core::protocol::Act;
use stile_sync_server::acting::{ActResult, ActRow, ActedBy, Acting};
use stile_sync_server::server::Server;

use super::CliError;
use super::args::{
    Command, GateCommand, KeyCommand, KeysCommand, OperatorCommand, RetentionCommand,
    SisterCommand, VenueCommand, VisitorCommand,
};
use super::commands::venue_meant;
use super::devices::DeviceCommand;
use super::quarantine::QuarantineCommand;
use super::reconcile::Reconcile;
use super::webhooks::WebhookCommand;
use stile_core::protocol::Code;

/// What a command does.
pub struct Said {
    act: Act,
    at: At,
    thing: Option<String>,
}

impl Said {
    /// An act on the server, or on what the act itself says.
    pub fn at_server(act: Act, thing: impl Into<Option<String>>) -> Self {
        Self {
            act,
            at: At::Server,
            thing: thing.into(),
        }
    }

    /// An act at a venue.
    pub fn at_venue(act: Act, venue: VenueId, thing: impl Into<Option<String>>) -> Self {
        Self {
            act,
            at: At::Venue(Some(venue)),
            thing: thing.into(),
        }
    }
}

/// What it does it to.
enum At {
    /// A venue: the one that is named, or the only one.
    Venue(Option<VenueId>),
    /// The server, or what the act itself says.
    Server,
}

/// The act that a command is; none if it changes nothing, or nothing that a log could be kept in.
pub fn of(command: &Command) -> Option<Said> {
    let at = |act, venue: &Option<VenueId>| (act, At::Venue(venue.clone()));
    let (what, thing) = match command {
        Command::Venue(VenueCommand::Add(add)) => ((Act::VenueAdd, At::Server), text(&add.id)),
        Command::Gate(GateCommand::Add(add)) => (at(Act::GatePut, &add.venue), text(&add.id)),
        Command::Key(KeysCommand::Key(key)) => match key {
            KeyCommand::Add(_) => ((Act::ApiKeyMake, At::Server), None),
            KeyCommand::Revoke { id } => ((Act::ApiKeyRevoke, At::Server), text(id)),
            KeyCommand::Import(import) => (at(Act::SecretImport, &import.venue), None),
            KeyCommand::Rotate { venue, .. } => (at(Act::KeyRotate, venue), None),
            KeyCommand::RevokeSigning { role, kid, venue } => {
                let thing = Some(format!("{role} {}", kid.0));
                (at(Act::SigningKeyRevoke, venue), thing)
            }
            KeyCommand::Backup(_) => ((Act::KeyBackup, At::Server), None),
            KeyCommand::Minting { venue } => (at(Act::MintingKeyShow, venue), None),
            KeyCommand::Sister(SisterCommand::Add(add)) => {
                let sister = add.of.as_ref().or(add.sister.as_ref());
                (at(Act::SisterAdd, &add.venue), sister.and_then(text))
            }
            KeyCommand::Sister(SisterCommand::Remove { sister, venue, .. }) => {
                (at(Act::SisterRemove, venue), text(sister))
            }
            KeyCommand::List | KeyCommand::Show { .. } | KeyCommand::Sister(SisterCommand::List { .. }) => return None,
        },
        Command::Operator(OperatorCommand::Set(set)) => {
            (at(Act::OperatorPut, &set.venue), text(&set.id))
        }
        Command::Operator(OperatorCommand::Remove { id, venue }) => {
            (at(Act::OperatorRemove, venue), text(id))
        }
        Command::Reconcile(Reconcile {
            command: None,
            day: Some(day),
            venue,
            ..
        }) => (at(Act::TicketsReconcile, venue), text(day)),
        Command::Visitor(VisitorCommand::Erase { venue, .. }) => {
            (at(Act::VisitorErase, venue), None)
        }
        Command::Retention(RetentionCommand::Run { .. }) => ((Act::RetentionRun, At::Server), None),
        Command::Retention(RetentionCommand::Set { .. }) => ((Act::RetentionSet, At::Server), None),
        Command::Device(DeviceCommand::OutOfUse { id, venue }) => {
            (at(Act::DeviceOutOfUse, venue), text(id))
        }
        Command::Device(DeviceCommand::Confirm { id, venue, .. }) => {
            (at(Act::DeviceConfirm, venue), text(id))
        }
        Command::Device(DeviceCommand::Refuse { id, venue }) => {
            (at(Act::DeviceRefuse, venue), text(id))
        }
        Command::Device(DeviceCommand::Revoke { id, venue }) => {
            (at(Act::DeviceRevoke, venue), text(id))
        }
        Command::Device(DeviceCommand::Readmit { id, venue, .. }) => {
            (at(Act::DeviceReadmit, venue), text(id))
        }
        Command::Quarantine(QuarantineCommand::Accept(judge)) => {
            (at(Act::QuarantineAccept, &judge.venue), judge.device.as_ref().and_then(text))
        }
        Command::Quarantine(QuarantineCommand::Dismiss(judge)) => {
            (at(Act::QuarantineDismiss, &judge.venue), judge.device.as_ref().and_then(text))
        }
        Command::Webhook(webhook) => match webhook {
            WebhookCommand::Add(add) => (at(Act::WebhookMake, &add.venue), None),
            WebhookCommand::Remove { id, venue } => (at(Act::WebhookRemove, venue), text(id)),
            WebhookCommand::Resume { id, venue } => (at(Act::WebhookResume, venue), text(id)),
            WebhookCommand::Test { id, venue, .. } => (at(Act::WebhookTest, venue), text(id)),
            WebhookCommand::List { .. } => return None,
        },
        Command::Enrol(enrol) => (at(Act::DeviceInvite, &enrol.venue), None),
        Command::Venue(VenueCommand::Show { .. })
        | Command::Device(DeviceCommand::List { .. } | DeviceCommand::Waiting { .. })
        | Command::Operator(OperatorCommand::List { .. })
        | Command::Alarms(_)
        | Command::Reconcile(_)
        | Command::Attendance(_)
        | Command::Audit(_)
        | Command::Quarantine(QuarantineCommand::List { .. })
        | Command::Retention(RetentionCommand::Status)
        | Command::Openapi
        | Command::Serve(_)
        | Command::Doctor(_)
        // Files beside the database, which may not be there yet.
        | Command::Tls(_)
        // Where it has a database, its row is written there.
        | Command::Key(KeysCommand::Restore(_))
        // Many acts, each with its own row.
        | Command::Setup(_)
        // A copy changes nothing. Of a database that is put back, the new generation tells; one that
        // is damaged can keep nothing.
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Salvage(_) => return None,
    };
    let (act, at) = what;
    Some(Said { act, at, thing })
}

#[expect(clippy::unnecessary_wraps, reason = "all things are given alike")]
fn text(thing: impl ToString) -> Option<String> {
    Some(thing.to_string())
}

/// The act, about to be carried out by whoever runs this program.
pub async fn begin(server: &Server, said: Said) -> Result<Acting, CliError> {
    let row = ActRow {
        at: server.now(),
        act: said.act,
        by: ActedBy::CommandLine(rustix::process::getuid().as_raw()),
        thing: said.thing,
        result: ActResult::Done,
        count: None,
        trace: None,
    };
    let venue = match said.at {
        At::Venue(named) => Some(venue_meant(server, named).await?),
        At::Server => None,
    };
    Ok(server.begin_act_with(row, venue.as_ref()).await?)
}

/// What became of a command.
pub fn result<T>(outcome: &Result<T, CliError>) -> ActResult {
    match outcome {
        Ok(_) => ActResult::Done,
        Err(CliError::Server(error)) => ActResult::Refused(error.code()),
        Err(CliError::SecretEncoding(_) | CliError::Time(_) | CliError::Usage(_)) => {
            ActResult::Refused(Code::Unprocessable)
        }
        Err(_) => ActResult::Refused(Code::Internal),
    }
}
