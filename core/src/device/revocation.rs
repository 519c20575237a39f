//! What a device does when the server will not serve it. Only a signed revocation takes keys and
//! lists away; no word at all takes a record that is not delivered.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::identity::DEVICE_KID;
use super::{Device, lists};
use crate::journal::{JournalError, SyncLog};
use crate::key_manifest::{KeyManifest, KeyRing};
use crate::protocol::{Code, ReturnClaim, ReturnRequest, Revocation, RevocationNotice, Unserved};
use crate::signed::{Domain, Signed};
use crate::time::EpochMillis;

/// The fact that keeps when the device was revoked, epoch ms.
const FACT: &str = "revoked_at";

/// What a refusal of the server means for the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It is revoked: keys and lists are gone, and what is not delivered still goes up.
    Revoked {
        /// When, by the server's clock.
        at: EpochMillis,
        /// Whether this was the first word of it.
        is_new: bool,
    },
    /// The server does not know the bearer, such as after a restored backup: show it the
    /// certificate.
    Unknown,
    /// The server knows the certificate, and waits for an operator's word.
    Waits,
    /// Everything stays as it is.
    Kept,
}

impl Device {
    /// Reads an answer of 401 or 403.
    pub fn refused(&self, body: &[u8]) -> Result<Refused, JournalError> {
        let Ok(Unserved { code, revocation }) = serde_json::from_slice(body) else {
            return Ok(Refused::Kept);
        };
        if let Some(at) = revocation.and_then(|notice| self.revoked_by(&notice)) {
            let is_new = self.revoked_at().is_none();
            self.revoke(at)?;
            return Ok(Refused::Revoked { at, is_new });
        }
        Ok(match code {
            Code::Unauthorized => Refused::Unknown,
            Code::DeviceForgotten => Refused::Waits,
            _ => Refused::Kept,
        })
    }

    /// When the device was revoked, if it was.
    pub fn revoked_at(&self) -> Option<EpochMillis> {
        self.door().revoked_at
    }

    /// What to send to `POST /v1/gate/return` where the server does not know the bearer.
    pub fn return_request(&self, name: &str, model: &str) -> Result<ReturnRequest, JournalError> {
        let identity = &self.identity;
        let key = identity
            .signing_key()
            .ok_or(JournalError::Foreign("device key"))?;
        let claim = ReturnClaim {
            device_id: identity.device_id.clone(),
            bearer_sha256: HEXLOWER.encode(&Sha256::digest(identity.bearer())),
            name: name.to_owned(),
            model: model.to_owned(),
            gates: identity
                .gates
                .iter()
                .map(|gate| gate.gate_id.clone())
                .collect(),
        };
        let payload = serde_json::to_vec(&claim)?;
        let claim = Signed::sign(&Domain::RETURN, &payload, DEVICE_KID, &key)
            .map_err(|_| JournalError::Foreign("claim that cannot be signed"))?;
        Ok(ReturnRequest {
            venue_id: identity.venue_id.clone(),
            certificate: identity.certificate.clone(),
            claim,
        })
    }

    /// When the venue revoked this very device, if that is what a notice proves.
    fn revoked_by(&self, notice: &RevocationNotice) -> Option<EpochMillis> {
        // A device that was away hears of the key with the statement. Whatever else is amiss with
        // the manifest, the keys held go on.
        let offered = self
            .identity
            .root()
            .ok()
            .and_then(|root| KeyManifest::open(&notice.key_manifest, &root).ok());
        let held = self.outgoing().key_manifest.clone();
        let keys = KeyRing::new(&held.or_newer(offered));
        let key = &keys.list_key(notice.statement.kid)?.key;
        let payload = notice.statement.verify(&Domain::REVOCATION, key).ok()?;
        let revocation: Revocation = serde_json::from_slice(&payload).ok()?;
        let is_ours = revocation.venue_id == self.identity.venue_id
            && revocation.device_id == self.identity.device_id;
        is_ours.then_some(revocation.revoked_at)
    }

    /// Takes keys and lists away. The word is on disk first: a crash in between is made good at
    /// the next start.
    fn revoke(&self, at: EpochMillis) -> Result<(), JournalError> {
        let mut outgoing = self.outgoing();
        let text = at.0.to_string();
        outgoing.sync_log.set_fact_durably(FACT, &text)?;
        outgoing.sync_log.drop_feed_except(&[])?;
        drop(outgoing);
        let mut door = self.door();
        door.revoked_at = Some(at);
        door.keys = KeyRing::empty(self.identity.venue_number).into();
        let gone = std::mem::take(&mut door.lists);
        drop(door);
        // Closing them takes a while, and no scan must wait for it.
        drop(gone);
        lists::drop_unusable(&self.folder, &[]);
        Ok(())
    }
}

/// When the device of a journal was revoked, if it was.
pub(super) fn known(log: &SyncLog) -> Result<Option<EpochMillis>, JournalError> {
    Ok(log
        .fact(FACT)?
        .map(|at| EpochMillis(at.parse().unwrap_or(0))))
}
