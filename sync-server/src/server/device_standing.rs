//! Devices that are not simply the venue's any more: revoked by a signed word, or forgotten by data
//! that was put back from a backup, and known by their certificates alone.

use stile_core::ids::{DeviceId, GateId, Kid, VenueId, VenueNumber};
use stile_core::key_manifest::{KeyRole, ManifestKey};
use stile_core::keys::{DeviceVerifyingKey, ListVerifyingKey};
use stile_core::protocol::{
    Certificate, DeviceStanding, Readmission, ReturnAnswer, ReturnClaim, ReturnRequest, Revocation,
    RevocationNotice,
};
use stile_core::signed::{Domain, Signed};
use stile_core::time::EpochMillis;

use super::enrolments::GATES;
use super::venues::check_text;
use super::{Device, Server};
use crate::error::ServerError;
use crate::hex;
use crate::store;
use crate::venue_keys::VenueKeys;

const NOT_OURS: ServerError = ServerError::Unauthorized(
    "this certificate is none of this venue's; the records are kept: enrol the device again",
);

impl Server {
    /// Revokes a device for good; again is as once. What it admitted and has not delivered is set
    /// aside when it comes.
    pub async fn revoke_device(
        &self,
        venue: &VenueId,
        device: &DeviceId,
    ) -> Result<EpochMillis, ServerError> {
        let number = self.keys(venue).await?.number;
        let now = self.now();
        Ok(self.store.revoke_device(number, device, now).await?)
    }

    /// Makes a forgotten device one of the venue's again. `Conflict` if it is revoked.
    pub async fn readmit_device(
        &self,
        venue: &VenueId,
        device: &DeviceId,
        readmission: Readmission,
    ) -> Result<(), ServerError> {
        if readmission.gates.len() > GATES {
            return Err(ServerError::invalid("gates", format!("{GATES} at most")));
        }
        let number = self.keys(venue).await?.number;
        let gates = readmission.gates;
        self.require_gates(number, device, &gates).await?;
        let now = self.now();
        let device = self
            .store
            .readmit_device(number, device, gates, now)
            .await?;
        match device.standing {
            DeviceStanding::Revoked => Err(ServerError::Conflict(
                "the device is revoked, and stays so; enrol it anew with an empty folder".into(),
            )),
            DeviceStanding::Enrolled | DeviceStanding::Forgotten => Ok(()),
        }
    }

