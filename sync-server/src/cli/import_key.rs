//! `key import`: a booking system's secret, from a file or standard input and never from a flag,
//! which other users of the machine see.

use std::fs::File;
use std::io::{self, Read};

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use stile_sync_server::server::Server;
use zeroize::Zeroizing;

use super::CliError;
use super::args::{KeyImport, SecretEncoding};
use super::commands::venue_meant;

/// More than any secret has, in bytes.
const MOST_BYTES: u64 = 4096;

/// `key import`
pub async fn run(server: &Server, import: KeyImport) -> Result<(), CliError> {
    let venue = venue_meant(server, import.venue.clone()).await?;
    let text = read(&import).map_err(|source| CliError::System {
        doing: "read the secret",
        source,
    })?;
    let secret = decode(&text, import.encoding)?;
    server.import_shared_secret(&venue, &secret).await?;
    eprintln!(
        "The venue {venue} verifies its v1 codes by the shared secret. Import its tickets again, \
         so that their phones are there to verify with."
    );
    Ok(())
}

fn read(import: &KeyImport) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::with_capacity(MOST_BYTES as usize));
    match &import.file {
        Some(file) => File::open(file)?.take(MOST_BYTES).read_to_end(&mut text)?,
        None => io::stdin().lock().take(MOST_BYTES).read_to_end(&mut text)?,
    };
    Ok(text)
}

fn decode(text: &[u8], encoding: SecretEncoding) -> Result<Zeroizing<Vec<u8>>, CliError> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let (decoded, name) = match encoding {
        SecretEncoding::Text => (Some(text.to_vec()), "text"),
        SecretEncoding::Hex => (HEXLOWER_PERMISSIVE.decode(text).ok(), "hexadecimal digits"),
        SecretEncoding::Base64 => (BASE64.decode(text).ok(), "base64"),
    };
    decoded
        .map(Zeroizing::new)
        .ok_or(CliError::SecretEncoding(name))
}
