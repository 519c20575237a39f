//! The rows of the verdict, one by one: what each refuses, what it carries, and which comes first.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{NINE, Venue, gate, id, session};
use stile_core::admissions::{Movement, Way, fold};
use stile_core::clock::{Now, Trust};
use stile_core::codes::{Format, parse};
use stile_core::ids::{LastFour, LogId, RecordId};
use stile_core::policy::{Isolation, Leave, V1Key, V1SharedOffline};
use stile_core::reason::Reason;
use stile_core::record::Flag;
use stile_core::ticket::{
    CancelCause, Direction, Gate, Reentry, Session, SessionStatus, Standing, Ticket, TicketStatus,
};
use stile_core::time::EpochSeconds;
use stile_core::verdict::{
    Asked, Day, Detail, Judged, Listed, Question, Refusal, Verdict, explain, verdict,
};

/// A reading of a good ticket at a good time; each test spoils one thing.
struct At {
    venue: Venue,
    gate: Gate,
    ticket: Option<Ticket>,
    session: Session,
    day: Option<Day>,
    ticket_day: Day,
    code: Vec<u8>,
    entered: Vec<Movement>,
    reachable: bool,
    now: Now,
    read_at: Option<Now>,
    persons: u8,
    waived: Vec<Reason>,
    look_up: Option<Option<LastFour>>,
    server_says_genuine: Option<bool>,
}

fn day() -> Day {
    Day {
        service_day: id("2026-10-01"),
        day_from: EpochSeconds(NINE - 8 * 3600),
        day_until: EpochSeconds(NINE + 12 * 3600),
        not_after: EpochSeconds(NINE + 12 * 3600),
    }
}

impl At {
    fn new() -> Self {
        let venue = Venue::new();
        let ticket = venue.ticket("A1");
        Self {
            gate: gate("east", false),
            code: venue.g2(&ticket, NINE).into_bytes(),
            ticket: Some(ticket),
            session: session("am"),
            day: Some(day()),
            ticket_day: day(),
            entered: Vec::new(),
            reachable: true,
            now: Now {
                at: EpochSeconds(NINE).millis(),
                u_ms: 0,
                trust: Trust::Anchored,
            },
            read_at: None,
            persons: 1,
            waived: Vec::new(),
            look_up: None,
            server_says_genuine: None,
            venue,
        }
    }

    fn at_turnstile() -> Self {
        Self {
            gate: gate("arm-1", true),
            ..Self::new()
        }
    }

    fn ticket(&mut self) -> &mut Ticket {
        self.ticket.as_mut().unwrap()
    }

    fn v1(mut self) -> Self {
        self.code = self
            .venue
            .v1(self.ticket.as_ref().unwrap(), NINE + 600)
            .into_bytes();
        self
    }

    fn g3(mut self) -> Self {
        self.code = self
            .venue
            .g3(self.ticket.as_ref().unwrap(), NINE)
            .into_bytes();
        self
    }

