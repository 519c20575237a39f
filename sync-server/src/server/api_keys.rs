//! API keys: made and shown once, kept as hashes, looked up by them; what is seen and ended of one
//! by the administrators of a venue is what it is at that venue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use stile_core::ids::VenueId;
use stile_core::protocol::{self, ApiKeyView, ApiKeys, MadeApiKey};
use stile_core::time::{EpochMillis, EpochSeconds};
use zeroize::Zeroizing;

use super::venues::check_text;
use super::{Server, ShownOnce};
use crate::acting;
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{ApiKey, ApiKeyId, NewApiKey, Scope};

/// What every API key begins with, so that people and scanners of leaked secrets know it.
const PREFIX: &str = "stile_key_";
/// Longest text that is looked up as a key, in bytes; ours have 53.
const MAX_BYTES: usize = 128;
/// How exactly the last use of a key is kept, in ms: a key that is used all the time costs one
/// write a minute.
const LAST_USE_MS: u64 = 60_000;

/// When each key's use at each venue was last kept, by this process.
pub(super) type KnownUses = Mutex<HashMap<(ApiKeyId, VenueId), EpochMillis>>;

impl Server {
    /// Makes an API key, by whoever has the server's folder; its text is shown this once.
    pub async fn add_api_key(
        &self,
        venues: &[VenueId],
        scopes: &[Scope],
        name: &str,
        expires_at: Option<EpochSeconds>,
    ) -> Result<(ApiKeyId, ShownOnce), ServerError> {
        let new = protocol::NewApiKey {
            name: name.to_owned(),
            scopes: scopes.to_vec(),
            venues: venues.to_vec(),
            expires_at,
        };
        let (key, text) = self.make_api_key(new, None).await?;
        Ok((key.id, text))
    }

    /// Makes an API key by another one, which cannot give more than it has: no further venue, no
    /// further scope, no longer time.
    pub async fn add_api_key_by(
        &self,
        maker: &ApiKey,
        venue: &VenueId,
        mut new: protocol::NewApiKey,
    ) -> Result<MadeApiKey, ServerError> {
        if new.venues.is_empty() {
            new.venues.push(venue.clone());
        }
        let is_good_at = |venue| maker.good_at().any(|good| good == venue);
        if !new.venues.iter().all(is_good_at) {
            return Err(ServerError::Forbidden(
                "venues: a key makes keys for its own venues only".into(),
            ));
        }
        if !new.scopes.iter().all(|scope| maker.may(*scope)) {
            return Err(ServerError::Forbidden(
                "scopes: a key makes keys with its own scopes only".into(),
            ));
        }
        match (new.expires_at, maker.expires_at) {
            (Some(end), Some(own)) if end > own => {
                return Err(ServerError::Forbidden(format!(
                    "expires_at: a key makes none that outlasts it, and it ends at {}",
                    own.0
                )));
            }
            (end, own) => new.expires_at = end.or(own),
        }
        let (key, text) = self.make_api_key(new, Some(maker.id)).await?;
        Ok(MadeApiKey {
            api_key: ApiKeyView {
                api_key_id: key.id,
                name: key.name,
                scopes: key.scopes,
                made_by: key.made_by,
                created_at: key.created_at,
                expires_at: key.expires_at,
                last_used_at: None,
                revoked_at: None,
            },
            text: text.as_str().to_owned(),
        })
    }

