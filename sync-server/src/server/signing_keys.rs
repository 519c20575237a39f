//! The rotation of a venue's signing keys: a new one that gates hear of before it signs, an old one
//! whose signatures stay good as long as they are needed, and one that was stolen.

use std::collections::BTreeSet;

use data_encoding::BASE64;
use stile_core::codes::Format;
use stile_core::ids::{Kid, VenueId};
use stile_core::key_manifest::{Algorithm, KeyManifest, ManifestKey};
use stile_core::keys::{CodeSigningKey, ListSigningKey};
use stile_core::protocol::{
    SigningKeyRevoked, SigningKeyState, SigningKeyView, SigningKeys, SigningRole,
};
use stile_core::signed::Signed;
use stile_core::time::EpochSeconds;

use super::Server;
use super::key_manifests::{Contents, OFFERS, refused, too_many};
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{KeyChange, SealedSecret, SecretKind};
use crate::venue_keys::{Secret, VenueKeys, context};

const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 24 * HOUR_S;
/// How long gates go without a network and still have a list, in seconds.
const OFFLINE_HORIZON_S: i64 = 72 * HOUR_S;
/// A new code key signs this long after gates can hear of it, in seconds: one that was away so long
/// has no list either.
const CODE_AHEAD_S: i64 = OFFLINE_HORIZON_S;
/// The same of a list key. The manifest comes along with each list: a gate needs no time, and people
/// see that it went out.
const LIST_AHEAD_S: i64 = HOUR_S;
/// How long a retired code key stays in the manifest, in seconds: the longest life of a G2 (255 times
/// five minutes) and the offline horizon.
const CODE_KEPT_S: i64 = 255 * 300 + OFFLINE_HORIZON_S;
/// The same where the venue takes G3. Its signature has no end of its own, and lies in the visitor's
/// app from the sale on: longer than any ticket is sold ahead.
const CODE_KEPT_FOR_G3_S: i64 = 400 * DAY_S;
/// The same of a list key: a list of the day after tomorrow and the 72 hours that it may be kept.
const LIST_KEPT_S: i64 = 7 * DAY_S;
/// Kids left out by the first rotation after the data was put back: more than anybody makes between
/// a copy and what broke. None of those that were made and lost may come again.
const KIDS_SKIPPED: u8 = 8;

/// What a venue's keys are before they change.
struct Before {
    /// As the newest manifest names them.
    keys: Vec<ManifestKey>,
    /// What every manifest said that there ever was.
    manifests: Vec<KeyManifest>,
    /// The private halves, sealed, among other secrets.
    secrets: Vec<SealedSecret>,
}

impl Server {
    /// The venue's signing keys.
    pub async fn signing_keys(&self, venue: &VenueId) -> Result<SigningKeys, ServerError> {
        let keys = self.keys_anew(venue).await?;
        self.key_manifest(&keys).await?;
        let kept = self.store.key_manifest(keys.number).await?;
        let contents = self.contents(&keys, kept.as_ref())?;
        let mut views = self.views(&keys, &contents);
        views.sort_by_key(|view| (view.role.to_string(), view.kid));
        Ok(SigningKeys { keys: views })
    }

    /// Makes the next key of a role. It stands in the manifest at once, and signs when gates had
    /// time to hear of it; then the old one stops.
    pub async fn rotate_key(
        &self,
        venue: &VenueId,
        role: SigningRole,
    ) -> Result<SigningKeyView, ServerError> {
        let change = |keys: &VenueKeys, before: &Before, contents: &mut Contents| {
            let now = self.now().seconds();
            let mut known = contents.keys.iter().filter(|key| is_of(key, role));
            if let Some(next) = known.find(|key| now < key.valid_from && !key.revoked) {
                return Err(ServerError::Conflict(format!(
                    "the {role} key {} comes next already, and signs from {} (epoch seconds) on",
                    next.kid.0, next.valid_from.0
                )));
            }
            let from = EpochSeconds(now.0.saturating_add(ahead_s(role)));
            let made = self.make_key(keys, before, contents, role, from)?;
            for old in contents.keys.iter_mut().filter(|key| is_of(key, role)) {
                if old.kid != made.kid && old.valid_until.is_none() {
                    old.valid_until = Some(from);
                }
            }
            let kid = made.kid;
            Ok((KeyChange::adding(made), kid))
        };
        let kid = self.change_keys(venue, change).await?;
        crate::acting::names(format!("{role} {}", kid.0));
        self.view_of(venue, role, kid).await
    }