    fn asked<T>(&self, answer: impl FnOnce(&Question<'_>) -> T) -> T {
        let code = parse(&self.code, &self.venue.policy.shapes()).ok();
        let admits = self.ticket.as_ref().map_or(1, |ticket| ticket.admits);
        let keys = self.venue.key_ring();
        answer(&Question {
            asked: match self.look_up {
                Some(last_four) => Asked::LookUp { last_four },
                None => code.as_ref().map_or(Asked::NoCode, Asked::Code),
            },
            server_says_genuine: self.server_says_genuine,
            keys: &keys,
            policy: &self.venue.policy,
            gate: &self.gate,
            list: self.day.as_ref(),
            listed: self.ticket.as_ref().map(|ticket| Listed {
                ticket,
                session: Some(&self.session),
                day: &self.ticket_day,
            }),
            admissions: &fold(admits, self.session.reentry, self.entered.clone()),
            persons: self.persons,
            reachable: self.reachable,
            now: self.now,
            read_at: self.read_at.unwrap_or(self.now),
            waived: &self.waived,
        })
    }

    fn judged(&self) -> Judged {
        self.asked(verdict)
    }

    fn reason(&self) -> Option<Reason> {
        self.refusal().map(|refusal| refusal.reason)
    }

    fn refusal(&self) -> Option<Refusal> {
        match self.judged().verdict {
            Verdict::Admit(_) => None,
            Verdict::Refuse(refusal) => Some(refusal),
        }
    }

    fn flags(&self) -> Vec<Flag> {
        match self.judged().verdict {
            Verdict::Admit(admission) => admission.flags,
            Verdict::Refuse(refusal) => panic!("refused: {}", refusal.reason),
        }
    }

    fn enter(&mut self, seconds: i64) {
        self.move_at(seconds, Way::Entry);
    }

    fn move_at(&mut self, seconds: i64, way: Way) {
        let n = self.entered.len() as u128 + 1;
        self.entered.push(Movement {
            record_id: RecordId(uuid::Uuid::from_u128(n)),
            way,
            persons: 1,
            at: EpochSeconds(seconds).millis(),
            anchored: true,
            claim_granted: false,
            waived_already_used: false,
            gate_id: id("west"),
            device_id: id("pda-2"),
            log_id: LogId(uuid::Uuid::from_u128(9)),
            sequence: n as u64,
        });
    }
}

#[test]
fn a_good_ticket_is_admitted_by_each_signed_format() {
    for at in [At::new(), At::new().v1(), At::new().g3()] {
        assert_eq!(at.reason(), None);
        assert!(at.judged().genuine);
    }
}

#[test]
fn a_text_of_no_shape_is_malformed() {
    let at = At {
        code: b"6901234567892".to_vec(),
        ..At::new()
    };
    assert_eq!(at.reason(), Some(Reason::Malformed));
    assert!(!at.judged().genuine);
}

#[test]
fn where_the_policy_says_g3_alone_other_formats_are_not_accepted() {
    let mut at = At::new().v1();
    at.venue.policy.formats = vec![Format::G3];
    assert_eq!(at.reason(), Some(Reason::FormatNotAccepted));
}

#[test]
fn a_code_of_an_unknown_key_says_so_before_its_signature_is_looked_at() {
    let mut at = At::new();
    let mut payload = at.venue.payload(at.ticket.as_ref().unwrap(), NINE);
    payload.kid = stile_core::ids::Kid(9);
    at.code = stile_core::codes::g2::mint(&at.venue.code_key, &payload)
        .unwrap()
        .into_bytes();
    assert_eq!(at.reason(), Some(Reason::UnknownKey));
}

#[test]
fn a_forged_code_is_refused_whatever_its_ticket_is() {
    let forger = stile_core::keys::CodeSigningKey::from_seed(&[99; 32]);
    let mut at = At::new();
    at.ticket().status = TicketStatus::Cancelled;
    let payload = at.venue.payload(at.ticket.as_ref().unwrap(), NINE);
    at.code = stile_core::codes::g2::mint(&forger, &payload)
        .unwrap()
        .into_bytes();
    assert_eq!(at.reason(), Some(Reason::BadSignature));
    assert!(!at.judged().genuine);
}

#[test]
fn a_v1_code_of_a_ticket_that_no_list_has_is_not_listed_and_nothing_it_says_counts() {
    let at = At {
        ticket: None,
        ..At::new().v1()
    };
    assert_eq!(at.reason(), Some(Reason::NotListed));
    assert!(!at.judged().genuine);
}

#[test]
fn a_shared_v1_code_offline_goes_by_policy() {
    let mut at = At::new().v1();
    at.venue.policy.v1_key = V1Key::Shared;
    assert_eq!(at.flags(), [Flag::Unverified]);
    at.venue.policy.staffed.v1_shared_offline = V1SharedOffline::UnverifiableOffline;
    assert_eq!(at.reason(), Some(Reason::UnverifiableOffline));
    let mut expired = At::new();
    expired.venue.policy.v1_key = V1Key::Shared;
    let ticket = expired.ticket.clone().unwrap();
    expired.code = expired.venue.v1(&ticket, NINE - 61).into_bytes();
    assert_eq!(expired.reason(), Some(Reason::CodeExpired));
}

#[test]
fn without_trusted_time_the_gate_says_so_and_a_plausible_clock_goes_by_policy() {
    let mut at = At::new();
    at.now.trust = Trust::Untrusted;
    assert_eq!(at.reason(), Some(Reason::ClockUntrusted));
    at.now.trust = Trust::Unanchored;
    assert_eq!(at.reason(), None);
    at.venue.policy.staffed.clock_unanchored = Leave::Refuse;
    assert_eq!(at.reason(), Some(Reason::ClockUntrusted));
}

#[test]
fn an_unanchored_gate_does_not_call_a_strange_tag_forged() {
    let mut at = At::new();
    let ticket = at.ticket.clone().unwrap();
    // A full turn of the counter's low byte away: the tag is genuine, of another time.
    at.code = at.venue.g3(&ticket, NINE - 256 * 30).into_bytes();
    assert_eq!(at.reason(), Some(Reason::BadSignature));
    at.now.trust = Trust::Unanchored;
    assert_eq!(at.reason(), Some(Reason::ClockUntrusted));
}

#[test]
fn a_screenshot_of_a_rotating_code_expires() {
    let mut at = At::new();
    let ticket = at.ticket.clone().unwrap();
    at.code = at.venue.g3(&ticket, NINE - 120).into_bytes();
    assert_eq!(at.reason(), Some(Reason::CodeExpired));
    at.code = at.venue.g3(&ticket, NINE + 90).into_bytes();
    assert_eq!(at.reason(), Some(Reason::CodeNotYetValid));
}

#[test]
fn an_unlisted_g2_code_is_admitted_where_a_person_can_look_and_refused_at_a_turnstile() {
    let mut staffed = At::new();
    staffed.ticket = None;
    assert_eq!(staffed.flags(), [Flag::Unlisted]);
    staffed.venue.policy.staffed.unlisted_zones = vec![id("vip")];
    assert_eq!(staffed.reason(), Some(Reason::NotListed));
    let turnstile = At {
        ticket: None,
        ..At::at_turnstile()
    };
    assert_eq!(turnstile.reason(), Some(Reason::NotListed));
}

#[test]
fn an_unlisted_g2_code_is_judged_by_its_own_admission_window() {
    let mut at = At {
        ticket: None,
        ..At::new()
    };
    at.now.at = EpochSeconds(NINE - 1801).millis();
    at.code = at
        .venue
        .g2(&at.venue.ticket("A1"), NINE - 1801)
        .into_bytes();
    let early = Refusal {
        reason: Reason::TooEarly,
        detail: Some(Detail::Time(EpochSeconds(NINE - 1800))),
    };
    assert_eq!(at.refusal(), Some(early));
}

#[test]
fn an_unlisted_rotating_code_is_never_admitted() {
    let at = At {
        ticket: None,
        ..At::new().g3()
    };
    assert_eq!(at.reason(), Some(Reason::NotListed));
}

#[test]
fn without_any_list_of_today_every_format_hears_that_the_list_is_missing() {
    for mut at in [
        At::at_turnstile(),
        At::at_turnstile().v1(),
        At::at_turnstile().g3(),
    ] {
        (at.day, at.ticket) = (None, None);
        assert_eq!(at.reason(), Some(Reason::WhitelistStale));
    }
}

#[test]
fn a_stale_list_is_used_for_half_a_day_with_staff_and_not_at_all_without() {
    let mut at = At::new();
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE);
    assert_eq!(at.flags(), [Flag::StaleList]);
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE - 12 * 3600);
    assert_eq!(at.reason(), Some(Reason::WhitelistStale));
    let mut at = At::at_turnstile();
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE);
    assert_eq!(at.reason(), Some(Reason::WhitelistStale));
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE + 1);
    assert_eq!(at.reason(), None);
}

