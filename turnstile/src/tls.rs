//! TLS as a gate needs it: rustls with ring; roots that come with the program, or the one CA that
//! the enrolment QR pins; certificates judged by the device's clock, since a board's own may
//! stand in 1970.

use std::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER_PERMISSIVE;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256};
use stile_core::time::EpochMillis;

/// What certificates are judged by.
pub type Clock = Arc<dyn Fn() -> EpochMillis + Send + Sync>;

/// A TLS configuration. `ca_pin`: SHA-256 of the server's own CA certificate, in hex.
pub fn client_config(ca_pin: Option<&str>, clock: Clock) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_details(Arc::clone(&provider), Arc::new(Time(clock)))
        .with_safe_default_protocol_versions()?;
    let config = match ca_pin {
        None => builder
            .with_root_certificates(RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            })
            .with_no_client_auth(),
        Some(pin) => builder
            .dangerous() // a verifier of our own, which trusts less than the usual one
            .with_custom_certificate_verifier(Arc::new(PinnedCa::new(pin, provider)?))
            .with_no_client_auth(),
    };
    Ok(config)
}

struct Time(Clock);

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time")
    }
}

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from((self.0)().seconds().0).ok()?;
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(
            seconds,
        )))
    }
}

/// Trusts one CA, known by its hash; the server sends the certificate itself in its chain.
#[derive(Debug)]
struct PinnedCa {
    pin: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl PinnedCa {
    fn new(pin: &str, provider: Arc<CryptoProvider>) -> Result<Self, Error> {
        let bytes = HEXLOWER_PERMISSIVE.decode(pin.as_bytes()).ok();
        let pin = bytes.and_then(|bytes| bytes.try_into().ok());
        let pin = pin.ok_or_else(|| Error::General("the CA pin is not 64 hex digits".into()))?;
        Ok(Self { pin, provider })
    }
}

impl ServerCertVerifier for PinnedCa {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let pinned = intermediates
            .iter()
            .find(|certificate| Sha256::digest(certificate.as_ref()).as_slice() == self.pin)
            .ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let mut roots = RootCertStore::empty();
        roots.add(pinned.clone().into_owned())?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(&self.provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
