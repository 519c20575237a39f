//! From the fields of one line to a ticket: each field checked, the first fault named.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use stile_core::codes::Document;
use stile_core::ids::{IdError, TicketId, Zone};
use stile_core::ticket::{CancelCause, TicketStatus};
use stile_core::time::EpochSeconds;

use super::columns::{Cell, Cells, Column};
use super::holder;
use super::limits::{NAME_BYTES, TEXT_BYTES, ZONES};
use super::line::{OpaqueCode, TicketLine};
use super::report::LineFault;
use super::text::{ROUNDED_NUMBER, fold_width, is_rounded_number, without_text_mark};
use super::times::parse_time;

/// The ticket that these fields state.
pub(super) fn ticket(cells: &Cells<'_>, time_zone: &TimeZone) -> Result<TicketLine, LineFault> {
    let ticket_id: TicketId = id(cells, Column::TicketId)?;
    match of_id(&ticket_id, cells, time_zone) {
        Ok(ticket) => Ok(ticket),
        Err(fault) => Err(fault.of(ticket_id)),
    }
}

fn of_id(
    ticket_id: &TicketId,
    cells: &Cells<'_>,
    time_zone: &TimeZone,
) -> Result<TicketLine, LineFault> {
    let order_number = id(cells, Column::OrderNumber)?;
    let session_id = id(cells, Column::SessionId)?;
    let (admit_from, admit_until) = window(cells, time_zone)?;
    let (status, cancel_cause) = standing(cells)?;
    Ok(TicketLine {
        ticket_id: ticket_id.clone(),
        order_number,
        session_id,
        holder_mask: holder_mask(cells)?,
        last_four: holder::last_four(cells.text(Column::Phone)?)
            .map_err(|problem| Column::Phone.fault(problem))?,
        phone: holder::full_phone(cells.text(Column::Phone)?),
        document: document(cells)?,
        code: code(cells)?,
        admits: admits(cells)?,
        zones: zones(cells)?,
        label: text(cells, Column::Label)?,
        category: text(cells, Column::Category)?,
        attention: text(cells, Column::Attention)?,
        admit_from,
        admit_until,
        status,
        cancel_cause,
        source: text(cells, Column::Source)?,
        age_group: text(cells, Column::AgeGroup)?,
        source_version: source_version(cells)?,
    })
}

fn id<Id: std::str::FromStr<Err = IdError>>(
    cells: &Cells<'_>,
    column: Column,
) -> Result<Id, LineFault> {
    let text = without_text_mark(cells.text(column)?);
    if text.is_empty() {
        return Err(column.fault("missing"));
    }
    if is_rounded_number(text) {
        return Err(column.fault(ROUNDED_NUMBER));
    }
    text.parse()
        .map_err(|error: IdError| column.fault(error.to_string()))
}

fn holder_mask(cells: &Cells<'_>) -> Result<String, LineFault> {
    let column = Column::HolderName;
    let name = cells.text(column)?;
    if name.len() > NAME_BYTES {
        return Err(column.fault(format!("longer than {NAME_BYTES} bytes")));
    }
    let mask = holder::mask(name);
    if mask.contains(char::is_control) {
        return Err(column.fault("ends in a control character"));
    }
    Ok(mask)
}

/// The holder's document. Faults name what is wrong and nothing of the number.
fn document(cells: &Cells<'_>) -> Result<Option<Document>, LineFault> {
    let column = Column::Document;
    let text = fold_width(without_text_mark(cells.text(column)?));
    if text.is_empty() {
        return Ok(None);
    }
    if is_rounded_number(&text) {
        return Err(column.fault(ROUNDED_NUMBER));
    }
    let document = Document::new(&text).map_err(|error| column.fault(error.to_string()))?;
    Ok(Some(document))
}

fn code(cells: &Cells<'_>) -> Result<Option<OpaqueCode>, LineFault> {
    let text = without_text_mark(cells.text(Column::Code)?);
    if text.is_empty() {
        return Ok(None);
    }
    if is_rounded_number(text) {
        return Err(Column::Code.fault(ROUNDED_NUMBER));
    }
    let code = OpaqueCode::new(text)
        .ok_or_else(|| Column::Code.fault("must be 1 to 256 characters of printable ASCII"))?;
    Ok(Some(code))
}