    /// Ends a key at once, with all that it ever signed: it was stolen, or may have been. Another one
    /// signs from now on.
    pub async fn revoke_signing_key(
        &self,
        venue: &VenueId,
        role: SigningRole,
        kid: Kid,
    ) -> Result<SigningKeyRevoked, ServerError> {
        let change = |keys: &VenueKeys, before: &Before, contents: &mut Contents| {
            let now = self.now().seconds();
            let mut known = contents.keys.iter_mut().filter(|key| is_of(key, role));
            let key = known.find(|key| key.kid == kid);
            let key = key.ok_or(ServerError::NotFound("signing key"))?;
            key.revoked = true;
            key.valid_until = Some(key.valid_until.map_or(now, |until| until.min(now)));
            let (mut change, signing) = match successor(keys, contents, role, now) {
                Some(signing) => (KeyChange::default(), signing),
                None => {
                    let made = self.make_key(keys, before, contents, role, now)?;
                    let signing = made.kid;
                    (KeyChange::adding(made), signing)
                }
            };
            change.destroyed = vec![(kind_of(role), kid)];
            Ok((change, signing))
        };
        let signing = self.change_keys(venue, change).await?;
        let keys = self.keys(venue).await?;
        let tickets = match role {
            SigningRole::Code => {
                let now = self.now().seconds();
                self.store.valid_tickets(keys.number, now).await?
            }
            SigningRole::List => 0,
        };
        tracing::warn!(%venue, %role, kid = kid.0, tickets, "a signing key was revoked");
        Ok(SigningKeyRevoked {
            signing: self.view_of(venue, role, signing).await?,
            tickets,
        })
    }

    /// Destroys the private halves of keys that sign no more, and takes keys out of the manifests
    /// whose signatures nobody can hold any more. Says of how many. Daily.
    pub async fn tend_keys(&self) -> Result<u64, ServerError> {
        let mut tended = 0;
        for venue in self.store.venues().await? {
            let takes_g3 = venue.policy.formats.contains(&Format::G3);
            let change = |_: &VenueKeys, before: &Before, contents: &mut Contents| {
                let now = self.now().seconds();
                let mut change = KeyChange::default();
                for secret in &before.secrets {
                    let is_over = |key: &ManifestKey| {
                        key.kid == secret.kid && key.valid_until.is_some_and(|end| end <= now)
                    };
                    let role = role_of(secret.kind);
                    let named = |key: &&ManifestKey| role.is_some_and(|role| is_of(key, role));
                    if contents.keys.iter().filter(named).any(is_over) {
                        change.destroyed.push((secret.kind, secret.kid));
                    }
                }
                let named = contents.keys.len();
                contents.keys.retain(|key| is_needed(key, takes_g3, now));
                let count = change.destroyed.len() + named - contents.keys.len();
                Ok((change, count as u64))
            };
            tended += self.change_keys(&venue.venue_id, change).await?;
        }
        Ok(tended)
    }

    /// Takes from a manifest of the venue, which came with a copy of its keys, what this database does
    /// not know: keys of which no manifest here tells, ends, and revocations.
    pub(super) async fn adopt_keys(
        &self,
        venue: &VenueId,
        copied: &Signed,
    ) -> Result<(), ServerError> {
        let change = |keys: &VenueKeys, before: &Before, contents: &mut Contents| {
            let copied = self.opened(keys, copied).map_err(|_| {
                ServerError::Conflict(format!("the copy is of another venue than {venue} here"))
            })?;
            for copied in copied.keys {
                let is_it = |key: &ManifestKey| key.role == copied.role && key.kid == copied.kid;
                let mut told = before.manifests.iter().flat_map(|manifest| &manifest.keys);
                match contents.keys.iter_mut().find(|key| is_it(key)) {
                    None => contents.keys.push(copied),
                    Some(here) if told.any(is_it) => {
                        here.revoked |= copied.revoked;
                        let ends = [here.valid_until, copied.valid_until];
                        here.valid_until = ends.into_iter().flatten().min();
                    }
                    Some(here) => *here = copied,
                }
            }
            let is_revoked = |secret: &&SealedSecret| {
                let role = role_of(secret.kind);
                let mut known = contents.keys.iter();
                known.any(|key| {
                    key.revoked
                        && key.kid == secret.kid
                        && role.is_some_and(|role| is_of(key, role))
                })
            };
            let destroyed = before.secrets.iter().filter(is_revoked);
            let destroyed = destroyed.map(|secret| (secret.kind, secret.kid)).collect();
            let change = KeyChange {
                added: Vec::new(),
                destroyed,
            };
            Ok((change, ()))
        };
        self.change_keys(venue, change).await
    }

