//! Who is at the gate: sign-in by PIN or staff QR, the counts at hand-over, the supervisor's PIN
//! behind an override, and practice mode. PINs are checked under a lock of their own, never under
//! the door's: one check takes tens of milliseconds.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Device;
use super::tries::{Target, WrongPins};
use crate::codes;
use crate::ids::OperatorId;
use crate::journal::{JournalError, SyncLog, Tally};
use crate::pin::{PinError, check_pin};
use crate::protocol::{Operator, OperatorRole};
use crate::time::EpochMillis;

const SIGNED_IN: &str = "signed_in";
const PRACTICE: &str = "practice";
const WRONG_PINS: &str = "wrong_pins";

/// Why somebody is not signed in, or is no supervisor.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The lists name no operator of this id.
    #[error("no operator {0} is known here; check the id, or wait for the list")]
    Unknown(OperatorId),
    /// The lists name nobody who could be meant.
    #[error("this gate knows no {0}: no list is held, or it names none")]
    Nobody(&'static str),
    /// The PIN is another.
    #[error("wrong PIN; {tries_left} {} left", if *tries_left == 1 { "try" } else { "tries" })]
    WrongPin {
        /// Tries before the next lock-out.
        tries_left: u32,
    },
    /// Too many wrong PINs.
    #[error("too many wrong PINs; wait {seconds} seconds")]
    LockedOut {
        /// Seconds to wait.
        seconds: u64,
    },
    /// The staff QR is nobody's.
    #[error("this staff QR is nobody's at this venue")]
    WrongBadge,
    /// Nobody is signed in.
    #[error("nobody is signed in")]
    NotSignedIn,
    /// The hash in the list cannot be used.
    #[error("the PIN of {operator} cannot be checked: {fault}")]
    UnusablePin {
        /// Whose.
        operator: OperatorId,
        /// What is wrong.
        fault: PinError,
    },
    /// The journal, without which a try cannot be counted.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Who is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    /// Who.
    pub operator_id: OperatorId,
    /// What people call them.
    pub name: String,
    /// What they may do.
    pub role: OperatorRole,
    /// Since when, by trusted time.
    pub since: EpochMillis,
    /// The place in the journal that their counts begin after.
    after: i64,
}

/// What somebody hands over: their counts since sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HandOver {
    /// Who, and since when.
    #[serde(flatten)]
    pub signed_in: SignedIn,
    /// What happened since.
    #[serde(flatten)]
    pub tally: Tally,
}

/// What a scan needs to know of the people at the gate. Kept in the journal's facts, so that a
/// restart changes nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Desk {
    pub signed_in: Option<SignedIn>,
    pub practice: bool,
}

impl Desk {
    pub fn load(log: &SyncLog) -> Result<Self, JournalError> {
        let signed_in = log.fact(SIGNED_IN)?;
        Ok(Self {
            signed_in: signed_in.and_then(|text| serde_json::from_str(&text).ok()),
            practice: log.fact(PRACTICE)?.is_some_and(|text| text == "true"),
        })
    }

    pub fn operator(&self) -> Option<OperatorId> {
        self.signed_in.as_ref().map(|one| one.operator_id.clone())
    }
}

/// One PIN check at a time: each takes as much memory as an old board can spare, and a second
/// one must see that the first was wrong.
#[derive(Default)]
pub(super) struct PinTurn(Mutex<()>);

impl Device {
    /// Signs somebody in by their PIN. Who was signed in before is signed out.
    pub fn sign_in_by_pin(
        &self,
        operator_id: &OperatorId,
        pin: &str,
    ) -> Result<SignedIn, OperatorError> {
        let operators = self.operators();
        let operator = operators
            .iter()
            .find(|one| one.operator_id == *operator_id)
            .ok_or_else(|| OperatorError::Unknown(operator_id.clone()))?;
        let target = Target::SignIn(operator_id.clone());
        self.try_pin(&target, pin, std::slice::from_ref(operator))?;
        self.sign_in(operator)
    }

