//! The verdict against a naive model of its table, written from the table alone, on random
//! tickets, gates and times.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{NINE, Venue, gate, id, session};
use proptest::prelude::*;
use stile_core::admissions::Fold;
use stile_core::clock::{Now, Trust};
use stile_core::codes::{Format, parse};
use stile_core::ids::{Kid, LastFour, Zone};
use stile_core::keys::CodeSigningKey;
use stile_core::policy::{Isolation, Leave};
use stile_core::reason::Reason;
use stile_core::ticket::{Direction, SessionStatus, Standing, TicketStatus};
use stile_core::time::EpochSeconds;
use stile_core::verdict::{Asked, Day, Listed, Question, Verdict, verdict};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Noise,
    V1,
    G2,
    G3,
    LookUp,
}

/// What is random. Times are seconds after now, unless they say otherwise.
#[derive(Debug, Clone)]
struct Scene {
    kind: Kind,
    accepted: bool,
    known_key: bool,
    forged: bool,
    trust: Trust,
    unanchored: Leave,
    /// v1: expires at; G2: issued so long ago; G3: made so long ago.
    code_time: i64,
    listed: bool,
    standing: Option<Standing>,
    /// The list's day holds now; the ticket's day does; the list's not_after.
    list: Option<(bool, i64)>,
    ticket_today: bool,
    unlisted: Leave,
    unlisted_vip_only: bool,
    tolerated_s: u32,
    revisions: (u8, u8),
    status: TicketStatus,
    session_cancelled: bool,
    gate_zones: Vec<Zone>,
    ticket_zones: Vec<Zone>,
    own_window: Option<(i64, i64)>,
    session_window: (i64, i64),
    digits: (Option<u16>, Option<u16>),
    attention: bool,
    unattended: bool,
    admits: u8,
    remaining: u32,
    persons: u8,
    strict: bool,
    reachable: bool,
    out: bool,
}

fn leave() -> impl Strategy<Value = Leave> {
    prop_oneof![Just(Leave::Admit), Just(Leave::Refuse)]
}

fn mostly(value: bool) -> impl Strategy<Value = bool> {
    prop::bool::weighted(if value { 0.85 } else { 0.15 })
}

fn zones() -> impl Strategy<Value = Vec<Zone>> {
    prop_oneof![
        1 => Just(vec![]),
        3 => Just(vec![id("main")]),
        1 => Just(vec![id("vip")]),
        1 => Just(vec![id("main"), id("vip")])
    ]
}

fn window() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![
        4 => Just((-600, 600)),
        1 => Just((0, 600)),
        1 => Just((-600, 0)),
        1 => Just((1, 600)),
        1 => (-100..100_i64, -100..100_i64)
    ]
}

