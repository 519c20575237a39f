//! Situations that operators and guards have met elsewhere, numbered as in the cases'
//! `situations.md`, with the outcome that is right here.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use stile_core::ids::DeviceId;
use stile_core::protocol::{Filed, QuarantineCause, RecordStanding, TicketView};
use stile_core::time::EpochMillis;
use stile_tests::api::Stream;
use stile_tests::device::Device;
use stile_tests::journal;
use stile_tests::museum::{ENTRANCE, SPARE, TURNSTILE, wait_until_drained};
use stile_tests::network::Fault;
use stile_tests::programs::wait_until;

use crate::house::{House, head};

/// How long a gate may take to try an upload again after the first failures.
const RETRY: Duration = Duration::from_secs(60);
/// Connections that race.
const CONNECTIONS: usize = 64;

#[test]
fn situation_01_a_scan_that_the_server_refuses_is_kept_marked_and_exportable() {
    let mut house = House::open(300);
    house.museum.network.cut();
    let codes = house.codes(12);
    let said: Vec<_> = codes
        .iter()
        .map(|code| house.turnstile.scan(code).unwrap())
        .collect();
    let refused = said[5].record_id.unwrap().to_string();
    house.museum.network.mend();
    house.museum.network.refuse_uploads_with(&refused, 400);
    wait_until("the refused scan stands alone", RETRY, || {
        let status = house.turnstile.status()?;
        Ok(status.stuck == 1 && status.unsent <= 1)
    })
    .unwrap();
    let exported = house.turnstile.export().unwrap();
    assert_eq!(exported.len(), 1);
    assert!(exported[0].contains(&refused));
    assert_eq!(house.log().len(), 11, "the others went up");

    // Whatever was wrong is put right; the record goes up with the next start.
    house.museum.network.mend();
    house.turnstile.stop().unwrap();
    house.turnstile.start().unwrap();
    wait_until("the record has gone up", RETRY, || {
        Ok(house.turnstile.status()?.stuck == 0)
    })
    .unwrap();
    assert_eq!(house.everything_has_arrived_once().len(), 12);
}

#[test]
fn situation_02_a_poison_record_at_the_head_holds_up_none_of_those_behind_it() {
    let mut house = House::open(1_000);
    let mut device = Device::enrol(&house.museum, SPARE, 2).unwrap();
    let known = house.ticket_view();
    let mut unknown = known.clone();
    unknown.ticket_id = "nobody-sold-this".parse().unwrap();
    unknown.ticket_number = stile_core::ids::TicketNumber::new(7).unwrap();
    let mut batch = vec![device.admission(&unknown, now_ms()).unwrap()];
    for _ in 0..40 {
        let ticket = house.ticket_view();
        batch.push(device.admission(&ticket, now_ms()).unwrap());
    }
    let answer = device.send(&batch).unwrap();
    assert_eq!(answer.results.len(), 41);
    assert_eq!(answer.results[0].result, Filed::Quarantined);
    assert_eq!(answer.results[0].why, Some(QuarantineCause::UnknownTicket));
    assert!(
        answer.results[1..]
            .iter()
            .all(|one| one.result == Filed::Accepted)
    );
    assert_eq!(house.log().len(), 40);
    let aside = house
        .museum
        .server
        .command(&["quarantine", "list"])
        .unwrap();
    let aside: serde_json::Value = serde_json::from_str(&aside).unwrap();
    assert_eq!(aside["cause"], "unknown_ticket");
    assert_eq!(aside["record"]["ticket_id"], "nobody-sold-this");
}

#[test]
fn situation_03_a_404_or_a_proxys_page_marks_nothing_and_is_tried_again() {
    nothing_is_marked_by(&[
        Fault::Page(404),
        Fault::Page(502),
        Fault::Page(400),
        Fault::Page(403),
    ]);
}

#[test]
fn situation_04_a_captive_portal_that_answers_200_marks_nothing() {
    nothing_is_marked_by(&[Fault::Page(200), Fault::HalfJson, Fault::OtherIds]);
}

/// Each fault alone keeps all records unsent; without faults they go up.
fn nothing_is_marked_by(faults: &[Fault]) {
    let mut house = House::open(300);
    for fault in faults {
        let before = house.museum.network.faults();
        let always = *fault;
        house
            .museum
            .network
            .plan(move |path, _| path.ends_with("/records").then_some(always));
        assert!(house.code_at_turnstile());
        assert!(house.code_at_turnstile());
        wait_until("the fault has been met", RETRY, || {
            Ok(house.museum.network.faults() > before)
        })
        .unwrap();
        thread::sleep(Duration::from_millis(100));
        let unsent = journal::read(house.turnstile.data()).unwrap();
        let unsent = unsent.iter().filter(|kept| !kept.is_synced).count();
        assert_eq!(unsent, 2, "{fault:?}");
        let status = house.turnstile.status().unwrap();
        assert_eq!((status.stuck, status.quarantined), (0, 0), "{fault:?}");
        house.museum.network.mend();
        wait_until_drained(&[&house.turnstile]).unwrap();
    }
    assert_eq!(house.everything_has_arrived_once().len(), 2 * faults.len());
}