#[test]
fn an_older_print_of_a_reissued_ticket_is_superseded_and_a_newer_one_is_marked() {
    let mut at = At::new();
    at.ticket().revision = 2;
    assert_eq!(at.reason(), Some(Reason::Superseded));
    let mut at = At::new();
    let newer = Ticket {
        revision: 1,
        ..at.ticket.clone().unwrap()
    };
    at.code = at.venue.g2(&newer, NINE).into_bytes();
    assert_eq!(at.flags(), [Flag::NewerRevision]);
}

#[test]
fn a_rotating_code_of_another_issue_is_superseded_or_not_listed_without_a_look_at_its_tag() {
    let mut at = At::new().g3();
    at.ticket().revision = 2;
    assert_eq!(at.reason(), Some(Reason::Superseded));
    let mut at = At::new();
    let newer = Ticket {
        revision: 1,
        ..at.ticket.clone().unwrap()
    };
    at.code = at.venue.g3(&newer, NINE - 3600).into_bytes();
    assert_eq!(at.reason(), Some(Reason::NotListed));
}

#[test]
fn blocked_cancelled_and_pending_tickets_are_refused_even_when_their_code_is_fresh() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Blocked;
    assert_eq!(at.reason(), Some(Reason::Blocked));
    at.ticket().status = TicketStatus::Pending;
    assert_eq!(at.reason(), Some(Reason::NotConfirmed));
    at.ticket().status = TicketStatus::Cancelled;
    at.ticket().cancel_cause = Some(CancelCause::Refunded);
    let refusal = at.refusal().unwrap();
    assert_eq!(refusal.reason, Reason::Cancelled);
    assert_eq!(refusal.detail, Some(Detail::Cause(CancelCause::Refunded)));
}

