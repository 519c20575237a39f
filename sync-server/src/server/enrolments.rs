//! How a device becomes one of the venue's: invited by the text of a QR, confirmed by the six
//! digits that it shows, enrolled with its own key.

use data_encoding::{BASE32_NOPAD, BASE64, BASE64URL_NOPAD};
use stile_core::ids::{DeviceId, EnrolmentId, VenueId, VenueNumber};
use stile_core::keys::{DeviceVerifyingKey, root_fingerprint};
use stile_core::protocol::{
    Certificate, EnrolAnswer, EnrolRequest, EnrolWaiting, Enrolment, EnrolmentDigits,
    EnrolmentText, EnrolmentView, Enrolments, NewEnrolment,
};
use stile_core::signed::{Domain, Signed};
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::Server;
use super::api_keys::hash;
use super::devices::bearer;
use super::venues::check_text;
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{self, ConfirmOutcome, Confirmation, EnrolOutcome, EnrolmentClaim};
use crate::venue_keys::VenueKeys;

/// How long a token is good, in seconds: as long as it takes to walk to the gate.
const TOKEN_LIFE_S: i64 = 600;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;
/// Gates that a device may serve at most: each stands in its answer.
pub(super) const GATES: usize = 64;
/// Invitations that may be open in a venue at once: more than anybody walks to in ten minutes.
const OPEN_ENROLMENTS: usize = 64;
/// Wrong digits of one invitation: somebody who knows none guesses one in 200,000 times.
const WRONG_DIGITS: u8 = 5;

const UNKNOWN_TOKEN: ServerError = ServerError::EnrolmentRefused(
    "this enrolment code is not known; show a new one and scan it again",
);
/// What a device that shows its token is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enrolling {
    /// It is enrolled.
    Enrolled(Box<EnrolAnswer>),
    /// An operator is to confirm it.
    Waiting(EnrolWaiting),
}

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
        let token_hash = hash(&token);
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
        if text.parse::<EnrolmentText>().is_err() {
            let problem = "write the address as gates reach it: https://HOST:PORT";
            return Err(ServerError::invalid("server", problem));
        }
        let enrolment = store::NewEnrolment {
            token_hash,
            gates: request.gates,
            confirm: request.confirm,
            created_at: now,
            expires_at,
        };
        if !self
            .store
            .add_enrolment(keys.number, enrolment, OPEN_ENROLMENTS)
            .await?
        {
            return Err(ServerError::Conflict(format!(
                "{OPEN_ENROLMENTS} invitations are open already; use or refuse some, or wait until \
                 they are over"
            )));
        }
        let enrolment_id = store::enrolment_id(&token_hash);
        crate::acting::names(&enrolment_id);
        Ok(Enrolment {
            enrolment_id,
            text,
            expires_at,
        })
    }

    /// Enrols a device by its token. Its key may repeat it while the token is good, and hears the
    /// same again. Where an operator is to confirm it, it asks until that has happened.
    pub async fn enrol(&self, request: EnrolRequest) -> Result<Enrolling, ServerError> {
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
        let token_hash = hash(&request.token);
        let claim = EnrolmentClaim {
            token_hash,
            public_key: *key.as_bytes(),
            device_id: self.new_device_id()?,
            bearer_hash: hash(&bearer),
            name: request.name,
            model: request.model,
            now: self.now(),
        };
        let refusal = match self.store.enrol(keys.number, claim).await? {
            EnrolOutcome::Enrolled(device) => {
                let answer = self.enrol_answer(&keys, device, &bearer).await?;
                return Ok(Enrolling::Enrolled(Box::new(answer)));
            }
            EnrolOutcome::Waiting { expires_at } => {
                return Ok(Enrolling::Waiting(EnrolWaiting {
                    enrolment_id: store::enrolment_id(&token_hash),
                    expires_at,
                }));
            }
            EnrolOutcome::Unknown => return Err(UNKNOWN_TOKEN),
            EnrolOutcome::Over => "this enrolment code is over; show a new one and scan it again",
            EnrolOutcome::Taken => {
                tracing::warn!(
                    venue = %keys.venue_id, enrolment = %store::enrolment_id(&token_hash),
                    "another device has shown an enrolment text that is in use: was it copied?"
                );
                "another device has used this enrolment code; show a new one for this device"
            }
            EnrolOutcome::Refused => "an operator has refused this device",
            EnrolOutcome::WrongDigits => {
                "wrong digits were given too often for this device; show a new enrolment code"
            }
        };
        Err(ServerError::EnrolmentRefused(refusal))
    }

    /// What devices are invited and not over yet.
    pub async fn enrolments(&self, venue: &VenueId) -> Result<Enrolments, ServerError> {
        let number = self.keys(venue).await?.number;
        let enrolments = self.store.enrolments(number, self.now()).await?;
        Ok(Enrolments { enrolments })
    }

    /// An operator has read these digits from the device that waits by an invitation.
    pub async fn confirm_enrolment(
        &self,
        venue: &VenueId,
        id: &EnrolmentId,
        digits: EnrolmentDigits,
    ) -> Result<EnrolmentView, ServerError> {
        let keys = self.keys(venue).await?;
        let now = self.now();
        let given = Confirmation {
            enrolment_id: id.clone(),
            digits,
            root_fingerprint: root_fingerprint(&keys.root(&self.vault)?.verifying_key()),
            tries: WRONG_DIGITS,
            expires_at: EpochSeconds(now.seconds().0.saturating_add(TOKEN_LIFE_S)),
            now,
        };
        match self.store.confirm_enrolment(keys.number, given).await? {
            ConfirmOutcome::Confirmed(view) => Ok(view),
            ConfirmOutcome::Wrong { left: 0 } => Err(ServerError::invalid(
                "digits",
                "not what this device shows, and too often: the invitation is over. Invite anew, \
                 and look whether the text has got into other hands",
            )),
            ConfirmOutcome::Wrong { left } => Err(ServerError::invalid(
                "digits",
                format!(
                    "not what this device shows. Look at the device in front of you; tries left: \
                     {left}"
                ),
            )),
            ConfirmOutcome::NoDevice => Err(ServerError::Conflict(
                "no device has shown this enrolment text yet".to_owned(),
            )),
            ConfirmOutcome::Over => Err(ServerError::Conflict(
                "this invitation is over; invite the device anew".to_owned(),
            )),
            ConfirmOutcome::Unknown => Err(ServerError::NotFound("enrolment")),
        }
    }

    /// Takes an invitation back, or refuses the device that waits by it.
    pub async fn refuse_enrolment(
        &self,
        venue: &VenueId,
        id: &EnrolmentId,
    ) -> Result<(), ServerError> {
        let number = self.keys(venue).await?.number;
        match self.store.refuse_enrolment(number, id, self.now()).await? {
            true => Ok(()),
            false => Err(ServerError::NotFound("enrolment that is open")),
        }
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
        let (kid, list_key) = keys.list.at(self.now().seconds());
        let certificate = Signed::sign(&Domain::CERTIFICATE, &payload, kid, list_key)
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
