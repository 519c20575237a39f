//! Flags and environment variables.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use stile_core::codes::{Format, OpaqueShape};
use stile_core::ids::{
    Checkpoint, GateId, Kid, OperatorId, OrderNumber, TicketId, VenueId, VenueNumber, Zone,
};
use stile_core::protocol::{OperatorRole, SigningRole};
use stile_core::ticket::Direction;
use stile_core::time::ServiceDay;
use stile_sync_server::attendance::GroupBy;
use stile_sync_server::store::{ApiKeyId, Scope};

use super::alarms::AlarmsCommand;
use super::devices::DeviceCommand;
use super::doctor::Doctor;
use super::quarantine::QuarantineCommand;
use super::reconcile::Reconcile;
use super::setup::Setup;
use super::tls::{PairArgs, TlsCommand};
use super::values::{direction, format, key_id, kid, role, shape, venue_number};
use super::webhooks::{WebhookAllow, WebhookCommand};

/// Stile's sync server: feeds each gate the day's whitelist and takes its check-ins back.
#[derive(Debug, Parser)]
#[command(name = "stile-server", version)]
pub struct Args {
    #[command(flatten)]
    pub place: Place,
    /// How logs on stderr are written. STILE_LOG sets what is logged (default: info).
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "plain",
        env = "STILE_LOG_FORMAT"
    )]
    pub log_format: LogFormat,
    #[command(subcommand)]
    pub command: Command,
}

/// Where the data is, unless it is said.
pub const DEFAULT_DATA: &str = "stile-data";

/// Where the data is, and what opens it.
#[derive(Debug, ClapArgs)]
pub struct Place {
    /// The folder of the server's data; made if it is not there.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "STILE_DATA",
        default_value = DEFAULT_DATA
    )]
    pub data: PathBuf,
    /// The file with the master key [default: DIR/master.key]. STILE_MASTER_KEY may hold the key
    /// itself instead.
    #[arg(long, global = true, value_name = "FILE")]
    pub master_key: Option<PathBuf>,
}

/// The environment variable that may hold the master key itself, 32 bytes in base64. No flag
/// does, since other users of the machine see flags.
pub const MASTER_KEY_VARIABLE: &str = "STILE_MASTER_KEY";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Plain,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sets a server up by a few questions: data, certificate, venue, gate, API key and service.
    /// May be run again: what is there stays, and what is not is made.
    Setup(Setup),
    /// Runs the server until SIGTERM or SIGINT.
    Serve(Serve),
    /// Looks at all that the server needs, and says what to do. Fails if something does.
    Doctor(Doctor),
    /// The server's certificate, and a CA of the venue's own.
    #[command(subcommand)]
    Tls(TlsCommand),
    /// Venues.
    #[command(subcommand)]
    Venue(VenueCommand),
    /// A venue's gates.
    #[command(subcommand)]
    Gate(GateCommand),
    /// API keys of the booking back end, and the venues' own keys.
    #[command(subcommand)]
    Key(KeysCommand),
    /// Who signs in at a venue's gates.
    #[command(subcommand)]
    Operator(OperatorCommand),
    /// Prints who came as a table, with who did not where that is known.
    Attendance(Attendance),
    /// A venue's devices: what each still holds back.
    #[command(subcommand)]
    Device(DeviceCommand),
    /// Where other systems are told what happens at a venue.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Compares a day's tickets, as the booking system states them in a file, with what is here.
    Reconcile(Reconcile),
    /// What needs a person at a venue.
    #[command(subcommand)]
    Alarms(AlarmsCommand),
    /// Invites a device and prints the text of its enrolment QR, good for ten minutes.
    Enrol(Enrol),
    /// Copies the database to a file, also while the server works. The master key is not in it.
    Backup(Backup),
    /// Puts a copy back while the server is stopped. What was there is kept aside.
    Restore(Restore),
    /// Visitors, as far as anything is known of them.
    #[command(subcommand)]
    Visitor(VisitorCommand),
    /// What is removed when its time is over: phones, hashes and their keys 72 hours after their
    /// day, the audit log after the days that are set. A running server does it daily.
    #[command(subcommand)]
    Retention(RetentionCommand),
    /// The records that were set aside for a person.
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
    /// Prints the audit log, one act a line, as JSON: who did what, and when.
    Audit(Audit),
    /// Keeps a damaged database aside and reads its records out to a file.
    Salvage(Salvage),
    /// Prints the OpenAPI document.
    Openapi,
}

