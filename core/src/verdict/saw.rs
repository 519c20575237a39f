//! What each row looked at, for `explain`: the values that it compared, each with its name. Holds
//! no text of a code and no key.

use super::judge::Judge;
use super::ticket_rows::zones_of;
use crate::codes::{Code, CodeRules};
use crate::ids::Zone;
use crate::policy::V1Key;
use crate::ticket::{Standing, Ticket};
use crate::time::{EpochMillis, EpochSeconds};

/// Named values, in the order in which they are read.
type Saw = Vec<(&'static str, String)>;

/// What a row compared. Times are epoch seconds, moments epoch ms.
pub(super) fn saw(judge: &Judge<'_>, row: u8) -> Saw {
    match row {
        1 => vec![("shape", shape(judge))],
        2 => vec![
            ("format", shape(judge)),
            ("accepted", listed(&judge.question.policy.formats)),
        ],
        3 => key(judge),
        4 => signature(judge),
        5 => vec![(
            "key of",
            match judge.key {
                Some(key) if key.is_sister => "a sister venue".into(),
                Some(_) => "this venue".into(),
                None => "nobody: this format names no key".into(),
            },
        )],
        6 => vec![
            ("clock", lower(judge.question.now.trust)),
            ("unanchored", lower(judge.policy.clock_unanchored)),
        ],
        7 => own_window(judge),
        9 => not_listed(judge),
        10 => stale(judge),
        11 => vec![
            ("code's revision", or_none(judge.code_revision())),
            (
                "list's revision",
                of_ticket(judge, |t| t.revision.to_string()),
            ),
        ],
        12 | 14 => vec![("status", of_ticket(judge, |t| lower(t.status)))],
        13 => cancelled(judge),
        15 => day(judge),
        16 => vec![
            ("gate's zones", zones(&judge.question.gate.zones)),
            (
                "ticket's zones",
                judge
                    .question
                    .listed
                    .map_or_else(unlisted, |one| zones(zones_of(&one))),
            ),
        ],
        17 => window(judge),
        18 => vec![
            ("digits said", or_none(judge.digits_said())),
            (
                "list's digits",
                or_none(judge.ticket().and_then(|ticket| ticket.last_four)),
            ),
        ],
        19 => vec![
            ("attention", of_ticket(judge, |t| or_nothing(&t.attention))),
            ("unattended", judge.question.gate.unattended.to_string()),
        ],
        20 => used(judge),
        21 => vec![
            ("isolation", lower(judge.policy.isolation)),
            ("can be asked", judge.question.reachable.to_string()),
        ],
        _ => Vec::new(),
    }
}

fn shape(judge: &Judge<'_>) -> String {
    judge
        .code()
        .map_or_else(|| "none".into(), |code| code.format().to_string())
}

fn key(judge: &Judge<'_>) -> Saw {
    let Some(payload) = judge.code().and_then(Code::payload) else {
        return vec![("key", "none: this format names none".into())];
    };
    vec![
        ("venue number", payload.venue_number.0.to_string()),
        ("kid", payload.kid.0.to_string()),
        ("issued at", payload.issued_at.0.to_string()),
    ]
}

fn signature(judge: &Judge<'_>) -> Saw {
    match judge.code() {
        Some(Code::V1(_)) => vec![
            ("listed", judge.ticket().is_some().to_string()),
            (
                "verified by",
                match (
                    judge.question.policy.v1_key,
                    judge.question.server_says_genuine,
                ) {
                    (V1Key::Derived, _) => "the ticket's key".into(),
                    (V1Key::Shared, Some(_)) => "the server".into(),
                    (V1Key::Shared, None) => {
                        format!("nobody; policy {}", lower(judge.policy.v1_shared_offline))
                    }
                },
            ),
        ],
        Some(Code::G2(_)) => vec![("signature", "Ed25519".into())],
        Some(Code::G3(_)) => vec![
            ("signature", "Ed25519".into()),
            (
                "tag",
                judge
                    .tag
                    .map_or_else(|| "not judged: no key of this revision here".into(), lower),
            ),
        ],
        _ => vec![("signature", "none: known by look-up alone".into())],
    }
}

fn own_window(judge: &Judge<'_>) -> Saw {
    let read_at = judge.question.read_at;
    let CodeRules {
        leeway_s,
        max_ttl_s,
    } = judge.question.policy.codes;
    let mut saw = vec![("read at", format!("{} ± {} ms", read_at.at.0, read_at.u_ms))];
    match judge.code() {
        Some(Code::V1(code)) => {
            saw.push(("expires at", code.expires_at().0.to_string()));
            saw.push(("longest life", format!("{max_ttl_s} s")));
            saw.push(("leeway", format!("{leeway_s} s")));
        }
        Some(Code::G2(code)) => {
            let payload = code.payload();
            saw.push(("issued at", payload.issued_at.0.to_string()));
            saw.push(("life", format!("{} s", u32::from(payload.ttl_5min) * 300)));
            saw.push(("leeway", format!("{leeway_s} s")));
        }
        Some(Code::G3(_)) => saw.push((
            "counter",
            judge.tag.map_or_else(|| "not judged".into(), lower),
        )),
        _ => saw.push(("window", "none of its own".into())),
    }
    saw
}

fn not_listed(judge: &Judge<'_>) -> Saw {
    vec![
        ("listed", judge.ticket().is_some().to_string()),
        ("list of today", judge.has_current_list().to_string()),
        ("unlisted", lower(judge.policy.unlisted)),
        ("unlisted zones", zones(&judge.policy.unlisted_zones)),
    ]
}

fn stale(judge: &Judge<'_>) -> Saw {
    let list = judge.question.list;
    vec![
        ("now", judge.now().0.to_string()),
        (
            "list",
            list.map_or_else(|| "none".into(), |day| day.service_day.to_string()),
        ),
        (
            "not after",
            list.map_or_else(|| "none".into(), |day| day.not_after.0.to_string()),
        ),
        (
            "tolerated",
            format!("{} s", judge.policy.whitelist_stale_admit_s),
        ),
    ]
}

fn cancelled(judge: &Judge<'_>) -> Saw {
    let session = judge.question.listed.and_then(|one| one.session);
    vec![
        ("status", of_ticket(judge, |t| lower(t.status))),
        (
            "standing",
            of_ticket(judge, |t| {
                match t.standing {
                    Standing::Live => "live",
                    Standing::Moved { .. } => "moved",
                    Standing::Deleted => "deleted",
                }
                .into()
            }),
        ),
        (
            "session",
            session.map_or_else(|| "unknown".into(), |session| lower(session.status)),
        ),
    ]
}

fn day(judge: &Judge<'_>) -> Saw {
    let mut saw = vec![("now", judge.now().0.to_string())];
    match &judge.question.listed {
        None => saw.push(("day", unlisted())),
        Some(one) => {
            saw.push(("day", one.day.service_day.to_string()));
            saw.push(("from", one.day.day_from.0.to_string()));
            saw.push(("until", one.day.day_until.0.to_string()));
            if let Standing::Moved {
                service_day,
                session_id,
                ..
            } = &one.ticket.standing
            {
                saw.push(("moved to", format!("{service_day}, {session_id}")));
            }
        }
    }
    saw
}

fn window(judge: &Judge<'_>) -> Saw {
    let times = judge.admission_times();
    let one = |at: Option<EpochSeconds>| or_none(at.map(|at| at.0));
    let now: EpochMillis = judge.now();
    vec![
        ("now", now.0.to_string()),
        ("admit from", one(times.map(|(from, _)| from))),
        ("admit until", one(times.map(|(_, until)| until))),
    ]
}

fn used(judge: &Judge<'_>) -> Saw {
    let fold = judge.question.admissions;
    vec![
        ("checkpoint", judge.question.gate.checkpoint.to_string()),
        ("admits", or_none(judge.admits())),
        ("entered", fold.entered.to_string()),
        ("inside", fold.inside.to_string()),
        ("remaining", judge.remaining().to_string()),
        ("persons", judge.question.persons.to_string()),
    ]
}

fn of_ticket(judge: &Judge<'_>, value: impl FnOnce(&Ticket) -> String) -> String {
    judge.ticket().map_or_else(unlisted, value)
}

fn unlisted() -> String {
    "not listed".into()
}

fn zones(zones: &[Zone]) -> String {
    match zones {
        [] => "any".into(),
        some => listed(some),
    }
}

fn listed(some: &[impl ToString]) -> String {
    let names: Vec<_> = some.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "none".into(), |value| value.to_string())
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() {
        "none".into()
    } else {
        text.into()
    }
}

/// A variant's name as people read it: `NotYet` becomes `not yet`.
fn lower(value: impl std::fmt::Debug) -> String {
    let mut words = String::new();
    for c in format!("{value:?}").chars() {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}