fn scene() -> impl Strategy<Value = Scene> {
    let kind = prop_oneof![
        1 => Just(Kind::Noise),
        4 => Just(Kind::V1),
        8 => Just(Kind::G2),
        6 => Just(Kind::G3),
        5 => Just(Kind::LookUp)
    ];
    let trust = prop_oneof![
        6 => Just(Trust::Anchored),
        1 => Just(Trust::Disputed),
        2 => Just(Trust::Unanchored),
        1 => Just(Trust::Untrusted)
    ];
    let standing = prop_oneof![
        8 => Just(Some(Standing::Live)),
        1 => Just(Some(Standing::Deleted)),
        1 => Just(None)
    ];
    let status = prop_oneof![
        8 => Just(TicketStatus::Valid),
        1 => Just(TicketStatus::Pending),
        1 => Just(TicketStatus::Blocked),
        1 => Just(TicketStatus::Cancelled)
    ];
    let code_time = prop_oneof![4 => Just(20_i64), 1 => -100..200_i64, 1 => 900..1_100_i64, 1 => 7_200..7_400_i64];
    let not_after = prop_oneof![4 => Just(3_600_i64), 1 => Just(0_i64), 1 => -4_000..0_i64];
    let list = proptest::option::weighted(0.9, (mostly(true), not_after));
    let digits = || proptest::option::of(1_u16..3);
    let code = (
        kind,
        mostly(true),
        mostly(true),
        mostly(false),
        trust,
        leave(),
        code_time,
    );
    let listing = (
        mostly(true),
        standing,
        list,
        mostly(true),
        (
            leave(),
            any::<bool>(),
            prop_oneof![Just(0_u32), Just(3_600)],
        ),
        (0..3_u8, 0..2_u8),
    );
    let ticket = (
        status,
        mostly(false),
        (zones(), zones()),
        (proptest::option::of(window()), window()),
        (digits(), digits()),
        (mostly(false), any::<bool>()),
        (1..4_u8, 0..4_u32, 1..4_u8),
        (any::<bool>(), any::<bool>(), mostly(false)),
    );
    (code, listing, ticket).prop_map(|(code, listing, ticket)| Scene {
        kind: code.0,
        accepted: code.1,
        known_key: code.2,
        forged: code.3,
        trust: code.4,
        unanchored: code.5,
        code_time: code.6,
        listed: listing.0,
        standing: listing.1,
        list: listing.2,
        ticket_today: listing.3,
        unlisted: listing.4.0,
        unlisted_vip_only: listing.4.1,
        tolerated_s: listing.4.2,
        revisions: listing.5,
        status: ticket.0,
        session_cancelled: ticket.1,
        gate_zones: ticket.2.0,
        ticket_zones: ticket.2.1,
        own_window: ticket.3.0,
        session_window: ticket.3.1,
        digits: ticket.4,
        attention: ticket.5.0,
        unattended: ticket.5.1,
        admits: ticket.6.0,
        remaining: ticket.6.1,
        persons: ticket.6.2,
        strict: ticket.7.0,
        reachable: ticket.7.1,
        out: ticket.7.2,
    })
}

