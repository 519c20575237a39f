//! What goes into a copy of the keys, what comes back from one, and what a database that was put
//! back must hold before the server starts on it.

use data_encoding::BASE64;
use stile_core::ids::Kid;

use super::Server;
use crate::error::ServerError;
use crate::key_backup::{BackedUpSecret, KeyBackup, SecretName};
use crate::store::{SealedSecret, SecretKind, StoreError, Venue};
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
        let mut secrets = Vec::new();
        for venue in self.store.venues().await? {
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
        })
    }

    /// Puts secrets of a copy back that this database lacks: those whose kid is newer than all that
    /// the venue has, since the data was put back from before they were made. Older ones that are
    /// missing were destroyed with intent.
    pub async fn put_secrets_back(&self, backup: &KeyBackup) -> Result<PutBack, ServerError> {
        let venues = self.store.venues().await?;
        let mut done = PutBack::default();
        for secret in &backup.secrets {
            let name = &secret.name;
            let Some(venue) = venues.iter().find(|v| v.venue_id.as_str() == name.venue) else {
                done.homeless.push(name.clone());
                continue;
            };
            if !self.lacks(venue, name).await? {
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
        Ok(done)
    }

    /// Which of these secrets this database lacks, though it has their venue: a copy that was put
    /// back is from before they were made, and codes or lists are out that only they explain.
    pub(super) async fn lost_secrets(
        &self,
        names: &[SecretName],
    ) -> Result<Vec<SecretName>, StoreError> {
        let venues = self.store.venues().await?;
        let mut lost = Vec::new();
        for name in names {
            let Some(venue) = venues.iter().find(|v| v.venue_id.as_str() == name.venue) else {
                continue;
            };
            if self.lacks(venue, name).await? {
                lost.push(name.clone());
            }
        }
        Ok(lost)
    }

    async fn lacks(&self, venue: &Venue, name: &SecretName) -> Result<bool, StoreError> {
        let Some(kind) = SecretKind::of_name(&name.kind) else {
            return Ok(false);
        };
        let secrets = self.store.secrets(venue.number).await?;
        let newest = secrets
            .iter()
            .filter(|s| s.kind == kind)
            .map(|s| s.kid)
            .max();
        Ok(newest.is_none_or(|newest| newest < Kid(name.kid)))
    }
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
