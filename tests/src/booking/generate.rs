//! The day's tickets, from a seed. Kinds that are rare in life come in fixed turns, so that a
//! small file has some of each.

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use stile_core::ids::SessionId;
use stile_core::time::EpochSeconds;

use super::{MAIN_ZONE, SPECIAL_ZONE, Timetable, holders};

/// Seconds by which a ticket's own window is moved away from its session's: more than a session
/// admits for.
const MOVED_S: i64 = 3 * 3600;
/// Seconds by which a wide window is wider than its session's, on either side.
const WIDER_S: i64 = 3600;
/// The share of the day's tickets that is for the slot that admits now: the rush hour.
const BUSY_SHARE: f64 = 0.25;
/// The share of tickets that carry an order code of the booking system's own.
const CODE_SHARE: f64 = 0.2;

/// What is special about a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing.
    Plain,
    /// Cancelled, with a cause.
    Cancelled(&'static str),
    /// Not paid yet.
    Pending,
    /// Reported stolen.
    Blocked,
    /// Something for a guard to look at.
    Marked(&'static str),
    /// Opens the special exhibition only.
    SpecialOnly,
    /// Opens the special exhibition as well.
    SpecialToo,
    /// Has an admission window of its own.
    OwnWindow(Window),
}

/// How a ticket's own window lies to its session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// Around it.
    Wider,
    /// Before it.
    Earlier,
    /// After it.
    Later,
}

/// One ticket as the booking system has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The booking system's id of the ticket.
    pub ticket_id: String,
    /// The order that it belongs to.
    pub order_number: String,
    /// Its session.
    pub session_id: SessionId,
    /// The holder's name, in full.
    pub holder_name: String,
    /// The holder's phone, in full.
    pub phone: String,
    /// Persons.
    pub admits: u8,
    /// What is special about it.
    pub kind: Kind,
    /// The code printed on it, where the booking system has codes of its own.
    pub code: Option<String>,
    /// Its own admission window, if it has one.
    pub window: Option<(EpochSeconds, EpochSeconds)>,
    /// Seat, if it has one.
    pub label: String,
    /// The channel it was booked by.
    pub source: &'static str,
    /// The holder's age group.
    pub age_group: &'static str,
}

/// A timetable and the tickets sold for it.
#[derive(Debug, Clone)]
pub struct BookingDay {
    /// The sessions.
    pub timetable: Timetable,
    /// The tickets, in the order of the file.
    pub tickets: Vec<Order>,
}

impl BookingDay {
    /// So many tickets from a seed.
    pub fn generate(timetable: Timetable, count: usize, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut tickets: Vec<Order> = Vec::with_capacity(count);
        for index in 0..count {
            let ticket = one(&timetable, index, &mut random, tickets.last());
            tickets.push(ticket);
        }
        Self { timetable, tickets }
    }

    /// The window in which a ticket admits: its own, else its session's.
    pub fn window(&self, ticket: &Order) -> Option<(EpochSeconds, EpochSeconds)> {
        let session = self.timetable.session(&ticket.session_id)?;
        Some(ticket.window.unwrap_or_else(|| session.admits()))
    }
}

