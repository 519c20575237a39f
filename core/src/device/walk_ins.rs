//! Persons without a ticket: a child, a guest, staff. They count inside and have no conflicts.

use super::Device;
use crate::ids::RecordId;
use crate::journal::JournalError;
use crate::record::{Flag, WalkIn, What};
use crate::ticket::Direction;

/// Why persons without a ticket are not let through.
#[derive(Debug, thiserror::Error)]
pub enum WalkInError {
    /// Nobody is nobody.
    #[error("at least one person must walk in")]
    Nobody,
    /// Not a category of the venue's.
    #[error("the venue knows no category \"{asked}\"; it has {known}")]
    Category {
        /// What was asked for.
        asked: String,
        /// Those of the venue.
        known: String,
    },
    /// The record could not be made durable: an `in` gate stays shut.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Persons who were let through without a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkedIn {
    /// The record; none if an exit could not be logged.
    pub record_id: Option<RecordId>,
    /// Whether the gate is to be opened.
    pub opens: bool,
    /// How many pass.
    pub passages: u8,
}

impl Device {
    /// Lets persons without a ticket in, or out. Without a direction it is the gate's.
    pub fn walk_in(
        &self,
        persons: u8,
        category: &str,
        direction: Option<Direction>,
    ) -> Result<WalkedIn, WalkInError> {
        if persons == 0 {
            return Err(WalkInError::Nobody);
        }
        let mut door = self.door();
        let now = door.clock.now(self.platform.moment());
        let list = door.list_for(now.at);
        let gate = self.gate(list);
        let policy = list.map(|list| list.policy().as_ref().clone());
        let known = policy.unwrap_or_default().walk_in_categories;
        let day = list.filter(|list| list.day().holds(now.at));
        let service_day = day.map(|list| list.day().service_day.clone());
        if !known.iter().any(|known| known == category) {
            return Err(WalkInError::Category {
                asked: category.into(),
                known: known.join(", "),
            });
        }
        let direction = direction.unwrap_or(gate.direction);
        let practice = door.desk.practice;
        let what = What::WalkIn(WalkIn {
            direction,
            persons,
            category: category.into(),
            service_day,
            operator: door.desk.operator(),
            flags: practice.then_some(Flag::Practice).into_iter().collect(),
        });
        let is_exit = direction == Direction::Out;
        let record_id = match self.log(&mut door, &gate, now, what) {
            Ok(record) => Some(record.id),
            // It locks nobody in, durable or not.
            Err(_) if is_exit => None,
            Err(error) => return Err(error.into()),
        };
        Ok(WalkedIn {
            record_id,
            opens: is_exit || !practice,
            passages: persons,
        })
    }
}