#[test]
fn a_ticket_of_a_cancelled_session_is_cancelled_and_carries_the_sessions_note() {
    let mut at = At::new();
    at.session.status = SessionStatus::Cancelled;
    at.session.note = "typhoon".into();
    let detail = Some(Detail::SessionCancelled("typhoon".into()));
    assert_eq!(
        at.refusal(),
        Some(Refusal {
            reason: Reason::Cancelled,
            detail
        })
    );
}

#[test]
fn a_deleted_ticket_answers_as_cancelled_and_a_moved_one_says_where_it_went() {
    let mut at = At::new();
    at.ticket().standing = Standing::Deleted;
    assert_eq!(at.reason(), Some(Reason::Cancelled));
    at.ticket().standing = Standing::Moved {
        session_id: id("tomorrow"),
        service_day: id("2026-10-02"),
        admit_from: EpochSeconds(NINE + 86_400),
    };
    let detail = Some(Detail::Day {
        service_day: id("2026-10-02"),
        session_id: id("tomorrow"),
        admit_from: Some(EpochSeconds(NINE + 86_400)),
    });
    assert_eq!(
        at.refusal(),
        Some(Refusal {
            reason: Reason::WrongDay,
            detail
        })
    );
}

#[test]
fn a_ticket_of_another_day_says_which_day() {
    let mut at = At::new();
    at.ticket_day = Day {
        service_day: id("2026-10-02"),
        day_from: EpochSeconds(NINE + 16 * 3600),
        day_until: EpochSeconds(NINE + 36 * 3600),
        not_after: EpochSeconds(NINE + 36 * 3600),
    };
    assert!(matches!(
        at.refusal(),
        Some(Refusal { reason: Reason::WrongDay, detail: Some(Detail::Day { service_day, .. }) })
            if service_day == id("2026-10-02")
    ));
}

#[test]
fn a_tickets_own_zones_beat_its_sessions() {
    let mut at = At::new();
    at.ticket().zones = vec![id("vip")];
    assert_eq!(at.reason(), Some(Reason::WrongGate));
    at.gate.zones = vec![id("vip")];
    assert_eq!(at.reason(), None);
}

#[test]
fn a_venue_without_zones_has_no_wrong_gates() {
    let mut at = At::new();
    at.session.zones = Vec::new();
    assert_eq!(at.reason(), None);
    let mut at = At::new();
    at.gate.zones = Vec::new();
    assert_eq!(at.reason(), None);
}

