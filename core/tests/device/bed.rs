//! What the tests of a device share: a gate with an afternoon session, its records, a server's
//! answers.

use stile_core::device::Device;
use stile_core::outbox::HttpAnswer;
use stile_core::protocol::{Filed, RecordHead, RecordResult, RecordsAnswer};

use crate::common::at_gate::AtGate;
use crate::common::{Venue, session};

/// An enrolled device's folder at nine o'clock, with a list of five tickets.
pub fn at_gate() -> AtGate {
    let mut venue = Venue::new();
    venue.sessions.push(session("pm"));
    let names = ["A1", "A2", "A3", "A4", "A5"];
    let tickets = names.iter().map(|name| venue.ticket(name)).collect();
    AtGate::of(venue, tickets)
}

pub fn exported(device: &Device) -> Vec<RecordHead> {
    let mut records = Vec::new();
    device
        .export(|text| {
            records.push(serde_json::from_str(text).unwrap());
            Ok::<_, stile_core::journal::JournalError>(())
        })
        .unwrap();
    records
}

pub fn ok(results: Vec<RecordResult>) -> HttpAnswer {
    let body = serde_json::to_vec(&RecordsAnswer {
        results,
        logs: Vec::new(),
    })
    .unwrap();
    HttpAnswer {
        status: 200,
        retry_after_s: None,
        body,
    }
}

pub fn result(record: &RecordHead, result: Filed) -> RecordResult {
    RecordResult {
        id: record.id,
        result,
        standing: None,
        why: None,
    }
}
