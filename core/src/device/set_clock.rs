//! A supervisor sets the clock's floor anew: when the server's time is disputed or nobody can be
//! asked, a person may say what time it is. Recorded before it holds.

use super::{Device, OperatorError};
use crate::clock::{Now, SET_OVER_SIGNED_MS, Trust};
use crate::journal::JournalError;
use crate::record::{ClockSet, What};
use crate::time::EpochMillis;

/// Why the clock stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The PIN.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Nothing was said of the reason.
    #[error("say why the clock is set; the record needs it")]
    NoReason,
    /// Time never runs below what the server has signed.
    #[error("a list or key manifest in use was signed at {0:?}; the time cannot be earlier")]
    BelowSigned(EpochMillis),
    /// So late a time would end each list and, with them, the supervisors who could put it right.
    #[error("the newest list or key manifest is more than a year older; the latest time is {0:?}")]
    FarOverSigned(EpochMillis),
    /// The record could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Device {
    /// Sets the clock to what a supervisor says, which may also be earlier than the floor. The
    /// gate stays unanchored until the server's time is taken again; where the disputed time of
    /// the server lies within an hour of the supervisor's word, that is taken.
    pub fn set_clock(&self, pin: &str, to: EpochMillis, why: &str) -> Result<Now, ClockError> {
        let why = why.trim();
        if why.is_empty() {
            return Err(ClockError::NoReason);
        }
        let keys_issued_at = self.outgoing().key_manifest.issued_at;
        let signed = self.door().newest_list_issued_at().max(keys_issued_at);
        if to < signed {
            return Err(ClockError::BelowSigned(signed));
        }
        let latest = signed.plus(SET_OVER_SIGNED_MS);
        if to > latest {
            return Err(ClockError::FarOverSigned(latest));
        }
        let supervisor = self.check_supervisor(pin)?;
        let moment = self.platform.moment();
        let mut door = self.door();
        let before = door.clock.look(moment);
        let now = Now {
            at: to,
            u_ms: 0,
            trust: Trust::Unanchored,
        };
        let what = What::ClockSet(ClockSet {
            from: before.at,
            to,
            supervisor,
            why: why.to_owned(),
        });
        let gate = self.gate(door.list_for(now.at));
        self.log(&mut door, &gate, now, what)?;
        door.clock.set(to, moment);
        // A list may be of the current day now, or no longer be.
        door.recent.forget_all();
        let (now, clock) = (door.clock.look(moment), door.clock.clone());
        drop(door);
        let text = serde_json::to_string(&clock).map_err(JournalError::from)?;
        self.outgoing().sync_log.set_fact_durably("clock", &text)?;
        Ok(now)
    }
}