#[test]
fn the_admission_window_is_half_open_and_no_uncertainty_widens_it() {
    let (from, until) = (NINE - 1800, NINE + 3600);
    for (seconds, expected) in [
        (from - 1, Some(Reason::TooEarly)),
        (from, None),
        (until - 1, None),
        (until, Some(Reason::TooLate)),
    ] {
        let mut at = At::new();
        at.now.at = EpochSeconds(seconds).millis();
        at.now.u_ms = 60_000;
        at.code = at
            .venue
            .g2(at.ticket.as_ref().unwrap(), seconds)
            .into_bytes();
        assert_eq!(at.reason(), expected, "at {seconds}");
    }
}

#[test]
fn a_tickets_own_window_beats_its_sessions() {
    let mut at = At::new();
    at.ticket().admit_from = Some(EpochSeconds(NINE + 600));
    let detail = Some(Detail::Time(EpochSeconds(NINE + 600)));
    assert_eq!(
        at.refusal(),
        Some(Refusal {
            reason: Reason::TooEarly,
            detail
        })
    );
    at.ticket().admit_from = None;
    at.ticket().admit_until = Some(EpochSeconds(NINE));
    assert_eq!(at.reason(), Some(Reason::TooLate));
}

#[test]
fn a_row_whose_session_is_missing_cannot_be_judged_and_keeps_the_gate_shut() {
    let at = At::new();
    let refused = at.asked(|question| {
        let listed = question.listed.map(|listed| Listed {
            session: None,
            ..listed
        });
        verdict(&Question {
            listed,
            ..*question
        })
        .verdict
    });
    assert_eq!(refused, Verdict::Refuse(Reason::WhitelistStale.into()));
}

#[test]
fn digits_that_differ_between_code_and_list_are_another_person() {
    let mut at = At::new();
    at.ticket().last_four = stile_core::ids::LastFour::new(1);
    assert_eq!(at.reason(), Some(Reason::IdentityMismatch));
    at.ticket().last_four = None;
    assert_eq!(at.reason(), None);
}

#[test]
fn an_attention_mark_sends_to_staff_where_nobody_stands() {
    let mut at = At::at_turnstile();
    at.ticket().attention = "concession card".into();
    assert_eq!(at.reason(), Some(Reason::SeeStaff));
    at.gate = gate("east", false);
    assert_eq!(at.reason(), None);
}

#[test]
fn a_used_ticket_says_when_and_where_and_how_many_remain() {
    let mut at = At::new();
    at.enter(NINE - 60);
    let Some(Refusal {
        reason,
        detail: Some(Detail::Used {
            last: Some(last),
            remaining,
        }),
    }) = at.refusal()
    else {
        panic!("{:?}", at.refusal())
    };
    assert_eq!((reason, remaining), (Reason::AlreadyUsed, 0));
    assert_eq!(
        (last.at, last.gate_id),
        (EpochSeconds(NINE - 60).millis(), id("west"))
    );
}

#[test]
fn an_exit_gives_the_admission_back_only_where_the_session_says_so() {
    let mut at = At::new();
    at.enter(NINE - 60);
    at.move_at(NINE - 30, Way::Exit);
    assert_eq!(at.reason(), Some(Reason::AlreadyUsed));
    at.session.reentry = Reentry::AfterExit;
    assert_eq!(at.reason(), None);
    at.entered.pop();
    at.session.reentry = Reentry::Free;
    assert_eq!(at.reason(), None);
}

#[test]
fn a_strict_gate_that_can_ask_nobody_is_isolated() {
    let mut at = At {
        reachable: false,
        ..At::new()
    };
    assert_eq!(at.reason(), None);
    at.venue.policy.staffed.isolation = Isolation::Strict;
    assert_eq!(at.reason(), Some(Reason::Isolated));
    at.reachable = true;
    assert_eq!(at.reason(), None);
}

#[test]
fn an_exit_opens_for_whatever_an_entrance_refuses_but_not_for_a_souvenir() {
    let mut at = At::new();
    at.gate.direction = Direction::Out;
    at.ticket().status = TicketStatus::Blocked;
    at.now.trust = Trust::Untrusted;
    assert_eq!(at.reason(), None);
    assert!(
        at.judged().genuine,
        "a verified, listed ticket counts as an exit"
    );
    at.code = b"6901234567892".to_vec();
    assert_eq!(at.reason(), Some(Reason::Malformed));
}

