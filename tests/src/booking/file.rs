//! The tickets as a CSV file, with English or with Chinese names of columns.

use std::io::Write;

use anyhow::Result;
use jiff::Timestamp;
use stile_core::time::EpochSeconds;

use super::BookingDay;

/// In which language the first line names the columns. Those that have no Chinese name keep
/// their English one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// `ticket_id`, `order_number`, …
    English,
    /// `票号`, `订单号`, …
    Chinese,
}

const COLUMNS: [(&str, &str); 17] = [
    ("ticket_id", "票号"),
    ("order_number", "订单号"),
    ("session_id", "场次"),
    ("holder_name", "姓名"),
    ("phone", "手机号"),
    ("admits", "人数"),
    ("code", "票码"),
    ("label", "座位"),
    ("zones", "zones"),
    ("category", "category"),
    ("attention", "attention"),
    ("admit_from", "admit_from"),
    ("admit_until", "admit_until"),
    ("status", "status"),
    ("cancel_cause", "cancel_cause"),
    ("source", "source"),
    ("age_group", "age_group"),
];

/// Writes the whole day as a booking system exports it.
pub fn write_csv(day: &BookingDay, header: Header, out: impl Write) -> Result<()> {
    let mut file = csv::Writer::from_writer(out);
    file.write_record(COLUMNS.map(|(english, chinese)| match header {
        Header::English => english,
        Header::Chinese => chinese,
    }))?;
    for ticket in &day.tickets {
        let local = |time: EpochSeconds| -> Result<String> {
            let time = day
                .timetable
                .zone
                .to_datetime(Timestamp::from_second(time.0)?);
            Ok(time.strftime("%Y-%m-%d %H:%M").to_string())
        };
        let (from, until) = match ticket.window {
            Some((from, until)) => (local(from)?, local(until)?),
            None => Default::default(),
        };
        let kind = ticket.kind;
        file.write_record([
            ticket.ticket_id.as_str(),
            &ticket.order_number,
            ticket.session_id.as_str(),
            &ticket.holder_name,
            &ticket.phone,
            &ticket.admits.to_string(),
            ticket.code.as_deref().unwrap_or_default(),
            &ticket.label,
            &kind.zones(),
            kind.category(),
            kind.attention(),
            &from,
            &until,
            kind.status(),
            kind.cancel_cause(),
            ticket.source,
            ticket.age_group,
        ])?;
    }
    file.flush()?;
    Ok(())
}
