//! Devices: invited by the text of a QR, enrolled with their own key, known by their bearer.

use data_encoding::{BASE32_NOPAD, BASE64, BASE64URL_NOPAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use stile_core::ids::{DeviceId, VenueId, VenueNumber};
use stile_core::keys::{DeviceVerifyingKey, root_fingerprint};
use stile_core::protocol::{
    Certificate, EnrolAnswer, EnrolRequest, Enrolment, EnrolmentText, NewEnrolment,
};
use stile_core::signed::{Domain, Signed};
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::api_keys::hash;
use super::venues::check_text;
use super::{Device, Server};
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{self, EnrolOutcome, EnrolmentClaim};
use crate::venue_keys::{Secret, VenueKeys};

/// How long a token is good, in seconds: as long as it takes to walk to the gate.
const TOKEN_LIFE_S: i64 = 600;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;
/// Gates that a device may serve at most: each stands in its answer.
const GATES: usize = 64;
/// What every device's bearer begins with, so that people and scanners of leaked secrets know it.
const BEARER_PREFIX: &str = "stile_dev_";
/// Prefix under which bearers are derived.
const BEARER_DOMAIN: &[u8] = b"stile/bearer/v1\0";
/// Longest text that is looked up as a token or bearer, in bytes; ours have 24 and 56.
const MAX_BYTES: usize = 128;

const UNKNOWN_TOKEN: ServerError = ServerError::EnrolmentRefused(
    "this enrolment code is not known; show a new one and scan it again",
);
const UNKNOWN_BEARER: ServerError = ServerError::Unauthorized(
    "this device is not known here; its records are kept: enrol it again",
);

impl Server {
    /// Invites a device. `default_server_url` goes into the QR unless the request says another.
    /// `ca_pin` is of the server's own CA, where the device is to trust that one alone.
    pub async fn new_enrolment(
        &self,
        venue: &VenueId,
        request: NewEnrolment,
        default_server_url: &str,
        ca_pin: Option<String>,
    ) -> Result<Enrolment, ServerError> {
        if !(1..=GATES).contains(&request.gates.len()) {
            return Err(ServerError::invalid(
                "gates",
                format!("name 1 to {GATES} gates"),
            ));
        }
        let keys = self.keys(venue).await?;
        let token = Zeroizing::new(token(keys.number, &random_bytes(&*self.random)));
        let now = self.now();
        let expires_at = EpochSeconds(now.seconds().0.saturating_add(TOKEN_LIFE_S));
        let text = EnrolmentText {
            server: request
                .server
                .unwrap_or_else(|| default_server_url.to_owned()),
            token: token.to_string(),
            root_fingerprint: root_fingerprint(&keys.root(&self.vault)?.verifying_key()),
            ca_pin,
            time: now.seconds(),
        }
        .to_string();
        if let Err(error) = text.parse::<EnrolmentText>() {
            return Err(ServerError::invalid("server", error));
        }
        let enrolment = store::NewEnrolment {
            token_hash: hash(&token),
            gates: request.gates,
            created_at: now,
            expires_at,
        };
        self.store.add_enrolment(keys.number, enrolment).await?;
        Ok(Enrolment { text, expires_at })
    }

    /// Enrols a device by its token. Its key may repeat it while the token is good, and hears the
    /// same again.
    pub async fn enrol(&self, request: EnrolRequest) -> Result<EnrolAnswer, ServerError> {
        check_text("name", &request.name)?;
        check_text("model", &request.model)?;
        let key = DeviceVerifyingKey::from_base64(&request.public_key)
            .map_err(|error| ServerError::invalid("public_key", error))?;
        let keys = self
            .keys_of_text(&request.token)
            .await?
            .ok_or(UNKNOWN_TOKEN)?;
        // Derived, so that whoever asks again for an answer that was lost gets it as it was.
        let bearer = bearer(&keys, &request.token);
        let claim = EnrolmentClaim {
            token_hash: hash(&request.token),
            public_key: *key.as_bytes(),
            device_id: self.new_device_id()?,
            bearer_hash: hash(&bearer),
            name: request.name,
            model: request.model,
            now: self.now(),
        };
        let device = match self.store.enrol(keys.number, claim).await? {
            EnrolOutcome::Enrolled(device) => device,
            EnrolOutcome::Unknown => return Err(UNKNOWN_TOKEN),
            EnrolOutcome::Over => {
                return Err(ServerError::EnrolmentRefused(
                    "this enrolment code is over; show a new one and scan it again",
                ));
            }
            EnrolOutcome::Taken => {
                return Err(ServerError::EnrolmentRefused(
                    "another device has used this enrolment code; show a new one for this device",
                ));
            }
        };
        self.enrol_answer(&keys, device, &bearer).await
    }

    async fn enrol_answer(
        &self,
        keys: &VenueKeys,
        device: store::Device,
        bearer: &str,
    ) -> Result<EnrolAnswer, ServerError> {
        let venue = self.venue(&keys.venue_id).await?;
        let certificate = Certificate {
            device_id: device.device_id.clone(),
            venue_id: keys.venue_id.clone(),
            public_key: BASE64.encode(&device.public_key),
            issued_at: device.enrolled_at,
        };
        let payload = serde_json::to_vec(&certificate).map_err(ServerError::internal)?;
        let (kid, list_key) = &keys.list;
        let certificate = Signed::sign(&Domain::CERTIFICATE, &payload, *kid, list_key)
            .map_err(ServerError::internal)?;
        let gates = self.store.gates(keys.number).await?;
        Ok(EnrolAnswer {
            device_id: device.device_id,
            bearer: bearer.to_owned(),
            venue_id: venue.venue_id,
            venue_number: venue.number,
            time_zone: venue.time_zone,
            gates: gates
                .into_iter()
                .filter(|gate| device.gates.contains(&gate.gate_id))
                .collect(),
            root_public_key: keys.root(&self.vault)?.verifying_key().to_base64(),
            key_manifest: self.key_manifest(keys).await?,
            certificate,
        })
    }

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
        })
    }

    /// The keys of the venue that a token or bearer was made for, if it can be one.
    async fn keys_of_text(
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

    fn new_device_id(&self) -> Result<DeviceId, ServerError> {
        let random: [u8; 10] = random_bytes(&*self.random);
        let id = BASE32_NOPAD.encode(&random).to_ascii_lowercase();
        DeviceId::new(id).map_err(ServerError::internal)
    }
}

/// A venue's number and random bytes: with the number, it is found without asking all venues.
fn token(venue: VenueNumber, random: &[u8; TOKEN_BYTES]) -> String {
    BASE64URL_NOPAD.encode(&[&venue.0.to_be_bytes()[..], random].concat())
}

fn bearer(keys: &VenueKeys, token: &str) -> Zeroizing<String> {
    let secret: &Secret = &keys.bearer;
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret[..]).expect("HMAC takes any key");
    mac.update(BEARER_DOMAIN);
    mac.update(token.as_bytes());
    let tag = mac.finalize();
    let number = keys.number.0.to_be_bytes();
    let bytes = Zeroizing::new([&number[..], tag.as_bytes()].concat());
    Zeroizing::new(BEARER_PREFIX.to_owned() + &BASE64URL_NOPAD.encode(&bytes))
}
