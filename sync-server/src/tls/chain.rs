//! What a server shows of itself, from its own certificate up: whom gates trust by it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::certificate::Certificate;
use super::pair::PairError;

/// Why an enrolment for an address carries no pin although the server has a CA of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server's certificate does not name {host}, so the enrolment pins no CA: a device trusts \
     that address under public CAs alone. `tls renew` can add the name"
)]
pub struct NotNamed {
    /// The host of the address.
    pub host: String,
}

/// A server's certificate and those behind it.
#[derive(Debug, Clone)]
pub struct Chain {
    /// The server's own certificate.
    pub leaf: Certificate,
    /// The CA that gates pin, if the chain ends in one of the venue's own.
    pub own_root: Option<Certificate>,
    behind: Vec<CertificateDer<'static>>,
}

impl Chain {
    /// Reads a file. A key that is in it too is passed over.
    pub fn load(path: &Path) -> Result<Self, PairError> {
        let text = fs::read(path).map_err(|source| PairError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &Zeroizing::new(text))
    }

    /// Reads a text that came from a file.
    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Self, PairError> {
        let none = || PairError::NoCertificate(path.to_owned());
        let chain = CertificateDer::pem_slice_iter(text)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| none())?;
        let read = |der: &CertificateDer<'static>| {
            Certificate::read(der.clone()).map_err(|source| PairError::Certificate {
                path: path.to_owned(),
                source,
            })
        };
        let certificates = chain.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let leaf = certificates.first().cloned().ok_or_else(none)?;
        Ok(Self {
            leaf,
            own_root: certificates.into_iter().find(Certificate::is_own_root),
            behind: chain.into_iter().skip(1).collect(),
        })
    }

    /// All certificates, the leaf first.
    pub(super) fn all(&self) -> Vec<CertificateDer<'static>> {
        let leaf = self.leaf.der().clone();
        [leaf].into_iter().chain(self.behind.clone()).collect()
    }

    /// What an enrolment text pins for an address: the CA of the venue's own, if the address is
    /// one that the certificate names.
    pub fn pin_for(&self, server: &str) -> Result<Option<String>, NotNamed> {
        let uri = server.parse::<Uri>().ok();
        let uri = uri.filter(|uri| uri.scheme_str() == Some("https"));
        let (Some(root), Some(host)) = (&self.own_root, uri.as_ref().and_then(Uri::host)) else {
            return Ok(None);
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match self.leaf.names_host(host) {
            true => Ok(Some(root.pin())),
            false => Err(NotNamed {
                host: host.to_owned(),
            }),
        }
    }

    /// What a gate makes of it under a name at a time: it trusts the CA that it pinned, or public
    /// ones.
    pub fn as_gates_see(&self, host: &str, now: EpochSeconds) -> Result<(), rustls::Error> {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        match &self.own_root {
            Some(root) => roots.add(root.der().clone())?,
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let name = ServerName::try_from(host)
            .map_err(|_| rustls::Error::General(format!("{host} is no host name or address")))?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now.0.try_into().unwrap_or(0)));
        verifier
            .verify_server_cert(self.leaf.der(), &self.behind, &name, &[], now)
            .map(|_| ())
    }
}
