//! The key manifest of a venue: signed by its root key when there is none, when it nears its end,
//! when the data was put back from a backup, and when its sister venues change.

use stile_core::ids::Kid;
use stile_core::key_manifest::{
    Algorithm, KeyManifest, KeyRole, ManifestError, ManifestKey, SisterVenue,
};
use stile_core::signed::Signed;
use stile_core::time::EpochSeconds;

use super::Server;
use crate::error::ServerError;
use crate::store::StoredKeyManifest;
use crate::venue_keys::VenueKeys;

/// How long a key manifest is good, in seconds: a venue that closes for a season finds its gates
/// working.
const LIFE_S: i64 = 180 * 86_400;
/// It is signed anew this long before its end, in seconds, so that a gate that was put away for
/// months still holds one that is good.
const RENEWED_BEFORE_S: i64 = 120 * 86_400;
/// The root has one key; its statements name none.
const ROOT_KID: Kid = Kid(0);
/// Times to offer a new manifest while others do the same: one of them is kept each time.
pub(super) const OFFERS: usize = 8;

impl Server {
    /// The venue's key manifest, signed anew if need be.
    pub(super) async fn key_manifest(&self, keys: &VenueKeys) -> Result<Signed, ServerError> {
        for _ in 0..OFFERS {
            let kept = self.store.key_manifest(keys.number).await?;
            let now = self.now().seconds();
            if let Some(kept) = &kept
                && kept.generation == self.generation
                && now.0.saturating_add(RENEWED_BEFORE_S) < kept.not_after.0
            {
                return Ok(kept.signed.clone());
            }
            let sisters = self.sisters_of(keys, kept.as_ref())?;
            let manifest = self
                .sign_key_manifest(keys, kept.as_ref(), sisters)
                .map_err(ServerError::internal)?;
            let signed = manifest.signed.clone();
            if self.store.keep_key_manifest(keys.number, manifest).await? {
                return Ok(signed);
            }
        }
        Err(too_many())
    }

    /// The sister venues that a kept manifest names. They are stored nowhere else.
    pub(super) fn sisters_of(
        &self,
        keys: &VenueKeys,
        kept: Option<&StoredKeyManifest>,
    ) -> Result<Vec<SisterVenue>, ServerError> {
        let Some(kept) = kept else {
            return Ok(Vec::new());
        };
        let root = keys.root(&self.vault)?.verifying_key();
        let manifest = KeyManifest::open(&kept.signed, &root).map_err(ServerError::internal)?;
        Ok(manifest.sister_venues)
    }

    /// Signs the manifest that follows the kept one. Not kept yet.
    pub(super) fn sign_key_manifest(
        &self,
        keys: &VenueKeys,
        kept: Option<&StoredKeyManifest>,
        sister_venues: Vec<SisterVenue>,
    ) -> Result<StoredKeyManifest, SignError> {
        let version = kept.map_or(0, |kept| kept.version).saturating_add(1);
        let key = |role, kid, public_key| ManifestKey {
            role,
            kid,
            algorithm: Algorithm::Ed25519,
            public_key,
            // The venue's first keys follow no others, so they are good from the beginning: a
            // server whose clock was ahead when it made them must not lock its gates.
            valid_from: EpochSeconds(0),
            valid_until: None,
            revoked: false,
        };
        let issued_at = self.now();
        let not_after = EpochSeconds(issued_at.seconds().0.saturating_add(LIFE_S));
        let manifest = KeyManifest {
            venue_id: keys.venue_id.clone(),
            number: keys.number,
            generation: self.generation,
            version,
            issued_at,
            not_after,
            keys: vec![
                key(KeyRole::List, keys.list.0, keys.list_public_key()),
                key(KeyRole::Code, keys.code.0, keys.code_public_key()),
            ],
            sister_venues,
        };
        let signed = manifest.sign(ROOT_KID, &keys.root(&self.vault)?)?;
        Ok(StoredKeyManifest {
            version,
            generation: self.generation,
            not_after,
            signed,
        })
    }
}

/// Why a manifest was not signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignError {
    /// What it would say contradicts itself.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The root key cannot be used.
    #[error(transparent)]
    Server(#[from] ServerError),
}

pub(super) fn too_many() -> ServerError {
    ServerError::internal("the key manifest is being signed by too many at once")
}
