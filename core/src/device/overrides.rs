//! A supervisor lets in whom the gate just refused: each reason that stands is waived by name, and
//! the verdict is asked again with those left out.

use super::claims::Decided;
use super::judging::{Asking, Prepared};
use super::scan::{Refused, ScanOutcome};
use super::{Device, Door, OperatorError, words};
use crate::clock::{Moment, Now};
use crate::ids::{OperatorId, RecordId};
use crate::reason::Reason;
use crate::record::{Answer, Denied, Mode, Override, Scan, Via, What};
use crate::ticket::Gate;
use crate::verdict::{Refusal, Verdict};

/// A refused reading can be overridden while it is not older than this, in ms (120 s).
const OVERRIDE_MS: i64 = 120_000;

/// What a supervisor asks for.
#[derive(Clone, Copy)]
pub struct OverrideAsked<'a> {
    /// The record of the refusal that the supervisor sees, a repeat's being that of its first
    /// reading; none if it was only counted and has no record.
    pub of: Option<RecordId>,
    /// The supervisor's PIN.
    pub pin: &'a str,
    /// Why, in the supervisor's words.
    pub why: &'a str,
    /// The reasons that are waived, each by name.
    pub waive: &'a [Reason],
    /// Persons to let in; without it, as the venue's policy has it.
    pub persons: Option<u8>,
}

/// What came of it.
#[derive(Debug)]
pub struct Overridden {
    /// The answer; of one that was denied for a further reason, that reason.
    pub outcome: ScanOutcome,
    /// Why it was not carried out, if it was not.
    pub denied: Option<Denied>,
    /// Of one that was denied for its PIN, what was wrong: how many tries are left, or how long
    /// to wait.
    pub pin_error: Option<OperatorError>,
}

/// What an override record says beside its scan.
struct Words<'a> {
    refers_to: Option<RecordId>,
    waived: Vec<Reason>,
    supervisor: Option<OperatorId>,
    why: &'a str,
    denied: Option<Denied>,
}

impl Device {
    /// Overrides the last refused reading of this device, if it is the one that is named. One that
    /// is not carried out is on record as well. The PIN is not checked where nothing could come of it.
    pub fn override_refusal(&self, asked: &OverrideAsked<'_>) -> Overridden {
        let started = self.platform.micros();
        if let Some(denied) = self.denied_before_pin(asked) {
            return self.log_denied(asked, None, denied, started);
        }
        // Not under the door's lock: a check takes tens of milliseconds.
        match self.check_supervisor(asked.pin) {
            Ok(supervisor) => self.override_by(asked, supervisor, started),
            Err(error) => {
                let denied = match error {
                    OperatorError::LockedOut { .. } => Denied::LockedOut,
                    _ => Denied::WrongPin,
                };
                Overridden {
                    pin_error: Some(error),
                    ..self.log_denied(asked, None, denied, started)
                }
            }
        }
    }

    fn denied_before_pin(&self, asked: &OverrideAsked<'_>) -> Option<Denied> {
        let moment = self.platform.moment();
        let mut door = self.door();
        let door = &mut *door;
        let now = door.clock.now(moment);
        if let Some(denied) = door.cannot_override(asked.of, moment) {
            return Some(denied);
        }
        if asked.why.trim().is_empty() {
            return Some(Denied::NoReason);
        }
        let (prepared, _) = self.judge_refused(door, asked, now, moment).ok()?;
        let keys = std::sync::Arc::clone(&door.keys);
        let question = prepared.question(&keys, &[]);
        let refused = door.refusal(asked.of).map(|refused| refused.reason);
        let mut reasons = asked.waive.iter().copied().chain(refused);
        let waivable = reasons.all(|reason| question.can_be_waived(reason));
        (!waivable).then_some(Denied::NotWaivable)
    }

    /// Judges the refused reading again, with what is waived left out; `Err` says why it cannot be.
    fn judge_refused(
        &self,
        door: &mut Door,
        asked: &OverrideAsked<'_>,
        now: Now,
        moment: Moment,
    ) -> Result<(Prepared, crate::verdict::Judged), Denied> {
        if let Some(denied) = door.cannot_override(asked.of, moment) {
            return Err(denied);
        }
        let refused = door.refusal(asked.of).ok_or(Denied::NothingThere)?;
        let (input, read_at) = (refused.input.clone(), refused.now);
        let asking = Asking {
            persons: asked.persons,
            read_at: Some(read_at),
            waived: asked.waive,
            ..Asking::plain(&input)
        };
        self.judge(door, &asking, now)
            .map_err(|_| Denied::NothingThere)
    }