    /// Refuses to readmit a device for gates that are not there, such as those that were put after
    /// the backup.
    async fn require_gates(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        said: &[GateId],
    ) -> Result<(), ServerError> {
        let device = self.store.device_of_id(venue, device).await?;
        let device = device.ok_or(ServerError::NotFound("device"))?;
        let wanted = if said.is_empty() { &device.gates } else { said };
        let gates = self.store.gates(venue).await?;
        let is_there = |id: &&GateId| gates.iter().any(|gate| gate.gate_id == **id);
        match wanted.iter().find(|id| !is_there(id)) {
            Some(missing) if device.standing == DeviceStanding::Forgotten => {
                let problem = format!(
                    "there is no gate {missing} here; put it first, or say which gates the device \
                     may serve"
                );
                Err(ServerError::invalid("gates", problem))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a device that is not enrolled, with the word that it is due.
    pub async fn require_enrolled(&self, device: &Device) -> Result<(), ServerError> {
        match device.standing {
            DeviceStanding::Enrolled => Ok(()),
            DeviceStanding::Forgotten => Err(ServerError::DeviceForgotten),
            DeviceStanding::Revoked => {
                let notice = self.revocation(device).await?;
                Err(ServerError::Revoked(Box::new(notice)))
            }
        }
    }

    /// The signed word that a device is revoked. Signed each time, so that the list key in use says
    /// it.
    async fn revocation(&self, device: &Device) -> Result<RevocationNotice, ServerError> {
        let keys = self.keys(&device.venue_id).await?;
        let revocation = Revocation {
            venue_id: device.venue_id.clone(),
            device_id: device.device_id.clone(),
            generation: self.generation,
            revoked_at: device.standing_since.unwrap_or_else(|| self.now()),
        };
        let payload = serde_json::to_vec(&revocation).map_err(ServerError::internal)?;
        let (kid, list_key) = keys.list.at(self.now().seconds());
        Ok(RevocationNotice {
            statement: Signed::sign(&Domain::REVOCATION, &payload, kid, list_key)
                .map_err(ServerError::internal)?,
            key_manifest: self.key_manifest(&keys).await?,
        })
    }

    /// Hears a device that the data forgot: its certificate says that it was the venue's, and it
    /// signs which bearer it goes on with.
    pub async fn return_device(&self, request: ReturnRequest) -> Result<ReturnAnswer, ServerError> {
        if self.store.venue(&request.venue_id).await?.is_none() {
            return Err(NOT_OURS);
        }
        let keys = self.keys(&request.venue_id).await?;
        let (certificate, public_key) = self.certified(&keys, &request).await?;
        let payload = request
            .claim
            .verify(&Domain::RETURN, &public_key)
            .map_err(|_| NOT_OURS)?;
        let claim: ReturnClaim = serde_json::from_slice(&payload)
            .map_err(|error| ServerError::InvalidBody(format!("the signed claim: {error}")))?;
        if claim.device_id != certificate.device_id {
            return Err(NOT_OURS);
        }
        check_text("name", &claim.name)?;
        check_text("model", &claim.model)?;
        if claim.gates.len() > GATES {
            return Err(ServerError::invalid("gates", format!("{GATES} at most")));
        }
        let bearer_hash = hex::bytes_32(&claim.bearer_sha256)
            .ok_or_else(|| ServerError::invalid("bearer_sha256", "64 hex digits"))?;
        let now = self.now();
        let returned = store::Device {
            device_id: claim.device_id,
            public_key: *public_key.as_bytes(),
            name: claim.name,
            model: claim.model,
            gates: claim.gates,
            enrolled_at: certificate.issued_at,
            standing: DeviceStanding::Forgotten,
            standing_since: Some(now),
        };
        let kept = self
            .store
            .put_device_back(keys.number, returned, bearer_hash)
            .await?;
        if kept.public_key != *public_key.as_bytes() {
            return Err(NOT_OURS);
        }
        if kept.standing == DeviceStanding::Forgotten {
            let (venue, device) = (&keys.venue_id, &kept.device_id);
            tracing::warn!(
                %venue, %device,
                "a device is back that the data forgot; its records are set aside, and it waits \
                 for: device readmit"
            );
        }
        Ok(ReturnAnswer {
            standing: kept.standing,
        })
    }

    /// What a certificate of the venue says, and the key that it names.
    async fn certified(
        &self,
        keys: &VenueKeys,
        request: &ReturnRequest,
    ) -> Result<(Certificate, DeviceVerifyingKey), ServerError> {
        let list_key = self.list_key_ever(keys, request.certificate.kid).await?;
        let payload = request
            .certificate
            .verify(&Domain::CERTIFICATE, &list_key.ok_or(NOT_OURS)?)
            .map_err(|_| NOT_OURS)?;
        let certificate: Certificate = serde_json::from_slice(&payload).map_err(|_| NOT_OURS)?;
        if certificate.venue_id != keys.venue_id {
            return Err(NOT_OURS);
        }
        let public_key =
            DeviceVerifyingKey::from_base64(&certificate.public_key).map_err(|_| NOT_OURS)?;
        Ok((certificate, public_key))
    }

    /// The list key of a kid that the venue has or had. Certificates outlive the keys that signed
    /// them, unless one was stolen: with that anybody could make some.
    async fn list_key_ever(
        &self,
        keys: &VenueKeys,
        kid: Kid,
    ) -> Result<Option<ListVerifyingKey>, ServerError> {
        // Signs one if there was none yet.
        self.key_manifest(keys).await?;
        let mut found = None;
        for manifest in self.manifests_ever(keys).await? {
            let is_meant = |key: &&ManifestKey| key.role == KeyRole::List && key.kid == kid;
            match manifest.keys.iter().find(is_meant) {
                Some(stolen) if stolen.revoked => return Ok(None),
                Some(key) => found = Some(key.public_key.clone()),
                None => {}
            }
        }
        found
            .map(|key| ListVerifyingKey::from_base64(&key).map_err(ServerError::internal))
            .transpose()
    }
}
