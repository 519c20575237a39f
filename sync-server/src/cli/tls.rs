//! `tls …`: the server's certificate, made and renewed under a CA of the venue's own.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use stile_core::time::EpochSeconds;
use stile_sync_server::clock::{Clock, SystemClock};
use stile_sync_server::random::SystemRandom;
use stile_sync_server::tls::{Chain, Names, Own, PairFiles};

use super::CliError;
use super::args::Place;
use super::commands::{print, print_json};

const DAY_S: i64 = 24 * 3600;

#[derive(Debug, Subcommand)]
pub enum TlsCommand {
    /// Makes a CA of the venue's own and a certificate under it, and prints the CA's pin.
    New(TlsNew),
    /// Makes the certificate's successor under the same CA; gates notice nothing. A running server
    /// takes it at once, and renews by itself where the CA's key is at hand.
    Renew(TlsRenew),
    /// Shows whom the certificate names, until when it is good, and the CA's pin.
    Show {
        /// The certificate [default: the one of `tls new`].
        #[arg(long, value_name = "PEM", env = "STILE_TLS_CERT")]
        tls_cert: Option<PathBuf>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct TlsNew {
    /// A name that gates call the server by, such as museum.lan.
    #[arg(long = "name", value_name = "NAME", value_delimiter = ',')]
    pub names: Vec<String>,
    /// An address that gates call the server by.
    #[arg(long = "address", value_name = "ADDRESS", value_delimiter = ',')]
    pub addresses: Vec<IpAddr>,
    /// The folder for the CA's key [default: DIR/tls-ca].
    #[arg(long, value_name = "FOLDER")]
    pub ca: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct TlsRenew {
    /// Other names than before; all of them have to be said.
    #[arg(long = "name", value_name = "NAME", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Other addresses than before.
    #[arg(long = "address", value_name = "ADDRESS", value_delimiter = ',')]
    pub addresses: Vec<IpAddr>,
    /// The folder with the CA's key [default: DIR/tls-ca].
    #[arg(long, value_name = "FOLDER")]
    pub ca: Option<PathBuf>,
}

/// The pair that a server shows.
#[derive(Debug, Clone, ClapArgs)]
pub struct PairArgs {
    /// The certificate with its chain [default: DIR/tls/server.pem, if `tls new` made one]. Read
    /// again when it changes, and on SIGHUP.
    #[arg(long, value_name = "PEM", requires = "tls_key", env = "STILE_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key; not for everybody to read. May be the same file.
    #[arg(long, value_name = "PEM", requires = "tls_cert", env = "STILE_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
}

impl PairArgs {
    /// The files that flags name, else those that `tls new` made, if it did.
    pub fn files(&self, data: &Path) -> Option<PairFiles> {
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            return Some(PairFiles {
                certificate: certificate.clone(),
                key: key.clone(),
            });
        }
        let own = Own::in_folder(data, None);
        own.is_there().then(|| own.files())
    }
}

/// `tls …`
pub fn run(place: &Place, command: TlsCommand) -> Result<(), CliError> {
    let now = SystemClock.now().seconds();
    match command {
        TlsCommand::New(new) => {
            let names = Names::new(&new.names, &new.addresses)?;
            let own = Own::in_folder(&place.data, new.ca.as_deref());
            let pair = own.make(&names, now, &SystemRandom)?;
            say_made(&own, &pair.chain, now);
            pair.chain
                .own_root
                .map_or(Ok(()), |root| print(&root.pin()))
        }
        TlsCommand::Renew(renew) => {
            let names = match renew.names.is_empty() && renew.addresses.is_empty() {
                true => None,
                false => Some(Names::new(&renew.names, &renew.addresses)?),
            };
            let own = Own::in_folder(&place.data, renew.ca.as_deref());
            let pair = own.renew(names.as_ref(), now)?;
            eprintln!(
                "A new certificate for {}, good for {} days, under the same CA. A running server \
                 takes it within seconds; the gates notice nothing.",
                pair.chain.leaf.names.join(", "),
                days_left(&pair.chain, now)
            );
            Ok(())
        }
        TlsCommand::Show { tls_cert } => {
            let chain = chain_meant(place, tls_cert)?;
            print_json(&Shown::new(&chain, now))
        }
    }
}

/// Says what was made and what to do with it.
pub fn say_made(own: &Own, chain: &Chain, now: EpochSeconds) {
    eprintln!(
        "A certificate for {}, good for {} days: {}",
        chain.leaf.names.join(", "),
        days_left(chain, now),
        own.files().certificate.display()
    );
    eprintln!(
        "Its CA, with the key: {}. Back it up now, apart from the data. Without it no certificate \
         follows that the gates trust, and each has to be enrolled anew. It may be taken away \
         between renewals; while it is there, the server renews by itself.",
        own.authority_file().display()
    );
    eprintln!(
        "For browsers and booking systems that are to trust it: {}",
        own.public_file().display()
    );
}

/// What an enrolment for an address pins, and a word where it pins nothing although there is a CA.
pub fn pin_for(
    place: &Place,
    tls_cert: Option<PathBuf>,
    server: &str,
) -> Result<Option<String>, CliError> {
    let own = Own::in_folder(&place.data, None);
    if tls_cert.is_none() && !own.is_there() {
        return Ok(None);
    }
    if !server.starts_with("https://") {
        eprintln!(
            "Careful: there is a certificate, and {server} is no https:// address. A server that \
             speaks TLS answers nothing else."
        );
    }
    match chain_meant(place, tls_cert)?.pin_for(server) {
        Ok(pin) => Ok(pin),
        Err(not_named) => {
            eprintln!("Careful: {not_named}.");
            Ok(None)
        }
    }
}

fn chain_meant(place: &Place, tls_cert: Option<PathBuf>) -> Result<Chain, CliError> {
    let own = Own::in_folder(&place.data, None);
    let path = tls_cert.unwrap_or_else(|| own.files().certificate);
    Ok(Chain::load(&path)?)
}

/// Whole days for which it is still good.
pub fn days_left(chain: &Chain, now: EpochSeconds) -> i64 {
    chain
        .leaf
        .not_after
        .0
        .saturating_sub(now.0)
        .div_euclid(DAY_S)
}

/// A certificate for whoever has the server's folder. Times are epoch seconds.
#[derive(Serialize)]
struct Shown<'c> {
    names: &'c [String],
    not_before: i64,
    not_after: i64,
    days_left: i64,
    ca_pin: Option<String>,
}

impl<'c> Shown<'c> {
    fn new(chain: &'c Chain, now: EpochSeconds) -> Self {
        Self {
            names: &chain.leaf.names,
            not_before: chain.leaf.not_before.0,
            not_after: chain.leaf.not_after.0,
            days_left: days_left(chain, now),
            ca_pin: chain.own_root.as_ref().map(|root| root.pin()),
        }
    }
}
