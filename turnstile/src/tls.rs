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

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
    };
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ClientConnection, ServerConfig, ServerConnection};

    use super::*;

    const HOST: &str = "gate.museum.example";

    /// 2026-10-01, when the certificates below are good.
    const NOW: EpochMillis = EpochMillis(1_790_816_400_000);

    type Ca = CertifiedIssuer<'static, KeyPair>;

    fn params(names: &[&str]) -> CertificateParams {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2027, 1, 1);
        params
    }

    fn ca() -> Ca {
        let mut params = params(&[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    fn pin(ca: &Ca) -> String {
        HEXLOWER_PERMISSIVE.encode(&Sha256::digest(ca.der().as_ref()))
    }

    /// A server with a certificate under a CA, which it sends in its chain.
    fn server(ca: &Ca) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let certificate = params(&[HOST]).signed_by(&key, ca).unwrap();
        let chain = vec![certificate.der().clone(), ca.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap()
    }

    /// Shakes hands in memory.
    fn handshake(
        ca_pin: Option<&str>,
        now: EpochMillis,
        host: &'static str,
        server: ServerConfig,
    ) -> Result<(), Error> {
        let config = client_config(ca_pin, Arc::new(move || now))?;
        let name = ServerName::try_from(host).unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name)?;
        let mut server = ServerConnection::new(Arc::new(server))?;
        while client.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets()?;
            let mut wire = Vec::new();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut wire.as_slice()).unwrap();
            client.process_new_packets()?;
        }
        Ok(())
    }

    fn refused(result: Result<(), Error>) -> CertificateError {
        match result {
            Err(Error::InvalidCertificate(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_under_the_pinned_ca_is_trusted_by_its_name_alone() {
        let ca = ca();
        assert_eq!(handshake(Some(&pin(&ca)), NOW, HOST, server(&ca)), Ok(()));
        let other = handshake(Some(&pin(&ca)), NOW, "other.example", server(&ca));
        assert!(matches!(
            refused(other),
            CertificateError::NotValidForNameContext { .. }
        ));
    }

    #[test]
    fn a_server_under_another_ca_is_not() {
        let (ours, theirs) = (ca(), ca());
        let result = handshake(Some(&pin(&ours)), NOW, HOST, server(&theirs));
        assert_eq!(refused(result), CertificateError::UnknownIssuer);
    }

    #[test]
    fn without_a_pin_only_public_roots_are_trusted() {
        let result = handshake(None, NOW, HOST, server(&ca()));
        assert_eq!(refused(result), CertificateError::UnknownIssuer);
    }

    #[test]
    fn certificates_are_judged_by_the_clock_that_is_passed_in() {
        let ca = ca();
        let at = |now| refused(handshake(Some(&pin(&ca)), now, HOST, server(&ca)));
        assert!(matches!(
            at(EpochMillis(0)),
            CertificateError::NotValidYetContext { .. }
        ));
        assert!(matches!(
            at(NOW.plus(366 * 86_400_000)),
            CertificateError::ExpiredContext { .. }
        ));
    }

    #[test]
    fn a_pin_that_is_none_is_an_error_and_trusts_nobody() {
        assert!(client_config(Some("ab"), Arc::new(|| NOW)).is_err());
    }
}
