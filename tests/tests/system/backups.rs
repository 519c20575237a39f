//! A server put back from a backup, while its gates go on.

use std::time::Duration;

use serde_json::json;
use stile_core::codes::Format;
use stile_tests::gate::Said;
use stile_tests::museum::wait_until_drained;
use stile_tests::programs::wait_until;

use crate::house::House;

/// How long gates may take to notice and to send again what is missing: a look at the lists every
/// five seconds, a few uploads, and waits after failures while the server was away.
const NOTICED: Duration = Duration::from_secs(120);

impl House {
    fn back_up(&self) -> String {
        let copy = self.museum.folder.join("copy.db").display().to_string();
        self.museum.server.command(&["backup", &copy]).unwrap();
        copy
    }

    fn restore(&mut self, copy: &str) {
        self.museum.server.stop().unwrap();
        self.museum.server.command(&["restore", copy]).unwrap();
        self.museum.server.start().unwrap();
    }

    /// Puts a ticket for the slot that admits now.
    fn sell(&self, id: &str) {
        let ticket = json!({
            "ticket_id": id,
            "order_number": "SOLD",
            "session_id": self.day.timetable.busy().session_id,
        });
        let imported = self.museum.api.import_ndjson(&[ticket]).unwrap();
        assert_eq!(imported.accepted, 1);
    }

    fn log_has(&self, records: usize) {
        wait_until("the log is whole again", NOTICED, || {
            Ok(self.log().len() == records)
        })
        .unwrap();
    }
}

fn opened(said: &Said) {
    assert!(said.opens, "{}", said.outcome());
}

#[test]
fn situation_28_a_server_from_last_nights_backup_gets_this_mornings_scans_once_more() {
    let mut house = House::open(300);
    let codes = house.codes(9);
    for code in &codes[..3] {
        opened(&house.entrance.scan(code).unwrap());
    }
    wait_until_drained(&[&house.entrance]).unwrap();
    let copy = house.back_up();
    for (code, other) in codes[3..5].iter().zip(&codes[5..7]) {
        opened(&house.entrance.scan(code).unwrap());
        opened(&house.turnstile.scan(other).unwrap());
    }
    wait_until_drained(&[&house.entrance, &house.turnstile]).unwrap();
    assert_eq!(house.log().len(), 7);

    house.restore(&copy);
    assert_eq!(house.log().len(), 3, "this morning is lost there");
    // One gate goes on admitting, the other has nothing new to say.
    opened(&house.entrance.scan(&codes[7]).unwrap());
    house.log_has(8);
    assert_eq!(house.everything_has_arrived_once().len(), 8);
    opened(&house.turnstile.scan(&codes[8]).unwrap());
    assert_eq!(house.everything_has_arrived_once().len(), 9);
    assert_eq!(house.check_ins().len(), 9);
}

#[test]
fn situation_34_a_ticket_has_its_number_again_after_a_restore() {
    let mut house = House::open(300);
    let copy = house.back_up();
    house.sell("A-1");
    let code = house.museum.api.mint("A-1", Format::G2, Some(3_600));
    let code = code.unwrap().code.unwrap();

    house.restore(&copy);
    // Sold in another order this time.
    house.sell("B-1");
    house.sell("A-1");
    house
        .museum
        .wait_for_changes(&[&house.turnstile], &house.day.timetable)
        .unwrap();
    let said = house.turnstile.scan(&code).unwrap();
    opened(&said);
    house.everything_has_arrived_once();
    assert_eq!(house.check_ins(), ["A-1"]);
}
