//! A verdict in words, Chinese and English, with its particulars: when admission begins, when and
//! where a ticket was used. A guard reads it at arm's length, so it is short.

mod times;

use std::sync::{Arc, Weak};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use stile_core::device::{Device, Identity, ScanOutcome, TicketShown};
use stile_core::ids::GateId;
use stile_core::reason::{Language, Reason};
use stile_core::record::Flag;
use stile_core::ticket::{CancelCause, Gate};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};
use stile_core::verdict::{Admission, Detail, Refusal, Verdict};

use times::date_words;

/// One sentence in both languages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// Chinese.
    #[serde(rename = "zh-CN")]
    pub zh_cn: String,
    /// English.
    pub en: String,
}

impl Sentence {
    pub(crate) fn new(zh_cn: impl Into<String>, en: impl Into<String>) -> Self {
        Self {
            zh_cn: zh_cn.into(),
            en: en.into(),
        }
    }

    /// The sentence in one language, or in both.
    pub fn text(&self, language: Option<Language>) -> String {
        match language {
            Some(Language::ZhCn) => self.zh_cn.clone(),
            Some(Language::En) => self.en.clone(),
            None => format!("{} {}", self.zh_cn, self.en),
        }
    }

    fn and(mut self, zh_cn: &str, en: &str) -> Self {
        self.zh_cn.push_str(zh_cn);
        self.en.push(' ');
        self.en.push_str(en);
        self
    }
}

/// Puts verdicts in the words of a venue: its time zone, its gates' names.
#[derive(Debug, Clone)]
pub struct Words {
    zone: TimeZone,
    gates: Vec<Gate>,
    /// Whose lists name gates that were not there yet when it was enrolled.
    device: Weak<Device>,
}

impl Words {
    /// The words of a gate at work, which knows the venue's other gates by its lists.
    pub fn at(device: &Arc<Device>) -> Self {
        Self {
            device: Arc::downgrade(device),
            ..Self::of(device.identity())
        }
    }

    /// The words of the venue that a device is enrolled in. A time zone that is not known here
    /// counts as UTC.
    pub fn of(identity: &Identity) -> Self {
        Self::new(&identity.time_zone, identity.gates.clone())
    }

    /// The words of a venue with that time zone and those gates.
    pub fn new(time_zone: &str, gates: Vec<Gate>) -> Self {
        Self {
            zone: TimeZone::get(time_zone).unwrap_or(TimeZone::UTC),
            gates,
            device: Weak::new(),
        }
    }

    /// The sentence for a reading.
    pub fn sentence(&self, outcome: &ScanOutcome) -> Sentence {
        if outcome.free_passage {
            return Sentence::new(
                "自由通行，请进。",
                "The gate is open for everybody; please pass.",
            );
        }
        match &outcome.verdict {
            Verdict::Admit(admission) if outcome.walk_in.is_some() => walked_in(
                outcome.walk_in.as_deref().unwrap_or_default(),
                admission.persons,
            ),
            Verdict::Admit(_) if outcome.repeat => {
                Sentence::new("刚才已放行。", "Let through just now.")
            }
            Verdict::Admit(admission) => admitted(admission, outcome.ticket.as_ref()),
            Verdict::Refuse(refusal) => self.refused(refusal, outcome.now.at),
        }
    }

