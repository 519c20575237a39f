//! The way in: whether a running server answers, shows the certificate that lies on disk, and is
//! reached under the names that it is for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use stile_sync_server::server::Server;
use stile_sync_server::tls::{Chain, Pair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::finding::Finding;
use super::read_if_there;
use crate::cli::serve::SERVING_FILE;

/// How long anything on this machine may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read: its first line is what counts.
const HEAD_BYTES: u64 = 4 * 1024;

/// A running server's address.
struct Address {
    is_tls: bool,
    socket: SocketAddr,
}

pub(super) async fn findings(data: &Path, pair: Option<&Pair>) -> Vec<Finding> {
    match Server::is_at_work(data) {
        Ok(true) => {}
        Ok(false) => return vec![Finding::left_out("port", "no server runs on this folder")],
        Err(error) => {
            let todo = "run this as the server's user";
            return vec![Finding::fail("port", error.to_string(), todo)];
        }
    }
    let text = read_if_there(&data.join(SERVING_FILE)).unwrap_or_default();
    let Some(address) = address(text.trim()) else {
        return vec![Finding::left_out(
            "port",
            "the server that runs does not say where it listens",
        )];
    };
    let mut findings = vec![answers(&address, pair.map(|pair| &pair.chain)).await];
    if let Some(pair) = pair.filter(|_| address.is_tls) {
        findings.push(reached(&pair.chain, address.socket.port()).await);
    }
    findings
}

fn address(url: &str) -> Option<Address> {
    let (scheme, socket) = url.split_once("://")?;
    Some(Address {
        is_tls: scheme == "https",
        socket: socket.parse().ok()?,
    })
}

/// Where this machine reaches what listens everywhere.
fn near(socket: SocketAddr) -> SocketAddr {
    let ip = match socket.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, socket.port())
}

async fn answers(address: &Address, chain: Option<&Chain>) -> Finding {
    let scheme = if address.is_tls { "https" } else { "http" };
    let url = format!("{scheme}://{}", address.socket);
    let asked = timeout(ANSWER_TIME, ask(address, chain)).await;
    let status = asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    match status {
        Ok(status) if status.contains(" 200 ") => Finding::ok("port", format!("{url} answers")),
        Ok(status) => Finding::fail(
            "port",
            format!("{url} says `{status}`"),
            "it cannot store now: see the other findings, and its log",
        ),
        Err(error) => Finding::fail(
            "port",
            format!("{url}: {error}"),
            "see the server's log. If it shows another certificate than the one on disk, the new \
             one is broken, or commands were not told of it (--tls-cert)",
        ),
    }
}

/// Asks whether it can store; the answer's first line.
async fn ask(address: &Address, chain: Option<&Chain>) -> io::Result<String> {
    let stream = TcpStream::connect(near(address.socket)).await?;
    if !address.is_tls {
        return ready(stream).await;
    }
    let none = || io::Error::other("there is no certificate on disk to hold it against");
    let chain = chain.ok_or_else(none)?;
    let name = chain.leaf.names.first().cloned().ok_or_else(none)?;
    let name = ServerName::try_from(name).map_err(io::Error::other)?;
    let connector = connector(chain).map_err(io::Error::other)?;
    let stream = connector.connect(name, stream).await?;
    let shown = stream.get_ref().1.peer_certificates();
    if shown.and_then(<[_]>::first) != Some(chain.leaf.der()) {
        return Err(io::Error::other(
            "it shows another certificate than the one on disk",
        ));
    }
    ready(stream).await
}

fn connector(chain: &Chain) -> Result<TlsConnector, rustls::Error> {
    let mut roots = RootCertStore::empty();
    match &chain.own_root {
        Some(root) => roots.add(root.der().clone())?,
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let provider = Arc::new(ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn ready(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<String> {
    let request = b"GET /readyz HTTP/1.1\r\nhost: doctor\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await?;
    let mut head = Vec::new();
    // Some close without a word, which is no matter once the answer is here.
    let read = stream.take(HEAD_BYTES).read_to_end(&mut head).await;
    let text = String::from_utf8_lossy(&head);
    match text.lines().next() {
        Some(line) => Ok(line.to_owned()),
        None => read.and(Err(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Whether each name of the certificate leads here, as far as this machine can tell.
async fn reached(chain: &Chain, port: u16) -> Finding {
    for name in &chain.leaf.names {
        let connected = timeout(ANSWER_TIME, TcpStream::connect((name.as_str(), port))).await;
        let why = match connected {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        return Finding::warn(
            "names",
            format!("{name} port {port}: {why}"),
            "gates that were enrolled with this name do not reach the server either, unless only \
             their name server knows it; let it listen at 0.0.0.0, or see to name and address",
        );
    }
    Finding::ok(
        "names",
        "each name of the certificate leads to an open port",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_listens_everywhere_is_asked_on_this_machine() {
        for (text, near_by) in [
            ("https://0.0.0.0:8470", "127.0.0.1:8470"),
            ("https://[::]:8470", "[::1]:8470"),
            ("http://192.168.1.5:80", "192.168.1.5:80"),
        ] {
            let address = address(text).unwrap();
            assert_eq!(address.is_tls, text.starts_with("https"));
            assert_eq!(near(address.socket).to_string(), near_by);
        }
        assert!(address("").is_none() && address("https://museum.lan").is_none());
    }
}
