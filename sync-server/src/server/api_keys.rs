//! API keys: made and shown once, kept as hashes, looked up by them.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use stile_core::ids::VenueId;
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::venues::check_text;
use super::{Server, ShownOnce};
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{ApiKey, ApiKeyId, NewApiKey, Scope};

/// What every API key begins with, so that people and scanners of leaked secrets know it.
const PREFIX: &str = "stile_key_";
/// Longest text that is looked up as a key, in bytes; ours have 53.
const MAX_BYTES: usize = 128;

impl Server {
    /// Makes an API key; its text is shown this once.
    pub async fn add_api_key(
        &self,
        venues: &[VenueId],
        scopes: &[Scope],
        name: &str,
        expires_at: Option<EpochSeconds>,
    ) -> Result<(ApiKeyId, ShownOnce), ServerError> {
        check_text("name", name)?;
        if venues.is_empty() {
            return Err(ServerError::invalid(
                "venues",
                "an API key is for at least one venue",
            ));
        }
        if scopes.is_empty() {
            return Err(ServerError::invalid(
                "scopes",
                "an API key has at least one scope",
            ));
        }
        if expires_at.is_some_and(|at| at <= self.now().seconds()) {
            return Err(ServerError::invalid("expires_at", "lies in the past"));
        }
        let secret: Zeroizing<[u8; 32]> = Zeroizing::new(random_bytes(&*self.random));
        let text = Zeroizing::new(PREFIX.to_owned() + &BASE64URL_NOPAD.encode(&*secret));
        let new = NewApiKey {
            hash: hash(&text),
            name: name.to_owned(),
            venues: venues.to_vec(),
            scopes: scopes.to_vec(),
            created_at: self.now(),
            expires_at,
        };
        let id = self.store.add_api_key(new).await?;
        Ok((id, ShownOnce(text)))
    }

    /// The API key of a text; `Unauthorized` if there is none, or it is expired or revoked.
    pub async fn authenticate_api_key(&self, text: &str) -> Result<ApiKey, ServerError> {
        let unknown =
            ServerError::Unauthorized("this API key is not known; check how it was copied");
        if text.len() > MAX_BYTES || !text.starts_with(PREFIX) {
            return Err(unknown);
        }
        // Found by its hash: how long that takes tells nothing of any key's text.
        let key = self.store.api_key(&hash(text)).await?.ok_or(unknown)?;
        if key.revoked_at.is_some() {
            return Err(ServerError::Unauthorized(
                "this API key is revoked; ask for another",
            ));
        }
        if key.expires_at.is_some_and(|at| at <= self.now().seconds()) {
            return Err(ServerError::Unauthorized(
                "this API key has expired; ask for another",
            ));
        }
        Ok(key)
    }

    /// All API keys, oldest first.
    pub async fn api_keys(&self) -> Result<Vec<ApiKey>, ServerError> {
        Ok(self.store.api_keys().await?)
    }

    /// Revokes an API key, from now on; again is as once.
    pub async fn revoke_api_key(&self, id: ApiKeyId) -> Result<(), ServerError> {
        let found = self.store.revoke_api_key(id, self.now()).await?;
        found.then_some(()).ok_or(ServerError::NotFound("API key"))
    }
}

/// What the store keeps of a text that is shown once.
pub(super) fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
