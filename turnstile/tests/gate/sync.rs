//! The network beside the scan loop: it never delays a verdict, and only the server's own word
//! marks anything.

use std::cell::RefCell;
use std::net::TcpListener;

use serde_json::Value;
use stile_core::protocol::Code;

use crate::common::fake_server::Behaviour;
use crate::common::process::{Scene, eventually};
use crate::common::venue::{NINE, Venue};

#[test]
fn a_record_goes_up_by_itself_and_is_filed_once() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.event("online");
    let admitted = gate.scan(&scene.code(0));
    eventually("it is filed", || scene.server.records().len() == 1);
    eventually("it is marked", || scene.place.unsent().is_empty());
    let filed = scene.server.records();
    let (id, record) = filed.iter().next().unwrap();
    assert_eq!(admitted["record_id"], id.to_string());
    assert_eq!(
        *record,
        scene.place.all_records()[0],
        "the bytes of the journal"
    );
    gate.terminate();
    assert_eq!(scene.server.replayed(), 0);
}

#[test]
fn a_server_that_never_answers_delays_no_verdict() {
    let scene = Scene::new();
    scene.server.behave(Behaviour::Hangs);
    let mut gate = scene.place.run(&[]);
    let asked = scene.server.requests();
    eventually("the gate is waiting for an answer", || {
        scene.server.requests() > asked
    });
    for n in 0..10 {
        assert_eq!(gate.scan(&scene.code(n))["verdict"], "admit");
    }
    assert!(scene.server.records().is_empty());
    assert!(gate.terminate().success());
    assert_eq!(scene.place.unsent().len(), 10);
}

#[test]
fn a_listener_that_takes_connections_and_says_nothing_delays_no_verdict() {
    let scene = Scene::new();
    let code = scene.code(0);
    let address = scene.server.address;
    drop(scene.server);
    let bound = RefCell::new(None);
    eventually("the server's port is free", || {
        *bound.borrow_mut() = TcpListener::bind(address).ok();
        bound.borrow().is_some()
    });
    let mute = bound.take().unwrap();
    let mut gate = scene.place.run(&[]);
    let (_held, _) = mute.accept().unwrap();
    assert_eq!(gate.scan(&code)["verdict"], "admit");
    assert!(gate.terminate().success());
}

#[test]
fn pages_and_refusals_that_are_not_the_servers_word_mark_nothing() {
    for behaviour in [
        Behaviour::Page(200),
        Behaviour::Page(502),
        Behaviour::Page(401),
        Behaviour::Page(404),
        Behaviour::Problem(Code::Unauthorized),
        Behaviour::Problem(Code::StoreUnavailable),
    ] {
        let scene = Scene::new();
        scene.server.behave(behaviour);
        let mut gate = scene.place.run(&[]);
        gate.scan(&scene.code(0));
        let trouble = gate.event("upload_trouble");
        assert!(trouble["what"].is_string(), "{behaviour:?}");
        assert_eq!(scene.place.unsent().len(), 1, "{behaviour:?}");
        let lists =
            |place: &crate::common::process::Place| place.data().join("whitelist-2026-10-01.db");
        assert!(lists(&scene.place).exists(), "{behaviour:?}");
        scene.server.behave(Behaviour::Right);
        gate.kill();
        let gate = scene.place.run(&[]);
        eventually("it goes up at last", || scene.server.records().len() == 1);
        eventually("and is marked", || scene.place.unsent().is_empty());
        gate.terminate();
    }
}

#[test]
fn situation_33_a_device_that_the_server_does_not_know_keeps_all_and_raises_an_alarm() {
    let scene = Scene::new();
    scene.server.behave(Behaviour::Problem(Code::Unauthorized));
    let mut gate = scene.place.run(&[]);
    gate.event("unauthorised");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.terminate();
    assert_eq!(scene.place.unsent().len(), 1);
}

#[test]
fn an_outage_ends_and_the_outbox_drains_with_nothing_lost_or_doubled() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.event("online");
    let codes: Vec<_> = (0..10).map(|n| scene.code(n)).collect();
    gate.scan(&codes[0]);
    eventually("the first is filed", || scene.server.records().len() == 1);
    let away = scene.server.away();
    for code in &codes[1..] {
        assert_eq!(gate.scan(code)["verdict"], "admit");
    }
    gate.event("upload_trouble");
    let server = away.back();
    eventually("all are filed", || server.records().len() == 10);
    gate.event("upload_resumed");
    eventually("all are marked", || scene.place.unsent().is_empty());
    gate.terminate();
}