    /// Signs and keeps a manifest with other keys, together with the secrets that go with them.
    /// Nothing is signed where nothing changes.
    async fn change_keys<T>(
        &self,
        venue: &VenueId,
        change: impl Fn(&VenueKeys, &Before, &mut Contents) -> Result<(KeyChange, T), ServerError>,
    ) -> Result<T, ServerError> {
        for _ in 0..OFFERS {
            let keys = self.keys_anew(venue).await?;
            let kept = self.store.key_manifest(keys.number).await?;
            let mut contents = self.contents(&keys, kept.as_ref())?;
            let before = Before {
                keys: contents.keys.clone(),
                manifests: self.manifests_ever(&keys).await?,
                secrets: self.store.secrets(keys.number).await?,
            };
            let (secrets, outcome) = change(&keys, &before, &mut contents)?;
            if contents.keys == before.keys && secrets.is_empty() {
                return Ok(outcome);
            }
            let signed = self.sign_key_manifest(&keys, kept.as_ref(), contents);
            let manifest = signed.map_err(refused)?;
            let number = keys.number;
            if self.store.change_keys(number, manifest, secrets).await? {
                self.forget_keys(venue);
                return Ok(outcome);
            }
        }
        Err(too_many())
    }

    /// Makes a key that signs from a moment on, and puts its public half into the manifest.
    fn make_key(
        &self,
        keys: &VenueKeys,
        before: &Before,
        contents: &mut Contents,
        role: SigningRole,
        from: EpochSeconds,
    ) -> Result<SealedSecret, ServerError> {
        let kid = self.next_kid(before, role)?;
        let seed: Secret = Secret::new(random_bytes(&*self.random));
        let public_key = match role {
            SigningRole::List => *ListSigningKey::from_seed(&seed).verifying_key().as_bytes(),
            SigningRole::Code => *CodeSigningKey::from_seed(&seed).verifying_key().as_bytes(),
        };
        contents.keys.push(ManifestKey {
            role: role.in_manifest(),
            kid,
            algorithm: Algorithm::Ed25519,
            public_key: BASE64.encode(&public_key),
            valid_from: from,
            valid_until: None,
            revoked: false,
        });
        let kind = kind_of(role);
        let context = context(&keys.venue_id, kind, kid);
        let sealed = self.vault.seal(&context, &*seed, &*self.random);
        Ok(SealedSecret {
            kind,
            kid,
            sealed: sealed.map_err(ServerError::internal)?,
        })
    }

    /// A kid that the venue never had in this role: above all that any of its manifests named. The
    /// first after the data was put back leaves some out, since those made meanwhile are forgotten.
    fn next_kid(&self, known: &Before, role: SigningRole) -> Result<Kid, ServerError> {
        let named = |keys: &[ManifestKey]| -> Vec<Kid> {
            let keys = keys.iter().filter(|key| is_of(key, role));
            keys.map(|key| key.kid).collect()
        };
        let mut kids = BTreeSet::from_iter(named(&known.keys));
        let (mut here, mut before) = (BTreeSet::new(), BTreeSet::new());
        for manifest in &known.manifests {
            match manifest.generation == self.generation {
                true => here.extend(named(&manifest.keys)),
                false => before.extend(named(&manifest.keys)),
            }
        }
        let has_rotated_here = here.last() > before.last();
        kids.extend(here);
        kids.extend(before);
        let highest = kids.last().map_or(0, |kid| kid.0);
        let skipped = match self.generation > 0 && !has_rotated_here {
            true => KIDS_SKIPPED,
            false => 0,
        };
        let next = highest.checked_add(1 + skipped);
        next.map(Kid).ok_or_else(|| {
            ServerError::Conflict(format!(
                "the kids of {role} keys are used up, and none is used twice: a venue of another \
                 number is needed"
            ))
        })
    }

