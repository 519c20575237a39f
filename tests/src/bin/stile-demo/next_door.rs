//! Another museum on the same server, whose visitors take the wrong door.

use anyhow::{Context, Result};
use serde_json::json;
use stile_core::codes::Format;
use stile_tests::api::Api;
use stile_tests::booking::Timetable;
use stile_tests::museum::{Museum, TIME_ZONE, VENUE};

const ID: &str = "science-centre";
const TICKET: &str = "S-1";

/// See the module.
pub struct NextDoor(Api);

impl NextDoor {
    /// Founds it, with one ticket.
    pub fn found(museum: &Museum, timetable: &Timetable) -> Result<Self> {
        let server = &museum.server;
        let name = "科技馆 / Science Centre";
        server.command(&["venue", "add", ID, "--name", name, "--time-zone", TIME_ZONE])?;
        let scopes = "tickets:write,codes:mint";
        let key = server.command(&[
            "key", "add", "--venue", ID, "--scopes", scopes, "--name", "booking",
        ])?;
        let api = Api::new(&server.url(), &key, ID)?;
        let slot = timetable.busy();
        api.put_session(slot)?;
        let ticket =
            json!({"ticket_id": TICKET, "order_number": "S", "session_id": slot.session_id});
        api.import_ndjson(&[ticket])?;
        Ok(Self(api))
    }

    /// A genuine code of it, in G2.
    pub fn code(&self) -> Result<String> {
        let minted = self.0.mint(TICKET, Format::G2, None)?;
        minted.code.context("the server gave no code")
    }

    /// The museum names it as a sister: gates know its keys from their next list on.
    pub fn become_sister(museum: &Museum) -> Result<()> {
        let command = ["key", "sister", "add", "--venue", VENUE, "--of", ID];
        museum.server.command(&command)?;
        Ok(())
    }
}