#[derive(Debug, ClapArgs)]
pub struct Attendance {
    /// The first service day, like 2026-10-01.
    #[arg(value_name = "DAY")]
    pub from: ServiceDay,
    /// The last service day [default: the first].
    #[arg(long, value_name = "DAY")]
    pub to: Option<ServiceDay>,
    /// What counts are told apart by.
    #[arg(long, value_enum, default_value = "session")]
    pub by: GroupBy,
    /// The report as JSON, as the API gives it.
    #[arg(long)]
    pub json: bool,
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
}

#[derive(Debug, Subcommand)]
pub enum VisitorCommand {
    /// Erases a visitor: what tickets say of their holder goes, the tickets and counts stay.
    Erase {
        /// The visitor's tickets.
        #[arg(
            long = "ticket",
            value_delimiter = ',',
            required_unless_present = "order"
        )]
        tickets: Vec<TicketId>,
        /// The visitor's order, with all its tickets.
        #[arg(long)]
        order: Option<OrderNumber>,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct Backup {
    /// The file for the copy; it must not be there yet.
    #[arg(value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Restore {
    /// The copy.
    #[arg(value_name = "FILE")]
    pub from: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum RetentionCommand {
    /// Removes now what may be kept no longer, and prints what was removed.
    Run {
        /// Also where the server doubts its clock. Look at it first: what is removed is gone.
        #[arg(long)]
        clock_is_right: bool,
    },
    /// Prints the newest runs, and how long records, events and the audit log are kept.
    Status,
    /// Sets how long records, events and the audit log are kept.
    Set {
        /// Days, at least 180.
        #[arg(long)]
        days: u16,
    },
}

#[derive(Debug, ClapArgs)]
pub struct Audit {
    /// The log of this venue alone [default: those of all venues, and the server's own].
    #[arg(long)]
    pub venue: Option<VenueId>,
}

#[derive(Debug, ClapArgs)]
pub struct Salvage {
    /// The file for the records, one JSON object a line; it must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// Where to listen; port 0 takes a free one. The line `listening on https://ADDRESS` (or
    /// `http://`) on stdout says which.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8470",
        env = "STILE_LISTEN"
    )]
    pub listen: SocketAddr,
    /// Where Prometheus finds `/metrics`, in plain HTTP, as 127.0.0.1:9470 [default: nowhere].
    #[arg(long, value_name = "ADDRESS", env = "STILE_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
    /// Show metrics also to others on the network. They name venues and say how busy these are.
    #[arg(long, requires = "metrics_listen")]
    pub metrics_open: bool,
    /// Requests a minute of one API key at most [default: 120000].
    #[arg(long, value_name = "REQUESTS", env = "STILE_LIMIT_KEY")]
    pub limit_key: Option<NonZeroU32>,
    /// Requests a minute of one device at most [default: 12000].
    #[arg(long, value_name = "REQUESTS", env = "STILE_LIMIT_DEVICE")]
    pub limit_device: Option<NonZeroU32>,
    /// Requests a minute of one address at most that show no bearer known as good
    /// [default: 600].
    #[arg(long, value_name = "REQUESTS", env = "STILE_LIMIT_ATTEMPTS")]
    pub limit_attempts: Option<NonZeroU32>,
    #[command(flatten)]
    pub webhooks: WebhookAllow,
    #[command(flatten)]
    pub tls: PairArgs,
    /// Speak plain HTTP also where others on the network can listen in, and though there is a
    /// certificate.
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    pub insecure_http: bool,
}

