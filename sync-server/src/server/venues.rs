//! Venues, their policies and their gates.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLockReadGuard};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use stile_core::codes::{Format, OpaqueShape};
use stile_core::ids::{Checkpoint, GateId, VenueId};
use stile_core::policy::Policy;
use stile_core::protocol::NewGate;
use stile_core::ticket::Gate;

use super::{Server, policy_bounds};
use crate::error::ServerError;
use crate::store::{Change, NewVenue, Venue};
use crate::venue_keys::VenueKeys;

/// Longest text for people, such as a name, in bytes: what every gate of the venue downloads.
pub(super) const TEXT_BYTES: usize = 512;
/// Zones of a gate or session at most.
pub(super) const ZONES: usize = 64;

/// How long unsealed keys are used before the store is asked whether they were rotated.
pub const KEYS_LOOKED_AT: Duration = Duration::from_secs(5);

/// A venue's keys in memory.
#[derive(Clone)]
pub(super) struct KnownKeys {
    keys: Arc<VenueKeys>,
    /// When the store was last asked.
    looked_at: Instant,
}

impl Server {
    /// Creates a venue with all its keys. `time_zone` is an IANA name, such as `Asia/Shanghai`.
    pub async fn create_venue(
        &self,
        id: VenueId,
        name: &str,
        time_zone: &str,
        policy: Policy,
    ) -> Result<Venue, ServerError> {
        check_text("name", name)?;
        check_policy(&policy)?;
        zone(time_zone)?;
        let secrets =
            VenueKeys::make(&id, &self.vault, &*self.random).map_err(ServerError::internal)?;
        let new = NewVenue {
            venue_id: id,
            name: name.to_owned(),
            time_zone: time_zone.to_owned(),
            policy,
            created_at: self.now(),
            secrets,
        };
        let number = self.store.create_venue(new.clone()).await?;
        let NewVenue {
            venue_id,
            name,
            time_zone,
            policy,
            created_at,
            ..
        } = new;
        Ok(Venue {
            venue_id,
            number,
            name,
            time_zone,
            policy,
            created_at,
        })
    }

    /// A venue.
    pub async fn venue(&self, id: &VenueId) -> Result<Venue, ServerError> {
        self.store
            .venue(id)
            .await?
            .ok_or(ServerError::NotFound("venue"))
    }

    /// All venues, by number.
    pub async fn venues(&self) -> Result<Vec<Venue>, ServerError> {
        Ok(self.store.venues().await?)
    }

    /// A venue's policy.
    pub async fn policy(&self, venue: &VenueId) -> Result<Policy, ServerError> {
        Ok(self.venue(venue).await?.policy)
    }

    /// Replaces a venue's policy; gates hear of it with their lists.
    pub async fn set_policy(&self, venue: &VenueId, policy: Policy) -> Result<Change, ServerError> {
        check_policy(&policy)?;
        let number = self.keys(venue).await?.number;
        Ok(self.store.set_policy(number, &policy, self.now()).await?)
    }

    /// Puts a gate.
    pub async fn put_gate(
        &self,
        venue: &VenueId,
        id: GateId,
        gate: NewGate,
    ) -> Result<(Gate, Change), ServerError> {
        check_text("name", &gate.name)?;
        check_zones(gate.zones.len())?;
        let checkpoint = match gate.checkpoint {
            Some(checkpoint) => checkpoint,
            None => Checkpoint::new("entry").map_err(ServerError::internal)?,
        };
        let gate = Gate {
            gate_id: id,
            name: gate.name,
            direction: gate.direction,
            checkpoint,
            zones: gate.zones,
            unattended: gate.unattended,
        };
        let number = self.keys(venue).await?.number;
        let change = self.store.put_gate(number, &gate, self.now()).await?;
        Ok((gate, change))
    }

    /// The venue's gates, by id.
    pub async fn gates(&self, venue: &VenueId) -> Result<Vec<Gate>, ServerError> {
        let number = self.keys(venue).await?.number;
        Ok(self.store.gates(number).await?)
    }

