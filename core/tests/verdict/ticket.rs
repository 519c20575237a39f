//! Rows 12 to 21: what became of the ticket, its day, its gate, its time, its holder and its
//! admissions.

use stile_core::admissions::Way;
use stile_core::policy::Isolation;
use stile_core::reason::Reason;
use stile_core::ticket::{CancelCause, Reentry, SessionStatus, Standing, TicketStatus};
use stile_core::time::EpochSeconds;
use stile_core::verdict::{Day, Detail, Listed, Question, Refusal, Verdict, verdict};

use crate::at::At;
use crate::common::{NINE, gate, id};

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
        detail:
            Some(Detail::Used {
                last: Some(last),
                remaining,
                ..
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
fn more_persons_than_remain_are_told_how_many_do() {
    let mut at = At::new();
    at.ticket().admits = 4;
    at.persons = 5;
    let Some(Detail::Used {
        remaining, asked, ..
    }) = at.refusal().unwrap().detail
    else {
        panic!("no word on how many remain");
    };
    assert_eq!((remaining, asked), (4, 5));
    at.persons = 4;
    assert_eq!(at.reason(), None);
}
