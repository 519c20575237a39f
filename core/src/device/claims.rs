//! Asking server or hub before the gate opens: claims, and codes of the shared key. The answer
//! waits under the door's lock: the claim names the very place in the log that its record will
//! take, and a second reading of the ticket must see what became of the first.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use super::judging::Prepared;
use super::{Device, Door};
use crate::admissions::LastEntry;
use crate::ids::RecordId;
use crate::policy::Isolation;
use crate::protocol::{ClaimAnswer, ClaimRequest, VerifyAnswer, VerifyRequest};
use crate::reason::Reason;
use crate::record::{ClaimOutcome, Mode};
use crate::ticket::{Direction, Reentry};
use crate::verdict::{Detail, Judged, Refusal, Verdict};

/// Round trips that the median is taken of: enough to forget one slow answer, few enough to
/// follow a network that changes.
const ROUND_TRIPS: usize = 9;

/// Asks server or hub, on a connection of its own that no upload is ahead on. Returns `None` when
/// no answer came within the deadline; must not take longer.
pub trait Asker: Send + Sync {
    /// `POST /v1/gate/claims`.
    fn claim(&self, request: &ClaimRequest, deadline_ms: u32) -> Option<ClaimAnswer>;

    /// `POST /v1/gate/codes/verify`.
    fn verify(&self, request: &VerifyRequest, deadline_ms: u32) -> Option<VerifyAnswer>;
}

/// For how long a question without an answer is worth telling, in ms: no longer than a server that
/// is silent altogether counts as reachable.
const WORTH_TELLING_MS: i64 = 60_000;

/// The last round trips of questions.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    /// In ms.
    last: VecDeque<u32>,
    /// When the last one was given up, on the boot-time clock in ms, unless it was answered.
    unanswered_at: Option<i64>,
}

impl RoundTrips {
    /// How long to wait for an answer: twice the median, within the policy's least and most; the
    /// most before anything is known. (0, 0) asks nothing.
    fn deadline_ms(&self, (least, most): (u32, u32)) -> Option<u32> {
        if most == 0 {
            return None;
        }
        let mut sorted: Vec<_> = self.last.iter().copied().collect();
        sorted.sort_unstable();
        let wanted = match sorted.get(sorted.len() / 2) {
            Some(median) => median.saturating_mul(2),
            None => most,
        };
        Some(wanted.clamp(least.min(most), most))
    }

    /// A question took so long. One without an answer counts as its whole deadline, so that a
    /// network that became slow is waited for a little longer each time.
    fn took(&mut self, ms: u32) {
        if self.last.len() == ROUND_TRIPS {
            self.last.pop_front();
        }
        self.last.push_back(ms);
    }

    /// Whether the last question found no answer, not long ago.
    pub fn is_unanswered(&self, boot_ms: i64) -> bool {
        self.unanswered_at
            .is_some_and(|at| boot_ms.saturating_sub(at) < WORTH_TELLING_MS)
    }
}

/// A verdict after the claim: what the record says and the gate does.
#[derive(Debug, Clone)]
pub(super) struct Decided {
    pub verdict: Verdict,
    pub genuine: bool,
    pub waived: Vec<Reason>,
    pub mode: Mode,
    pub claim: Option<ClaimOutcome>,
}

impl Device {
    /// Whom to ask before the gate opens. Without anybody, no claims are made.
    pub fn set_asker(&self, asker: Arc<dyn Asker>) {
        *self.asker.lock().unwrap_or_else(PoisonError::into_inner) = Some(asker);
    }

    /// Claims an admission that the verdict grants. Denied in time refuses; no answer refuses
    /// where the venue is strict. `ahead`: records that go into the log before this one's.
    pub(super) fn decide(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        judged: Judged,
        waivable: &[Reason],
        (scan_id, ahead): (RecordId, u64),
    ) -> Decided {
        let Judged {
            verdict,
            genuine,
            waived,
        } = judged;
        let mut decided = Decided {
            verdict,
            genuine,
            waived,
            mode: match prepared.reachable {
                true => Mode::Online,
                false => Mode::Isolated,
            },
            claim: None,
        };
        let Some(request) = self.claim_request(door, prepared, &decided, (scan_id, ahead)) else {
            return decided;
        };
        let Some(answer) = self.ask(door, prepared, |asker, ms| asker.claim(&request, ms)) else {
            return decided;
        };
        let strict = prepared.policy.at(&prepared.gate).isolation == Isolation::Strict;
        let refusal = match answer.filter(|answer| answer.scan_id == scan_id) {
            Some(answer) if answer.granted => {
                decided.claim = Some(ClaimOutcome::Granted);
                return decided;
            }
            Some(answer) => {
                decided.claim = Some(ClaimOutcome::Denied);
                denied(answer, request.persons)
            }
            None => {
                (decided.mode, decided.claim) = (Mode::Isolated, Some(ClaimOutcome::NoAnswer));
                match strict {
                    true => Reason::Isolated.into(),
                    false => return decided,
                }
            }
        };
        if waivable.contains(&refusal.reason) {
            decided.waived.push(refusal.reason);
        } else {
            decided.verdict = Verdict::Refuse(refusal);
        }
        decided
    }

