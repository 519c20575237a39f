//! The key manifest of a venue: signed by its root key when there is none, when it nears its end,
//! when the data was put back from a backup, and when its keys or its sister venues change.

use stile_core::ids::Kid;
use stile_core::key_manifest::{Algorithm, KeyManifest, ManifestError, ManifestKey, SisterVenue};
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
            let contents = self.contents(keys, kept.as_ref())?;
            let manifest = self
                .sign_key_manifest(keys, kept.as_ref(), contents)
                .map_err(ServerError::internal)?;
            let signed = manifest.signed.clone();
            if self.store.keep_key_manifest(keys.number, manifest).await? {
                return Ok(signed);
            }
        }
        Err(too_many())
    }

    /// What a kept manifest names, and the keys that no manifest names yet: the venue's first, and
    /// those that came back from a copy of the keys. It is stored nowhere else.
    pub(super) fn contents(
        &self,
        keys: &VenueKeys,
        kept: Option<&StoredKeyManifest>,
    ) -> Result<Contents, ServerError> {
        let mut contents = match kept {
            None => Contents::default(),
            Some(kept) => {
                let manifest = self.opened(keys, &kept.signed)?;
                Contents {
                    keys: manifest.keys,
                    sisters: manifest.sister_venues,
                }
            }
        };
        for (role, kid, public_key) in keys.public_keys() {
            let mut known = contents.keys.iter();
            if known.any(|key| key.role == role && key.kid == kid) {
                continue;
            }
            contents.keys.push(ManifestKey {
                role,
                kid,
                algorithm: Algorithm::Ed25519,
                public_key,
                // The venue's first keys follow no others, so they are good from the beginning: a
                // server whose clock was ahead when it made them must not lock its gates.
                valid_from: EpochSeconds(0),
                valid_until: None,
                revoked: false,
            });
        }
        Ok(contents)
    }

    /// What a manifest says that this server signed.
    pub(super) fn opened(
        &self,
        keys: &VenueKeys,
        signed: &Signed,
    ) -> Result<KeyManifest, ServerError> {
        let root = keys.root(&self.vault)?.verifying_key();
        KeyManifest::open(signed, &root).map_err(ServerError::internal)
    }

    /// What every manifest said that the venue ever had, the oldest first.
    pub(super) async fn manifests_ever(
        &self,
        keys: &VenueKeys,
    ) -> Result<Vec<KeyManifest>, ServerError> {
        let kept = self.store.key_manifests(keys.number).await?;
        let opened = kept.iter().map(|kept| self.opened(keys, &kept.signed));
        opened.collect()
    }

    /// Signs the manifest that follows the kept one. Not kept yet.
    pub(super) fn sign_key_manifest(
        &self,
        keys: &VenueKeys,
        kept: Option<&StoredKeyManifest>,
        contents: Contents,
    ) -> Result<StoredKeyManifest, SignError> {
        let version = kept.map_or(0, |kept| kept.version).saturating_add(1);
        let issued_at = self.now();
        let not_after = EpochSeconds(issued_at.seconds().0.saturating_add(LIFE_S));
        let manifest = KeyManifest {
            venue_id: keys.venue_id.clone(),
            number: keys.number,
            generation: self.generation,
            version,
            issued_at,
            not_after,
            keys: contents.keys,
            sister_venues: contents.sisters,
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

/// What a key manifest names.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    /// The venue's own keys.
    pub(super) keys: Vec<ManifestKey>,
    /// Its sister venues, with theirs.
    pub(super) sisters: Vec<SisterVenue>,
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

/// What is wrong with what was to be signed, for whoever asked for it.
pub(super) fn refused(error: SignError) -> ServerError {
    match error {
        SignError::Server(error) => error,
        SignError::Manifest(error @ (ManifestError::Signed(_) | ManifestError::Json(_))) => {
            ServerError::internal(error)
        }
        // A key that cannot be used, or one that has another role here.
        SignError::Manifest(error) => ServerError::Conflict(error.to_string()),
    }
}
