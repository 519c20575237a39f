//! The 27 bytes that G2 and G3 codes sign, and the signature over them. The layout is
//! code-formats' table; values outside it are refused both ways.

use crate::ids::{Kid, LastFour, TicketNumber, VenueNumber};
use crate::keys::{CodeSigningKey, CodeVerifyingKey, SIGNATURE_BYTES};
use crate::time::EpochSeconds;

/// Length of the payload, in bytes.
pub const PAYLOAD_BYTES: usize = 27;
/// Length of payload and signature, in bytes.
pub(super) const SIGNED_BYTES: usize = PAYLOAD_BYTES + SIGNATURE_BYTES;

/// The unit of the ttl byte, in seconds.
const TTL_UNIT_S: i64 = 300;
/// Stands for no digits.
const NO_DIGITS: u16 = 0xFFFF;

/// Which payload: the version byte, and the prefix under which it is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    G2,
    G3,
}

impl Version {
    const fn byte(self) -> u8 {
        match self {
            Self::G2 => 0x02,
            Self::G3 => 0x03,
        }
    }

    const fn domain(self) -> &'static [u8; DOMAIN_BYTES] {
        match self {
            Self::G2 => b"gate-code/v2\0",
            Self::G3 => b"gate-code/v3\0",
        }
    }
}

const DOMAIN_BYTES: usize = 13;

/// Why a payload is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Another version byte than the text's prefix says.
    #[error("its version byte is not that of its format")]
    Version,
    /// Ticket number 0 or over 2^63 − 1.
    #[error("its ticket number is not 1 to 2^63-1")]
    TicketNumber,
    /// A ticket that admits nobody.
    #[error("it admits no person")]
    Admits,
    /// Digits over 9999 that are not the mark for none.
    #[error("its last four digits are not 0 to 9999")]
    LastFour,
    /// A G3 with a ttl of its own.
    #[error("its ttl is not 0, though its counter is its window")]
    Ttl,
    /// A time that four bytes cannot say.
    #[error("its times are not 0 to 4294967295 epoch seconds")]
    Time,
}

/// What a G2 or G3 code says of its ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// Names the signing key in the venue's key manifest.
    pub kid: Kid,
    /// The venue that issued the code.
    pub venue_number: VenueNumber,
    /// The ticket, unique in its venue.
    pub ticket_number: TicketNumber,
    /// Start of admission; used only when the ticket is in no list.
    pub not_before: EpochSeconds,
    /// Length of admission from `not_before`, in minutes.
    pub window_min: u16,
    /// When the code was issued.
    pub issued_at: EpochSeconds,
    /// Life of the code from `issued_at`, in units of 5 minutes; 0 in a G3.
    pub ttl_5min: u8,
    /// Persons, 1 ..= 255.
    pub admits: u8,
    /// The visitor's last four digits, if the ticket has any.
    pub last_four: Option<LastFour>,
    /// Counts the re-issues of the ticket.
    pub revision: u8,
}

impl Payload {
    /// `[from, until)` of admission, for a ticket that is in no list.
    pub fn admission_window(&self) -> (EpochSeconds, EpochSeconds) {
        let until = self
            .not_before
            .0
            .saturating_add(i64::from(self.window_min) * 60);
        (self.not_before, EpochSeconds(until))
    }

    /// Life of the code, in seconds.
    pub fn ttl_s(&self) -> i64 {
        i64::from(self.ttl_5min) * TTL_UNIT_S
    }

    pub(super) fn encode(&self, version: Version) -> Result<[u8; PAYLOAD_BYTES], PayloadError> {
        self.check(version)?;
        let time = |t: EpochSeconds| u32::try_from(t.0).map_err(|_| PayloadError::Time);
        let digits = self.last_four.map_or(NO_DIGITS, LastFour::get);
        let fields = [
            &[version.byte(), self.kid.0][..],
            &self.venue_number.0.to_be_bytes(),
            &self.ticket_number.get().to_be_bytes(),
            &time(self.not_before)?.to_be_bytes(),
            &self.window_min.to_be_bytes(),
            &time(self.issued_at)?.to_be_bytes(),
            &[self.ttl_5min, self.admits],
            &digits.to_be_bytes(),
            &[self.revision],
        ];
        let bytes = fields.concat().try_into();
        Ok(bytes.expect("the fields of the layout add up to 27 bytes"))
    }