    /// The claim for an entry; none where nothing is consumed, or a supervisor lets in anyway.
    fn claim_request(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        decided: &Decided,
        (scan_id, ahead): (RecordId, u64),
    ) -> Option<ClaimRequest> {
        let Verdict::Admit(admission) = &decided.verdict else {
            return None;
        };
        let consumes = prepared.gate.direction == Direction::In
            && prepared.reentry() != Reentry::Free
            && !decided.waived.contains(&Reason::AlreadyUsed)
            && !door.desk.practice;
        let day = prepared.found().map(|found| &found.day);
        // Where nothing can be written nobody is admitted, and a claim would hold the ticket against
        // the gate that the visitor is sent to.
        (consumes && door.journal.can_write()).then_some(())?;
        Some(ClaimRequest {
            scan_id,
            log_id: door.journal.log_id(),
            sequence: door.journal.next_sequence() + ahead,
            gate_id: self.gate_id.clone(),
            ticket_number: prepared.ticket_number()?,
            service_day: day.or(prepared.list.as_ref())?.service_day.clone(),
            checkpoint: prepared.gate.checkpoint.clone(),
            persons: admission.persons,
            at: prepared.now.at,
        })
    }

    /// What the server says of a v1 code of the shared key.
    pub(super) fn ask_verify(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        text: &str,
    ) -> Option<bool> {
        let request = VerifyRequest { code: text.into() };
        let answer = self.ask(door, prepared, |asker, ms| asker.verify(&request, ms))??;
        Some(answer.genuine)
    }

    /// Asks, if there is anybody to ask: `None` if not, `Some(None)` if no answer came.
    fn ask<T>(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        question: impl FnOnce(&dyn Asker, u32) -> Option<T>,
    ) -> Option<Option<T>> {
        if !prepared.reachable {
            return None;
        }
        let asker = self.asker.lock().unwrap_or_else(PoisonError::into_inner);
        let asker = Arc::clone(asker.as_ref()?);
        let bounds = prepared.policy.at(&prepared.gate).claim_deadline_ms;
        let deadline_ms = door.round_trips.deadline_ms(bounds)?;
        let started = self.platform.micros();
        let answer = question(asker.as_ref(), deadline_ms);
        let took = self.micros_since(started).div_ceil(1000);
        door.round_trips.took(match answer {
            Some(_) => took,
            None => took.max(deadline_ms),
        });
        door.round_trips.unanswered_at = match answer {
            Some(_) => None,
            None => Some(self.platform.moment().boot_ms),
        };
        Some(answer)
    }
}

fn denied(answer: ClaimAnswer, asked: u8) -> Refusal {
    let last = answer.winner.map(|winner| LastEntry {
        at: winner.at,
        gate_id: winner.gate_id,
    });
    Refusal {
        reason: Reason::AlreadyUsed,
        detail: Some(Detail::Used {
            last,
            remaining: answer.remaining,
            asked,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: (u32, u32) = (150, 800);

    #[test]
    fn the_deadline_is_twice_the_median_within_the_policys_bounds() {
        let mut trips = RoundTrips::default();
        assert_eq!(trips.deadline_ms(BOUNDS), Some(800), "nothing known yet");
        for ms in [100, 3_000, 120, 110, 130] {
            trips.took(ms);
        }
        assert_eq!(trips.deadline_ms(BOUNDS), Some(240));
        for _ in 0..ROUND_TRIPS {
            trips.took(10);
        }
        assert_eq!(trips.deadline_ms(BOUNDS), Some(150));
        for _ in 0..ROUND_TRIPS {
            trips.took(5_000);
        }
        assert_eq!(trips.deadline_ms(BOUNDS), Some(800));
        assert_eq!(trips.deadline_ms((0, 0)), None, "no claims are made");
    }
}
