//! What a gate must answer to a genuine and fresh code of a ticket: the gate rules once more, in
//! plain words over the booking system's own data, to hold the gates' answers against.

use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;

use super::{BookingDay, Kind, MAIN_ZONE, Order};

/// A gate, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Door {
    /// The zones that it admits to.
    pub zones: &'static [&'static str],
    /// Whether nobody stands at it.
    pub unattended: bool,
}

impl BookingDay {
    /// Why the gate must refuse a ticket's code that names the ticket by its id or by an opaque
    /// code; `None` if it must admit. `admitted` is how many persons this gate knows to have
    /// entered with the ticket already.
    pub fn expected(
        &self,
        ticket: &Order,
        door: Door,
        now: EpochSeconds,
        admitted: u32,
    ) -> Option<Reason> {
        let times = &self.timetable;
        let Some(session) = times.session(&ticket.session_id) else {
            return Some(Reason::NotListed);
        };
        let (from, until) = self.window(ticket).unwrap_or_else(|| session.admits());
        let opens = match ticket.kind.zones() {
            zones if zones.is_empty() => MAIN_ZONE.to_owned(),
            zones => zones,
        };
        let refusals = [
            (session.day == times.next_week.day, Reason::NotListed),
            (ticket.kind == Kind::Blocked, Reason::Blocked),
            (matches!(ticket.kind, Kind::Cancelled(_)), Reason::Cancelled),
            (
                session.session_id == times.called_off.session_id,
                Reason::Cancelled,
            ),
            (ticket.kind == Kind::Pending, Reason::NotConfirmed),
            (session.day != times.day, Reason::WrongDay),
            (
                !opens.split(' ').any(|zone| door.zones.contains(&zone)),
                Reason::WrongGate,
            ),
            (now < from, Reason::TooEarly),
            (now >= until, Reason::TooLate),
            (
                door.unattended && matches!(ticket.kind, Kind::Marked(_)),
                Reason::SeeStaff,
            ),
            (admitted >= u32::from(ticket.admits), Reason::AlreadyUsed),
        ];
        refusals
            .into_iter()
            .find(|(holds, _)| *holds)
            .map(|(_, reason)| reason)
    }
}
