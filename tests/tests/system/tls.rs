//! A gate and a server over TLS, under a CA of the venue's own: trusted by its pin, refused under
//! another, and none the wiser for a renewal.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use stile_core::codes::Format;
use stile_core::protocol::{EnrolmentText, NewGate};
use stile_tests::api::{Api, Stream};
use stile_tests::booking::{BookingDay, Header, write_csv};
use stile_tests::comparison::Comparison;
use stile_tests::gate::{GATE, Gate};
use stile_tests::journal;
use stile_tests::museum::{
    ENTRANCE, Museum, OPAQUE_SHAPE, TIME_ZONE, Tickets, VENUE, now, wait_for_today,
    wait_until_drained,
};
use stile_tests::programs::run;
use stile_tests::server::Server;
use tempfile::TempDir;

/// A museum whose server speaks TLS, and its entrance.
struct Site {
    gate: Gate,
    api: Api,
    server: Server,
    day: BookingDay,
    text: EnrolmentText,
    pin: String,
    folder: TempDir,
}

impl Site {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server::new(&folder.path().join("server"));
        let flags = ["--formats", "v1,opaque", "--opaque-shape", OPAQUE_SHAPE];
        server.add_venue(VENUE, "M", TIME_ZONE, &flags).unwrap();
        let scopes = "tickets:write,codes:mint,records:read,admin";
        let key = [
            "key", "add", "--venue", VENUE, "--scopes", scopes, "--name", "test",
        ];
        let key = server.command(&key).unwrap();
        let pin = tls_new(&server);
        server.start().unwrap();
        assert!(server.url().starts_with("https://"));
        let ca = server.data().join("tls/ca.pem");
        let api = Api::under_ca(&ca, &server.url(), &key, VENUE).unwrap();
        let day = BookingDay::generate(Museum::timetable().unwrap(), 200, 1);
        api.put_timetable(&day.timetable).unwrap();
        let tickets = folder.path().join("tickets.csv");
        write_csv(&day, Header::English, fs::File::create(&tickets).unwrap()).unwrap();
        assert_eq!(api.import_csv(&tickets).unwrap().refused_count, 0);
        let entrance = NewGate {
            name: "entrance".into(),
            direction: Default::default(),
            checkpoint: None,
            zones: Vec::new(),
            unattended: false,
        };
        api.put_gate(ENTRANCE.id, &entrance).unwrap();
        let text = api.invite(ENTRANCE.id, &server.url()).unwrap().text;
        let mut gate = Gate::enrol(&folder.path().join("gate"), &text, ENTRANCE.id).unwrap();
        gate.start().unwrap();
        wait_for_today(&gate, &day.timetable).unwrap();
        Self {
            gate,
            api,
            server,
            text: text.parse().unwrap(),
            day,
            pin,
            folder,
        }
    }

    /// Fresh codes of different tickets that the entrance admits now.
    fn codes<const N: usize>(&self) -> [String; N] {
        let mut tickets = Tickets::of(&self.day);
        std::array::from_fn(|_| {
            let is_good = |ticket: &_| self.day.expected(ticket, ENTRANCE.door, now(), 0).is_none();
            let ticket = tickets.take("is good now", is_good).unwrap();
            let minted = self.api.mint(&ticket.ticket_id, Format::V1, Some(3_600));
            minted.unwrap().code.unwrap()
        })
    }

    /// What the gate's doctor says of the server; an error if it fails.
    fn doctor(&self) -> anyhow::Result<String> {
        let data = self.gate.data().to_string_lossy();
        run(GATE, &["--data", &data, "doctor", "--json", "--yes"])
    }

    fn everything_has_arrived_once(&self) {
        wait_until_drained(&[&self.gate]).unwrap();
        let log = self.api.pull_all(Stream::Records, 100).unwrap().0;
        let journal = journal::read(self.gate.data()).unwrap();
        let found = Comparison::of(&[journal], &[&self.gate.heard], &log).unwrap();
        assert!(found.is_whole(), "{found}");
    }
}

fn tls_new(server: &Server) -> String {
    server
        .command(&["tls", "new", "--address", "127.0.0.1"])
        .unwrap()
}

fn move_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for folder in ["tls", "tls-ca"] {
        fs::rename(from.join(folder), to.join(folder)).unwrap();
    }
}

#[test]
fn a_gate_enrols_by_the_pin_takes_its_list_admits_and_uploads_and_a_renewal_changes_nothing() {
    let mut site = Site::open();
    assert_eq!(site.text.ca_pin.as_ref(), Some(&site.pin));
    let codes: [_; 3] = site.codes();
    assert!(site.gate.scan(&codes[0]).unwrap().opens);
    site.everything_has_arrived_once();
    assert!(site.doctor().unwrap().contains("under the pinned CA"));

    site.server.command(&["tls", "renew"]).unwrap();
    let pid = Pid::from_raw(site.server.pid().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert!(site.gate.scan(&codes[1]).unwrap().opens);
    site.everything_has_arrived_once();
    // Whatever connection there was is gone now.
    site.server.stop().unwrap();
    site.server.start().unwrap();
    assert!(site.gate.scan(&codes[2]).unwrap().opens);
    site.everything_has_arrived_once();
    let (check_ins, _) = site.api.pull_all(Stream::CheckIns, 100).unwrap();
    assert_eq!(check_ins.len(), 3);
}

#[test]
fn a_server_under_another_ca_is_refused_and_the_gate_admits_on_and_keeps_everything() {
    let mut site = Site::open();
    let codes: [_; 3] = site.codes();
    assert!(site.gate.scan(&codes[0]).unwrap().opens);
    site.everything_has_arrived_once();
    let lists = site.gate.status().unwrap().lists.len();

    let (data, aside) = (
        site.server.data().to_owned(),
        site.folder.path().join("aside"),
    );
    site.server.stop().unwrap();
    move_all(&data, &aside);
    assert_ne!(tls_new(&site.server), site.pin);
    site.server.start().unwrap();
    let said = site.doctor().unwrap_err().to_string();
    assert!(said.contains("UnknownIssuer"), "{said}");
    assert!(site.gate.scan(&codes[1]).unwrap().opens);
    site.gate.stop().unwrap();
    site.gate.start().unwrap();
    assert!(site.gate.scan(&codes[2]).unwrap().opens);
    let status = site.gate.status().unwrap();
    assert_eq!((status.unsent, status.lists.len()), (2, lists));
    assert_eq!(journal::read(site.gate.data()).unwrap().len(), 3);

    site.server.stop().unwrap();
    move_all(&data, &site.folder.path().join("theirs"));
    move_all(&aside, &data);
    site.server.start().unwrap();
    site.everything_has_arrived_once();
}
