//! A terminal of 80 columns and 24 lines with a person before it: what a program paints is read
//! from it as text, and keys are pressed on it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Lines and columns.
const SIZE: (u16, u16) = (24, 80);
/// The column in which a line of a list is inverse when it has the keys.
const MARK: u16 = 2;
/// How long something may take to be painted on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the screen is looked at while something is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// See the module.
pub struct Terminal {
    keyboard: File,
    painted: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// A new terminal, and its side that a program is given.
    pub fn new() -> Result<(Self, File)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let size = Winsize {
            ws_row: SIZE.0,
            ws_col: SIZE.1,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size)?;
        let name = ptsname(&master, Vec::new())?;
        let programs = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str()?)?;
        let keyboard = File::from(master);
        let painted = Arc::new(Mutex::new(vt100::Parser::new(SIZE.0, SIZE.1, 0)));
        let (mut output, screen) = (keyboard.try_clone()?, Arc::clone(&painted));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Ends with an error when the terminal is gone.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                lock(&screen).process(&bytes[..count]);
            }
        });
        Ok((Self { keyboard, painted }, programs))
    }

    /// Presses keys one after the other, as fast as a scanner would.
    pub fn press(&mut self, keys: &str) -> Result<()> {
        self.keyboard
            .write_all(keys.as_bytes())
            .context("nobody reads the keyboard")
    }

    /// Waits until something is seen on it, and returns what that is.
    pub fn wait_for<T>(&self, what: &str, see: impl Fn(&Look) -> Option<T>) -> Result<T> {
        let until = Instant::now() + PATIENCE;
        loop {
            let look = self.look();
            if let Some(seen) = see(&look) {
                return Ok(seen);
            }
            ensure!(
                Instant::now() < until,
                "the screen never shows {what}, but\n{}",
                look.text
            );
            std::thread::sleep(LOOK);
        }
    }

    /// What is on it. The program may be in the middle of painting it.
    pub fn look(&self) -> Look {
        let painted = lock(&self.painted);
        let screen = painted.screen();
        let cell = screen.cell(SIZE.0 / 2, 1);
        let is_marked = |row: &u16| screen.cell(*row, MARK).is_some_and(vt100::Cell::inverse);
        let marked = (0..SIZE.0).find(is_marked);
        let lines = screen.rows(0, SIZE.1);
        Look {
            text: screen.contents(),
            colour: cell.map(vt100::Cell::bgcolor).unwrap_or_default(),
            marked: marked.zip(marked.and_then(|row| lines.into_iter().nth(row.into()))),
        }
    }
}

/// One look at a terminal.
pub struct Look {
    /// What is to be read, line by line.
    pub text: String,
    /// The background colour in the middle of the left edge.
    pub colour: vt100::Color,
    /// The line of a list that has the keys, and where it stands.
    pub marked: Option<(u16, String)>,
}

fn lock(painted: &Mutex<vt100::Parser>) -> MutexGuard<'_, vt100::Parser> {
    painted.lock().unwrap_or_else(PoisonError::into_inner)
}
