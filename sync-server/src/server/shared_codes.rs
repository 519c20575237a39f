//! v1 codes that the booking system signs with one secret over the full phone number: the secret
//! and the phones stay here, sealed, and gates ask.

use stile_core::codes::{Code, Format, V1Code, VenueShapes, parse};
use stile_core::ids::{Kid, TicketNumber, VenueId};
use stile_core::policy::{Policy, V1Key};
use stile_core::protocol::{VerifyAnswer, VerifyRequest};
use stile_core::ticket::DigitsOf;
use zeroize::Zeroizing;

use super::{Device, Server};
use crate::error::ServerError;
use crate::import::Phone;
use crate::store::{Change, SealedSecret, SecretKind};
use crate::vault::SealError;
use crate::venue_keys::context;

/// Length of a booking system's secret, in bytes: shorter ones can be guessed, longer ones gain
/// nothing.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=256;
/// Longest text of a code, in bytes.
const CODE_BYTES: usize = 256;

/// Whether the venue's phones are kept to verify codes with.
pub(super) fn keeps_phones(policy: &Policy) -> bool {
    policy.v1_key == V1Key::Shared && policy.formats.contains(&Format::V1)
}

impl Server {
    /// Takes the secret that the booking system signs its v1 codes with, in place of an earlier
    /// one; from then on the venue's v1 codes are verified by it and by the server alone.
    pub async fn import_shared_secret(
        &self,
        venue: &VenueId,
        secret: &[u8],
    ) -> Result<Change, ServerError> {
        if !SECRET_BYTES.contains(&secret.len()) {
            let (least, most) = (SECRET_BYTES.start(), SECRET_BYTES.end());
            let problem = format!("a shared secret has {least} to {most} bytes");
            return Err(ServerError::invalid("secret", problem));
        }
        let (kind, kid) = (SecretKind::V1Shared, Kid(0));
        let sealed = self
            .vault
            .seal(&context(venue, kind, kid), secret, &*self.random)
            .map_err(ServerError::internal)?;
        let found = self.venue(venue).await?;
        let secret = SealedSecret { kind, kid, sealed };
        self.store.keep_secret(found.number, secret).await?;
        let policy = Policy {
            v1_key: V1Key::Shared,
            ..found.policy
        };
        self.set_policy(venue, policy).await
    }

    /// Whether a v1 code of the device's venue is signed with the shared secret for the holder of
    /// its ticket. Says nothing of list or time.
    pub async fn verify_shared_code(
        &self,
        device: &Device,
        request: VerifyRequest,
    ) -> Result<VerifyAnswer, ServerError> {
        let text = Zeroizing::new(request.code);
        if text.len() > CODE_BYTES {
            let problem = format!("longer than {CODE_BYTES} bytes");
            return Err(ServerError::invalid("code", problem));
        }
        let policy = self.policy(&device.venue_id).await?;
        let shapes = VenueShapes::default();
        let genuine = match parse(text.as_bytes(), &shapes) {
            Ok(Code::V1(code)) if keeps_phones(&policy) => self.is_genuine(device, &code).await?,
            _ => false,
        };
        Ok(VerifyAnswer { genuine })
    }

    async fn is_genuine(&self, device: &Device, code: &V1Code) -> Result<bool, ServerError> {
        let keys = self.keys(&device.venue_id).await?;
        let secrets = self.store.secrets(keys.number).await?;
        let Some(secret) = secrets.iter().find(|one| one.kind == SecretKind::V1Shared) else {
            return Ok(false);
        };
        let venue = &device.venue_id;
        let context = context(venue, secret.kind, secret.kid);
        let secret = self
            .vault
            .unseal(&context, &secret.sealed)
            .map_err(ServerError::internal)?;
        let number = keys.numbering.ticket_number(venue, code.ticket_id());
        let ticket = self.store.tickets(keys.number, &[number]).await?;
        let Some(ticket) = ticket.into_iter().flatten().next() else {
            return Ok(false);
        };
        let holder = match self.store.holder(keys.number, number).await? {
            Some(sealed) => self
                .vault
                .unseal(&holder_context(venue, number), &sealed)
                .map_err(ServerError::internal)?,
            // Bound to nothing where the ticket never had a phone; one whose phone is removed
            // verifies no more.
            None if ticket.ticket.fields.last_four_of != Some(DigitsOf::Phone) => {
                Zeroizing::new(Vec::new())
            }
            None => return Ok(false),
        };
        let holder = std::str::from_utf8(&holder).map_err(ServerError::internal)?;
        Ok(spellings(holder)
            .iter()
            .any(|holder| code.verify(&secret, holder)))
    }

    /// A phone as the store keeps it.
    pub(super) fn seal_phone(
        &self,
        venue: &VenueId,
        number: TicketNumber,
        phone: &Phone,
    ) -> Result<Vec<u8>, SealError> {
        let context = holder_context(venue, number);
        self.vault
            .seal(&context, phone.digits().as_bytes(), &*self.random)
    }
}

/// The ways in which a booking system may write a phone that it signs over: as its ticket file
/// does, and a Chinese mobile number also with or without its country code. No other number is
/// changed: where a country code ends, digits alone do not tell.
fn spellings(phone: &str) -> Vec<Zeroizing<String>> {
    let as_is = Zeroizing::new(phone.to_owned());
    let mobile = ["0086", "86", ""]
        .iter()
        .find_map(|prefix| phone.strip_prefix(prefix).filter(|rest| is_mobile(rest)));
    let Some(mobile) = mobile else {
        return vec![as_is];
    };
    let others = ["", "86", "+86", "0086"].map(|prefix| Zeroizing::new([prefix, mobile].concat()));
    std::iter::once(as_is).chain(others).collect()
}

/// A Chinese mobile number: 11 digits from 13 to 19 on.
fn is_mobile(digits: &str) -> bool {
    digits.len() == 11
        && digits.bytes().all(|b| b.is_ascii_digit())
        && matches!(digits.as_bytes(), [b'1', b'3'..=b'9', ..])
}

fn holder_context(venue: &VenueId, number: TicketNumber) -> String {
    format!("{venue}\0holder\0{}", number.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(phone: &str) -> Vec<String> {
        let spellings = spellings(phone);
        spellings.iter().map(|one| one.to_string()).collect()
    }

    #[test]
    fn a_chinese_mobile_number_has_a_country_code_or_none() {
        for phone in ["13812345678", "8613812345678", "008613812345678"] {
            let written = written(phone);
            assert_eq!(written[0], phone);
            for spelling in ["13812345678", "8613812345678", "+8613812345678"] {
                assert!(
                    written.iter().any(|one| one == spelling),
                    "{phone}: {spelling}"
                );
            }
        }
    }

    #[test]
    fn any_other_number_is_taken_as_it_is() {
        for phone in [
            "",
            "01085123456",
            "85291234567",
            "12012345678",
            "8612345678",
            "861381234567",
        ] {
            assert_eq!(written(phone), [phone]);
        }
    }
}