#[test]
fn a_forged_code_opens_an_exit_and_counts_for_nobody() {
    let mut at = At::new();
    at.gate.direction = Direction::Out;
    let forger = stile_core::keys::CodeSigningKey::from_seed(&[99; 32]);
    let payload = at.venue.payload(at.ticket.as_ref().unwrap(), NINE);
    at.code = stile_core::codes::g2::mint(&forger, &payload)
        .unwrap()
        .into_bytes();
    assert_eq!(at.reason(), None);
    assert!(!at.judged().genuine);
}

#[test]
fn the_first_row_that_applies_is_the_answer() {
    let mut at = At::at_turnstile();
    at.enter(NINE - 60);
    let used = at.reason();
    at.ticket().attention = "concession card".into();
    let attention = at.reason();
    at.ticket().last_four = stile_core::ids::LastFour::new(1);
    let mismatch = at.reason();
    at.ticket().admit_until = Some(EpochSeconds(NINE));
    let late = at.reason();
    at.ticket().zones = vec![id("vip")];
    let gate = at.reason();
    at.ticket_day.day_until = EpochSeconds(NINE);
    let day = at.reason();
    at.ticket().status = TicketStatus::Pending;
    let pending = at.reason();
    at.ticket().standing = Standing::Deleted;
    let cancelled = at.reason();
    at.ticket().status = TicketStatus::Blocked;
    let blocked = at.reason();
    at.ticket().revision = 1;
    let superseded = at.reason();
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE);
    let stale = at.reason();
    let order: Vec<_> = [
        stale, superseded, blocked, cancelled, pending, day, gate, late, mismatch, attention, used,
    ]
    .into_iter()
    .map(|reason| reason.unwrap().row())
    .collect();
    assert!(order.is_sorted() && order.first() == Some(&10), "{order:?}");
}

#[test]
fn explaining_names_every_row_up_to_the_one_that_refused() {
    let at = At::new();
    let tried = at.asked(|question| explain(question).1);
    assert_eq!(tried.len(), 20);
    assert!(tried.iter().all(|one| one.refusal.is_none()));
    assert!(
        tried.iter().all(|one| !one.saw.is_empty()),
        "each says what it compared"
    );
    let mut at = At::new();
    at.ticket().status = TicketStatus::Blocked;
    let tried = at.asked(|question| explain(question).1);
    let last = tried.last().unwrap();
    assert_eq!(
        (last.row, &last.refusal),
        (12, &Some(Reason::Blocked.into()))
    );
    assert_eq!(last.saw, [("status", "blocked".to_owned())]);
}

#[test]
fn explaining_says_what_the_window_was_compared_with() {
    let mut at = At::new();
    at.ticket().admit_until = Some(EpochSeconds(NINE));
    let tried = at.asked(|question| explain(question).1);
    let last = tried.last().unwrap();
    assert_eq!(last.row, 17);
    let expected = [
        ("now", (NINE * 1000).to_string()),
        ("admit from", (NINE - 1800).to_string()),
        ("admit until", NINE.to_string()),
    ];
    assert_eq!(last.saw, expected);
}

#[test]
fn what_is_waived_is_named_and_the_next_reason_stands() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Cancelled;
    at.enter(NINE - 60);
    at.waived = vec![Reason::Cancelled];
    assert_eq!(at.reason(), Some(Reason::AlreadyUsed));
    assert_eq!(at.judged().waived, [Reason::Cancelled]);
    at.waived = vec![Reason::AlreadyUsed, Reason::Cancelled, Reason::WrongDay];
    assert_eq!(at.reason(), None);
    assert_eq!(
        at.judged().waived,
        [Reason::Cancelled, Reason::AlreadyUsed],
        "only what stood against it"
    );
}

