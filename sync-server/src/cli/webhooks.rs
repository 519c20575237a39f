//! `webhook …`: where other systems are told what happens at a venue.

use std::io::{self, BufRead};

use stile_core::protocol::NewWebhook;
use stile_sync_server::config;
use stile_sync_server::server::Server;
use zeroize::Zeroizing;

use super::CliError;
use super::args::{WebhookAdd, WebhookCommand};
use super::commands::{print, print_line, venue_meant};

/// `webhook …`
pub fn webhook(command: WebhookCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        WebhookCommand::Add(add) => make(server, add).await,
        WebhookCommand::List { venue } => {
            let venue = venue_meant(server, venue).await?;
            let webhooks = server.webhooks(&venue).await?.webhooks;
            webhooks.iter().try_for_each(print_line)
        }
        WebhookCommand::Remove { id, venue } => {
            let venue = venue_meant(server, venue).await?;
            server.remove_webhook(&venue, id).await?;
            eprintln!("Nothing is sent to the webhook {id} any more.");
            Ok(())
        }
        WebhookCommand::Resume { id, venue } => {
            let venue = venue_meant(server, venue).await?;
            server.resume_webhook(&venue, id).await?;
            eprintln!("The webhook {id} goes on where it stopped.");
            Ok(())
        }
        WebhookCommand::Test { id, venue, allow } => {
            let venue = venue_meant(server, venue).await?;
            let settings = config::Webhooks {
                allow: allow.webhook_allow,
                ..config::Webhooks::default()
            };
            let tested = server.test_webhook(&venue, id, &settings).await?;
            match tested.problem {
                None => print("the receiver took the test message"),
                Some(problem) => Err(CliError::Failed(problem)),
            }
        }
    }
}

async fn make(server: &Server, add: WebhookAdd) -> Result<(), CliError> {
    let venue = venue_meant(server, add.venue).await?;
    let new = NewWebhook {
        name: add.name,
        url: match add.url.as_str() {
            "-" => first_line()?.as_str().to_owned(),
            _ => add.url,
        },
        carries: add.carries,
        template: add.template,
        language: add.language,
        insecure_http: add.insecure_http,
    };
    let (webhook, secret) = server.add_webhook(&venue, new).await?;
    eprintln!(
        "The webhook {}; keep its secret, which messages are signed with: it is shown this once:",
        webhook.webhook_id
    );
    print(secret.as_str())
}

/// A URL with a token in it, which other users of the machine would see among the flags.
fn first_line() -> Result<Zeroizing<String>, CliError> {
    let mut line = Zeroizing::new(String::new());
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| CliError::System {
        doing: "read the URL from standard input",
        source,
    })?;
    Ok(Zeroizing::new(line.trim().to_owned()))
}
