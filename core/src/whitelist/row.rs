//! The bytes of one row of a list: fixed order, big endian, length-prefixed. They are what is
//! digested, what travels, and what a gate stores.
//!
//! ```text
//! 1   layout, 0x02
//! 1   standing: 1 live, 2 moved, 3 deleted
//! 8   ticket number
//! 1+n ticket id
//! 1+n order number
//! 1+n session id
//! 1   number of zones, each 1+n
//! 2+n label
//! 2+n holder mask
//! 2   last four digits, 0 … 9999, 0xFFFF none
//! 1   what they are of: 0 nothing, 1 phone, 2 document
//! 2+n category
//! 2+n attention
//! 2+n source
//! 2+n age group
//! 1   admits
//! 1   status: 1 pending, 2 valid, 3 blocked, 4 cancelled
//! 1   cancel cause: 0 none, 1 visitor, 2 operator, 3 refunded, 4 expired, 5 session cancelled
//! 1   revision
//! 8   own admit_from, epoch s, i64; 0x7FFF… none
//! 8   own admit_until, likewise
//! 1+n K_t, 0 or 32 bytes
//! 1+n K_r, 0 or 32 bytes
//! 1   number of opaque hashes, each 16
//! 1   number of document hashes, each 5
//! if moved: 1+n session id, 10 service day, 8 admit_from of it
//! ```

use crate::ids::{LastFour, OrderNumber, SessionId, TicketId, TicketNumber, Zone};
use crate::keys::{RotationKey, TicketKey};
use crate::ticket::{CancelCause, DigitsOf, Standing, Ticket, TicketStatus};
use crate::time::{EpochSeconds, ServiceDay};

/// Longest row, in bytes: every field at its longest that the import takes, with room.
pub const MAX_ROW_BYTES: usize = 8192;

const LAYOUT: u8 = 2;
const NO_DIGITS: u16 = 0xFFFF;
const NO_TIME: i64 = i64::MAX;

/// Why bytes are no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the row's {0} cannot be read")]
pub struct RowError(&'static str);

/// The bytes of a ticket's row. Fields longer than their length prefix are cut at it; the import
/// admits none.
pub fn encode(ticket: &Ticket) -> Vec<u8> {
    let mut row = Vec::with_capacity(256);
    row.push(LAYOUT);
    row.push(match ticket.standing {
        Standing::Live => 1,
        Standing::Moved { .. } => 2,
        Standing::Deleted => 3,
    });
    row.extend(ticket.number.get().to_be_bytes());
    put_short(&mut row, ticket.ticket_id.as_str().as_bytes());
    put_short(&mut row, ticket.order_number.as_str().as_bytes());
    put_short(&mut row, ticket.session_id.as_str().as_bytes());
    let zones = &ticket.zones[..ticket.zones.len().min(255)];
    row.push(zones.len() as u8);
    for zone in zones {
        put_short(&mut row, zone.as_str().as_bytes());
    }
    put_long(&mut row, &ticket.label);
    put_long(&mut row, &ticket.holder_mask);
    row.extend(
        ticket
            .last_four
            .map_or(NO_DIGITS, LastFour::get)
            .to_be_bytes(),
    );
    row.push(match ticket.last_four_of {
        None => 0,
        Some(DigitsOf::Phone) => 1,
        Some(DigitsOf::Document) => 2,
    });
    put_long(&mut row, &ticket.category);
    put_long(&mut row, &ticket.attention);
    put_long(&mut row, &ticket.source);
    put_long(&mut row, &ticket.age_group);
    row.push(ticket.admits);
    row.push(match ticket.status {
        TicketStatus::Pending => 1,
        TicketStatus::Valid => 2,
        TicketStatus::Blocked => 3,
        TicketStatus::Cancelled => 4,
    });
    row.push(match ticket.cancel_cause {
        None => 0,
        Some(CancelCause::Visitor) => 1,
        Some(CancelCause::Operator) => 2,
        Some(CancelCause::Refunded) => 3,
        Some(CancelCause::Expired) => 4,
        Some(CancelCause::SessionCancelled) => 5,
    });
    row.push(ticket.revision);
    row.extend(ticket.admit_from.map_or(NO_TIME, |at| at.0).to_be_bytes());
    row.extend(ticket.admit_until.map_or(NO_TIME, |at| at.0).to_be_bytes());
    put_short(
        &mut row,
        ticket.ticket_key.as_ref().map_or(&[], |key| key.as_bytes()),
    );
    put_short(
        &mut row,
        ticket
            .rotation_key
            .as_ref()
            .map_or(&[], |key| key.as_bytes()),
    );
    let hashes = &ticket.opaque_hashes[..ticket.opaque_hashes.len().min(255)];
    row.push(hashes.len() as u8);
    for hash in hashes {
        row.extend(hash);
    }
    let hashes = &ticket.document_hashes[..ticket.document_hashes.len().min(255)];
    row.push(hashes.len() as u8);
    for hash in hashes {
        row.extend(hash);
    }
    if let Standing::Moved {
        session_id,
        service_day,
        admit_from,
    } = &ticket.standing
    {
        put_short(&mut row, session_id.as_str().as_bytes());
        row.extend(service_day.as_str().as_bytes());
        row.extend(admit_from.0.to_be_bytes());
    }
    row
}

fn put_short(row: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(usize::from(u8::MAX))];
    row.push(bytes.len() as u8);
    row.extend(bytes);
}

fn put_long(row: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    row.extend((end as u16).to_be_bytes());
    row.extend(&text.as_bytes()[..end]);
}