#[test]
fn what_nobody_may_waive_stands_although_it_is_named() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Blocked;
    at.waived = Reason::ALL.to_vec();
    assert_eq!(at.reason(), Some(Reason::Blocked));
    let mut at = At::new();
    at.waived = Reason::ALL.to_vec();
    at.venue.code_key = stile_core::keys::CodeSigningKey::from_seed(&[9; 32]);
    assert_eq!(at.reason(), Some(Reason::BadSignature));
}

#[test]
fn a_venue_may_shorten_the_list_of_what_is_waived() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Cancelled;
    at.waived = vec![Reason::Cancelled];
    at.venue.policy.waivable = Some(vec![Reason::TooLate]);
    assert_eq!(at.reason(), Some(Reason::Cancelled));
}

#[test]
fn not_listed_is_waived_for_a_verified_g2_code_alone() {
    let mut at = At::at_turnstile();
    at.ticket = None;
    assert_eq!(at.reason(), Some(Reason::NotListed));
    at.waived = vec![Reason::NotListed];
    assert_eq!(at.flags(), [Flag::Unlisted]);
    let mut v1 = At::at_turnstile().v1();
    v1.ticket = None;
    v1.waived = vec![Reason::NotListed];
    assert_eq!(v1.reason(), Some(Reason::NotListed));
}

#[test]
fn a_code_is_judged_by_the_time_at_which_it_was_read() {
    let mut at = At::new().g3();
    at.read_at = Some(at.now);
    at.now.at = at.now.at.plus(119_000);
    assert_eq!(at.reason(), None);
    at.read_at = None;
    assert_eq!(at.reason(), Some(Reason::CodeExpired));
}

#[test]
fn a_look_up_needs_no_code_and_is_judged_by_every_other_row() {
    let mut at = At::new();
    at.code = b"nothing was read".to_vec();
    at.look_up = Some(None);
    assert_eq!(at.reason(), None);
    at.ticket().status = TicketStatus::Pending;
    assert_eq!(at.reason(), Some(Reason::NotConfirmed));
    at.ticket = None;
    assert_eq!(at.reason(), Some(Reason::NotListed));
}

#[test]
fn a_look_up_of_another_person_is_an_identity_mismatch() {
    let mut at = At::new();
    at.look_up = Some(LastFour::new(5678));
    assert_eq!(at.reason(), None);
    at.look_up = Some(LastFour::new(8765));
    assert_eq!(at.reason(), Some(Reason::IdentityMismatch));
}

#[test]
fn more_persons_than_remain_are_told_how_many_do() {
    let mut at = At::new();
    at.ticket().admits = 4;
    at.persons = 5;
    let Some(Detail::Used { remaining, .. }) = at.refusal().unwrap().detail else {
        panic!("no word on how many remain");
    };
    assert_eq!(remaining, 4);
    at.persons = 4;
    assert_eq!(at.reason(), None);
}

#[test]
fn a_v1_code_of_the_shared_key_is_as_good_as_the_server_says() {
    let mut at = At::new().v1();
    at.venue.policy.v1_key = V1Key::Shared;
    at.server_says_genuine = Some(true);
    assert_eq!(at.flags(), []);
    at.server_says_genuine = Some(false);
    assert_eq!(at.reason(), Some(Reason::BadSignature));
    at.server_says_genuine = None;
    assert_eq!(at.flags(), [Flag::Unverified]);
    at.now.at = EpochSeconds(NINE + 600 + 61).millis();
    assert_eq!(at.reason(), Some(Reason::CodeExpired));
}

#[test]
fn every_reason_has_its_row_and_a_sentence_in_both_languages() {
    use stile_core::reason::Language::{En, ZhCn};
    let rows: Vec<_> = Reason::ALL.iter().map(|reason| reason.row()).collect();
    assert!(rows.is_sorted());
    let named: std::collections::BTreeSet<_> = rows.into_iter().collect();
    assert_eq!(named, (1..=22).collect());
    for reason in Reason::ALL {
        assert!(!reason.sentence(En).is_empty() && !reason.sentence(ZhCn).is_empty());
        assert_ne!(reason.sentence(En), reason.sentence(ZhCn));
        let json = serde_json::to_string(reason).unwrap();
        assert_eq!(json, format!("\"{}\"", reason.name()));
    }
}
