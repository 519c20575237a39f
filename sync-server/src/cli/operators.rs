//! `operator …`: PINs come on standard input, since other users of the machine see flags.

use std::io;

use stile_core::protocol::NewOperator;
use stile_sync_server::server::Server;
use zeroize::Zeroizing;

use super::CliError;
use super::args::{OperatorCommand, OperatorSet};
use super::commands::{print, print_json, venue_meant};

/// `operator …`
pub fn operator(command: OperatorCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        OperatorCommand::Set(set) => put(server, set).await,
        OperatorCommand::List { venue } => {
            let venue = venue_meant(server, venue).await?;
            print_json(&server.operators(&venue).await?.operators)
        }
        OperatorCommand::Remove { id, venue } => {
            let venue = venue_meant(server, venue).await?;
            server.remove_operator(&venue, &id).await?;
            eprintln!("The operator {id} is removed.");
            Ok(())
        }
    }
}

async fn put(server: &Server, set: OperatorSet) -> Result<(), CliError> {
    let venue = venue_meant(server, set.venue).await?;
    let pin = if set.keep_pin {
        None
    } else {
        Some(read_pin()?)
    };
    let new = NewOperator {
        name: set.name,
        role: set.role,
        pin: pin.map(|pin| pin.trim().to_owned()),
        new_badge: set.new_badge,
    };
    let (operator, _) = server.put_operator(&venue, set.id, new).await?;
    eprintln!(
        "The venue {venue} has the operator {}.",
        operator.operator_id
    );
    match operator.badge {
        Some(badge) => {
            eprintln!("The text of the staff QR; it is shown this once:");
            print(&badge)
        }
        None => Ok(()),
    }
}

fn read_pin() -> Result<Zeroizing<String>, CliError> {
    eprintln!("The PIN, 4 to 12 digits:");
    let mut pin = Zeroizing::new(String::new());
    io::stdin()
        .read_line(&mut pin)
        .map_err(|source| CliError::System {
            doing: "read the PIN",
            source,
        })?;
    Ok(pin)
}