    fn decode(bytes: &[u8; PAYLOAD_BYTES], version: Version) -> Result<Self, PayloadError> {
        let mut rest = bytes.as_slice();
        let [version_byte, kid] = take(&mut rest);
        if version_byte != version.byte() {
            return Err(PayloadError::Version);
        }
        let venue_number = VenueNumber(u16::from_be_bytes(take(&mut rest)));
        let ticket_number = TicketNumber::new(u64::from_be_bytes(take(&mut rest)))
            .ok_or(PayloadError::TicketNumber)?;
        let not_before = EpochSeconds(u32::from_be_bytes(take(&mut rest)).into());
        let window_min = u16::from_be_bytes(take(&mut rest));
        let issued_at = EpochSeconds(u32::from_be_bytes(take(&mut rest)).into());
        let [ttl_5min, admits] = take(&mut rest);
        let last_four = match u16::from_be_bytes(take(&mut rest)) {
            NO_DIGITS => None,
            digits => Some(LastFour::new(digits).ok_or(PayloadError::LastFour)?),
        };
        let [revision] = take(&mut rest);
        let payload = Self {
            kid: Kid(kid),
            venue_number,
            ticket_number,
            not_before,
            window_min,
            issued_at,
            ttl_5min,
            admits,
            last_four,
            revision,
        };
        payload.check(version)?;
        Ok(payload)
    }

    /// What the types of the fields do not say.
    fn check(&self, version: Version) -> Result<(), PayloadError> {
        if self.admits == 0 {
            return Err(PayloadError::Admits);
        }
        if version == Version::G3 && self.ttl_5min != 0 {
            return Err(PayloadError::Ttl);
        }
        Ok(())
    }
}

/// The next field of a payload.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (field, after) = rest
        .split_first_chunk()
        .expect("the fields of the layout add up to 27 bytes");
    *rest = after;
    *field
}

/// A payload as it was signed, and its signature: 91 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignedBytes {
    version: Version,
    payload: Payload,
    bytes: [u8; SIGNED_BYTES],
}

impl SignedBytes {
    pub(super) fn sign(
        version: Version,
        key: &CodeSigningKey,
        payload: &Payload,
    ) -> Result<Self, PayloadError> {
        let encoded = payload.encode(version)?;
        let mut bytes = [0; SIGNED_BYTES];
        let (head, tail) = bytes.split_at_mut(PAYLOAD_BYTES);
        head.copy_from_slice(&encoded);
        tail.copy_from_slice(&key.sign(&message(version, &encoded)));
        Ok(Self {
            version,
            payload: *payload,
            bytes,
        })
    }

    /// Parses the fields. The signature is kept and not verified.
    pub(super) fn parse(
        version: Version,
        bytes: &[u8; SIGNED_BYTES],
    ) -> Result<Self, PayloadError> {
        let (head, _) = split(bytes);
        let payload = Payload::decode(head, version)?;
        Ok(Self {
            version,
            payload,
            bytes: *bytes,
        })
    }

    /// Over the bytes as they came; the fields are not written again.
    pub(super) fn verify(&self, key: &CodeVerifyingKey) -> bool {
        let (head, signature) = split(&self.bytes);
        key.verify(&message(self.version, head), signature)
    }

    pub(super) fn payload(&self) -> &Payload {
        &self.payload
    }

    pub(super) fn signature(&self) -> &[u8; SIGNATURE_BYTES] {
        split(&self.bytes).1
    }

    pub(super) fn as_bytes(&self) -> &[u8; SIGNED_BYTES] {
        &self.bytes
    }
}

fn split(bytes: &[u8; SIGNED_BYTES]) -> (&[u8; PAYLOAD_BYTES], &[u8; SIGNATURE_BYTES]) {
    bytes
        .split_first_chunk()
        .and_then(|(head, tail)| Some((head, tail.try_into().ok()?)))
        .expect("91 bytes are 27 and 64")
}

fn message(version: Version, payload: &[u8; PAYLOAD_BYTES]) -> [u8; DOMAIN_BYTES + PAYLOAD_BYTES] {
    let mut message = [0; DOMAIN_BYTES + PAYLOAD_BYTES];
    let (domain, rest) = message.split_at_mut(DOMAIN_BYTES);
    domain.copy_from_slice(version.domain());
    rest.copy_from_slice(payload);
    message
}
