//! GPIO lines: the drivers over lines that the test plays, and over the kernel's simulated chip
//! where there is one.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stile_turnstile::ports::{Gpio, GpioInput, GpioLine, GpioOutput, Ports, Urgency};
use stile_turnstile::relay::RelaySpec;

/// A board's lines, by number: whether each is on. A line that is not there cannot be taken.
#[derive(Clone, Default)]
struct Board(Arc<Mutex<HashMap<u32, bool>>>);

struct Line(Board, u32);

impl Board {
    fn has(&self, line: u32) -> io::Result<Line> {
        match self.0.lock().unwrap().contains_key(&line) {
            true => Ok(Line(self.clone(), line)),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn is_on(&self, line: u32) -> bool {
        self.0.lock().unwrap()[&line]
    }
}

impl Gpio for Board {
    fn output(&self, line: &GpioLine, on: bool) -> io::Result<Box<dyn GpioOutput>> {
        let mut taken = self.has(line.line)?;
        taken.set(on)?;
        Ok(Box::new(taken))
    }

    fn input(&self, line: &GpioLine) -> io::Result<Box<dyn GpioInput>> {
        Ok(Box::new(self.has(line.line)?))
    }
}

impl GpioOutput for Line {
    fn set(&mut self, on: bool) -> io::Result<()> {
        self.0.has(self.1)?;
        self.0.0.lock().unwrap().insert(self.1, on);
        Ok(())
    }
}

impl GpioInput for Line {
    fn is_on(&mut self) -> io::Result<bool> {
        self.0.has(self.1)?;
        Ok(self.0.is_on(self.1))
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        std::thread::sleep(at_most.min(Duration::from_millis(5)));
        Ok(())
    }
}

fn ports(board: &Board) -> Arc<Ports> {
    Arc::new(Ports::of(
        "/sys".into(),
        "/dev".into(),
        Arc::new(board.clone()),
    ))
}

#[test]
fn a_line_is_high_while_the_gate_is_open() {
    let board = Board::default();
    board.0.lock().unwrap().insert(17, true); // as a kill in a pulse left it
    let spec: RelaySpec = "gpio:gpiochip0,line=17".parse().unwrap();
    let mut relay = spec.open(&ports(&board), Urgency::First).unwrap();
    assert!(board.is_on(17), "not touched before the first close");
    relay.close().unwrap();
    assert!(!board.is_on(17));
    relay.open().unwrap();
    assert!(board.is_on(17));
    relay.close().unwrap();
    assert!(!board.is_on(17));
}

#[test]
fn a_line_that_was_away_is_taken_again() {
    let board = Board::default();
    let spec: RelaySpec = "gpio:gpiochip0,line=17".parse().unwrap();
    let mut relay = spec.open(&ports(&board), Urgency::First).unwrap();
    assert!(relay.close().unwrap_err().to_string().contains("line=17"));
    board.0.lock().unwrap().insert(17, true);
    relay.close().unwrap();
    assert!(!board.is_on(17));
    board.0.lock().unwrap().clear();
    assert!(relay.open().is_err());
    board.0.lock().unwrap().insert(17, true);
    relay.close().unwrap();
    assert!(!board.is_on(17));
}

/// A chip that the kernel simulates. Taken away when dropped.
struct SimulatedChip {
    config: PathBuf,
    lines: PathBuf,
    name: String,
}

impl SimulatedChip {
    /// None where the kernel has no gpio-sim.
    fn new() -> Option<Self> {
        let config = Path::new("/sys/kernel/config/gpio-sim");
        if !config.exists() {
            return None;
        }
        let config = config.join(format!("stile-{}", std::process::id()));
        let bank = config.join("bank0");
        fs::create_dir(&config).ok()?;
        fs::create_dir(&bank).unwrap();
        fs::write(bank.join("num_lines"), "8").unwrap();
        fs::write(config.join("live"), "1").unwrap();
        let read = |path: PathBuf| fs::read_to_string(path).unwrap().trim().to_owned();
        let device = read(config.join("dev_name"));
        let name = read(bank.join("chip_name"));
        let lines = Path::new("/sys/devices/platform").join(device).join(&name);
        Some(Self {
            config,
            lines,
            name,
        })
    }

    fn value(&self, line: u32) -> String {
        let path = self.lines.join(format!("sim_gpio{line}/value"));
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    fn pull(&self, line: u32, pull: &str) {
        fs::write(self.lines.join(format!("sim_gpio{line}/pull")), pull).unwrap();
    }
}

impl Drop for SimulatedChip {
    fn drop(&mut self) {
        let _ = fs::write(self.config.join("live"), "0");
        let _ = fs::remove_dir(self.config.join("bank0"));
        let _ = fs::remove_dir(&self.config);
    }
}

#[test]
fn the_kernels_lines_are_switched_and_read() {
    let Some(chip) = SimulatedChip::new() else {
        eprintln!("skipped: this kernel simulates no GPIO chip (modprobe gpio-sim, as root)");
        return;
    };
    let ports = Arc::new(Ports::default());
    for (active, open, closed) in [("high", "1", "0"), ("low", "0", "1")] {
        let spec = format!("gpio:{},line=3,active={active}", chip.name);
        let spec: RelaySpec = spec.parse().unwrap();
        let mut relay = spec.open(&ports, Urgency::First).unwrap();
        relay.close().unwrap();
        assert_eq!(chip.value(3), closed);
        relay.open().unwrap();
        assert_eq!(chip.value(3), open);
        relay.close().unwrap();
        assert_eq!(chip.value(3), closed);
    }
    let line = GpioLine {
        chip: Path::new("/dev").join(&chip.name),
        line: 4,
        active_low: true,
        bias: None,
    };
    let mut input = ports.gpio().input(&line).unwrap();
    chip.pull(4, "pull-up");
    assert!(!input.is_on().unwrap());
    chip.pull(4, "pull-down");
    input.wait(Duration::from_secs(60)).unwrap();
    assert!(input.is_on().unwrap());
}