    /// The sentence for a refusal at a time.
    pub fn refused(&self, refusal: &Refusal, now: EpochMillis) -> Sentence {
        let today = self.date(now);
        match (refusal.reason, &refusal.detail) {
            (_, Some(Detail::Cause(cause))) => {
                let (zh_cn, en) = cause_words(*cause);
                Sentence::new(
                    format!("此票已取消：{zh_cn}。"),
                    format!("Cancelled: {en}."),
                )
            }
            (_, Some(Detail::SessionCancelled(note))) => {
                let sentence = Sentence::new("此场次已取消。", "This session is cancelled.");
                match note.as_str() {
                    "" => sentence,
                    note => sentence.and(note, note),
                }
            }
            (
                _,
                Some(Detail::Day {
                    service_day,
                    admit_from,
                    ..
                }),
            ) => self.other_day(service_day, *admit_from, today),
            (reason, Some(Detail::Zones(zones))) if !zones.is_empty() => {
                let zones: Vec<_> = zones.iter().map(|zone| zone.as_str()).collect();
                Sentence::new(
                    format!(
                        "{}可进入：{}。",
                        reason.sentence(Language::ZhCn),
                        zones.join("、")
                    ),
                    format!(
                        "{} It opens: {}.",
                        reason.sentence(Language::En),
                        zones.join(", ")
                    ),
                )
            }
            (Reason::TooEarly, Some(Detail::Time(at))) => {
                let at = self.moment(at.millis(), today);
                Sentence::new(
                    format!("未到入场时间，{}开始入场。", at.zh_cn),
                    format!("Too early; admission begins at {}.", at.en),
                )
            }
            (Reason::TooLate, Some(Detail::Time(at))) => {
                let at = self.moment(at.millis(), today);
                Sentence::new(
                    format!("已过入场时间，{}停止入场。", at.zh_cn),
                    format!("Too late; admission ended at {}.", at.en),
                )
            }
            (
                _,
                Some(Detail::Used {
                    last: Some(last),
                    remaining,
                    ..
                }),
            ) => {
                let at = self.moment(last.at, today);
                let gate = self.gate(&last.gate_id);
                let used = Sentence::new(
                    format!("此票已于{}在{gate}使用。", at.zh_cn),
                    format!("Used at {} at {gate}.", at.en),
                );
                match remaining {
                    0 => used,
                    n => used.and(
                        &format!("还可入{n}人。"),
                        &format!("Only {n} more may enter."),
                    ),
                }
            }
            (
                _,
                Some(Detail::Used {
                    last: None,
                    remaining: remaining @ 1..,
                    asked,
                }),
            ) => Sentence::new(
                format!("要放行{asked}人，此票只可入{remaining}人。"),
                format!("{asked} persons asked, but only {remaining} may enter by this ticket."),
            ),
            (reason, _) => Sentence::new(
                reason.sentence(Language::ZhCn),
                reason.sentence(Language::En),
            ),
        }
    }

    fn other_day(
        &self,
        day: &ServiceDay,
        admit_from: Option<EpochSeconds>,
        today: Option<Date>,
    ) -> Sentence {
        let date = day.as_str().parse::<Date>().ok();
        let name = match date {
            Some(date) => date_words(date, today),
            None => Sentence::new(day.as_str(), day.as_str()),
        };
        let sentence = Sentence::new(
            format!("此票是{}的。", name.zh_cn),
            format!("This ticket is for {}.", name.en),
        );
        match admit_from {
            Some(from) => {
                let from = self.moment(from.millis(), date);
                sentence.and(
                    &format!("{}开始入场。", from.zh_cn),
                    &format!("Admission begins at {}.", from.en),
                )
            }
            None => sentence,
        }
    }

    fn gate(&self, id: &GateId) -> String {
        let listed = self.device.upgrade();
        let listed = listed.and_then(|device| device.gate_name(id));
        let at_enrolment = || {
            let mut gates = self.gates.iter();
            let named = gates.find(|gate| gate.gate_id == *id && !gate.name.is_empty());
            named.map(|gate| gate.name.clone())
        };
        let name = listed.or_else(at_enrolment);
        name.unwrap_or_else(|| id.to_string())
    }
}

fn admitted(admission: &Admission, ticket: Option<&TicketShown>) -> Sentence {
    let mut sentence = match admission.remaining {
        0 => Sentence::new("请通行。", "Please pass."),
        n => Sentence::new(
            format!("请通行，还可入{n}人。"),
            format!("Please pass; {n} more may enter."),
        ),
    };
    if admission.flags.contains(&Flag::Unlisted) {
        sentence = sentence.and("名单中没有，凭签名放行。", "Not in the list; signed.");
    }
    if admission.flags.contains(&Flag::StaleList) {
        sentence = sentence.and("名单过旧。", "The list is old.");
    }
    let Some(ticket) = ticket else {
        return sentence;
    };
    if let (true, Some(digits)) = (
        admission.flags.contains(&Flag::Unverified),
        ticket.last_four,
    ) {
        sentence = sentence.and(
            &format!("请核对尾号{digits}。"),
            &format!("Compare the last four digits: {digits}."),
        );
    }
    match ticket.attention.as_str() {
        "" => sentence,
        what => sentence.and(&format!("请查看：{what}。"), &format!("Check: {what}.")),
    }
}

