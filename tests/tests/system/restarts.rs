//! What gates and server still know after they were stopped, killed and started again.

use stile_core::reason::Reason;
use stile_core::ticket::CancelCause;
use stile_tests::api::Stream;
use stile_tests::gate::GATE;
use stile_tests::museum::wait_until_drained;
use stile_tests::programs::run;
use stile_tests::server::SERVER;

use crate::house::House;

#[test]
fn a_gate_started_again_without_a_network_has_its_list_and_knows_whom_it_admitted() {
    let mut house = House::open(300);
    let codes = [house.code(), house.code(), house.code()];
    house.museum.server.stop().unwrap();
    assert!(house.turnstile.scan(&codes[0]).unwrap().opens);
    house.turnstile.kill().unwrap();
    house.turnstile.start().unwrap();
    assert_eq!(
        house.turnstile.scan(&codes[0]).unwrap().reason,
        Some(Reason::AlreadyUsed)
    );
    assert!(house.turnstile.scan(&codes[1]).unwrap().opens);
    house.turnstile.stop().unwrap();
    house.turnstile.start().unwrap();
    assert_eq!(
        house.turnstile.scan(&codes[1]).unwrap().reason,
        Some(Reason::AlreadyUsed)
    );
    assert!(house.turnstile.scan(&codes[2]).unwrap().opens);
    house.museum.server.start().unwrap();
    house.everything_has_arrived_once();
    assert_eq!(house.check_ins().len(), 3);
}

#[test]
fn a_server_started_again_has_tickets_keys_devices_records_and_cursors() {
    let mut house = House::open(300);
    let cancelled = house.ticket();
    let codes = house.codes(4);
    for code in &codes[..2] {
        assert!(house.entrance.scan(code).unwrap().opens);
    }
    house
        .museum
        .api
        .cancel(&cancelled.ticket_id, CancelCause::Operator)
        .unwrap();
    wait_until_drained(&[&house.entrance]).unwrap();
    let first = house.museum.api.pull(Stream::Records, None, 1).unwrap();
    let before = house.log();

    house.museum.server.kill().unwrap();
    house.museum.server.start().unwrap();
    assert_eq!(texts(&house.log()), texts(&before));
    let rest = house
        .museum
        .api
        .pull(Stream::Records, Some(&first.cursor), 100)
        .unwrap();
    assert_eq!(texts(&rest.records), texts(&before[1..]));
    let ticket = house.museum.api.ticket(&cancelled.ticket_id).unwrap();
    assert_eq!(ticket.cancel_cause, Some(CancelCause::Operator));

    house.museum.server.stop().unwrap();
    house.museum.server.start().unwrap();
    for code in &codes[2..] {
        assert!(
            house.turnstile.scan(code).unwrap().opens,
            "codes and devices stay good"
        );
    }
    assert_eq!(house.everything_has_arrived_once().len(), 4);
}

#[test]
fn a_cancelled_ticket_is_refused_at_an_online_gate_within_seconds() {
    let mut house = House::open(300);
    let ticket = house.ticket();
    let minted = house
        .museum
        .api
        .mint(&ticket.ticket_id, stile_core::codes::Format::G2, None);
    let code = minted.unwrap().code.unwrap();
    house
        .museum
        .api
        .cancel(&ticket.ticket_id, CancelCause::Refunded)
        .unwrap();
    house
        .museum
        .wait_for_changes(&[&house.turnstile], &house.day.timetable)
        .unwrap();
    assert_eq!(
        house.turnstile.scan(&code).unwrap().reason,
        Some(Reason::Cancelled)
    );
    house.everything_has_arrived_once();
}

#[test]
fn situation_18_a_second_controller_and_a_second_server_on_the_same_folder_refuse_to_start() {
    let mut house = House::open(300);
    let gate = house.turnstile.data().to_string_lossy().into_owned();
    let error = run(
        GATE,
        &["--data", &gate, "run", "--scanner", "tcp:127.0.0.1:0"],
    )
    .unwrap_err();
    assert!(error.to_string().contains("another"), "{error}");
    let server = house.museum.server.data().to_string_lossy().into_owned();
    let error = run(
        SERVER,
        &["--data", &server, "serve", "--listen", "127.0.0.1:0"],
    )
    .unwrap_err();
    assert!(error.to_string().contains("another"), "{error}");
    let code = house.code();
    assert!(
        house.turnstile.scan(&code).unwrap().opens,
        "the first goes on"
    );
    house.everything_has_arrived_once();
}

fn texts(records: &[stile_core::protocol::PulledRecord]) -> Vec<&str> {
    records.iter().map(|pulled| pulled.record.get()).collect()
}
