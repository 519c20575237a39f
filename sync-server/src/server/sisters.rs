//! Sister venues: whose code keys gates of a venue know, so that a genuine code of theirs is
//! `wrong_venue` and not `unknown_key`. They stand in the signed key manifest and nowhere else.

use serde::Serialize;
use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::key_manifest::{Algorithm, KeyRole, ManifestKey, SisterVenue};
use stile_core::keys::CodeVerifyingKey;
use stile_core::time::EpochSeconds;

use super::Server;
use super::key_manifests::{OFFERS, refused, too_many};
use crate::error::ServerError;
use crate::store::Change;
use crate::venue_keys::VenueKeys;

/// Sister venues of a venue at most: every gate holds them and looks them up with each list.
const SISTERS: usize = 64;
/// Keys of one sister venue at most: those in use and those of long ago that codes still name.
const KEYS_OF_SISTER: usize = 16;

/// By what codes of a venue are known: what another server needs to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VenueCodes {
    /// The venue itself.
    pub venue: SisterVenue,
    /// Those whose codes its gates tell apart.
    pub sisters: Vec<SisterVenue>,
}

impl Server {
    /// A venue's own code keys, and its sister venues.
    pub async fn venue_codes(&self, venue: &VenueId) -> Result<VenueCodes, ServerError> {
        let keys = self.keys(venue).await?;
        let signed = self.key_manifest(&keys).await?;
        let manifest = self.opened(&keys, &signed)?;
        let is_code = |key: &ManifestKey| key.role == KeyRole::Code;
        Ok(VenueCodes {
            venue: SisterVenue {
                venue_id: manifest.venue_id,
                number: manifest.number,
                keys: manifest.keys.into_iter().filter(is_code).collect(),
            },
            sisters: manifest.sister_venues,
        })
    }

    /// Adds a code key of a sister venue. Gates hear of it with their next list.
    pub async fn add_sister_key(
        &self,
        venue: &VenueId,
        sister: (VenueId, VenueNumber),
        kid: Kid,
        public_key: &str,
        valid_from: EpochSeconds,
    ) -> Result<Change, ServerError> {
        CodeVerifyingKey::from_base64(public_key)
            .map_err(|error| ServerError::invalid("public_key", error))?;
        let (venue_id, number) = sister;
        let key = ManifestKey {
            role: KeyRole::Code,
            kid,
            algorithm: Algorithm::Ed25519,
            public_key: public_key.to_owned(),
            valid_from,
            valid_until: None,
            revoked: false,
        };
        let keys = vec![key];
        let added = SisterVenue {
            venue_id,
            number,
            keys,
        };
        self.add_sister(venue, added).await
    }

    /// Adds a venue of this server as a sister of another, with all its code keys; run again, it
    /// takes over how they stand now.
    pub async fn add_sister_of(
        &self,
        venue: &VenueId,
        of: &VenueId,
    ) -> Result<Change, ServerError> {
        let sister = self.venue_codes(of).await?.venue;
        self.add_sister(venue, sister).await
    }

    async fn add_sister(&self, venue: &VenueId, added: SisterVenue) -> Result<Change, ServerError> {
        self.change_sisters(venue, |keys, sisters| merge(keys, sisters, &added))
            .await
    }

    /// Removes a sister venue, or one of its keys; a sister without keys goes.
    pub async fn remove_sister(
        &self,
        venue: &VenueId,
        sister: &VenueId,
        kid: Option<Kid>,
    ) -> Result<(), ServerError> {
        let change = |_: &VenueKeys, sisters: &mut Vec<SisterVenue>| {
            let found = sisters.iter_mut().find(|one| one.venue_id == *sister);
            let found = found.ok_or(ServerError::NotFound("sister venue"))?;
            let before = found.keys.len();
            found
                .keys
                .retain(|key| kid.is_some_and(|kid| key.kid != kid));
            if found.keys.len() == before {
                return Err(ServerError::NotFound("key of the sister venue"));
            }
            sisters.retain(|one| !one.keys.is_empty());
            Ok(())
        };
        self.change_sisters(venue, change).await.map(|_| ())
    }

    /// Signs and keeps a manifest with other sisters, unless they are the same.
    async fn change_sisters(
        &self,
        venue: &VenueId,
        change: impl Fn(&VenueKeys, &mut Vec<SisterVenue>) -> Result<(), ServerError>,
    ) -> Result<Change, ServerError> {
        let keys = self.keys(venue).await?;
        for _ in 0..OFFERS {
            let kept = self.store.key_manifest(keys.number).await?;
            let mut contents = self.contents(&keys, kept.as_ref())?;
            let before = contents.sisters.clone();
            change(&keys, &mut contents.sisters)?;
            if contents.sisters == before {
                return Ok(Change::Unchanged);
            }
            let manifest = self
                .sign_key_manifest(&keys, kept.as_ref(), contents)
                .map_err(refused)?;
            if self.store.keep_key_manifest(keys.number, manifest).await? {
                return Ok(Change::Changed);
            }
        }
        Err(too_many())
    }
}

/// Adds keys to those that are known. Names and numbers must go on meaning one thing.
fn merge(
    own: &VenueKeys,
    sisters: &mut Vec<SisterVenue>,
    added: &SisterVenue,
) -> Result<(), ServerError> {
    let (id, number) = (&added.venue_id, added.number);
    let conflict = |problem: String| Err(ServerError::Conflict(problem));
    if *id == own.venue_id {
        return conflict(format!(
            "{id} is the venue itself, and no sister of its own"
        ));
    }
    if number == own.number {
        let own = &own.venue_id;
        return conflict(format!(
            "number {} is that of {own} itself: codes of {id} cannot be told from its own; one of \
             the two must get another number",
            number.0
        ));
    }
    if let Some(other) = sisters
        .iter()
        .find(|one| one.number == number && one.venue_id != *id)
    {
        return conflict(format!(
            "number {} is that of the sister venue {} already",
            number.0, other.venue_id
        ));
    }
    let too_many_keys = || {
        conflict(format!(
            "a sister venue has at most {KEYS_OF_SISTER} keys; remove old ones first"
        ))
    };
    if added.keys.len() > KEYS_OF_SISTER {
        return too_many_keys();
    }
    let Some(known) = sisters.iter_mut().find(|one| one.venue_id == *id) else {
        if sisters.len() >= SISTERS {
            return conflict(format!("a venue has at most {SISTERS} sister venues"));
        }
        sisters.push(added.clone());
        return Ok(());
    };
    if known.number != number {
        return conflict(format!(
            "the sister venue {id} has the number {}, not {}; remove it first if it has changed",
            known.number.0, number.0
        ));
    }
    for key in &added.keys {
        match known.keys.iter_mut().find(|one| one.kid == key.kid) {
            Some(one) if one.public_key != key.public_key => {
                return conflict(format!(
                    "key {} of the sister venue {id} is there with another public key, and kids \
                     are never used twice",
                    key.kid.0
                ));
            }
            Some(one) => *one = key.clone(),
            None => known.keys.push(key.clone()),
        }
    }
    if known.keys.len() > KEYS_OF_SISTER {
        return too_many_keys();
    }
    Ok(())
}
