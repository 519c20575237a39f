//! A CA of the venue's own: made once, kept apart from what the server shows, and bound to the
//! venue's names and to private networks, so that whoever steals its key gains nothing elsewhere.

use std::net::IpAddr;
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    NameConstraints, SanType, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use stile_core::platform::Random;
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::names::Names;
use crate::random::random_bytes;

const DAY_S: i64 = 24 * 3600;
/// How long the CA is good: longer than any gate. A new one means that every gate enrols anew.
const CA_LIFE_S: i64 = 20 * 365 * DAY_S;
/// How long a leaf is good. Browsers take no more than 398 days.
const LEAF_LIFE_S: i64 = 397 * DAY_S;
/// How long before its making a certificate is good, for clocks that are slow.
const BEFORE_S: i64 = DAY_S;
/// The last second that is written into a certificate: early in the year 8307.
const LAST_S: i64 = 200_000_000_000;
/// Characters of a name that go into the CA's, which may have 64.
const NAME_CHARS: usize = 40;
/// Characters of a line of PEM.
const PEM_LINE: usize = 64;
/// Private networks, which a CA may vouch for: nobody owns an address of these elsewhere.
const PRIVATE_V4: [([u8; 4], u8); 6] = [
    ([10, 0, 0, 0], 8),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
    ([169, 254, 0, 0], 16),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
];
/// The same of IPv6: unique local, link-local, loopback.
const PRIVATE_V6: [(u16, u16, u8); 3] = [(0xfc00, 0, 7), (0xfe80, 0, 10), (0, 1, 128)];

/// Why there is no CA, or none for that certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The file holds no CA with its key.
    #[error("it holds no CA with its key as PEM")]
    Text,
    /// A certificate could not be made.
    #[error("the certificate could not be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// The CA with its key.
pub struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a CA that may vouch for these names, what lies below them, these addresses and private
    /// networks. Answers its PEM text too, key included.
    pub fn make(
        names: &Names,
        now: EpochSeconds,
        random: &dyn Random,
    ) -> Result<(Self, Zeroizing<String>), AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        // Of its own for each CA, so that a browser that knows two does not confuse them.
        let mark = HEXLOWER.encode(&random_bytes::<4>(random));
        let all = names.texts();
        let first = all.first().map_or("", String::as_str);
        let first: String = first.chars().take(NAME_CHARS).collect();
        params.distinguished_name = named(&format!("Stile CA {first} {mark}"));
        set_validity(&mut params, now, CA_LIFE_S);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: permitted(names),
            excluded_subtrees: Vec::new(),
        });
        let certificate = params.self_signed(&key)?;
        let key_text = Zeroizing::new(key.serialize_pem());
        let text = Zeroizing::new(format!("{}{}", certificate.pem(), *key_text));
        let issuer = Issuer::new(params, key);
        let certificate = certificate.der().clone();
        Ok((
            Self {
                certificate,
                issuer,
            },
            text,
        ))
    }

    /// Reads a CA from its PEM text.
    pub fn from_pem(text: &[u8]) -> Result<Self, AuthorityError> {
        let certificate = CertificateDer::from_pem_slice(text).map_err(|_| AuthorityError::Text)?;
        let key = std::str::from_utf8(text).map_err(|_| AuthorityError::Text)?;
        let key = key
            .find("-----BEGIN PRIVATE KEY-----")
            .and_then(|from| key.get(from..))
            .ok_or(AuthorityError::Text)?;
        let key = KeyPair::from_pem(key).map_err(|_| AuthorityError::Text)?;
        let issuer =
            Issuer::from_ca_cert_der(&certificate, key).map_err(|_| AuthorityError::Text)?;
        Ok(Self {
            certificate,
            issuer,
        })
    }

    /// The CA's certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Its PEM text, without the key.
    pub fn certificate_pem(&self) -> String {
        let base64 = BASE64.encode(&self.certificate);
        let lines = base64.as_bytes().chunks(PEM_LINE);
        let lines = lines.map(|line| String::from_utf8_lossy(line) + "\n");
        format!(
            "-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n",
            lines.collect::<String>()
        )
    }

    /// A new leaf with a new key: the PEM text of leaf, CA and key, in this order.
    pub fn leaf(
        &self,
        names: &Names,
        now: EpochSeconds,
    ) -> Result<Zeroizing<String>, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named("Stile server");
        set_validity(&mut params, now, LEAF_LIFE_S);
        let dns = names.dns().iter().map(|name| {
            let name = name.as_str().try_into()?;
            Ok(SanType::DnsName(name))
        });
        params.subject_alt_names = dns.collect::<Result<Vec<_>, rcgen::Error>>()?;
        let addresses = names.addresses().iter().copied().map(SanType::IpAddress);
        params.subject_alt_names.extend(addresses);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&key, &self.issuer)?;
        let key = Zeroizing::new(key.serialize_pem());
        Ok(Zeroizing::new(format!(
            "{}{}{}",
            leaf.pem(),
            self.certificate_pem(),
            *key
        )))
    }
}

fn permitted(names: &Names) -> Vec<GeneralSubtree> {
    let mut permitted: Vec<_> = names
        .dns()
        .iter()
        .cloned()
        .map(GeneralSubtree::DnsName)
        .collect();
    if permitted.is_empty() {
        // Without one of its kind, every DNS name would be permitted.
        permitted.push(GeneralSubtree::DnsName("localhost".into()));
    }
    let v4 = PRIVATE_V4.map(|(net, prefix)| CidrSubnet::from_v4_prefix(net, prefix));
    let v6 = PRIVATE_V6.map(|(first, last, prefix)| {
        let net = std::net::Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, last);
        CidrSubnet::from_v6_prefix(net.octets(), prefix)
    });
    let single = names.addresses().iter().map(|address| match address {
        IpAddr::V4(v4) => CidrSubnet::from_v4_prefix(v4.octets(), 32),
        IpAddr::V6(v6) => CidrSubnet::from_v6_prefix(v6.octets(), 128),
    });
    permitted.extend(
        v4.into_iter()
            .chain(v6)
            .chain(single)
            .map(GeneralSubtree::IpAddress),
    );
    permitted
}

fn named(name: &str) -> DistinguishedName {
    let mut full = DistinguishedName::new();
    full.push(DnType::CommonName, name);
    full
}

/// Sets from when until when a certificate is good. No time is before 1970, where the clocks of
/// boards without a battery begin, or after what a certificate can say.
fn set_validity(params: &mut CertificateParams, now: EpochSeconds, life_s: i64) {
    let seconds = |at: i64| Duration::from_secs(at.clamp(0, LAST_S).unsigned_abs());
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + seconds(now.0.saturating_sub(BEFORE_S));
    params.not_after = epoch + seconds(now.0.saturating_add(life_s));
}
