//! Tickets: what an import's lines become, and what is shown of one.

use std::ops::AddAssign;

use stile_core::codes::{Code, OpaqueShape, VenueShapes, opaque, parse};
use stile_core::ids::{TicketId, VenueId};
use stile_core::protocol::TicketView;
use stile_core::ticket::{DigitsOf, Standing};
use stile_core::whitelist::bucket_of;

use super::Server;
use super::documents::{DayKeys, MissingKeys, takes_documents};
use super::shared_codes::keeps_phones;
use crate::error::ServerError;
use crate::import::{LineFault, NumberedLine, OpaqueCode, TicketLine};
use crate::store::{Change, TicketFields, TicketInSession, TicketUpsert, Upserted};
use crate::venue_keys::VenueKeys;

impl Server {
    /// Puts a piece of an import, in its order; answers with the lines that it refuses.
    pub async fn upsert_tickets(
        &self,
        venue: &VenueId,
        lines: Vec<NumberedLine>,
    ) -> Result<PutTickets, ServerError> {
        let keys = self.keys(venue).await?;
        let Upserts { lines, mut faults } = self.upserts(&keys, lines, MissingKeys::Make).await?;
        let mut counts = PutCounts::default();
        if !lines.is_empty() {
            let (numbers, upserts): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
            let outcomes = self
                .store
                .upsert_tickets(keys.number, upserts, self.now())
                .await?;
            for (line, outcome) in numbers.into_iter().zip(outcomes) {
                match fault(outcome) {
                    Ok(change) => counts.add(change),
                    Err(fault) => faults.push((line, fault)),
                }
            }
        }
        Ok(PutTickets { faults, counts })
    }

    /// What lines of an import are to the store, and those that are nothing to it.
    pub(super) async fn upserts(
        &self,
        keys: &VenueKeys,
        mut lines: Vec<NumberedLine>,
        missing: MissingKeys,
    ) -> Result<Upserts, ServerError> {
        let venue = &keys.venue_id;
        let policy = self.policy(venue).await?;
        let (shapes, keeps_phones) = (&policy.opaque_shapes, keeps_phones(&policy));
        if !takes_documents(&policy) {
            // The policy may have changed since the file's first line.
            lines
                .iter_mut()
                .for_each(|line| line.ticket.document = None);
        }
        let day_keys = self.day_keys(keys, &lines, missing).await?;
        let mut upserts = Upserts::default();
        for NumberedLine { line, ticket } in lines {
            let phone = ticket.phone.clone().filter(|_| keeps_phones);
            let ticket_id = ticket.ticket_id.clone();
            match upsert(ticket, shapes, keys, &day_keys) {
                Ok(mut upsert) => {
                    if let Some(phone) = phone {
                        let sealed = self.seal_phone(venue, upsert.number, &phone);
                        upsert.holder = Some(sealed.map_err(ServerError::internal)?);
                    }
                    upserts.lines.push((line, upsert));
                }
                Err(fault) => upserts.faults.push((line, fault.of(ticket_id))),
            }
        }
        Ok(upserts)
    }

    /// A ticket.
    pub async fn ticket(&self, venue: &VenueId, id: &TicketId) -> Result<TicketView, ServerError> {
        let keys = self.keys(venue).await?;
        let number = keys.numbering.ticket_number(venue, id);
        let mut found = self.store.tickets(keys.number, &[number]).await?;
        found
            .pop()
            .flatten()
            .map(view)
            .ok_or(ServerError::NotFound("ticket"))
    }
}

/// What became of a piece of an import.
#[derive(Debug, Clone, Default)]
pub struct PutTickets {
    /// Lines that were not taken, and why.
    pub faults: Vec<(u64, LineFault)>,
    /// What the others did.
    pub counts: PutCounts,
}

/// How many lines did what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PutCounts {
    /// Those of new tickets.
    pub created: u64,
    /// Those that changed their ticket.
    pub changed: u64,
    /// Those that said what was so already.
    pub unchanged: u64,
}

impl AddAssign for PutCounts {
    fn add_assign(&mut self, more: Self) {
        self.created += more.created;
        self.changed += more.changed;
        self.unchanged += more.unchanged;
    }
}

