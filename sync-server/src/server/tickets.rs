//! Tickets: what an import's lines become, and what is shown of one.

use stile_core::codes::{Code, OpaqueShape, VenueShapes, opaque, parse};
use stile_core::ids::{TicketId, VenueId};
use stile_core::protocol::TicketView;
use stile_core::ticket::{CancelCause, DigitsOf};
use stile_core::whitelist::bucket_of;

use super::Server;
use super::documents::{DayKeys, takes_documents};
use super::shared_codes::keeps_phones;
use crate::error::ServerError;
use crate::import::{LineFault, NumberedLine, OpaqueCode, TicketLine};
use crate::store::{Reissued, TicketFields, TicketInSession, TicketUpsert, Upserted};
use crate::venue_keys::VenueKeys;

impl Server {
    /// Puts a chunk of an import, in its order; answers with the lines that it refuses.
    pub async fn upsert_tickets(
        &self,
        venue: &VenueId,
        lines: Vec<NumberedLine>,
    ) -> Result<Vec<(u64, LineFault)>, ServerError> {
        let keys = self.keys(venue).await?;
        let policy = self.policy(venue).await?;
        let (shapes, keeps_phones) = (&policy.opaque_shapes, keeps_phones(&policy));
        let mut lines = lines;
        if !takes_documents(&policy) {
            // The policy may have changed since the file's first line.
            lines
                .iter_mut()
                .for_each(|line| line.ticket.document = None);
        }
        let day_keys = self.day_keys(&keys, &lines).await?;
        let mut faults = Vec::new();
        let (mut numbers, mut upserts) = (Vec::new(), Vec::new());
        for NumberedLine { line, ticket } in lines {
            let phone = ticket.phone.clone().filter(|_| keeps_phones);
            match upsert(ticket, shapes, &keys, &day_keys) {
                Ok(mut upsert) => {
                    if let Some(phone) = phone {
                        let sealed = self.seal_phone(venue, upsert.number, &phone);
                        upsert.holder = Some(sealed.map_err(ServerError::internal)?);
                    }
                    numbers.push(line);
                    upserts.push(upsert);
                }
                Err(fault) => faults.push((line, fault)),
            }
        }
        if !upserts.is_empty() {
            let outcomes = self
                .store
                .upsert_tickets(keys.number, upserts, self.now())
                .await?;
            let refused = numbers.into_iter().zip(outcomes);
            faults.extend(refused.filter_map(|(line, outcome)| Some((line, fault(outcome)?))));
        }
        Ok(faults)
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

    /// Cancels a ticket; a cancelled one gets the new cause.
    pub async fn cancel_ticket(
        &self,
        venue: &VenueId,
        id: &TicketId,
        cause: CancelCause,
    ) -> Result<TicketView, ServerError> {
        let keys = self.keys(venue).await?;
        let number = keys.numbering.ticket_number(venue, id);
        let ticket = self
            .store
            .cancel_ticket(keys.number, number, cause, self.now())
            .await?;
        ticket.map(view).ok_or(ServerError::NotFound("ticket"))
    }

    /// Issues a ticket anew: codes of its earlier issues are superseded.
    pub async fn reissue_ticket(
        &self,
        venue: &VenueId,
        id: &TicketId,
        revision: u8,
    ) -> Result<TicketView, ServerError> {
        let keys = self.keys(venue).await?;
        let number = keys.numbering.ticket_number(venue, id);
        let reissued = self.store.reissue_ticket(keys.number, number, revision);
        match reissued.await?.ok_or(ServerError::NotFound("ticket"))? {
            Reissued::Done(ticket) => Ok(view(*ticket)),
            Reissued::Has(u8::MAX) => Err(ServerError::Conflict(
                "the ticket has revision 255, the last one; book it as a new ticket".into(),
            )),
            Reissued::Has(has) => Err(ServerError::Conflict(format!(
                "the ticket has revision {has}, so that its next one is {}",
                has.saturating_add(1)
            ))),
        }
    }
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

fn fault(outcome: Upserted) -> Option<LineFault> {
    match outcome {
        Upserted::Put(_) => None,
        Upserted::UnknownSession => Some(unknown_session()),
        Upserted::OtherDay => Some(LineFault::new(
            "session_id",
            "its session went to another day meanwhile; send the line again",
        )),
        Upserted::Outdated(stored) => Some(LineFault::new(
            "source_version",
            format!("lower than the {stored} that is stored; the line is out of date"),
        )),
        Upserted::NumberTaken => Some(LineFault::new(
            "ticket_id",
            "by chance another ticket has the number that follows from this id; choose another id",
        )),
    }
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
    }
}