/// The table, read from top to bottom.
fn model(s: &Scene) -> Option<Reason> {
    let signed = matches!(s.kind, Kind::G2 | Kind::G3);
    let has_code = s.kind != Kind::LookUp;
    if s.kind == Kind::Noise {
        return Some(Reason::Malformed);
    }
    if s.out {
        return None;
    }
    let today = s.list.is_some_and(|(today, _)| today);
    let (code_revision, list_revision) = s.revisions;
    // G3 counters count half minutes; the code is as old as it says.
    let counters = NINE.div_euclid(30) - (NINE - s.code_time).div_euclid(30);
    let judges_tag = s.kind == Kind::G3 && s.listed && code_revision == list_revision;
    if has_code {
        if !s.accepted {
            return Some(Reason::FormatNotAccepted);
        }
        if signed && !s.known_key {
            return Some(Reason::UnknownKey);
        }
        if s.kind == Kind::V1 && !s.listed && today {
            return Some(Reason::NotListed);
        }
        if s.forged && (signed || s.listed) {
            return Some(Reason::BadSignature);
        }
        // Taken for another counter, with whose tag it does not verify.
        if judges_tag && !(-128..=127).contains(&-counters) {
            return Some(match s.trust {
                Trust::Anchored | Trust::Disputed => Reason::BadSignature,
                Trust::Unanchored | Trust::Untrusted => Reason::ClockUntrusted,
            });
        }
    }
    match s.trust {
        Trust::Untrusted => return Some(Reason::ClockUntrusted),
        Trust::Unanchored if s.unanchored == Leave::Refuse => return Some(Reason::ClockUntrusted),
        _ => {}
    }
    match s.kind {
        Kind::V1 if s.code_time < -60 => return Some(Reason::CodeExpired),
        Kind::V1 if s.code_time > 7_260 => return Some(Reason::CodeNotYetValid),
        Kind::G2 if s.code_time < -60 => return Some(Reason::CodeNotYetValid),
        Kind::G2 if s.code_time >= 900 + 60 => return Some(Reason::CodeExpired),
        Kind::G3 if judges_tag && counters > 2 => return Some(Reason::CodeExpired),
        Kind::G3 if judges_tag && counters < -1 => return Some(Reason::CodeNotYetValid),
        _ => {}
    }
    let vip_matters = s.unlisted_vip_only && !s.gate_zones.contains(&id("vip"));
    let may_be_unlisted = s.kind == Kind::G2 && s.unlisted == Leave::Admit && !vip_matters;
    let newer_rotating = s.kind == Kind::G3 && s.listed && code_revision > list_revision;
    let not_listed = newer_rotating || (!s.listed && !may_be_unlisted);
    if today && not_listed {
        return Some(Reason::NotListed);
    }
    let fresh = today && s.list.is_some_and(|(_, not_after)| not_after > 0);
    let tolerated = s
        .list
        .is_some_and(|(_, not_after)| not_after + i64::from(s.tolerated_s) > 0);
    if !fresh && !tolerated {
        return Some(Reason::WhitelistStale);
    }
    if not_listed {
        return Some(Reason::NotListed);
    }
    if s.listed {
        let moved = s.standing.is_none();
        let deleted = s.standing == Some(Standing::Deleted);
        if signed && code_revision < list_revision {
            return Some(Reason::Superseded);
        }
        if s.status == TicketStatus::Blocked {
            return Some(Reason::Blocked);
        }
        if deleted || s.status == TicketStatus::Cancelled || (s.session_cancelled && !moved) {
            return Some(Reason::Cancelled);
        }
        if s.status == TicketStatus::Pending {
            return Some(Reason::NotConfirmed);
        }
        if moved || !s.ticket_today {
            return Some(Reason::WrongDay);
        }
        let opens = if s.ticket_zones.is_empty() {
            vec![id("main")]
        } else {
            s.ticket_zones.clone()
        };
        let shared = s.gate_zones.iter().any(|zone| opens.contains(zone));
        if !s.gate_zones.is_empty() && !shared {
            return Some(Reason::WrongGate);
        }
        let (from, until) = s.own_window.unwrap_or(s.session_window);
        if from > 0 {
            return Some(Reason::TooEarly);
        }
        if until <= 0 {
            return Some(Reason::TooLate);
        }
        let said = (signed || s.kind == Kind::LookUp)
            .then_some(s.digits.0)
            .flatten();
        if let (Some(said), Some(known)) = (said, s.digits.1)
            && said != known
        {
            return Some(Reason::IdentityMismatch);
        }
        if s.attention && s.unattended {
            return Some(Reason::SeeStaff);
        }
    }
    if u32::from(s.persons) > s.remaining {
        return Some(Reason::AlreadyUsed);
    }
    (s.strict && !s.reachable).then_some(Reason::Isolated)
}

fn day(today: bool, not_after: i64) -> Day {
    let from = if today { NINE - 3_600 } else { NINE - 90_000 };
    Day {
        service_day: id("2026-10-01"),
        day_from: EpochSeconds(from),
        day_until: EpochSeconds(from + 7_200),
        not_after: EpochSeconds(NINE + not_after),
    }
}

