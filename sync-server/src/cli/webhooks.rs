//! `webhook …`: where other systems are told what happens at a venue.

use std::io::{self, BufRead};

use clap::{Args as ClapArgs, Subcommand};
use stile_core::ids::VenueId;
use stile_core::protocol::{Carried, NewWebhook, WebhookId, WebhookLanguage, WebhookTemplate};
use stile_sync_server::config;
use stile_sync_server::server::Server;
use stile_sync_server::webhooks::Network;
use zeroize::Zeroizing;

use super::CliError;
use super::commands::{print, print_line, venue_meant};

#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Makes a webhook and prints the secret that its messages are signed with, this once.
    Add(WebhookAdd),
    /// Prints the webhooks, one JSON object a line, with what is wrong where one does not get
    /// through.
    List {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Removes a webhook; what waited for it is not sent.
    Remove {
        /// Its id, as `webhook list` shows it.
        id: WebhookId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Has a webhook that is paused, or waits, go on at once where it stopped.
    Resume {
        /// Its id, as `webhook list` shows it.
        id: WebhookId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Sends a test message. Fails if the receiver does not take it.
    Test {
        /// Its id, as `webhook list` shows it.
        id: WebhookId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
        #[command(flatten)]
        allow: WebhookAllow,
    },
}

#[derive(Debug, ClapArgs)]
pub struct WebhookAllow {
    /// Addresses beside those of the public internet that webhooks may lead to, as 10.1.0.0/16;
    /// several with commas.
    #[arg(
        long,
        value_name = "CIDR",
        value_delimiter = ',',
        env = "STILE_WEBHOOK_ALLOW"
    )]
    pub webhook_allow: Vec<Network>,
}

#[derive(Debug, ClapArgs)]
pub struct WebhookAdd {
    /// Where messages go; `-` reads it from standard input's first line, since other users of the
    /// machine see flags.
    #[arg(value_name = "URL")]
    pub url: String,
    /// What people call it.
    #[arg(long)]
    pub name: String,
    /// What it carries: check_ins, conflicts, sessions, alarms.
    #[arg(long, value_delimiter = ',', required = true)]
    pub carries: Vec<Carried>,
    /// How messages are written: plain (for programs), wecom, dingtalk, feishu or slack (a sentence
    /// for a chat group).
    #[arg(long, default_value = "plain")]
    pub template: WebhookTemplate,
    /// The language of sentences: zh-CN or en.
    #[arg(long, default_value = "zh-CN")]
    pub language: WebhookLanguage,
    /// Take a URL of http://, though anybody on the way can read and change what is sent.
    #[arg(long)]
    pub insecure_http: bool,
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
}

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