/// The ticket of a row's bytes. Accepts nothing but what [`encode`] writes.
pub fn decode(row: &[u8]) -> Result<Ticket, RowError> {
    if row.len() > MAX_ROW_BYTES {
        return Err(RowError("length"));
    }
    let mut rest = Reader(row);
    if rest.byte("layout")? != LAYOUT {
        return Err(RowError("layout"));
    }
    let standing = rest.byte("standing")?;
    let number = TicketNumber::new(u64::from_be_bytes(rest.array("ticket number")?))
        .ok_or(RowError("ticket number"))?;
    let ticket_id =
        TicketId::new(rest.short_text("ticket id")?).map_err(|_| RowError("ticket id"))?;
    let order_number =
        OrderNumber::new(rest.short_text("order number")?).map_err(|_| RowError("order number"))?;
    let session_id = rest.session_id()?;
    let zones = (0..rest.byte("zones")?)
        .map(|_| Zone::new(rest.short_text("zones")?).map_err(|_| RowError("zones")))
        .collect::<Result<_, _>>()?;
    let label = rest.long_text("label")?;
    let holder_mask = rest.long_text("holder mask")?;
    let last_four = match u16::from_be_bytes(rest.array("digits")?) {
        NO_DIGITS => None,
        digits => Some(LastFour::new(digits).ok_or(RowError("digits"))?),
    };
    let last_four_of = match rest.byte("kind of digits")? {
        0 => None,
        1 => Some(DigitsOf::Phone),
        2 => Some(DigitsOf::Document),
        _ => return Err(RowError("kind of digits")),
    };
    let category = rest.long_text("category")?;
    let attention = rest.long_text("attention")?;
    let source = rest.long_text("source")?;
    let age_group = rest.long_text("age group")?;
    let admits = rest.byte("admits")?;
    if admits == 0 {
        return Err(RowError("admits"));
    }
    let status = match rest.byte("status")? {
        1 => TicketStatus::Pending,
        2 => TicketStatus::Valid,
        3 => TicketStatus::Blocked,
        4 => TicketStatus::Cancelled,
        _ => return Err(RowError("status")),
    };
    let cancel_cause = match rest.byte("cancel cause")? {
        0 => None,
        1 => Some(CancelCause::Visitor),
        2 => Some(CancelCause::Operator),
        3 => Some(CancelCause::Refunded),
        4 => Some(CancelCause::Expired),
        5 => Some(CancelCause::SessionCancelled),
        _ => return Err(RowError("cancel cause")),
    };
    let revision = rest.byte("revision")?;
    let admit_from = rest.time("admit_from")?;
    let admit_until = rest.time("admit_until")?;
    let ticket_key = rest.key("K_t")?.map(|key| TicketKey::from_bytes(&key));
    let rotation_key = rest.key("K_r")?.map(|key| RotationKey::from_bytes(&key));
    let opaque_hashes = (0..rest.byte("opaque hashes")?)
        .map(|_| rest.array("opaque hashes"))
        .collect::<Result<_, _>>()?;
    let document_hashes = (0..rest.byte("document hashes")?)
        .map(|_| rest.array("document hashes"))
        .collect::<Result<_, _>>()?;
    let standing = match standing {
        1 => Standing::Live,
        2 => Standing::Moved {
            session_id: rest.session_id()?,
            service_day: std::str::from_utf8(rest.take(10, "moved to")?)
                .ok()
                .and_then(|day| ServiceDay::new(day).ok())
                .ok_or(RowError("moved to"))?,
            admit_from: EpochSeconds(i64::from_be_bytes(rest.array("moved to")?)),
        },
        3 => Standing::Deleted,
        _ => return Err(RowError("standing")),
    };
    if !rest.0.is_empty() {
        return Err(RowError("end"));
    }
    Ok(Ticket {
        number,
        ticket_id,
        order_number,
        session_id,
        zones,
        label,
        holder_mask,
        last_four,
        last_four_of,
        category,
        attention,
        source,
        age_group,
        admits,
        status,
        cancel_cause,
        revision,
        admit_from,
        admit_until,
        ticket_key,
        rotation_key,
        opaque_hashes,
        document_hashes,
        standing,
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], RowError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(RowError(what))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], RowError> {
        self.take(N, what)?.try_into().map_err(|_| RowError(what))
    }

    fn byte(&mut self, what: &'static str) -> Result<u8, RowError> {
        Ok(self.array::<1>(what)?[0])
    }

    fn text(&mut self, length: usize, what: &'static str) -> Result<String, RowError> {
        let text = std::str::from_utf8(self.take(length, what)?).map_err(|_| RowError(what))?;
        Ok(text.to_owned())
    }

    fn short_text(&mut self, what: &'static str) -> Result<String, RowError> {
        let length = usize::from(self.byte(what)?);
        self.text(length, what)
    }

    fn long_text(&mut self, what: &'static str) -> Result<String, RowError> {
        let length = usize::from(u16::from_be_bytes(self.array(what)?));
        self.text(length, what)
    }

    fn session_id(&mut self) -> Result<SessionId, RowError> {
        SessionId::new(self.short_text("session id")?).map_err(|_| RowError("session id"))
    }

    fn time(&mut self, what: &'static str) -> Result<Option<EpochSeconds>, RowError> {
        let at = i64::from_be_bytes(self.array(what)?);
        Ok((at != NO_TIME).then_some(EpochSeconds(at)))
    }

    fn key(&mut self, what: &'static str) -> Result<Option<[u8; 32]>, RowError> {
        match self.byte(what)? {
            0 => Ok(None),
            32 => Ok(Some(self.array(what)?)),
            _ => Err(RowError(what)),
        }
    }
}
