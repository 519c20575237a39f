//! The key manifest of a venue: signed by its root key when there is none, when it nears its end,
//! and when the data was put back from a backup.

use stile_core::ids::Kid;
use stile_core::key_manifest::{Algorithm, KeyManifest, KeyRole, ManifestKey};
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
const OFFERS: usize = 8;

impl Server {
    /// The venue's key manifest, signed anew if need be.
    pub(super) async fn key_manifest(&self, keys: &VenueKeys) -> Result<Signed, ServerError> {
        for _ in 0..OFFERS {
            let kept = self.store.key_manifest(keys.number).await?;
            let version = kept.as_ref().map_or(0, |kept| kept.version);
            let now = self.now().seconds();
            if let Some(kept) = kept
                && kept.generation == self.generation
                && now.0.saturating_add(RENEWED_BEFORE_S) < kept.not_after.0
            {
                return Ok(kept.signed);
            }
            let manifest = self.sign_key_manifest(keys, version.saturating_add(1))?;
            let signed = manifest.signed.clone();
            if self.store.keep_key_manifest(keys.number, manifest).await? {
                return Ok(signed);
            }
        }
        Err(ServerError::internal(
            "the key manifest is being signed by too many at once",
        ))
    }

    fn sign_key_manifest(
        &self,
        keys: &VenueKeys,
        version: u64,
    ) -> Result<StoredKeyManifest, ServerError> {
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
            sister_venues: Vec::new(),
        };
        let signed = manifest
            .sign(ROOT_KID, &keys.root(&self.vault)?)
            .map_err(ServerError::internal)?;
        Ok(StoredKeyManifest {
            version,
            generation: self.generation,
            not_after,
            signed,
        })
    }
}