impl PutCounts {
    fn add(&mut self, change: Change) {
        match change {
            Change::Created => self.created += 1,
            Change::Changed => self.changed += 1,
            Change::Unchanged => self.unchanged += 1,
        }
    }
}

/// Lines for the store, each with its place in the file, and those that are none.
#[derive(Default)]
pub(super) struct Upserts {
    pub(super) lines: Vec<(u64, TicketUpsert)>,
    pub(super) faults: Vec<(u64, LineFault)>,
}

fn upsert(
    line: TicketLine,
    shapes: &[OpaqueShape],
    keys: &VenueKeys,
    day_keys: &DayKeys,
) -> Result<TicketUpsert, LineFault> {
    let number = keys
        .numbering
        .ticket_number(&keys.venue_id, &line.ticket_id);
    let document = day_keys.hash(&line).map_err(|_| unknown_session())?;
    let of_phone = line.last_four.map(|digits| (digits, DigitsOf::Phone));
    let of_document = || {
        let digits = line.document.as_ref()?.last_four()?;
        Some((digits, DigitsOf::Document))
    };
    let (last_four, last_four_of) = of_phone.or_else(of_document).unzip();
    let opaque_hashes = line
        .code
        .map(|code| opaque_hash(&code, shapes, keys))
        .transpose()?
        .into_iter()
        .collect();
    let fields = TicketFields {
        ticket_id: line.ticket_id,
        order_number: line.order_number,
        session_id: line.session_id,
        zones: line.zones,
        label: line.label,
        holder_mask: line.holder_mask,
        last_four,
        last_four_of,
        category: line.category,
        attention: line.attention,
        source: line.source,
        age_group: line.age_group,
        admits: line.admits,
        admit_from: line.admit_from,
        admit_until: line.admit_until,
        opaque_hashes,
        document,
        source_version: line.source_version,
    };
    Ok(TicketUpsert {
        number,
        bucket: bucket_of(number),
        fields,
        status: line.status,
        cancel_cause: line.cancel_cause,
        holder: None,
    })
}

fn opaque_hash(
    code: &OpaqueCode,
    shapes: &[OpaqueShape],
    keys: &VenueKeys,
) -> Result<[u8; 16], LineFault> {
    // As a gate will read it: a code that only cleaning makes fit would never be found there.
    let shapes = VenueShapes {
        opaque: shapes,
        ..VenueShapes::default()
    };
    match parse(code.as_str().as_bytes(), &shapes) {
        Ok(Code::Opaque(parsed)) if parsed.text() == code.as_str() => {
            Ok(opaque::hash(&keys.venue_id, code.as_str()))
        }
        _ => Err(LineFault::new(
            "code",
            "fits none of the shapes of opaque codes that the venue's policy declares",
        )),
    }
}

fn unknown_session() -> LineFault {
    LineFault::new(
        "session_id",
        "there is no such session; put it first, then send the line again",
    )
}

/// What a line changed, or why it was not taken.
pub(super) fn fault(outcome: Upserted) -> Result<Change, LineFault> {
    Err(match outcome {
        Upserted::Put(change) => return Ok(change),
        Upserted::UnknownSession => unknown_session(),
        Upserted::OtherDay => LineFault::new(
            "session_id",
            "its session went to another day meanwhile; send the line again",
        ),
        Upserted::NotOfDay => LineFault::new(
            "session_id",
            "its session is of another day than this set; its ticket stays as it is",
        ),
        Upserted::Outdated(stored) => LineFault::new(
            "source_version",
            format!("lower than the {stored} that is stored; the line is out of date"),
        ),
        Upserted::NumberTaken => LineFault::new(
            "ticket_id",
            "by chance another ticket has the number that follows from this id; choose another id",
        ),
    })
}

pub(super) fn view(TicketInSession { ticket, session }: TicketInSession) -> TicketView {
    TicketView {
        ticket_id: ticket.fields.ticket_id,
        ticket_number: ticket.number,
        order_number: ticket.fields.order_number,
        session_id: ticket.fields.session_id,
        service_day: session.service_day,
        holder_mask: ticket.fields.holder_mask,
        last_four: ticket.fields.last_four,
        admits: ticket.fields.admits,
        status: ticket.status,
        cancel_cause: ticket.cancel_cause,
        revision: ticket.revision,
        deleted: ticket.standing == Standing::Deleted,
    }
}
