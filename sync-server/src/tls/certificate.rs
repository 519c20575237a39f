//! What is read of a certificate: whom it names, how long it is good, and whether it is the CA
//! that gates pin.

use data_encoding::HEXLOWER;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use sha2::{Digest, Sha256};
use stile_core::time::EpochSeconds;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// Not a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no X.509 certificate")]
pub struct CertificateError;

/// A certificate, read.
#[derive(Debug, Clone)]
pub struct Certificate {
    der: CertificateDer<'static>,
    /// The DNS names and IP addresses that it is for.
    pub names: Vec<String>,
    /// From when it is good.
    pub not_before: EpochSeconds,
    /// Until when it is good.
    pub not_after: EpochSeconds,
    is_own_root: bool,
}

impl Certificate {
    /// Reads a certificate.
    pub fn read(der: CertificateDer<'static>) -> Result<Self, CertificateError> {
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| CertificateError)?;
        let validity = parsed.validity();
        let (not_before, not_after) = (
            EpochSeconds(validity.not_before.timestamp()),
            EpochSeconds(validity.not_after.timestamp()),
        );
        let names = names(&parsed)?;
        let is_own_root = parsed.is_ca() && parsed.issuer() == parsed.subject() && !is_public(&der);
        Ok(Self {
            der,
            names,
            not_before,
            not_after,
            is_own_root,
        })
    }

    /// The certificate's bytes.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// Whether it is good for a host name or an IP address, as a gate judges it.
    pub fn names_host(&self, host: &str) -> bool {
        let (Ok(name), Ok(parsed)) = (
            ServerName::try_from(host),
            ParsedCertificate::try_from(&self.der),
        ) else {
            return false;
        };
        rustls::client::verify_server_name(&parsed, &name).is_ok()
    }

    /// Whether it is a root, and none of those that gates trust anyway: such a one they pin.
    pub fn is_own_root(&self) -> bool {
        self.is_own_root
    }

    /// SHA-256 of its bytes as 64 hex digits: `ca` of the enrolment text.
    pub fn pin(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(self.der.as_ref()))
    }
}

fn names(parsed: &X509Certificate<'_>) -> Result<Vec<String>, CertificateError> {
    let extension = parsed
        .subject_alternative_name()
        .map_err(|_| CertificateError)?;
    let names = extension.map(|extension| &extension.value.general_names);
    Ok(names.into_iter().flatten().filter_map(name).collect())
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(std::net::IpAddr::from);
            let v6 = || <[u8; 16]>::try_from(*bytes).map(std::net::IpAddr::from);
            v4.or_else(|_| v6()).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

fn is_public(der: &CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    if roots.add(der.clone()).is_err() {
        return false;
    }
    roots.roots.iter().any(|root| {
        webpki_roots::TLS_SERVER_ROOTS.iter().any(|public| {
            public.subject == root.subject
                && public.subject_public_key_info == root.subject_public_key_info
        })
    })
}
