//! `device …`: what each device still holds back, and which of them nothing waits for.

use stile_sync_server::server::Server;

use super::CliError;
use super::args::DeviceCommand;
use super::commands::{print_line, venue_meant};

/// `device …`
pub fn device(command: DeviceCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        DeviceCommand::List { venue } => {
            let venue = venue_meant(server, venue).await?;
            let devices = server.devices(&venue).await?.devices;
            devices.iter().try_for_each(print_line)
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
