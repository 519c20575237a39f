//! What people at the gate want to see beside verdicts: the day's sessions, the gate as the list
//! has it, and the records that a person must look at.

use std::sync::Arc;

use super::Device;
use crate::ids::{GateId, RecordId, TicketId};
use crate::journal::{JournalError, SyncStatus, Unsent};
use crate::protocol::RecordHead;
use crate::ticket::{Gate, Session};
use crate::time::EpochMillis;

/// What the newest list of the day says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    /// The gate; without a list, as it was at enrolment.
    pub gate: Arc<Gate>,
    /// The day's sessions in the order in which they admit; none without a list.
    pub sessions: Vec<Arc<Session>>,
    /// What persons without a ticket may be.
    pub walk_in_categories: Vec<String>,
}

/// A record that the server did not take as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Quarantined or stuck.
    pub status: SyncStatus,
    /// The record.
    pub record_id: RecordId,
    /// Its kind, by its stable name.
    pub kind: String,
    /// When it was made.
    pub at: EpochMillis,
    /// Its ticket, if it has one.
    pub ticket_id: Option<TicketId>,
}

impl Device {
    /// What is on today at this gate.
    pub fn today(&self) -> Today {
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        let list = door.list_for(now.at);
        let mut sessions: Vec<_> =
            list.map_or_else(Vec::new, |list| list.sessions().values().cloned().collect());
        sessions.sort_by(|a, b| (a.admit_from, &a.session_id).cmp(&(b.admit_from, &b.session_id)));
        let policy = list.map_or_else(Arc::default, |list| Arc::clone(list.policy()));
        Today {
            gate: self.gate(list),
            sessions,
            walk_in_categories: policy.walk_in_categories.clone(),
        }
    }

    /// What people call a gate of the venue, by today's list, or else by another in hand.
    pub fn gate_name(&self, gate_id: &GateId) -> Option<String> {
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        let today = door.list_for(now.at);
        let lists = today.into_iter().chain(&door.lists);
        let mut named = lists.filter_map(|list| list.gate(gate_id));
        let named = named.find(|gate| !gate.name.is_empty());
        named.map(|gate| gate.name.clone())
    }

    /// The oldest quarantined and stuck records, at most so many of each.
    pub fn set_aside(&self, most: usize) -> Result<Vec<SetAside>, JournalError> {
        let outgoing = self.outgoing();
        let quarantined = outgoing.sync_log.quarantined(most)?;
        let stuck = outgoing.sync_log.stuck(most)?;
        drop(outgoing);
        let named = |status| move |one: Unsent| set_aside(status, &one);
        let quarantined = quarantined.into_iter().map(named(SyncStatus::Quarantined));
        let stuck = stuck.into_iter().map(named(SyncStatus::Stuck));
        quarantined.chain(stuck).collect()
    }
}

fn set_aside(status: SyncStatus, one: &Unsent) -> Result<SetAside, JournalError> {
    let head: RecordHead = serde_json::from_str(&one.record)?;
    Ok(SetAside {
        status,
        record_id: one.record_id,
        kind: head.kind,
        at: head.at,
        ticket_id: head.ticket_id,
    })
}