fn one(
    timetable: &Timetable,
    index: usize,
    random: &mut ChaCha8Rng,
    before: Option<&Order>,
) -> Order {
    let kind = kind(index);
    let session = session(timetable, index, random);
    let (from, until) = session.admits();
    let moved = |by_from: i64, by_until: i64| {
        Some((
            EpochSeconds(from.0 + by_from),
            EpochSeconds(until.0 + by_until),
        ))
    };
    let window = match kind {
        Kind::OwnWindow(Window::Wider) => moved(-WIDER_S, WIDER_S),
        Kind::OwnWindow(Window::Earlier) => moved(-MOVED_S, -MOVED_S),
        Kind::OwnWindow(Window::Later) => moved(MOVED_S, MOVED_S),
        _ => None,
    };
    let date = session.day.strftime("%Y%m%d");
    let code = random.random_bool(CODE_SHARE).then(|| {
        format!(
            "MUS{date}{}",
            uuid::Builder::from_random_bytes(random.random()).as_uuid()
        )
    });
    let same_order = before.filter(|_| random.random_bool(0.3));
    Order {
        ticket_id: ticket_id(index, random),
        order_number: match same_order {
            Some(before) => before.order_number.clone(),
            None => format!("MO{date}{index:07}"),
        },
        session_id: session.session_id.clone(),
        holder_name: holders::name(random),
        phone: holders::phone(random),
        admits: *[1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 30]
            .choose(random)
            .unwrap_or(&1),
        kind,
        code,
        window,
        label: match random.random_bool(0.1) {
            true => format!(
                "A-{}-{}",
                random.random_range(1..30),
                random.random_range(1..40)
            ),
            false => String::new(),
        },
        source: ["wechat", "ota", "counter", "website"]
            .choose(random)
            .unwrap_or(&"website"),
        age_group: ["adult", "adult", "adult", "child", "senior"]
            .choose(random)
            .unwrap_or(&"adult"),
    }
}

/// Of 200 tickets in a row, so many of each kind.
fn kind(index: usize) -> Kind {
    match index % 200 {
        0 | 40 | 80 => Kind::Cancelled("visitor"),
        20 | 60 => Kind::Cancelled("refunded"),
        100 => Kind::Cancelled("expired"),
        120 => Kind::Cancelled("operator"),
        5 | 55 | 105 | 155 => Kind::Pending,
        10 => Kind::Blocked,
        15 | 115 => Kind::Marked("学生证 / student card"),
        65 | 165 => Kind::Marked("VIP"),
        25 | 75 | 125 | 175 => Kind::SpecialOnly,
        30 | 130 => Kind::SpecialToo,
        35 | 135 => Kind::OwnWindow(Window::Wider),
        45 => Kind::OwnWindow(Window::Earlier),
        145 => Kind::OwnWindow(Window::Later),
        _ => Kind::Plain,
    }
}

/// A session: the one that admits now, or any other of the three days.
fn session<'t>(timetable: &'t Timetable, index: usize, random: &mut ChaCha8Rng) -> &'t super::Slot {
    let any_slot = timetable.slots.choose(random).unwrap_or(timetable.busy());
    let rush = random.random_bool(BUSY_SHARE);
    match index % 100 {
        1 | 33 | 61 => &timetable.night,
        2 => &timetable.called_off,
        3 => &timetable.day_before,
        4 | 34 => &timetable.day_after,
        6 => &timetable.next_week,
        _ if rush => timetable.busy(),
        _ => any_slot,
    }
}

/// Ids as booking systems have them: long numbers, UUIDs, and such with `-` in them.
fn ticket_id(index: usize, random: &mut ChaCha8Rng) -> String {
    match index % 10 {
        0 | 1 => uuid::Builder::from_random_bytes(random.random())
            .as_uuid()
            .to_string(),
        2 => format!("WX-{:04}-{index:06}", random.random_range(0..10_000)),
        _ => (1_790_000_000_000_000_000 + index as u64 * 1_000 + random.random_range(0..1_000))
            .to_string(),
    }
}