fn admits(cells: &Cells<'_>) -> Result<u8, LineFault> {
    let text = fold_width(cells.text(Column::Admits)?);
    if text.is_empty() {
        return Ok(1);
    }
    digits(&text)
        .and_then(|number: u8| (number > 0).then_some(number))
        .ok_or_else(|| Column::Admits.fault("must be a whole number, 1 to 255"))
}

/// A number in plain decimal digits: no sign, no fraction.
fn digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// Zones in any of the ways that people list things; one named twice counts once.
fn zones(cells: &Cells<'_>) -> Result<Vec<Zone>, LineFault> {
    let column = Column::Zones;
    let mut zones = Vec::new();
    let mut add = |name: &str| {
        let zone = Zone::new(name).map_err(|error| column.fault(error.to_string()))?;
        if zones.len() == ZONES {
            return Err(column.fault(format!("more than {ZONES} zones")));
        }
        if !zones.contains(&zone) {
            zones.push(zone);
        }
        Ok(())
    };
    match cells.get(column) {
        Cell::List(names) => names.iter().try_for_each(|name| add(name.trim()))?,
        _ => cells
            .text(column)?
            .split(|c: char| c.is_whitespace() || ",;|/、，；".contains(c))
            .filter(|name| !name.is_empty())
            .try_for_each(&mut add)?,
    }
    Ok(zones)
}

/// A text for people. Line breaks are for `attention` alone, which is shown on a screen of its
/// own; other control characters are for none.
fn text(cells: &Cells<'_>, column: Column) -> Result<String, LineFault> {
    let text = cells.text(column)?;
    if text.len() > TEXT_BYTES {
        return Err(column.fault(format!("longer than {TEXT_BYTES} bytes")));
    }
    let breaks_lines = |c| column == Column::Attention && matches!(c, '\n' | '\r');
    if text.contains(|c: char| c.is_control() && !breaks_lines(c)) {
        return Err(column.fault("holds control characters"));
    }
    Ok(text.to_owned())
}

type Window = (Option<EpochSeconds>, Option<EpochSeconds>);

fn window(cells: &Cells<'_>, time_zone: &TimeZone) -> Result<Window, LineFault> {
    let time = |column: Column| match cells.text(column)? {
        "" => Ok(None),
        text => parse_time(text, time_zone)
            .map(Some)
            .map_err(|error| column.fault(error.to_string())),
    };
    let window = (time(Column::AdmitFrom)?, time(Column::AdmitUntil)?);
    match window {
        (Some(from), Some(until)) if until <= from => {
            Err(Column::AdmitUntil.fault("must lie after admit_from"))
        }
        _ => Ok(window),
    }
}

fn standing(cells: &Cells<'_>) -> Result<(Option<TicketStatus>, Option<CancelCause>), LineFault> {
    let status = match &*lower_case(cells, Column::Status)? {
        "" => None,
        "pending" => Some(TicketStatus::Pending),
        "valid" => Some(TicketStatus::Valid),
        "blocked" => Some(TicketStatus::Blocked),
        "cancelled" => Some(TicketStatus::Cancelled),
        _ => return Err(Column::Status.fault("must be pending, valid, blocked or cancelled")),
    };
    let cause = match &*lower_case(cells, Column::CancelCause)? {
        "" => return Ok((status, None)),
        "visitor" => CancelCause::Visitor,
        "operator" => CancelCause::Operator,
        "refunded" => CancelCause::Refunded,
        "expired" => CancelCause::Expired,
        "session_cancelled" => CancelCause::SessionCancelled,
        _ => {
            return Err(Column::CancelCause
                .fault("must be visitor, operator, refunded, expired or session_cancelled"));
        }
    };
    if status != Some(TicketStatus::Cancelled) {
        return Err(Column::CancelCause.fault("only where status is cancelled"));
    }
    Ok((status, Some(cause)))
}

fn lower_case<'c>(cells: &'c Cells<'_>, column: Column) -> Result<Cow<'c, str>, LineFault> {
    let text = cells.text(column)?;
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Ok(Cow::Owned(text.to_ascii_lowercase()));
    }
    Ok(Cow::Borrowed(text))
}

fn source_version(cells: &Cells<'_>) -> Result<Option<i64>, LineFault> {
    let text = fold_width(cells.text(Column::SourceVersion)?);
    if text.is_empty() {
        return Ok(None);
    }
    let version = digits(&text)
        .ok_or_else(|| Column::SourceVersion.fault("must be a whole number, 0 to 2^63-1"))?;
    Ok(Some(version))
}
