//! A small day from end to end, over real processes.

use std::time::Duration;

use stile_core::codes::Format;
use stile_tests::api::Stream;
use stile_tests::comparison::Comparison;
use stile_tests::journal;
use stile_tests::museum::{ENTRANCE, Museum, TURNSTILE, Tickets, now, wait_until_drained};

#[test]
fn a_day_goes_in_as_tickets_and_comes_out_as_check_ins() {
    let folder = tempfile::tempdir().unwrap();
    let (museum, day) = Museum::open(folder.path(), 1_000, 1).unwrap();
    let mut entrance = museum.open_gate(ENTRANCE, &day.timetable).unwrap();
    let mut turnstile = museum.open_gate(TURNSTILE, &day.timetable).unwrap();
    let mut tickets = Tickets::of(&day);
    for format in [Format::V1, Format::G2, Format::G3] {
        let good = |ticket: &_| day.expected(ticket, TURNSTILE.door, now(), 0).is_none();
        let ticket = tickets.take("is good now", good).unwrap();
        let code = museum
            .api
            .mint(&ticket.ticket_id, format, None)
            .unwrap()
            .code
            .unwrap();
        let said = turnstile.scan(&code).unwrap();
        assert_eq!(said.outcome(), "admit", "{format}: {said:?}");
    }
    let _ = Duration::ZERO;
    let said = entrance.scan("hello").unwrap();
    assert_eq!(said.outcome(), "malformed");
    wait_until_drained(&[&entrance, &turnstile]).unwrap();
    let (log, _) = museum.api.pull_all(Stream::Records, 2).unwrap();
    let journals = [&entrance, &turnstile].map(|gate| journal::read(gate.data()).unwrap());
    let found = Comparison::of(&journals, &[&entrance.heard, &turnstile.heard], &log).unwrap();
    assert!(found.is_whole(), "{found}");
    assert_eq!(found.pulled, 4);
}
