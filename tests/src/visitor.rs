//! The visitor's side of a code: the phone that shows rotating codes by itself, and what people
//! try with codes that are not theirs.

use anyhow::{Context, Result, anyhow, ensure};
use data_encoding::BASE64;
use stile_core::codes::g3::{self, SignedPayload};
use stile_core::keys::RotationKey;
use stile_core::protocol::Minted;
use stile_core::time::EpochSeconds;

/// An app that was given a G3 ticket once and shows its code from then on, network or not.
pub struct App {
    signed: SignedPayload,
    key: RotationKey,
}

impl App {
    /// The app with the ticket that the server gave.
    pub fn with(minted: &Minted) -> Result<Self> {
        let rotation = minted.rotation.as_ref().context("not a rotating code")?;
        let bytes = |text: &str| BASE64.decode(text.as_bytes());
        let signed = bytes(&rotation.signed_payload)?;
        let signed = signed
            .as_slice()
            .try_into()
            .map_err(|_| anyhow!("a payload of another length"))?;
        let key = bytes(&rotation.rotation_key)?;
        let key = key
            .as_slice()
            .try_into()
            .map_err(|_| anyhow!("a key of another length"))?;
        Ok(Self {
            signed: SignedPayload::from_bytes(signed)?,
            key: RotationKey::from_bytes(key),
        })
    }

    /// What it shows at a moment.
    pub fn code_at(&self, moment: EpochSeconds) -> String {
        g3::rotate(&self.signed, &self.key, moment)
    }
}

/// A v1 code whose expiry somebody has put off, its signature left as it was.
pub fn with_later_expiry(v1: &str, by_s: u64) -> Result<String> {
    // From the right, since ids and signatures hold `-` too: 43 of signature, ten digits.
    let at = v1
        .len()
        .checked_sub(43 + 1 + 10)
        .context("shorter than any v1 code")?;
    let (head, tail) = v1.split_at_checked(at).context("not a v1 code")?;
    let (expiry, signature) = tail.split_at_checked(10).context("not a v1 code")?;
    let later = expiry.parse::<u64>().context("not a v1 code")? + by_s;
    Ok(format!("{head}{later}{signature}"))
}

/// A code with one character changed for another of its alphabet.
pub fn with_one_character_changed(code: &str, at: usize) -> Result<String> {
    let mut bytes = code.as_bytes().to_vec();
    let byte = bytes.get_mut(at).context("shorter than that")?;
    ensure!(byte.is_ascii_alphanumeric(), "not a letter or digit");
    *byte = if *byte == b'A' { b'B' } else { b'A' };
    Ok(String::from_utf8(bytes)?)
}
