//! A small day as it should go.

use stile_core::codes::Format;
use stile_core::protocol::RecordStanding;
use stile_core::record::Answer;
use stile_tests::museum::{TURNSTILE, now};

use crate::house::{House, head};

#[test]
fn tickets_go_in_as_a_file_and_check_ins_come_out_once() {
    let mut house = House::open(1_000);
    for format in [Format::V1, Format::G2, Format::G3] {
        let ticket = house.ticket();
        let minted = house
            .museum
            .api
            .mint(&ticket.ticket_id, format, None)
            .unwrap();
        let said = house.turnstile.scan(&minted.code.unwrap()).unwrap();
        assert_eq!(said.outcome(), "admit", "{format}: {said:?}");
    }
    assert_eq!(
        house.entrance.scan("not a code").unwrap().outcome(),
        "malformed"
    );
    let log = house.everything_has_arrived_once();
    assert_eq!(log.len(), 4);
    assert_eq!(house.check_ins().len(), 3);
}

#[test]
fn every_kind_of_ticket_in_the_file_is_answered_as_the_rules_say() {
    let mut house = House::open(1_000);
    let with_codes = house
        .day
        .tickets
        .iter()
        .filter_map(|ticket| Some((ticket, ticket.code.as_ref()?)));
    for (ticket, code) in with_codes {
        let before = house.day.expected(ticket, TURNSTILE.door, now(), 0);
        let said = house.turnstile.scan(code).unwrap();
        // A session may begin or end in between.
        let after = house.day.expected(ticket, TURNSTILE.door, now(), 0);
        assert!(
            [before, after].contains(&said.reason),
            "{ticket:?}: {said:?}"
        );
        assert_eq!(said.opens, said.reason.is_none());
    }
    let log = house.everything_has_arrived_once();
    let admitted = log
        .iter()
        .filter(|pulled| head(pulled).verdict == Answer::Admit)
        .count();
    assert!(
        admitted > 20 && log.len() > 100,
        "{admitted} of {}",
        log.len()
    );
}

#[test]
fn one_ticket_at_two_gates_that_are_cut_off_is_one_conflict() {
    let mut house = House::open(300);
    let (code, other) = (house.code(), house.code());
    house.museum.network.cut();
    assert!(house.entrance.scan(&code).unwrap().opens);
    assert!(house.turnstile.scan(&code).unwrap().opens);
    assert!(house.turnstile.scan(&other).unwrap().opens);
    house.museum.network.mend();
    let log = house.everything_has_arrived_once();
    assert_eq!(log.len(), 3, "the one too many is kept as well");
    let conflicts = house.museum.api.conflicts().unwrap().conflicts;
    assert_eq!(conflicts.len(), 1);
    let standings: Vec<_> = conflicts[0]
        .admissions
        .iter()
        .map(|one| one.standing)
        .collect();
    assert_eq!(standings.len(), 2);
    assert!(standings.contains(&RecordStanding::Winner));
    assert!(standings.contains(&RecordStanding::Loser));
}