fn reason(s: &Scene) -> Option<Reason> {
    let mut venue = Venue::new();
    let mut ticket = venue.ticket("A1");
    let (code_revision, list_revision) = s.revisions;
    ticket.last_four = s.digits.0.and_then(LastFour::new);
    ticket.revision = code_revision;
    let forger = CodeSigningKey::from_seed(&[9; 32]);
    let honest = std::mem::replace(&mut venue.code_key, forger);
    if !s.forged {
        venue.code_key = honest;
    }
    let text = match s.kind {
        Kind::Noise => "no code".into(),
        Kind::LookUp => String::new(),
        Kind::V1 => {
            let mut signer = ticket.clone();
            // v1 keys follow the list's revision; a forged one binds other digits.
            signer.revision = list_revision;
            signer.last_four = match s.forged {
                true => LastFour::new(9_999),
                false => s.digits.1.and_then(LastFour::new),
            };
            venue.v1(&signer, NINE + s.code_time)
        }
        Kind::G2 => {
            let mut payload = venue.payload(&ticket, NINE - s.code_time);
            payload.kid = Kid(if s.known_key { 1 } else { 7 });
            stile_core::codes::g2::mint(&venue.code_key, &payload).unwrap()
        }
        Kind::G3 => {
            let mut payload = venue.payload(&ticket, NINE - 86_400);
            payload.ttl_5min = 0;
            payload.kid = Kid(if s.known_key { 1 } else { 7 });
            let signed = stile_core::codes::g3::sign(&venue.code_key, &payload).unwrap();
            let key = venue
                .issuer
                .rotation_key(&venue.venue_id, ticket.number, code_revision);
            stile_core::codes::g3::rotate(&signed, &key, EpochSeconds(NINE - s.code_time))
        }
    };
    let keys = Venue::new().key_ring();
    ticket.last_four = s.digits.1.and_then(LastFour::new);
    ticket.revision = list_revision;
    let issuer = &venue.issuer;
    ticket.ticket_key = Some(issuer.ticket_key(&venue.venue_id, &ticket.ticket_id, list_revision));
    ticket.rotation_key = Some(issuer.rotation_key(&venue.venue_id, ticket.number, list_revision));
    ticket.status = s.status;
    ticket.standing = s.standing.clone().unwrap_or(Standing::Moved {
        session_id: id("pm"),
        service_day: id("2026-10-02"),
        admit_from: EpochSeconds(NINE),
    });
    ticket.zones.clone_from(&s.ticket_zones);
    ticket.admits = s.admits;
    if s.attention {
        ticket.attention = "student card".into();
    }
    let at = |second: i64| EpochSeconds(NINE + second);
    if let Some((from, until)) = s.own_window {
        (ticket.admit_from, ticket.admit_until) = (Some(at(from)), Some(at(until)));
    }
    let mut session = session("am");
    (session.admit_from, session.admit_until) = (at(s.session_window.0), at(s.session_window.1));
    if s.session_cancelled {
        session.status = SessionStatus::Cancelled;
    }
    let mut gate = gate("east", s.unattended);
    gate.zones.clone_from(&s.gate_zones);
    if s.out {
        gate.direction = Direction::Out;
    }
    if !s.accepted {
        venue.policy.formats = vec![Format::Opaque];
    }
    let policy = match s.unattended {
        true => &mut venue.policy.unattended,
        false => &mut venue.policy.staffed,
    };
    policy.clock_unanchored = s.unanchored;
    policy.unlisted = s.unlisted;
    policy.whitelist_stale_admit_s = s.tolerated_s;
    if s.unlisted_vip_only {
        policy.unlisted_zones = vec![id("vip")];
    }
    if s.strict {
        policy.isolation = Isolation::Strict;
    }
    let now = Now {
        at: EpochSeconds(NINE).millis(),
        u_ms: 0,
        trust: s.trust,
    };
    let code = parse(text.as_bytes(), &venue.policy.shapes()).ok();
    let (list, ticket_day) = (
        s.list.map(|(today, not_after)| day(today, not_after)),
        day(s.ticket_today, 0),
    );
    let judged = verdict(&Question {
        asked: match (s.kind, &code) {
            (Kind::LookUp, _) => Asked::LookUp {
                last_four: s.digits.0.and_then(LastFour::new),
            },
            (_, Some(code)) => Asked::Code(code),
            (_, None) => Asked::NoCode,
        },
        server_says_genuine: None,
        keys: &keys,
        policy: &venue.policy,
        gate: &gate,
        list: list.as_ref(),
        listed: s.listed.then_some(Listed {
            ticket: &ticket,
            session: Some(&session),
            day: &ticket_day,
        }),
        admissions: &Fold {
            remaining: s.remaining,
            ..Fold::default()
        },
        persons: s.persons,
        reachable: s.reachable,
        now,
        read_at: now,
        waived: &[],
    });
    match judged.verdict {
        Verdict::Admit(_) => None,
        Verdict::Refuse(refusal) => Some(refusal.reason),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_verdict_is_what_the_table_says(scene in scene()) {
        prop_assert_eq!(reason(&scene), model(&scene));
    }
}