    /// Signs somebody in by the text of their staff QR, as the scanner gives it.
    pub fn sign_in_by_badge(&self, reading: &[u8]) -> Result<SignedIn, OperatorError> {
        let text = codes::clean(reading).map_err(|_| OperatorError::WrongBadge)?;
        let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(text));
        let operators = self.operators();
        let holds = |one: &&Operator| {
            let badge = one.badge_hash.as_deref().unwrap_or_default();
            bool::from(badge.as_bytes().ct_eq(hash.as_bytes()))
        };
        // All of them, so that the time tells nothing of whose it is.
        let found: Vec<_> = operators.iter().filter(holds).collect();
        let operator = found.first().ok_or(OperatorError::WrongBadge)?;
        self.sign_in(operator)
    }

    /// Signs out, and says what is handed over.
    pub fn sign_out(&self) -> Result<HandOver, OperatorError> {
        let hand_over = self.hand_over()?;
        self.outgoing()
            .sync_log
            .set_fact_durably(SIGNED_IN, "null")?;
        self.door().desk.signed_in = None;
        Ok(hand_over)
    }

    /// Who is signed in.
    pub fn signed_in(&self) -> Option<SignedIn> {
        self.door().desk.signed_in.clone()
    }

    /// The counts since sign-in, from the journal: a restart in between changes nothing.
    pub fn hand_over(&self) -> Result<HandOver, OperatorError> {
        let signed_in = self.signed_in().ok_or(OperatorError::NotSignedIn)?;
        let tally = self.outgoing().sync_log.tally(signed_in.after)?;
        Ok(HandOver { signed_in, tally })
    }

    /// The supervisor whose PIN this is, for an override or the clock. After five wrong ones the
    /// next try must wait 30 s, and twice as long after each further one.
    pub fn check_supervisor(&self, pin: &str) -> Result<OperatorId, OperatorError> {
        let mut supervisors = self.operators().to_vec();
        supervisors.retain(|one| one.role == OperatorRole::Supervisor);
        if supervisors.is_empty() {
            return Err(OperatorError::Nobody("supervisor"));
        }
        self.try_pin(&Target::Supervisor, pin, &supervisors)
    }

    /// Turns practice mode on or off. In practice every answer is shown and recorded with the
    /// flag `practice`, counts nowhere, and opens no `in` gate. Kept over a restart.
    pub fn set_practice(&self, practice: bool) -> Result<(), JournalError> {
        let text = if practice { "true" } else { "false" };
        self.outgoing().sync_log.set_fact_durably(PRACTICE, text)?;
        let mut door = self.door();
        door.desk.practice = practice;
        // What was read before was of the other kind.
        door.recent.forget_all();
        door.refused = None;
        Ok(())
    }

    /// Whether the gate only practises.
    pub fn is_practice(&self) -> bool {
        self.door().desk.practice
    }

    /// The operators of the current list.
    fn operators(&self) -> Arc<[Operator]> {
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        let list = door.list_for(now.at);
        list.map_or_else(|| Arc::from([]), |list| Arc::clone(list.operators()))
    }

    fn sign_in(&self, operator: &Operator) -> Result<SignedIn, OperatorError> {
        let since = self.time().at;
        let mut outgoing = self.outgoing();
        let signed_in = SignedIn {
            operator_id: operator.operator_id.clone(),
            name: operator.name.clone(),
            role: operator.role,
            since,
            after: outgoing.sync_log.end()?,
        };
        let text = serde_json::to_string(&signed_in).map_err(JournalError::from)?;
        outgoing.sync_log.set_fact_durably(SIGNED_IN, &text)?;
        drop(outgoing);
        self.door().desk.signed_in = Some(signed_in.clone());
        Ok(signed_in)
    }

    /// Whose PIN it is of those named. The try is on disk as a wrong one before it is checked.
    fn try_pin(
        &self,
        target: &Target,
        pin: &str,
        among: &[Operator],
    ) -> Result<OperatorId, OperatorError> {
        // It guards no data: the tries lie in the journal.
        let _turn = self
            .pin_turn
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (moment, now) = (self.platform.moment(), self.time());
        let mut wrong_pins = self.wrong_pins()?;
        let wait_ms = wrong_pins.wait_ms(target, moment, now);
        if wait_ms > 0 {
            let seconds = u64::try_from(wait_ms).unwrap_or(0).div_ceil(1000);
            return Err(OperatorError::LockedOut { seconds });
        }
        wrong_pins.charge(target, moment, now);
        self.keep_wrong_pins(&wrong_pins)?;
        let mut unusable = None;
        for one in among {
            match check_pin(pin, &one.pin_hash) {
                Ok(true) => {
                    wrong_pins.forgive(target);
                    self.keep_wrong_pins(&wrong_pins)?;
                    return Ok(one.operator_id.clone());
                }
                Ok(false) => {}
                Err(fault) => {
                    let operator = one.operator_id.clone();
                    unusable = Some(OperatorError::UnusablePin { operator, fault });
                }
            }
        }
        let tries_left = wrong_pins.tries_left(target);
        Err(unusable.unwrap_or(OperatorError::WrongPin { tries_left }))
    }

    fn wrong_pins(&self) -> Result<WrongPins, JournalError> {
        let kept = self.outgoing().sync_log.fact(WRONG_PINS)?;
        Ok(kept
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }

    fn keep_wrong_pins(&self, wrong_pins: &WrongPins) -> Result<(), JournalError> {
        let text = serde_json::to_string(wrong_pins)?;
        self.outgoing().sync_log.set_fact_durably(WRONG_PINS, &text)
    }
}
