//! Manual look-up: a visitor whose code cannot be read says an order number, or the last four
//! digits of phone or document, and a name. Finds and shows; admits nobody.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

use super::{Device, Door, TicketShown};
use crate::admissions::fold as fold_admissions;
use crate::clock::Now;
use crate::ids::{Checkpoint, LastFour, OrderNumber, TicketId, TicketNumber};
use crate::journal::{JournalError, MovementsOf};
use crate::ticket::{Gate, Standing, Ticket, TicketStatus};
use crate::time::ServiceDay;
use crate::whitelist::{HeldList, ListError, fits_mask, fold};

/// The fewest characters that a look-up takes: fewer would page through the whole list.
pub const MIN_LOOK_UP: usize = 4;
/// The most tickets in one answer: what a guard can read.
pub const MAX_FOUND: usize = 50;
/// The most rows of one list that a look-up reads while a scan may wait, a few milliseconds.
const MAX_READ: u32 = 2_000;

/// Why nothing is looked up.
#[derive(Debug, thiserror::Error)]
pub enum LookUpError {
    /// Too little to go by.
    #[error("type at least {MIN_LOOK_UP} characters of the order number, or four digits")]
    TooShort,
    /// Nobody stands there who could look.
    #[error("this gate is unattended; tickets are looked up at staffed gates only")]
    Unattended,
    /// A list that cannot be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// The journal, which knows what the tickets did.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A ticket that was found, as the guard sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketFound {
    /// What is shown of every ticket.
    pub shown: TicketShown,
    /// The booking system's id.
    pub ticket_id: TicketId,
    /// Its order.
    pub order_number: OrderNumber,
    /// The day of its session.
    pub service_day: ServiceDay,
    /// Where it stands.
    pub status: TicketStatus,
    /// The ticket itself, or a tombstone.
    pub standing: Standing,
    /// Persons who may still enter by it at this gate's checkpoint, as far as the gate knows.
    pub remaining: u32,
}

/// The answer to a look-up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LookedUp {
    /// Today's before other days', orders before digits; at most [`MAX_FOUND`].
    pub found: Vec<TicketFound>,
    /// There are more: narrow it.
    pub more: bool,
}

/// The tickets of an order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderFound {
    /// By seat, then by ticket id; at most [`MAX_FOUND`].
    pub found: Vec<TicketFound>,
    /// How many more the order has.
    pub more: usize,
}

impl Device {
    /// Looks tickets up by the end of their order number, or by the last four digits of phone or
    /// document, and narrows by name where one is said. Case, width, accents and spaces do not
    /// matter. Staffed gates only.
    pub fn look_up(&self, text: &str, name: &str) -> Result<LookedUp, LookUpError> {
        let wanted = fold(text);
        if wanted.chars().count() < MIN_LOOK_UP {
            return Err(LookUpError::TooShort);
        }
        let (door, now, gate) = self.staffed_door()?;
        let lists = today_first(&door, now);
        let mut answer = LookedUp::default();
        let mut at: HashMap<TicketNumber, usize> = HashMap::new();
        for list in lists {
            let (tickets, cut) = candidates(list, &wanted)?;
            answer.more |= cut;
            for ticket in tickets {
                if !fits_mask(name, &ticket.holder_mask) {
                    continue;
                }
                let number = ticket.number;
                let is_live = ticket.standing == Standing::Live;
                let place = at.get(&number).copied();
                // A live row in any held list beats a tombstone.
                if place
                    .is_some_and(|place| !is_live || answer.found[place].standing == Standing::Live)
                {
                    continue;
                }
                let found = self.found(&door, list, ticket, &gate.checkpoint)?;
                match place {
                    Some(place) => answer.found[place] = found,
                    None if answer.found.len() == MAX_FOUND => answer.more = true,
                    None => {
                        at.insert(number, answer.found.len());
                        answer.found.push(found);
                    }
                }
            }
        }
        Ok(answer)
    }

    /// All tickets of an order that are none's tombstones, by seat. Staffed gates only.
    pub fn look_up_order(&self, order: &OrderNumber) -> Result<OrderFound, LookUpError> {
        let (door, now, gate) = self.staffed_door()?;
        let mut tickets: Vec<(&HeldList, Ticket)> = Vec::new();
        let mut known = HashSet::new();
        for list in today_first(&door, now) {
            for ticket in list.by_order(order)? {
                if ticket.standing == Standing::Live && known.insert(ticket.number) {
                    tickets.push((list, ticket));
                }
            }
        }
        tickets.sort_by(|(_, a), (_, b)| {
            (&a.label, a.ticket_id.as_str()).cmp(&(&b.label, b.ticket_id.as_str()))
        });
        let more = tickets.len().saturating_sub(MAX_FOUND);
        tickets.truncate(MAX_FOUND);
        let found = tickets
            .into_iter()
            .map(|(list, ticket)| self.found(&door, list, ticket, &gate.checkpoint));
        Ok(OrderFound {
            found: found.collect::<Result<_, _>>()?,
            more,
        })
    }

    /// The door as it is now, and its gate, where staff stand at it.
    fn staffed_door(&self) -> Result<(MutexGuard<'_, Door>, Now, Arc<Gate>), LookUpError> {
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        let gate = self.gate(door.list_for(now.at));
        if gate.unattended {
            return Err(LookUpError::Unattended);
        }
        Ok((door, now, gate))
    }

    fn found(
        &self,
        door: &Door,
        list: &HeldList,
        ticket: Ticket,
        checkpoint: &Checkpoint,
    ) -> Result<TicketFound, LookUpError> {
        let session = list.session(&ticket.session_id);
        let day = &list.day().service_day;
        let device = &self.identity.device_id;
        let moved = door.journal.movements(&MovementsOf {
            ticket: ticket.number,
            checkpoint,
            days: &[day],
            undated: (list.day().day_from.millis(), list.day().day_until.millis()),
            device,
        })?;
        let reentry = session.map(|session| session.reentry).unwrap_or_default();
        Ok(TicketFound {
            shown: TicketShown::of(&ticket, session.map(Arc::as_ref)),
            service_day: day.clone(),
            remaining: fold_admissions(ticket.admits, reentry, moved).remaining,
            ticket_id: ticket.ticket_id,
            order_number: ticket.order_number,
            status: ticket.status,
            standing: ticket.standing,
        })
    }
}

/// The lists in hand: today's before other days'.
fn today_first(door: &Door, now: Now) -> Vec<&HeldList> {
    let today = door.list_for(now.at);
    let today = today.map(|list| &list.day().service_day);
    let mut lists: Vec<_> = door.lists.iter().collect();
    lists.sort_by_key(|list| {
        let is_today = Some(&list.day().service_day) == today;
        (!is_today, list.day().not_after)
    });
    lists
}

/// Those whose order ends with the text, then those with its last four digits. Whether there are
/// more than could be read.
fn candidates(list: &HeldList, wanted: &str) -> Result<(Vec<Ticket>, bool), ListError> {
    let full = |tickets: &[Ticket]| tickets.len() >= MAX_READ as usize;
    let mut tickets = list.by_order_end(wanted, MAX_READ)?;
    let mut cut = full(&tickets);
    let is_digits = wanted.bytes().all(|b| b.is_ascii_digit());
    let digits = wanted
        .get(wanted.len().saturating_sub(4)..)
        .filter(|_| is_digits)
        .and_then(LastFour::from_digits);
    if let Some(digits) = digits {
        let by_digits = list.by_digits(digits, MAX_READ)?;
        cut |= full(&by_digits);
        tickets.extend(by_digits);
    }
    Ok((tickets, cut))
}