#[derive(Debug, Subcommand)]
pub enum VenueCommand {
    /// Creates a venue with keys of its own.
    Add(VenueAdd),
    /// Shows a venue and its policy, or all venues.
    Show {
        /// The venue.
        id: Option<VenueId>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct VenueAdd {
    /// Its id: 1 to 32 of a-z, 0-9 and -.
    pub id: VenueId,
    /// What people call it.
    #[arg(long)]
    pub name: String,
    /// Its IANA time zone, such as Asia/Shanghai.
    #[arg(long, value_name = "ZONE")]
    pub time_zone: String,
    /// The formats of codes that it takes; with opaque, say --opaque-shape as well.
    #[arg(
        long, value_delimiter = ',', default_value = "v1,G2,G3", value_parser = format,
        value_name = "FORMATS"
    )]
    pub formats: Vec<Format>,
    /// A shape of its opaque codes: what they start with (may be empty), the characters that may
    /// follow, and the shortest and longest length, as MUS:0123456789:10-12.
    #[arg(long = "opaque-shape", value_name = "PREFIX:ALPHABET:FROM-TO", value_parser = shape)]
    pub opaque_shapes: Vec<OpaqueShape>,
}

#[derive(Debug, Subcommand)]
pub enum GateCommand {
    /// Creates a gate or replaces it.
    Add(GateAdd),
}

#[derive(Debug, ClapArgs)]
pub struct GateAdd {
    /// Its id: 1 to 64 of A-Z, a-z, 0-9, _ and -.
    pub id: GateId,
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
    /// What people call it.
    #[arg(long, default_value = "")]
    pub name: String,
    /// Which way people pass: in or out.
    #[arg(long, default_value = "in", value_parser = direction)]
    pub direction: Direction,
    /// What one admission is good for [default: entry].
    #[arg(long)]
    pub checkpoint: Option<Checkpoint>,
    /// The zones that it admits to.
    #[arg(long, value_delimiter = ',')]
    pub zones: Vec<Zone>,
    /// Nobody stands at it.
    #[arg(long)]
    pub unattended: bool,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    #[command(flatten)]
    Key(KeyCommand),
    /// Puts the master key back from a copy that `key backup` made, and keys that the database lacks.
    Restore(KeyRestore),
}

#[derive(Debug, ClapArgs)]
pub struct KeyBackupOut {
    /// The file for the copy; it must not be there yet.
    #[arg(value_name = "FILE")]
    pub out: PathBuf,
    /// Also where the data or its copies lie: whoever takes them then has both.
    #[arg(long)]
    pub beside_data: bool,
}

