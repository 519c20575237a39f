//! What goes into a copy of the keys, what comes back from one, and what a database that was put
//! back must hold before the server starts on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use data_encoding::BASE64;
use stile_core::ids::{Kid, VenueNumber};
use stile_core::key_manifest::{KeyManifest, KeyRole};

use super::Server;
use crate::error::ServerError;
use crate::key_backup::{BackedUpManifest, BackedUpSecret, KeyBackup, SecretName};
use crate::store::{SealedSecret, SecretKind, StoreError, StoredKeyManifest, Venue};
use crate::vault::MasterKeySource;
use crate::venue_keys::context;

/// What putting secrets back did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    /// They were there.
    pub there: usize,
    /// They were missing, and are there now.
    pub added: Vec<SecretName>,
    /// Their venue is not in this database.
    pub homeless: Vec<SecretName>,
}

impl Server {
    /// Everything that a copy of the keys is to hold. `master_key` is what the server was opened
    /// with.
    pub async fn key_backup(&self, master_key: &MasterKeySource) -> Result<KeyBackup, ServerError> {
        let master_key = master_key.read().map_err(ServerError::internal)?;
        let (mut secrets, mut manifests) = (Vec::new(), Vec::new());
        for venue in self.store.venues().await? {
            let keys = self.keys(&venue.venue_id).await?;
            manifests.push(BackedUpManifest {
                venue: venue.venue_id.to_string(),
                signed: self.key_manifest(&keys).await?,
            });
            for secret in self.store.secrets(venue.number).await? {
                secrets.push(BackedUpSecret {
                    name: name(&venue, &secret),
                    sealed: BASE64.encode(&secret.sealed),
                });
            }
        }
        secrets.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(KeyBackup {
            at: self.now().seconds().0,
            master_key: BASE64.encode(&*master_key),
            secrets,
            manifests,
        })
    }

    /// Puts secrets of a copy back that this database lacks: those whose kid is newer than all that
    /// the venue has or had, since the data was put back from before they were made. Older ones that
    /// are missing were destroyed with intent. When each key signs, and which are revoked, is taken
    /// from the copy as well.
    pub async fn put_secrets_back(&self, backup: &KeyBackup) -> Result<PutBack, ServerError> {
        let venues = self.store.venues().await?;
        let (mut held, mut done) = (Held::default(), PutBack::default());
        for secret in &backup.secrets {
            let name = &secret.name;
            let Some(venue) = venues.iter().find(|v| v.venue_id.as_str() == name.venue) else {
                done.homeless.push(name.clone());
                continue;
            };
            if !held.of(self, venue).await?.lacks(name) {
                done.there += 1;
                continue;
            }
            let kind = SecretKind::of_name(&name.kind).ok_or_else(|| foreign(name))?;
            let sealed = BASE64
                .decode(secret.sealed.as_bytes())
                .map_err(|_| foreign(name))?;
            let kid = Kid(name.kid);
            let opened = self
                .vault
                .unseal(&context(&venue.venue_id, kind, kid), &sealed);
            drop(opened.map_err(|_| foreign(name))?);
            let secret = SealedSecret { kind, kid, sealed };
            self.store.keep_secret(venue.number, secret).await?;
            self.forget_keys(&venue.venue_id);
            done.added.push(name.clone());
        }
        for manifest in &backup.manifests {
            let mut here = venues.iter();
            if let Some(venue) = here.find(|v| v.venue_id.as_str() == manifest.venue) {
                self.adopt_keys(&venue.venue_id, &manifest.signed).await?;
            }
        }
        Ok(done)
    }

    /// Which of these secrets this database lacks, though it has their venue: a copy that was put
    /// back is from before they were made, and codes or lists are out that only they explain.
    pub(super) async fn lost_secrets(
        &self,
        names: &[SecretName],
    ) -> Result<Vec<SecretName>, StoreError> {
        let venues = self.store.venues().await?;
        let (mut held, mut lost) = (Held::default(), Vec::new());
        for name in names {
            let Some(venue) = venues.iter().find(|v| v.venue_id.as_str() == name.venue) else {
                continue;
            };
            if held.of(self, venue).await?.lacks(name) {
                lost.push(name.clone());
            }
        }
        Ok(lost)
    }
}

/// What venues have of keys, read once each.
#[derive(Default)]
struct Held(HashMap<VenueNumber, KeysOfVenue>);

/// What a venue has of keys, and had.
struct KeysOfVenue {
    secrets: Vec<SealedSecret>,
    manifests: Vec<StoredKeyManifest>,
}

impl Held {
    async fn of(&mut self, server: &Server, venue: &Venue) -> Result<&KeysOfVenue, StoreError> {
        Ok(match self.0.entry(venue.number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(KeysOfVenue {
                secrets: server.store.secrets(venue.number).await?,
                manifests: server.store.key_manifests(venue.number).await?,
            }),
        })
    }
}

impl KeysOfVenue {
    /// Whether a secret is newer than all that the venue has and had. A key that this database
    /// knew, and has no more, was destroyed with intent.
    fn lacks(&self, name: &SecretName) -> bool {
        let Some(kind) = SecretKind::of_name(&name.kind) else {
            return false;
        };
        let mut of_kind = self.secrets.iter().filter(|secret| secret.kind == kind);
        let kid = Kid(name.kid);
        !of_kind.any(|secret| secret.kid >= kid)
            && !self.manifests.iter().any(|kept| names(kept, kind, kid))
    }
}

/// Whether a manifest of this database names a key. It is not verified: whoever can write here has
/// shorter ways.
fn names(kept: &StoredKeyManifest, kind: SecretKind, kid: Kid) -> bool {
    let role = match kind {
        SecretKind::List => KeyRole::List,
        SecretKind::Code => KeyRole::Code,
        _ => return false,
    };
    let payload = BASE64.decode(kept.signed.payload.as_bytes());
    let manifest = payload.map(|payload| serde_json::from_slice::<KeyManifest>(&payload));
    let Ok(Ok(manifest)) = manifest else {
        return false;
    };
    let mut keys = manifest.keys.iter();
    keys.any(|key| key.role == role && key.kid == kid)
}

fn name(venue: &Venue, secret: &SealedSecret) -> SecretName {
    SecretName {
        venue: venue.venue_id.to_string(),
        kind: secret.kind.name().to_owned(),
        kid: secret.kid.0,
    }
}

fn foreign(name: &SecretName) -> ServerError {
    ServerError::Conflict(format!(
        "the {name} of the copy was sealed under another master key than this database's"
    ))
}
