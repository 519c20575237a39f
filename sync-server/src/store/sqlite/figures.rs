//! Counts over several tables, each made by the module of its table.

use rusqlite::Connection;
use stile_core::time::EpochSeconds;

use super::{alarms, devices, lists, logs, quarantine, sessions, standings, venues};
use crate::store::{Result, VenueFigures};

pub(super) fn all(connection: &Connection, now: EpochSeconds) -> Result<Vec<VenueFigures>> {
    let venues = venues::all(connection)?.into_iter().map(|venue| {
        let number = venue.number;
        Ok(VenueFigures {
            heard: devices::heard(connection, number)?,
            conflicts_open: standings::count_open(connection, number)?,
            alarms_open: alarms::count_open(connection, number)?,
            quarantined: quarantine::count_all(connection, number)?,
            missing: logs::missing(connection, number)?,
            admitting: sessions::count_admitting(connection, number, now)?,
            list_version: lists::current_version(connection, number, now)?,
            venue_id: venue.venue_id,
        })
    });
    venues.collect()
}