fn walked_in(what: &str, persons: u8) -> Sentence {
    Sentence::new(
        format!(
            "请通行：{} {persons}人，无票。",
            category(what, Language::ZhCn)
        ),
        format!("Please pass: {persons} without a ticket ({what})."),
    )
}

/// A walk-in category as people read it; one that the venue made up stays as it is.
pub(crate) fn category(name: &str, language: Language) -> &str {
    match (name, language) {
        ("child", Language::ZhCn) => "儿童",
        ("guest", Language::ZhCn) => "来宾",
        ("staff", Language::ZhCn) => "工作人员",
        _ => name,
    }
}

fn cause_words(cause: CancelCause) -> (&'static str, &'static str) {
    match cause {
        CancelCause::Visitor => ("游客已退订", "by the visitor"),
        CancelCause::Operator => ("馆方取消", "by the venue"),
        CancelCause::Refunded => ("已退款", "refunded"),
        CancelCause::Expired => ("超时未付款", "not paid in time"),
        CancelCause::SessionCancelled => ("场次取消", "the session does not take place"),
    }
}

#[cfg(test)]
mod tests {
    use stile_core::admissions::LastEntry;
    use stile_core::clock::{Now, Trust};
    use stile_core::ids::{Checkpoint, SessionId, TicketNumber, Zone};
    use stile_core::ticket::Direction;

    use super::*;

    /// 2026-10-01 09:00 in Shanghai.
    const NOW: EpochMillis = EpochMillis(1_790_816_400_000);

    fn words() -> Words {
        let gate_id = GateId::new("north").unwrap();
        Words {
            zone: TimeZone::get("Asia/Shanghai").unwrap(),
            gates: vec![Gate {
                gate_id,
                name: "北门".into(),
                direction: Direction::In,
                checkpoint: Checkpoint::new("entry").unwrap(),
                zones: Vec::new(),
                unattended: true,
            }],
            device: Weak::new(),
        }
    }

    fn refused(reason: Reason, detail: Detail) -> (String, String) {
        let refusal = Refusal {
            reason,
            detail: Some(detail),
        };
        let sentence = words().refused(&refusal, NOW);
        (sentence.zh_cn, sentence.en)
    }

    fn both(zh_cn: &str, en: &str) -> (String, String) {
        (zh_cn.into(), en.into())
    }

    fn after(minutes: i64) -> EpochSeconds {
        NOW.plus(minutes * 60_000).seconds()
    }

    #[test]
    fn too_early_says_when_admission_begins_in_the_venues_time() {
        assert_eq!(
            refused(Reason::TooEarly, Detail::Time(after(30))),
            both(
                "未到入场时间，09:30开始入场。",
                "Too early; admission begins at 09:30."
            )
        );
        assert_eq!(
            refused(Reason::TooEarly, Detail::Time(after(930))),
            both(
                "未到入场时间，10月2日00:30开始入场。",
                "Too early; admission begins at 00:30 on 2 October."
            )
        );
    }

    #[test]
    fn already_used_says_when_and_where() {
        let used = |gate: &str, remaining| Detail::Used {
            last: Some(LastEntry {
                at: NOW.plus(-60_000),
                gate_id: GateId::new(gate).unwrap(),
            }),
            remaining,
            asked: 1,
        };
        assert_eq!(
            refused(Reason::AlreadyUsed, used("north", 0)),
            both("此票已于08:59在北门使用。", "Used at 08:59 at 北门.")
        );
        assert_eq!(
            refused(Reason::AlreadyUsed, used("south", 2)),
            both(
                "此票已于08:59在south使用。还可入2人。",
                "Used at 08:59 at south. Only 2 more may enter."
            )
        );
    }

    #[test]
    fn more_persons_than_an_unused_ticket_admits_are_not_called_used() {
        let detail = Detail::Used {
            last: None,
            remaining: 1,
            asked: 2,
        };
        assert_eq!(
            refused(Reason::AlreadyUsed, detail),
            both(
                "要放行2人，此票只可入1人。",
                "2 persons asked, but only 1 may enter by this ticket."
            )
        );
    }