    async fn make_api_key(
        &self,
        new: protocol::NewApiKey,
        made_by: Option<ApiKeyId>,
    ) -> Result<(NewApiKey, ShownOnce), ServerError> {
        check_text("name", &new.name)?;
        if new.venues.is_empty() {
            return Err(ServerError::invalid(
                "venues",
                "an API key is for at least one venue",
            ));
        }
        if new.scopes.is_empty() {
            return Err(ServerError::invalid(
                "scopes",
                "an API key has at least one scope",
            ));
        }
        if new.expires_at.is_some_and(|at| at <= self.now().seconds()) {
            return Err(ServerError::invalid("expires_at", "lies in the past"));
        }
        let secret: Zeroizing<[u8; 32]> = Zeroizing::new(random_bytes(&*self.random));
        let text = Zeroizing::new(PREFIX.to_owned() + &BASE64URL_NOPAD.encode(&*secret));
        let [a, b, c, d, e, f] = random_bytes(&*self.random);
        let new = NewApiKey {
            id: ApiKeyId(i64::from_be_bytes([0, 0, a, b, c, d, e, f])),
            hash: hash(&text),
            name: new.name,
            venues: new.venues,
            scopes: new.scopes,
            made_by,
            created_at: self.now(),
            expires_at: new.expires_at,
        };
        acting::names(new.id);
        for venue in &new.venues {
            acting::concerns(self.keys(venue).await?.number);
        }
        self.store.add_api_key(new.clone()).await?;
        Ok((new, ShownOnce(text)))
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
        if key.good_at().next().is_none() {
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

    /// Keeps that a key was used at a venue. Nobody waits for it: it is written aside, and at most
    /// once a minute for a key and venue.
    pub fn note_key_use(self: &Arc<Self>, id: ApiKeyId, venue: &VenueId) {
        let now = self.now();
        let mut known = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.get(&(id, venue.clone()));
        // Also where the clock was set back meanwhile.
        if last.is_some_and(|last| now.0.abs_diff(last.0) < LAST_USE_MS) {
            return;
        }
        known.insert((id, venue.clone()), now);
        drop(known);
        let (server, venue) = (Arc::clone(self), venue.clone());
        tokio::spawn(async move {
            let noted = async {
                let number = server.keys(&venue).await?.number;
                Ok::<_, ServerError>(server.store.note_key_use(id, number, now).await?)
            };
            if let Err(error) = noted.await {
                tracing::debug!(%error, "the last use of an API key was not kept");
            }
        });
    }

    /// All API keys, oldest first.
    pub async fn api_keys(&self) -> Result<Vec<ApiKey>, ServerError> {
        Ok(self.store.api_keys().await?)
    }

    /// The API keys that are or were good for a venue, as they are there.
    pub async fn api_keys_at(&self, venue: &VenueId) -> Result<ApiKeys, ServerError> {
        let keys = self.store.api_keys().await?;
        let api_keys = keys.into_iter().filter_map(|key| view_at(key, venue));
        Ok(ApiKeys {
            api_keys: api_keys.collect(),
        })
    }

    /// Revokes an API key everywhere, from now on; again is as once.
    pub async fn revoke_api_key(&self, id: ApiKeyId) -> Result<(), ServerError> {
        let keys = self.store.api_keys().await?;
        let key = keys.into_iter().find(|key| key.id == id);
        for venue in &key.ok_or(NO_SUCH_KEY)?.venues {
            acting::concerns(self.keys(&venue.venue_id).await?.number);
        }
        let found = self.store.revoke_api_key(id, None, self.now()).await?;
        found.then_some(()).ok_or(NO_SUCH_KEY)
    }

    /// Revokes an API key at one venue, from now on; again is as once.
    pub async fn revoke_api_key_at(
        &self,
        venue: &VenueId,
        id: ApiKeyId,
    ) -> Result<ApiKeyView, ServerError> {
        let number = self.keys(venue).await?.number;
        let revoked = self.store.revoke_api_key(id, Some(number), self.now());
        if !revoked.await? {
            return Err(NO_SUCH_KEY);
        }
        let mut keys = self.api_keys_at(venue).await?.api_keys.into_iter();
        keys.find(|key| key.api_key_id == id).ok_or(NO_SUCH_KEY)
    }
}

const NO_SUCH_KEY: ServerError = ServerError::NotFound("API key");

fn view_at(key: ApiKey, venue: &VenueId) -> Option<ApiKeyView> {
    let at = key.at(venue)?;
    let (last_used_at, revoked_at) = (at.last_used_at, at.revoked_at.or(key.revoked_at));
    Some(ApiKeyView {
        api_key_id: key.id,
        name: key.name,
        scopes: key.scopes,
        made_by: key.made_by,
        created_at: key.created_at,
        expires_at: key.expires_at,
        last_used_at,
        revoked_at,
    })
}

/// What the store keeps of a text that is shown once.
pub(super) fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
