//! v1, the booking system's code: `{ticket_id}-{expires_at}-{signature}`, an HMAC under a key that
//! is derived per ticket or shared by a whole booking system. Parsed from the right, since the
//! signature may hold `-`.

use data_encoding::BASE64URL_NOPAD;
use hmac::Mac;

use super::shapes::{V1_EXPIRY, V1_SIGNATURE, V1_TAIL};
use super::window::{CodeRules, Window, now_range, shifted};
use super::{Format, Malformed};
use crate::ids::TicketId;
use crate::keys::TicketKey;
use crate::time::{EpochMillis, EpochSeconds};

/// The latest expiry that ten digits can say.
const MAX_EXPIRY: i64 = 9_999_999_999;

/// Length of the signature, in bytes.
const TAG_BYTES: usize = 32;

/// Why a code cannot be minted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expires_at must be 0 to 9999999999 epoch seconds, since a v1 code has ten digits for it")]
pub struct ExpiryError;

/// A parsed v1 code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V1Code {
    text: String,
    ticket_id: TicketId,
    expires_at: EpochSeconds,
    signature: [u8; TAG_BYTES],
}

impl V1Code {
    /// Parses a text that has the shape.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        let (id, tail) = text
            .len()
            .checked_sub(V1_TAIL)
            .and_then(|cut| text.split_at_checked(cut))
            .ok_or(Malformed::NoShape)?;
        let ticket_id = TicketId::new(id).map_err(|_| Malformed::TicketId)?;
        let expiry = tail.get(1..1 + V1_EXPIRY).ok_or(Malformed::NoShape)?;
        let expires_at = expiry
            .parse()
            .map(EpochSeconds)
            .map_err(|_| Malformed::NoShape)?;
        let spelled = tail
            .get(V1_TAIL - V1_SIGNATURE..)
            .ok_or(Malformed::NoShape)?;
        let mut signature = [0; TAG_BYTES];
        BASE64URL_NOPAD
            .decode_mut(spelled.as_bytes(), &mut signature)
            .map_err(|_| Malformed::Spelling(Format::V1))?;
        Ok(Self {
            text: text.to_owned(),
            ticket_id,
            expires_at,
            signature,
        })
    }

    /// The text after clean-up.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ticket's id. Unverified.
    pub fn ticket_id(&self) -> &TicketId {
        &self.ticket_id
    }

    /// The last second at which the code is good, before leeway.
    pub fn expires_at(&self) -> EpochSeconds {
        self.expires_at
    }

    /// Compares the signature, in constant time. `key` is the ticket's or the shared one, `holder`
    /// the string that the issuer binds: the last four digits, the full phone number of a shared
    /// key's code, or nothing.
    #[must_use]
    pub fn verify(&self, key: &[u8], holder: &str) -> bool {
        let id = self.ticket_id.as_str();
        // As written: the number is not printed again.
        let from = id.len() + 1;
        self.text.get(from..from + V1_EXPIRY).is_some_and(|expiry| {
            signed(key, id, holder, expiry)
                .verify_slice(&self.signature)
                .is_ok()
        })
    }

    /// The one closed window: good while now ≤ expires_at + leeway, and not yet while
    /// expires_at > now + max_ttl + leeway.
    pub fn window(&self, now: EpochMillis, u_ms: i64, rules: &CodeRules) -> Window {
        let (earliest, latest) = now_range(now, u_ms);
        let (leeway, max_ttl) = (i64::from(rules.leeway_s), i64::from(rules.max_ttl_s));
        if earliest > shifted(self.expires_at, leeway) {
            Window::Expired
        } else if shifted(self.expires_at, -(max_ttl + leeway)) > latest {
            Window::NotYet
        } else {
            Window::Good
        }
    }
}

/// Mints the code of a ticket under its own key.
pub fn mint(
    key: &TicketKey,
    ticket: &TicketId,
    holder: &str,
    expires_at: EpochSeconds,
) -> Result<String, ExpiryError> {
    if !(0..=MAX_EXPIRY).contains(&expires_at.0) {
        return Err(ExpiryError);
    }
    let expiry = format!("{:010}", expires_at.0);
    let tag = signed(key.as_bytes(), ticket.as_str(), holder, &expiry).finalize();
    let signature = BASE64URL_NOPAD.encode(tag.as_bytes());
    Ok(format!("{ticket}-{expiry}-{signature}"))
}

/// HMAC-SHA256(key, `"{ticket_id}:{holder}:{expires_at}"`), not yet finished.
fn signed(key: &[u8], ticket: &str, holder: &str, expiry: &str) -> hmac::Hmac<sha2::Sha256> {
    let mut mac = crate::keys::keyed(key);
    for part in [ticket, ":", holder, ":", expiry] {
        mac.update(part.as_bytes());
    }
    mac
}
