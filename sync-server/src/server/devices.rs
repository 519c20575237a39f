//! Devices, known by their bearer.

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use stile_core::ids::VenueNumber;
use stile_core::keys::DeviceVerifyingKey;
use zeroize::Zeroizing;

use super::api_keys::hash;
use super::{Device, Server};
use crate::error::ServerError;
use crate::venue_keys::{Secret, VenueKeys};

/// What every device's bearer begins with, so that people and scanners of leaked secrets know it.
const BEARER_PREFIX: &str = "stile_dev_";
/// Prefix under which bearers are derived.
const BEARER_DOMAIN: &[u8] = b"stile/bearer/v1\0";
/// Longest text that is looked up as a token or bearer, in bytes; ours have 24 and 56.
const MAX_BYTES: usize = 128;

const UNKNOWN_BEARER: ServerError = ServerError::Unauthorized(
    "this device is not known here; its records are kept: enrol it again",
);

impl Server {
    /// The device of a bearer; `Unauthorized` if there is none.
    pub async fn authenticate_device(&self, bearer: &str) -> Result<Device, ServerError> {
        let text = bearer.strip_prefix(BEARER_PREFIX).ok_or(UNKNOWN_BEARER)?;
        let keys = self.keys_of_text(text).await?.ok_or(UNKNOWN_BEARER)?;
        // Found by its hash: how long that takes tells nothing of any bearer.
        let device = self
            .store
            .device(keys.number, &hash(bearer))
            .await?
            .ok_or(UNKNOWN_BEARER)?;
        let public_key =
            DeviceVerifyingKey::from_bytes(&device.public_key).map_err(ServerError::internal)?;
        Ok(Device {
            device_id: device.device_id,
            venue_id: keys.venue_id.clone(),
            venue: keys.number,
            public_key,
            gates: device.gates,
            standing: device.standing,
            standing_since: device.standing_since,
        })
    }

    /// The keys of the venue that a token or bearer was made for, if it can be one.
    pub(super) async fn keys_of_text(
        &self,
        text: &str,
    ) -> Result<Option<std::sync::Arc<VenueKeys>>, ServerError> {
        let bytes = (text.len() <= MAX_BYTES)
            .then(|| BASE64URL_NOPAD.decode(text.as_bytes()).ok())
            .flatten()
            .map(Zeroizing::new);
        let Some(number) = bytes.as_ref().and_then(|bytes| bytes.first_chunk::<2>()) else {
            return Ok(None);
        };
        match self
            .venue_of_number(VenueNumber(u16::from_be_bytes(*number)))
            .await?
        {
            Some(venue) => self.keys(&venue).await.map(Some),
            None => Ok(None),
        }
    }
}

pub(super) fn bearer(keys: &VenueKeys, token: &str) -> Zeroizing<String> {
    let secret: &Secret = &keys.bearer;
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret[..]).expect("HMAC takes any key");
    mac.update(BEARER_DOMAIN);
    mac.update(token.as_bytes());
    let tag = mac.finalize();
    let number = keys.number.0.to_be_bytes();
    let bytes = Zeroizing::new([&number[..], tag.as_bytes()].concat());
    Zeroizing::new(BEARER_PREFIX.to_owned() + &BASE64URL_NOPAD.encode(&bytes))
}
