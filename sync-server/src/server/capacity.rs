//! Sessions, and zones during them, that fill: looked at every few seconds beside the uploads, never
//! for each record.

use std::collections::BTreeSet;

use stile_core::ids::Zone;
use stile_core::ticket::{Capacity, Session};

use super::Server;
use super::alarms::Findings;
use crate::error::ServerError;
use crate::occupancy::{CAPACITY_ALARMS, is_filled};
use crate::store::{AlarmDetail, Venue};

impl Server {
    /// Looks who is inside at all venues, opens and ends alarms about capacity, and says how many.
    pub async fn check_capacity(&self) -> Result<u64, ServerError> {
        let mut changed = 0;
        for venue in self.store.venues().await? {
            match self.check_capacity_of(&venue).await {
                Ok(of_venue) => changed += of_venue,
                Err(error) => {
                    tracing::warn!(venue = %venue.venue_id, %error, "who is inside is counted again");
                }
            }
        }
        Ok(changed)
    }

    async fn check_capacity_of(&self, venue: &Venue) -> Result<u64, ServerError> {
        let now = self.now();
        let occupancy = self.store.occupancy(venue.number, now.seconds()).await?;
        let mut findings = self.findings(venue).await?;
        let mut known = BTreeSet::new();
        for one in &occupancy {
            let session = &one.session;
            if let Some(capacity) = session.capacity {
                known.insert(look(&mut findings, session, None, one.persons, capacity));
            }
            for (zone, inside) in &one.zones {
                if let Some(capacity) = session.zone_capacities.get(zone) {
                    known.insert(look(&mut findings, session, Some(zone), *inside, *capacity));
                }
            }
        }
        // Of sessions that are over, cancelled, or say no capacity any more.
        for (kind, _) in CAPACITY_ALARMS {
            findings.are_over_but(kind, |thing| known.contains(thing));
        }
        self.settle(venue, findings, now).await
    }
}

/// Looks at a session, or a zone during it; answers what an alarm calls it.
fn look(
    findings: &mut Findings,
    session: &Session,
    zone: Option<&Zone>,
    inside: u64,
    capacity: Capacity,
) -> String {
    let thing = match zone {
        None => session.session_id.to_string(),
        Some(zone) => format!("{}/{zone}", session.session_id),
    };
    for (kind, percent) in CAPACITY_ALARMS {
        if is_filled(findings.is_open(kind, &thing), percent, inside, capacity) {
            let detail = AlarmDetail {
                service_day: Some(session.service_day.clone()),
                session_id: Some(session.session_id.clone()),
                zone: zone.cloned(),
                capacity: Some(capacity.persons()),
                inside: Some(inside),
                ..AlarmDetail::default()
            };
            findings.stands(kind, &thing, detail);
        } else {
            findings.is_over(kind, &thing);
        }
    }
    thing
}