#[test]
fn situation_04_an_answer_that_names_half_of_the_scans_marks_that_half() {
    let mut house = House::open(300);
    house.museum.network.cut();
    for _ in 0..10 {
        assert!(house.code_at_turnstile());
    }
    house.museum.network.mend();
    house.museum.network.on_uploads(&[Fault::HalfIds]);
    assert_eq!(house.everything_has_arrived_once().len(), 10);
    let uploads = house.museum.network.uploads();
    assert_eq!((uploads.accepted, uploads.replayed), (10, 5));
}

#[test]
fn situation_05_a_request_that_broke_after_the_server_had_stored_it_is_replayed() {
    let mut house = House::open(300);
    house
        .museum
        .network
        .on_uploads(&[Fault::LoseAnswer, Fault::Twice]);
    assert!(house.code_at_turnstile());
    let log = house.everything_has_arrived_once();
    assert_eq!(log.len(), 1);
    assert_eq!(house.check_ins().len(), 1, "one entry");
    let uploads = house.museum.network.uploads();
    assert_eq!((uploads.accepted, uploads.replayed), (1, 2));
    assert!(house.museum.api.conflicts().unwrap().conflicts.is_empty());
}

#[test]
fn situation_06_a_scan_has_one_id_from_before_the_first_try_also_across_a_restart() {
    let mut house = House::open(300);
    house
        .museum
        .network
        .plan(|path, _| path.ends_with("/records").then_some(Fault::LoseAnswer));
    let code = house.code();
    let said = house.turnstile.scan(&code).unwrap();
    wait_until("the server has stored it", RETRY, || {
        Ok(house.museum.network.uploads().accepted == 1)
    })
    .unwrap();
    house.turnstile.kill().unwrap();
    house.museum.network.mend();
    house.turnstile.start().unwrap();
    let log = house.everything_has_arrived_once();
    assert_eq!(log.len(), 1);
    assert_eq!(Some(head(&log[0]).id), said.record_id);
    assert!(house.museum.network.uploads().replayed >= 1);
}

#[test]
fn situation_07_scanned_time_received_time_and_trust_are_three_things() {
    const WAIT: Duration = Duration::from_millis(1_500);
    let mut house = House::open(300);
    house.museum.network.cut();
    let code = house.code();
    let said = house.turnstile.scan(&code).unwrap();
    thread::sleep(WAIT);
    house.museum.network.mend();
    let log = house.everything_has_arrived_once();
    let record = head(&log[0]);
    assert_eq!(
        record.at, said.at,
        "the scan's time is the gate's, and stays"
    );
    let later = log[0].received_at.since(record.at);
    assert!(later >= 1_000, "received {later} ms after the scan");
    assert!(record.trust.is_anchored());
}

#[test]
fn situation_08_of_two_uploads_in_the_same_millisecond_exactly_one_is_first() {
    let mut house = House::open(1_000);
    let mut devices = [ENTRANCE, TURNSTILE]
        .map(|plan| Device::enrol(&house.museum, plan, plan.id.len() as u64).unwrap());
    let at = now_ms();
    let mut uploads = Vec::new();
    for _ in 0..CONNECTIONS / 2 {
        let ticket = house.ticket_view();
        for device in &mut devices {
            uploads.push(device.admission(&ticket, at).unwrap());
        }
    }
    let start = Barrier::new(CONNECTIONS);
    thread::scope(|scope| {
        for (upload, device) in uploads.iter().zip(devices.iter().cycle()) {
            let start = &start;
            scope.spawn(move || {
                let body = device.signed(std::slice::from_ref(upload)).unwrap();
                start.wait();
                let (status, answer) = device.post(body).unwrap();
                assert_eq!(status, 200, "{answer}");
            });
        }
    });
    let conflicts = house.museum.api.conflicts().unwrap().conflicts;
    assert_eq!(conflicts.len(), CONNECTIONS / 2, "one for each ticket");
    for conflict in &conflicts {
        let won = conflict
            .admissions
            .iter()
            .filter(|one| one.standing == RecordStanding::Winner);
        assert_eq!((conflict.admissions.len(), won.count()), (2, 1));
    }
    // The same for whoever pulls the log; all else being equal, the lower device id is first.
    let (log, _) = house.museum.api.pull_all(Stream::CheckIns, 10).unwrap();
    assert_eq!(log.len(), CONNECTIONS);
    let device_of = |pulled: &stile_core::protocol::PulledRecord| -> DeviceId {
        let record: serde_json::Value = serde_json::from_str(pulled.record.get()).unwrap();
        serde_json::from_value(record["device_id"].clone()).unwrap()
    };
    let lowest = log.iter().map(device_of).min().unwrap();
    for pulled in &log {
        let is_first = pulled.standing == Some(RecordStanding::Winner);
        assert_eq!(is_first, device_of(pulled) == lowest);
    }
}

impl House {
    /// A good ticket as the server shows it.
    fn ticket_view(&mut self) -> TicketView {
        let ticket = self.ticket();
        self.museum.api.ticket(&ticket.ticket_id).unwrap()
    }

    /// A good ticket at the turnstile; whether it opened.
    fn code_at_turnstile(&mut self) -> bool {
        let code = self.code();
        self.turnstile.scan(&code).unwrap().opens
    }
}

fn now_ms() -> EpochMillis {
    EpochMillis(jiff::Timestamp::now().as_millisecond())
}
