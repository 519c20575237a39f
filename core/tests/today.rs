//! What people at the gate see beside verdicts: the day's sessions, and the records that want a
//! person.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::at_gate::AtGate;
use common::{NINE, session};
use stile_core::ids::RecordId;
use stile_core::journal::SyncStatus;
use stile_core::outbox::HttpAnswer;
use stile_core::protocol::{Filed, QuarantineCause, RecordResult, RecordsAnswer};
use stile_core::ticket::Session;
use stile_core::time::EpochSeconds;

fn admits_from(session_id: &str, at: i64) -> Session {
    Session {
        admit_from: EpochSeconds(at),
        ..session(session_id)
    }
}

#[test]
fn the_days_sessions_come_in_the_order_in_which_they_admit() {
    let mut gate = AtGate::new();
    gate.venue.sessions = vec![
        admits_from("noon", NINE + 3 * 3600),
        admits_from("am", NINE),
        admits_from("early", NINE - 3600),
    ];
    gate.venue.policy.walk_in_categories = vec!["press".into()];
    let today = gate.ready().today();
    let ids: Vec<_> = today
        .sessions
        .iter()
        .map(|one| one.session_id.as_str())
        .collect();
    assert_eq!(ids, ["early", "am", "noon"]);
    assert_eq!(today.walk_in_categories, ["press"]);
    assert_eq!(today.gate.gate_id.as_str(), "east");
}

#[test]
fn without_a_list_there_are_no_sessions_and_the_gate_is_as_it_was_enrolled() {
    let gate = AtGate::new();
    let today = gate.open().today();
    assert!(today.sessions.is_empty());
    assert_eq!(today.gate.gate_id.as_str(), "east");
    assert_eq!(today.walk_in_categories, ["child", "guest", "staff"]);
}

fn set_aside(id: RecordId) -> HttpAnswer {
    let result = RecordResult {
        id,
        result: Filed::Quarantined,
        standing: None,
        why: Some(QuarantineCause::UnknownTicket),
    };
    let answer = RecordsAnswer {
        results: vec![result],
        logs: Vec::new(),
    };
    HttpAnswer {
        status: 200,
        retry_after_s: None,
        body: serde_json::to_vec(&answer).unwrap(),
    }
}

#[test]
fn a_record_that_the_server_set_aside_is_named_with_its_ticket() {
    let gate = AtGate::new();
    let device = gate.ready();
    let admitted = device.scan(&gate.g2(0));
    assert!(device.set_aside(10).unwrap().is_empty());
    let record_id = admitted.record_id.unwrap();
    let upload = device.next_upload().unwrap().unwrap();
    device
        .upload_answered(&upload, Some(&set_aside(record_id)))
        .unwrap();
    let named = device.set_aside(10).unwrap();
    assert_eq!(named.len(), 1);
    assert_eq!(named[0].status, SyncStatus::Quarantined);
    assert_eq!(
        (named[0].record_id, named[0].kind.as_str()),
        (record_id, "scan")
    );
    assert_eq!(
        named[0].ticket_id.as_ref(),
        Some(&gate.tickets[0].ticket_id)
    );
    assert!(device.set_aside(0).unwrap().is_empty());
}