    fn views(&self, keys: &VenueKeys, contents: &Contents) -> Vec<SigningKeyView> {
        let now = self.now().seconds();
        let signing = |role| match role {
            SigningRole::List => keys.list.at(now).0,
            SigningRole::Code => keys.code.at(now).0,
        };
        let view = |key: &ManifestKey| {
            let role = SigningRole::ALL
                .into_iter()
                .find(|role| is_of(key, *role))?;
            let state = match key.revoked {
                true => SigningKeyState::Revoked,
                false if now < key.valid_from => SigningKeyState::Next,
                false if signing(role) == key.kid => SigningKeyState::Signing,
                false => SigningKeyState::Retired,
            };
            Some(SigningKeyView {
                role,
                kid: key.kid,
                state,
                public_key: key.public_key.clone(),
                valid_from: key.valid_from,
                valid_until: key.valid_until,
            })
        };
        contents.keys.iter().filter_map(view).collect()
    }

    async fn view_of(
        &self,
        venue: &VenueId,
        role: SigningRole,
        kid: Kid,
    ) -> Result<SigningKeyView, ServerError> {
        let mut views = self.signing_keys(venue).await?.keys.into_iter();
        views
            .find(|view| view.role == role && view.kid == kid)
            .ok_or(ServerError::NotFound("signing key"))
    }
}

/// The key that signs from now on where another has ended: the newest whose time it is, else the one
/// that comes next, brought forward. None if there is no other.
fn successor(
    keys: &VenueKeys,
    contents: &mut Contents,
    role: SigningRole,
    now: EpochSeconds,
) -> Option<Kid> {
    let has_private = |kid: Kid| match role {
        SigningRole::List => keys.list.has(kid),
        SigningRole::Code => keys.code.has(kid),
    };
    let mut usable: Vec<&mut ManifestKey> = contents
        .keys
        .iter_mut()
        .filter(|key| is_of(key, role) && !key.revoked && has_private(key.kid))
        .filter(|key| key.valid_until.is_none_or(|until| now < until))
        .collect();
    usable.sort_by_key(|key| key.kid);
    let is_now = |key: &&mut ManifestKey| key.valid_from <= now;
    let at = usable.iter().rposition(is_now).unwrap_or(0);
    let later_comes = usable.len() > at + 1;
    let key = usable.get_mut(at)?;
    key.valid_from = key.valid_from.min(now);
    if !later_comes {
        key.valid_until = None;
    }
    Some(key.kid)
}

/// Whether somebody may hold what a key has signed.
fn is_needed(key: &ManifestKey, takes_g3: bool, now: EpochSeconds) -> bool {
    let kept_s = match SigningRole::ALL.into_iter().find(|role| is_of(key, *role)) {
        Some(SigningRole::List) => LIST_KEPT_S,
        Some(SigningRole::Code) if takes_g3 => CODE_KEPT_FOR_G3_S,
        Some(SigningRole::Code) => CODE_KEPT_S,
        None => return true,
    };
    key.valid_until
        .is_none_or(|end| now.0.saturating_sub(end.0) < kept_s)
}

fn is_of(key: &ManifestKey, role: SigningRole) -> bool {
    key.role == role.in_manifest()
}

fn kind_of(role: SigningRole) -> SecretKind {
    match role {
        SigningRole::List => SecretKind::List,
        SigningRole::Code => SecretKind::Code,
    }
}

fn role_of(kind: SecretKind) -> Option<SigningRole> {
    let mut all = SigningRole::ALL.into_iter();
    all.find(|role| kind_of(*role) == kind)
}

fn ahead_s(role: SigningRole) -> i64 {
    match role {
        SigningRole::List => LIST_AHEAD_S,
        SigningRole::Code => CODE_AHEAD_S,
    }
}