#[derive(Debug, ClapArgs)]
pub struct KeyRestore {
    /// The copy.
    #[arg(value_name = "FILE")]
    pub from: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Makes a key and prints it, this once.
    Add(KeyAdd),
    /// Lists all keys, without their texts.
    List,
    /// Takes the secret that the booking system signs its v1 codes with. From then on gates ask
    /// the server whether such a code is genuine. It must be signed over the digits of the phone
    /// that the ticket file gives in full; a Chinese mobile number may have +86 in either.
    Import(KeyImport),
    /// Prints the key that the booking system mints v1 codes with by itself, in hexadecimal digits
    /// (docs/minting.md). Whoever has it can make a v1 code of every ticket of the venue.
    Minting {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Prints the keys that the venue signs with, one JSON object a line.
    Show {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Makes the next key that signs lists or codes. Gates hear of it at once; it signs codes after 72
    /// hours, lists after one.
    Rotate {
        /// What it signs: list or code.
        role: SigningRole,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Ends a signing key at once, with all that it ever signed, since it was stolen. Another one signs
    /// from now on.
    RevokeSigning {
        /// What it signs: list or code.
        role: SigningRole,
        /// Its kid, as `key show` prints it.
        #[arg(value_parser = kid)]
        kid: Kid,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Copies the master key and all venues' keys to one file, under a passphrase that is asked for.
    /// Keep it apart from copies of the data.
    Backup(KeyBackupOut),
    /// Sister venues: whose genuine codes gates answer with `wrong_venue`.
    #[command(subcommand)]
    Sister(SisterCommand),
    /// Revokes a key.
    Revoke {
        /// Its id, as `key list` shows it.
        #[arg(value_parser = key_id)]
        id: ApiKeyId,
    },
}

#[derive(Debug, Subcommand)]
pub enum SisterCommand {
    /// Adds a code key of another venue to the venue's signed key manifest.
    Add(SisterAdd),
    /// Lists the sister venues, and what their servers must be told of this one.
    List {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Removes a sister venue, or one of its keys.
    Remove {
        /// The sister venue.
        sister: VenueId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
        /// This key alone.
        #[arg(long, value_name = "KID", value_parser = kid)]
        kid: Option<Kid>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct SisterAdd {
    /// The sister venue's id, if it is on another server.
    #[arg(required_unless_present = "of", requires = "number")]
    pub sister: Option<VenueId>,
    /// The venue whose gates are to know it; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
    /// The sister venue, if it is on this server: with its number and all its code keys.
    #[arg(long, value_name = "VENUE", conflicts_with_all = ["sister", "number", "kid", "public_key", "from"])]
    pub of: Option<VenueId>,
    /// Its number in codes.
    #[arg(long, value_parser = venue_number, requires = "kid")]
    pub number: Option<VenueNumber>,
    /// The key's kid there.
    #[arg(long, value_parser = kid, requires = "public_key")]
    pub kid: Option<Kid>,
    /// The public key, 32 bytes in base64.
    #[arg(long, value_name = "BASE64")]
    pub public_key: Option<String>,
    /// Since when it signs: epoch seconds, RFC 3339, or a time in the venue's zone [default: always].
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct KeyImport {
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
    /// The file with the secret [default: standard input].
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How the secret is written. A line break at the end is no part of it.
    #[arg(long, value_enum, default_value = "text")]
    pub encoding: SecretEncoding,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SecretEncoding {
    /// As the characters that it consists of.
    Text,
    /// In hexadecimal digits.
    Hex,
    /// In base64.
    Base64,
}

#[derive(Debug, ClapArgs)]
pub struct KeyAdd {
    /// The venues that it is good for.
    #[arg(long = "venue", value_delimiter = ',', required = true)]
    pub venues: Vec<VenueId>,
    /// What it may be used for: tickets:write, codes:mint, records:read, admin.
    #[arg(long, value_delimiter = ',', required = true)]
    pub scopes: Vec<Scope>,
    /// What people call it.
    #[arg(long)]
    pub name: String,
    /// Days until it is no longer good [default: never].
    #[arg(long, value_name = "DAYS")]
    pub expires_days: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    /// Creates an operator or changes one, with the PIN that stands on standard input's first
    /// line. `--new-badge` makes a staff QR and prints its text, this once.
    Set(OperatorSet),
    /// Lists the operators, without their PINs.
    List {
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
    /// Removes an operator.
    Remove {
        /// The operator.
        id: OperatorId,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct OperatorSet {
    /// The id: 1 to 64 of A-Z, a-z, 0-9, _ and -.
    pub id: OperatorId,
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
    /// What people call them.
    #[arg(long, default_value = "")]
    pub name: String,
    /// What they may do: guard or supervisor.
    #[arg(long, value_parser = role)]
    pub role: OperatorRole,
    /// Leave the PIN as it is and read none.
    #[arg(long)]
    pub keep_pin: bool,
    /// Make a new staff QR; an old one is good no longer.
    #[arg(long)]
    pub new_badge: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Enrol {
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
    /// The gates that the device may serve.
    #[arg(long = "gate", value_delimiter = ',', required = true)]
    pub gates: Vec<GateId>,
    /// The server's address as the device reaches it.
    #[arg(long, value_name = "URL")]
    pub server: String,
    /// The certificate that the server shows there [default: the one of `tls new`]. If its CA is
    /// one of the venue's own, the device is told to trust that one alone.
    #[arg(long, value_name = "PEM", env = "STILE_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// Enrol the first device that has the text, without the six digits that an operator compares.
    #[arg(long)]
    pub no_confirm: bool,
}
