//! Clocks that jump under a gate at work. In process, since a test may not set the machine's.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use stile_core::device::{Candidate, Device};
use stile_core::ticket::Ticket;
use stile_core::time::EpochMillis;
use stile_turnstile::controller::Controller;
use stile_turnstile::printer::{Printer, Style};
use stile_turnstile::relay::{LogRelay, Pulses};
use stile_turnstile::scanner::{Input, Inputs, Reading, queue};
use stile_turnstile::words::Words;

use crate::common::venue::{NINE, TestPlatform, Venue, id};

/// An output whose lines the test reads.
struct Wire(Sender<Value>);

impl Write for Wire {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(serde_json::from_slice(line)?);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Bench {
    folder: tempfile::TempDir,
    platform: Arc<TestPlatform>,
    venue: Venue,
    tickets: Vec<Ticket>,
}

impl Bench {
    /// An enrolled device that has heard the server at nine and holds a list.
    fn new() -> Self {
        let venue = Venue::new();
        let tickets: Vec<_> = (0..5).map(|n| venue.ticket(&format!("A{n}"))).collect();
        let folder = tempfile::tempdir().unwrap();
        let platform = Arc::new(TestPlatform::at(NINE));
        let candidate = Candidate::new(venue.enrolment_text(), platform.as_ref());
        let answer = venue.enrol(&candidate.request("gate", "test"));
        candidate
            .accept(answer)
            .unwrap()
            .save(folder.path())
            .unwrap();
        let bench = Self {
            folder,
            platform,
            venue,
            tickets,
        };
        let device = bench.open();
        let sent = bench.platform.boot_ms.load(Ordering::SeqCst);
        device.hear_server(EpochMillis(NINE * 1000), sent).unwrap();
        let mut list = device.begin_list(id("2026-10-01"));
        list.feed(&bench.venue.list(1, &bench.tickets)).unwrap();
        list.finish().unwrap();
        bench
    }

    fn open(&self) -> Device {
        Device::open(self.folder.path(), None, self.platform.clone()).unwrap()
    }

    fn set_wall(&self, seconds: i64) {
        let wall = &self.platform.wall_ms;
        wall.store(seconds * 1000, Ordering::SeqCst);
    }

    fn reboot(&self) {
        self.platform.boot.fetch_add(1, Ordering::SeqCst);
        self.platform.boot_ms.store(5_000, Ordering::SeqCst);
    }

    fn code(&self, ticket: usize) -> String {
        self.venue.g2(&self.tickets[ticket], NINE)
    }

    /// Runs a controller, and `test` with its scanner and its output.
    fn at_work(&self, test: impl FnOnce(&mut AtWork)) {
        let device = Arc::new(self.open());
        let (sender, lines) = channel();
        let words = Words::of(device.identity());
        let style = Style {
            json: true,
            language: None,
        };
        let printer = Printer::start(words, style, Wire(sender)).unwrap();
        let relay = LogRelay::new(None).unwrap();
        let controller = Controller {
            device,
            pulses: Pulses::start(vec![Box::new(relay)], Duration::ZERO, |_| ()).unwrap(),
            lines: printer.lines().clone(),
            beats: Arc::default(),
            guard: None,
            on_outcome: Box::new(|_| ()),
            on_record: Box::new(|| ()),
        };
        let (inputs, readings) = queue();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Moved whole, so that its end is the gate's.
                controller.run(&readings, 1);
            });
            test(&mut AtWork {
                inputs: inputs.clone(),
                lines,
            });
            inputs.put(Input::Stop);
        });
        printer.finish();
    }
}

struct AtWork {
    inputs: Inputs,
    lines: Receiver<Value>,
}

impl AtWork {
    fn scan(&mut self, code: &str) -> Value {
        self.inputs.put(Input::Reading(Reading {
            may_be_rest: None,
            bytes: code.into(),
            read_at: Instant::now(),
        }));
        self.lines.recv().unwrap()
    }
}

#[test]
fn a_wall_clock_that_jumps_to_1970_and_2099_in_mid_work_moves_no_verdict() {
    let bench = Bench::new();
    bench.at_work(|gate| {
        for (ticket, wall) in [(0, NINE), (1, 0), (2, 4_070_908_800), (3, -1)] {
            bench.set_wall(wall);
            let admitted = gate.scan(&bench.code(ticket));
            assert_eq!(admitted["verdict"], "admit", "{admitted}");
            assert_eq!(admitted["at"], NINE * 1000, "{admitted}");
        }
    });
}

#[test]
fn after_a_power_cut_with_a_dead_clock_and_no_network_the_gate_works_from_its_floor() {
    let bench = Bench::new();
    bench.at_work(|gate| assert_eq!(gate.scan(&bench.code(0))["verdict"], "admit"));
    bench.reboot();
    bench.set_wall(0);
    bench.at_work(|gate| {
        let admitted = gate.scan(&bench.code(1));
        assert_eq!(admitted["verdict"], "admit", "{admitted}");
        assert_eq!(admitted["at"], NINE * 1000);
        assert_eq!(gate.scan(&bench.code(0))["reason"], "already_used");
    });
}

#[test]
fn after_a_power_cut_with_a_clock_a_month_ahead_the_gate_stays_shut_and_says_so() {
    let bench = Bench::new();
    bench.reboot();
    bench.set_wall(NINE + 30 * 86_400);
    bench.at_work(|gate| {
        let refused = gate.scan(&bench.code(0));
        assert_eq!(refused["reason"], "clock_untrusted", "{refused}");
        assert_eq!(refused["line_to_relay_us"], Value::Null);
        assert_eq!(
            refused["sentence"]["en"],
            "The gate does not know the time. Call staff."
        );
    });
}