impl Kind {
    /// The column `status`; empty where the booking system says nothing of it.
    pub fn status(self) -> &'static str {
        match self {
            Self::Cancelled(_) => "cancelled",
            Self::Pending => "pending",
            Self::Blocked => "blocked",
            _ => "valid",
        }
    }

    /// The column `cancel_cause`.
    pub fn cancel_cause(self) -> &'static str {
        match self {
            Self::Cancelled(cause) => cause,
            _ => "",
        }
    }

    /// The column `zones`; empty means those of the session.
    pub fn zones(self) -> String {
        match self {
            Self::SpecialOnly => SPECIAL_ZONE.to_owned(),
            Self::SpecialToo => format!("{MAIN_ZONE} {SPECIAL_ZONE}"),
            _ => String::new(),
        }
    }

    /// The column `attention`.
    pub fn attention(self) -> &'static str {
        match self {
            Self::Marked(what) => what,
            _ => "",
        }
    }

    /// The column `category`.
    pub fn category(self) -> &'static str {
        match self {
            Self::SpecialOnly | Self::SpecialToo => "special",
            Self::Marked(_) => "concession",
            _ => "standard",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jiff::tz::TimeZone;

    use super::super::Door;
    use super::*;

    fn day(at: &str, count: usize, seed: u64) -> BookingDay {
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let timetable = Timetable::around(at.parse().unwrap(), zone).unwrap();
        BookingDay::generate(timetable, count, seed)
    }

    #[test]
    fn the_same_seed_gives_the_same_tickets_and_another_seed_others() {
        let at = "2026-10-01T10:10:00+08:00";
        assert_eq!(day(at, 500, 7).tickets, day(at, 500, 7).tickets);
        assert_ne!(day(at, 500, 7).tickets, day(at, 500, 8).tickets);
    }

    #[test]
    fn no_two_tickets_share_an_id_or_a_code() {
        let day = day("2026-10-01T10:10:00+08:00", 20_000, 1);
        let ids: HashSet<_> = day.tickets.iter().map(|ticket| &ticket.ticket_id).collect();
        assert_eq!(ids.len(), day.tickets.len());
        let codes: Vec<_> = day
            .tickets
            .iter()
            .filter_map(|ticket| ticket.code.as_ref())
            .collect();
        assert_eq!(codes.iter().collect::<HashSet<_>>().len(), codes.len());
        assert!(codes.iter().all(|code| code.len() == 47));
    }

    #[test]
    fn a_thousand_tickets_have_some_of_each_kind() {
        let day = day("2026-10-01T10:10:00+08:00", 1_000, 1);
        for index in 0..200 {
            assert!(
                day.tickets
                    .iter()
                    .filter(|ticket| ticket.kind == kind(index))
                    .count()
                    >= 5
            );
        }
    }

    #[test]
    fn at_any_hour_a_file_has_tickets_for_every_answer() {
        use stile_core::reason::Reason::*;
        let door = Door {
            zones: &[MAIN_ZONE],
            unattended: true,
        };
        let midnight: jiff::Timestamp = "2026-10-01T00:00:00+08:00".parse().unwrap();
        for hour in 0..24 {
            let now = midnight.as_second() + hour * 3_600 + 45 * 60;
            let at = jiff::Timestamp::from_second(now).unwrap().to_string();
            let day = day(&at, 5_000, 1);
            let count = |reason: Option<stile_core::reason::Reason>, has_code: bool| {
                let fits = |ticket: &&Order| {
                    let answer = day.expected(ticket, door, EpochSeconds(now), 0);
                    answer == reason && (ticket.code.is_some() || !has_code)
                };
                day.tickets.iter().filter(fits).count()
            };
            for reason in [
                NotListed,
                Blocked,
                Cancelled,
                NotConfirmed,
                WrongDay,
                WrongGate,
                TooEarly,
                TooLate,
            ] {
                assert!(count(Some(reason), false) >= 3, "{at}: {reason}");
            }
            assert!(count(Some(SeeStaff), true) >= 2, "{at}");
            assert!(
                count(None, false) >= 700 && count(None, true) >= 100,
                "{at}"
            );
        }
    }

    #[test]
    fn a_window_moved_from_its_session_never_holds_a_moment_of_it() {
        let day = day("2026-10-01T10:10:00+08:00", 1_000, 1);
        for ticket in &day.tickets {
            let (from, until) = day.timetable.session(&ticket.session_id).unwrap().admits();
            match (ticket.kind, ticket.window.unwrap_or((from, until))) {
                (Kind::OwnWindow(Window::Earlier), (_, own_until)) => assert!(own_until <= from),
                (Kind::OwnWindow(Window::Later), (own_from, _)) => assert!(until <= own_from),
                _ => {}
            }
        }
    }
}