#[test]
fn an_upload_whose_answer_is_lost_is_sent_again_and_changes_nothing() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.scan(&scene.code(0));
    eventually("filed and marked", || scene.place.unsent().is_empty());
    gate.kill();
    // As after a crash between the server's answer and the mark.
    let journal = rusqlite::Connection::open(scene.place.data().join("journal.db")).unwrap();
    journal
        .execute("UPDATE sync_log SET sync_status = 0", [])
        .unwrap();
    journal
        .execute("DELETE FROM fact WHERE name = 'unsent_from'", [])
        .unwrap();
    drop(journal);
    let gate = scene.place.run(&[]);
    eventually("it is replayed", || scene.server.replayed() == 1);
    eventually("and marked", || scene.place.unsent().is_empty());
    gate.terminate();
    assert_eq!(scene.server.records().len(), 1);
}

#[test]
fn a_newer_list_is_applied_while_the_gate_works() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let newcomer = scene.server.books.venue.ticket("late-booking");
    let code = scene.server.books.venue.g2(&newcomer, scene.server.now_s());
    assert_eq!(
        gate.scan(&code)["sentence"]["en"],
        "Please pass. Not in the list; signed."
    );
    let mut tickets = scene.tickets.clone();
    tickets[0].status = stile_core::ticket::TicketStatus::Blocked;
    scene.server.put_list(2, &tickets);
    let applied = gate.event("list_applied");
    assert_eq!(
        (&applied["service_day"], &applied["tickets"]),
        (&"2026-10-01".into(), &10.into())
    );
    assert_eq!(gate.scan(&scene.code(0))["reason"], "blocked");
    gate.terminate();
}

#[test]
fn a_list_that_does_not_add_up_is_refused_and_the_one_in_use_stays() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let venue = &scene.server.books.venue;
    let rows = Venue::rows(&scene.tickets);
    let manifest = venue.manifest(2, &rows);
    scene
        .server
        .put_stream(&manifest, venue.stream(&manifest, &rows[1..]));
    let refused = gate.event("list_refused");
    let why = refused["why"].as_str().unwrap();
    assert!(why.contains("9 rows and not the 10"), "{why}");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    scene
        .server
        .put_stream(&manifest, b"{\"manifest\":".to_vec());
    assert_eq!(gate.scan(&scene.code(1))["verdict"], "admit");
    gate.terminate();
}

#[test]
fn a_wall_clock_two_months_off_is_told_and_moves_no_verdict() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let warning = gate.event("clock_warning");
    assert!(warning["off_ms"].is_i64(), "{warning}");
    let admitted = gate.scan(&scene.code(0));
    assert_eq!(admitted["verdict"], "admit");
    let off = admitted["at"].as_i64().unwrap() - NINE * 1000;
    assert!(
        (0..3_600_000).contains(&off),
        "the server's time, not the wall's: {off}"
    );
    gate.terminate();
}

#[test]
fn a_server_whose_time_jumps_to_2099_is_not_believed_and_the_gate_goes_on() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.event("online");
    scene.server.set_clock(4_070_908_800_000);
    let status = || -> Value {
        let output = scene.place.call(&["status", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    eventually("the clock is disputed", || {
        status()["clock"]["trust"] == "disputed"
    });
    let venue = &scene.server.books.venue;
    let code = venue.g2(&scene.tickets[0], NINE);
    assert_eq!(gate.scan(&code)["verdict"], "admit");
    scene.server.set_clock(NINE * 1000 + 60_000);
    eventually("the clock is right again", || {
        status()["clock"]["trust"] == "anchored"
    });
    gate.terminate();
}

#[test]
fn at_the_end_of_its_input_a_gate_tries_a_last_upload() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.event("online");
    for n in 0..5 {
        gate.type_line(&scene.code(n));
    }
    gate.end_of_input();
    gate.event("stopped");
    assert!(gate.wait().success());
    assert_eq!(scene.server.records().len(), 5);
    assert!(scene.place.unsent().is_empty());
}