    fn override_by(
        &self,
        asked: &OverrideAsked<'_>,
        supervisor: OperatorId,
        started: u64,
    ) -> Overridden {
        let moment = self.platform.moment();
        let mut guard = self.door();
        let door = &mut *guard;
        let now = door.clock.now(moment);
        let (prepared, judged) = match self.judge_refused(door, asked, now, moment) {
            Ok(judged) => judged,
            Err(denied) => {
                drop(guard);
                return self.log_denied(asked, Some(supervisor), denied, started);
            }
        };
        let id = self.new_id(now);
        let decided = self.decide(door, &prepared, judged, asked.waive, (id, 0));
        let denied = match &decided.verdict {
            Verdict::Admit(_) => None,
            Verdict::Refuse(_) => Some(Denied::FurtherReason),
        };
        let decision_us = self.micros_since(started);
        let scan = self.scan_of(door, &prepared, &decided, decision_us);
        let said = Words {
            refers_to: asked.of,
            waived: decided.waived.clone(),
            supervisor: Some(supervisor),
            why: asked.why,
            denied,
        };
        let record = self.record(door, 0, id, &prepared.gate, now, override_of(scan, said));
        let outcome = self.keep(door, &prepared, &decided, &record, decision_us);
        if outcome.record_id.is_some() && denied.is_none() {
            door.refused = None;
            // Whatever was answered before is answered no more.
            door.recent.forget_all();
        }
        Overridden {
            outcome,
            denied,
            pin_error: None,
        }
    }

    /// Puts on record what was not carried out.
    fn log_denied(
        &self,
        asked: &OverrideAsked<'_>,
        supervisor: Option<OperatorId>,
        denied: Denied,
        started: u64,
    ) -> Overridden {
        let moment = self.platform.moment();
        let mut door = self.door();
        let door = &mut *door;
        let now = door.clock.now(moment);
        let decision_us = self.micros_since(started);
        let refused = door.refusal(asked.of).map(|refused| {
            let (input, read_at) = (refused.input.clone(), refused.now);
            (input, read_at, refused.reason, refused.record_id)
        });
        let said = |refers_to| Words {
            refers_to,
            waived: Vec::new(),
            supervisor: supervisor.clone(),
            why: asked.why,
            denied: Some(denied),
        };
        let judged = refused.and_then(|(input, read_at, reason, record_id)| {
            let asking = Asking {
                read_at: Some(read_at),
                may_ask: false,
                ..Asking::plain(&input)
            };
            let (prepared, judged) = self.judge(door, &asking, now).ok()?;
            Some((prepared, judged, reason, record_id))
        });
        let Some((prepared, judged, reason, record_id)) = judged else {
            let gate = self.gate(door.list_for(now.at));
            let scan = nothing_read(door, &gate, decision_us);
            // What cannot be written is counted; nobody is let in either way.
            let _ = self.log(door, &gate, now, override_of(scan, said(None)));
            let refused = Verdict::Refuse(Refusal::from(Reason::StoreUnavailable));
            let outcome = self.unjudged(refused, now, decision_us);
            return Overridden {
                outcome,
                denied: Some(denied),
                pin_error: None,
            };
        };
        let decided = Decided {
            verdict: match judged.verdict {
                Verdict::Refuse(refusal) => Verdict::Refuse(refusal),
                // It would be let in by now, and has not been read again.
                Verdict::Admit(_) => Verdict::Refuse(reason.into()),
            },
            genuine: judged.genuine,
            waived: Vec::new(),
            mode: match prepared.reachable {
                true => Mode::Online,
                false => Mode::Isolated,
            },
            claim: None,
        };
        let scan = self.scan_of(door, &prepared, &decided, decision_us);
        let what = override_of(scan, said(record_id));
        let record = self.record(door, 0, self.new_id(now), &prepared.gate, now, what);
        let outcome = self.keep(door, &prepared, &decided, &record, decision_us);
        Overridden {
            outcome,
            denied: Some(denied),
            pin_error: None,
        }
    }
}

fn override_of(scan: Scan, said: Words<'_>) -> What {
    What::Override(Override {
        scan,
        refers_to: said.refers_to,
        waived: said.waived,
        supervisor: said.supervisor,
        why: words(said.why),
        denied: said.denied,
    })
}

/// The scan of an override of nothing.
fn nothing_read(door: &Door, gate: &Gate, decision_us: u32) -> Scan {
    Scan {
        via: Via::Code,
        direction: gate.direction,
        ticket_id: None,
        ticket_number: None,
        session_id: None,
        service_day: None,
        format: None,
        kid: None,
        text_hash: None,
        verdict: Answer::Refuse,
        reason: None,
        persons: 0,
        mode: Mode::Isolated,
        claim: None,
        operator: door.desk.operator(),
        decision_us,
        flags: Vec::new(),
        source: String::new(),
        age_group: String::new(),
    }
}

impl Door {
    /// The last refused reading, if it is the one that is named.
    fn refusal(&self, of: Option<RecordId>) -> Option<&Refused> {
        let last = self.refused.as_ref();
        last.filter(|refused| refused.record_id == of)
    }

    /// Why a refused reading cannot be overridden, if it cannot.
    fn cannot_override(&self, of: Option<RecordId>, moment: Moment) -> Option<Denied> {
        let Some(refused) = self.refusal(of) else {
            return Some(Denied::NothingThere);
        };
        let same_boot = refused.moment.boot_id == moment.boot_id;
        let age = moment.boot_ms.saturating_sub(refused.moment.boot_ms);
        (!same_boot || age > OVERRIDE_MS).then_some(Denied::TooLate)
    }
}
