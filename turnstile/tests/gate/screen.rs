//! `stile-gate run --tui` on a terminal: what a guard sees and does, and that the terminal is
//! given back.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;

use crate::common::process::{Scene, error_of, eventually, program_on_terminal};

/// A gate whose guard sits at a terminal of 80 by 24.
struct AtTerminal {
    child: Child,
    keyboard: File,
    /// The other side of the terminal, kept open so that its modes can be asked for at the end.
    terminal: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl AtTerminal {
    fn run(scene: &Scene) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = || {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).open(name.to_str().unwrap())
        };
        let terminal = open().unwrap();
        let relay = scene.place.relay_flag();
        let arguments = [
            "run",
            "--tui",
            "--relay",
            &relay,
            "--hold-ms",
            "5",
            "--scanner",
            "tcp:127.0.0.1:0",
        ];
        let mut command = program_on_terminal(&scene.place.data(), &arguments);
        command.stdin(open().unwrap()).stdout(open().unwrap());
        let child = command.stderr(open().unwrap()).spawn().unwrap();
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 0)));
        let (mut output, painted) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Ends with an error when the terminal is gone.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                painted.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self {
            child,
            keyboard,
            terminal,
            screen,
        }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn sees(&self, words: &str) {
        let seen = std::cell::RefCell::new(String::new());
        let what = format!("the screen shows {words}");
        let look = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(&what, || {
                *seen.borrow_mut() = self.text();
                seen.borrow().contains(words)
            });
        }));
        assert!(look.is_ok(), "{words} is not on\n{}", seen.borrow());
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn is_given_back(&self) -> bool {
        let modes = tcgetattr(self.terminal.as_fd()).unwrap().local_modes;
        let screen = self.screen.lock().unwrap();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
            && !screen.screen().alternate_screen()
            && !screen.screen().hide_cursor()
    }

    fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts a code on the gate's TCP scanner.
fn scan(scene: &Scene, code: &str) {
    let status = scene.place.data().join("status.json");
    let scanner = || -> Option<String> {
        let status: Value = serde_json::from_slice(&fs::read(&status).ok()?).ok()?;
        Some(status["scanners"][0].as_str()?.to_owned())
    };
    eventually("the scanner is bound", || scanner().is_some());
    let address = scanner().unwrap();
    let mut line = TcpStream::connect(address.strip_prefix("tcp:").unwrap()).unwrap();
    line.write_all(format!("{code}\n").as_bytes()).unwrap();
}

#[test]
fn a_guard_admits_takes_back_looks_up_and_shuts_the_gate() {
    let scene = Scene::new();
    let mut guard = AtTerminal::run(&scene);
    guard.sees("请扫码");
    guard.sees("名单 10 张");
    scan(&scene, &scene.code(0));
    guard.sees("请通行。");
    guard.sees("核对: *三 5678");
    assert_eq!(scene.place.opens(), 1);
    guard.press("x");
    guard.sees("已撤销：人票不符。");
    guard.press("/");
    guard.sees("订单号或尾号");
    guard.press("O-A0\r\r");
    guard.sees("查到的票");
    guard.press("\r");
    eventually("the gate opens for the ticket", || scene.place.opens() == 2);
    guard.sees("请通行。");
    guard.press("g");
    guard.sees("Please pass.");
    guard.press("q");
    guard.sees("Quit? The gate shuts and stays shut.");
    guard.press("y");
    assert!(guard.wait().success());
    eventually("the terminal is given back", || guard.is_given_back());
    guard.sees("the gate is shut");
    assert_eq!(scene.place.relay_moves().last().unwrap(), "close");
    let records: Vec<Value> = scene
        .place
        .all_records()
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect();
    let said = |place: usize, name: &str| records[place][name].as_str().map(str::to_owned);
    assert_eq!(said(0, "via").unwrap(), "code");
    assert_eq!(said(1, "kind").unwrap(), "undo");
    assert_eq!(records[1]["mismatch"], true);
    assert_eq!(said(2, "via").unwrap(), "look_up");
    assert_eq!(records.len(), 3);
}

#[test]
fn a_signal_shuts_the_gate_and_gives_the_terminal_back() {
    let scene = Scene::new();
    let mut guard = AtTerminal::run(&scene);
    guard.sees("请扫码");
    assert!(!guard.is_given_back());
    kill_process(Pid::from_child(&guard.child), Signal::TERM).unwrap();
    assert!(guard.wait().success());
    eventually("the terminal is given back", || guard.is_given_back());
    assert_eq!(scene.place.relay_moves().last().unwrap(), "close");
}

#[test]
fn a_screen_wants_a_scanner_of_its_own_and_a_terminal() {
    let scene = Scene::new();
    for (arguments, words) in [
        (&["run", "--tui"][..], "name the scanner"),
        (
            &["run", "--tui", "--scanner", "tcp:127.0.0.1:0"],
            "--tui needs a terminal",
        ),
        (
            &["run", "--tui", "--json", "--scanner", "tcp:127.0.0.1:0"],
            "choose one",
        ),
    ] {
        let output = scene.place.call(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(error_of(&output).contains(words), "{}", error_of(&output));
    }
}