    /// The venue's number and secrets, unsealed when they are first asked for. Another process may
    /// rotate them: that is looked for every few seconds.
    pub(super) async fn keys(&self, venue: &VenueId) -> Result<Arc<VenueKeys>, ServerError> {
        let known = self.known_keys().get(venue).cloned();
        let Some(KnownKeys { keys, looked_at }) = known else {
            return self.keys_anew(venue).await;
        };
        if looked_at.elapsed() < KEYS_LOOKED_AT {
            return Ok(keys);
        }
        let kept = self.store.key_manifest(keys.number).await?;
        match kept.map_or(0, |kept| kept.version) == keys.manifest_version {
            true => Ok(self.remember_keys(keys)),
            false => self.keys_anew(venue).await,
        }
    }

    /// The same, as they are in the store now.
    pub(super) async fn keys_anew(&self, venue: &VenueId) -> Result<Arc<VenueKeys>, ServerError> {
        let number = self.venue(venue).await?.number;
        // The manifest last: a key that it does not name yet would sign at once.
        let secrets = self.store.secrets(number).await?;
        let kept = self.store.key_manifest(number).await?;
        let (id, kept) = (venue.clone(), kept.as_ref());
        let keys = VenueKeys::unseal(id, number, &secrets, kept, &self.vault)?;
        Ok(self.remember_keys(Arc::new(keys)))
    }

    fn remember_keys(&self, keys: Arc<VenueKeys>) -> Arc<VenueKeys> {
        let known = KnownKeys {
            keys: Arc::clone(&keys),
            looked_at: Instant::now(),
        };
        let mut all = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(keys.venue_id.clone(), known);
        keys
    }

    fn known_keys(&self) -> RwLockReadGuard<'_, HashMap<VenueId, KnownKeys>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a venue's secrets unsealed anew when they are next asked for.
    pub(super) fn forget_keys(&self, venue: &VenueId) {
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(venue);
    }
}

/// The time zone of an IANA name.
pub(super) fn zone(name: &str) -> Result<TimeZone, ServerError> {
    TimeZone::get(name).map_err(|_| {
        ServerError::invalid(
            "time_zone",
            "no such time zone; give an IANA name: Asia/Shanghai",
        )
    })
}

pub(super) fn check_text(field: &'static str, text: &str) -> Result<(), ServerError> {
    if text.len() > TEXT_BYTES {
        return Err(ServerError::invalid(
            field,
            format!("longer than {TEXT_BYTES} bytes"),
        ));
    }
    if text.contains(char::is_control) {
        return Err(ServerError::invalid(field, "holds control characters"));
    }
    Ok(())
}

pub(super) fn check_zones(zones: usize) -> Result<(), ServerError> {
    if zones > ZONES {
        return Err(ServerError::invalid(
            "zones",
            format!("more than {ZONES} zones"),
        ));
    }
    Ok(())
}

/// What readers put before a passport's number must leave no doubt that it is one.
fn check_passport_prefix(policy: &Policy) -> Result<(), ServerError> {
    let Some(prefix) = &policy.passport_prefix else {
        return Ok(());
    };
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'\\' | b']');
    if !(1..=16).contains(&prefix.len()) || !prefix.bytes().all(plain) {
        return Err(ServerError::invalid(
            "passport_prefix",
            "must be 1 to 16 printable ASCII characters without space, \\ and ]",
        ));
    }
    let could_be = |shape: &OpaqueShape| shape.could_be_passport(prefix);
    if policy.opaque_shapes.iter().any(could_be) {
        return Err(ServerError::invalid(
            "opaque_shapes",
            "texts of a shape could be passports behind passport_prefix",
        ));
    }
    Ok(())
}

fn check_policy(policy: &Policy) -> Result<(), ServerError> {
    if policy.formats.is_empty() {
        return Err(ServerError::invalid(
            "formats",
            "a venue takes at least one format",
        ));
    }
    if policy.formats.contains(&Format::Opaque) && policy.opaque_shapes.is_empty() {
        return Err(ServerError::invalid(
            "opaque_shapes",
            "a venue that takes opaque codes declares at least one shape of them",
        ));
    }
    check_passport_prefix(policy)?;
    policy_bounds::check(policy)
}