    #[test]
    fn a_cancelled_ticket_says_the_cause_and_a_cancelled_session_its_note() {
        assert_eq!(
            refused(Reason::Cancelled, Detail::Cause(CancelCause::Refunded)),
            both("此票已取消：已退款。", "Cancelled: refunded.")
        );
        assert_eq!(
            refused(
                Reason::Cancelled,
                Detail::SessionCancelled("停电 Power cut".into())
            ),
            both(
                "此场次已取消。停电 Power cut",
                "This session is cancelled. 停电 Power cut"
            )
        );
    }

    #[test]
    fn the_wrong_day_says_the_right_one_and_a_night_session_its_own_date() {
        let day = |service_day: &str, admit_from| Detail::Day {
            service_day: ServiceDay::new(service_day).unwrap(),
            session_id: SessionId::new("s").unwrap(),
            admit_from,
        };
        // 2026-10-03 00:30 counts to the evening of 2 October.
        assert_eq!(
            refused(
                Reason::WrongDay,
                day("2026-10-02", Some(after(39 * 60 + 30)))
            ),
            both(
                "此票是10月2日的。10月3日00:30开始入场。",
                "This ticket is for 2 October. Admission begins at 00:30 on 3 October."
            )
        );
        assert_eq!(
            refused(Reason::WrongDay, day("2027-01-05", None)),
            both(
                "此票是2027年1月5日的。",
                "This ticket is for 5 January 2027."
            )
        );
    }

    #[test]
    fn the_wrong_gate_says_what_the_ticket_opens() {
        let zones = vec![Zone::new("hall-2").unwrap(), Zone::new("roof").unwrap()];
        assert_eq!(
            refused(Reason::WrongGate, Detail::Zones(zones)).1,
            "This ticket is not for this entrance. It opens: hall-2, roof."
        );
    }

    #[test]
    fn every_reason_has_words_without_particulars() {
        for reason in Reason::ALL {
            let sentence = words().refused(&Refusal::from(*reason), NOW);
            assert_eq!(sentence.en, reason.sentence(Language::En));
            assert_eq!(sentence.zh_cn, reason.sentence(Language::ZhCn));
        }
    }

    #[test]
    fn times_beyond_every_calendar_still_give_a_sentence() {
        for at in [i64::MIN, i64::MAX] {
            let sentence = refused(Reason::TooEarly, Detail::Time(EpochSeconds(at)));
            assert!(sentence.1.contains("unknown time"), "{sentence:?}");
            assert!(!words().clock(EpochMillis(at)).is_empty());
        }
    }

    fn outcome(remaining: u32, flags: Vec<Flag>, attention: &str, repeat: bool) -> ScanOutcome {
        ScanOutcome {
            verdict: Verdict::Admit(Admission {
                persons: 1,
                remaining,
                flags,
            }),
            opens: !repeat,
            passages: 1,
            repeat,
            resumed: false,
            free_passage: false,
            list_age_ms: None,
            mode: stile_core::record::Mode::Online,
            claim: None,
            record_id: None,
            repeats: None,
            walk_in: None,
            format: None,
            ticket: Some(TicketShown {
                number: TicketNumber::new(1).unwrap(),
                label: String::new(),
                holder_mask: "**明".into(),
                last_four: stile_core::ids::LastFour::new(678),
                admits: 3,
                attention: attention.into(),
                session: "s".into(),
            }),
            now: Now {
                at: NOW,
                u_ms: 0,
                trust: Trust::Anchored,
            },
            decision_us: 4,
        }
    }

    #[test]
    fn an_admission_says_how_many_may_follow_and_what_to_look_at() {
        let en = |outcome| words().sentence(&outcome).en;
        assert_eq!(en(outcome(0, vec![], "", false)), "Please pass.");
        assert_eq!(
            en(outcome(2, vec![], "", false)),
            "Please pass; 2 more may enter."
        );
        assert_eq!(
            en(outcome(0, vec![Flag::Unverified], "student card", false)),
            "Please pass. Compare the last four digits: 0678. Check: student card."
        );
        assert_eq!(en(outcome(2, vec![], "", true)), "Let through just now.");
    }
}
