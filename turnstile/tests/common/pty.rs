//! The other end of a serial line: a pseudo-terminal behind a link that stands for the device's
//! name, so that it can be unplugged and plugged in again.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{read, write};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::process::eventually;

/// How often the other end looks whether something came.
const LOOK: Duration = Duration::from_millis(2);

/// What a device does: it is given what came and says what it answers.
pub type Device = Box<dyn FnMut(&[u8]) -> Vec<u8> + Send>;

/// A device that is plugged in. Unplugged when dropped.
pub struct Pty {
    line: Arc<OwnedFd>,
    link: PathBuf,
    received: Arc<Mutex<Vec<u8>>>,
    unplugged: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pty {
    /// Plugs in a device that takes everything and says nothing.
    pub fn plug(link: &Path) -> Self {
        Self::plug_device(link, Box::new(|_| Vec::new()))
    }

    /// Plugs in a device that answers.
    pub fn plug_device(link: &Path, mut device: Device) -> Self {
        let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&line).unwrap();
        unlockpt(&line).unwrap();
        fcntl_setfl(&line, OFlags::NONBLOCK).unwrap();
        let name = ptsname(&line, Vec::new()).unwrap().into_string().unwrap();
        symlink(name, link).unwrap();
        let line = Arc::new(line);
        let received = Arc::new(Mutex::new(Vec::new()));
        let unplugged = Arc::new(AtomicBool::new(false));
        let thread = {
            let (line, received) = (Arc::clone(&line), Arc::clone(&received));
            let unplugged = Arc::clone(&unplugged);
            std::thread::spawn(move || {
                let mut bytes = [0; 256];
                while !unplugged.load(Ordering::SeqCst) {
                    match read(&line, &mut bytes) {
                        Ok(count) if count > 0 => {
                            received.lock().unwrap().extend(&bytes[..count]);
                            send(&line, &device(&bytes[..count]));
                        }
                        // Nothing, or nobody has it open.
                        _ => sleep(LOOK),
                    }
                }
            })
        };
        Self {
            line,
            link: link.to_owned(),
            received,
            unplugged,
            thread: Some(thread),
        }
    }

    /// Sends bytes to whoever has the device open.
    pub fn send(&self, bytes: &[u8]) {
        send(&self.line, bytes);
    }

    /// What came so far.
    pub fn received(&self) -> Vec<u8> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until this has come and nothing else.
    pub fn receives(&self, expected: &[u8]) {
        eventually(
            &format!("{expected:02x?}, got {:02x?}", self.received()),
            || self.received().len() >= expected.len(),
        );
        assert_eq!(self.received(), expected);
    }

    /// Waits until this has come, between whatever else.
    pub fn has_received(&self, part: &[u8]) {
        eventually(&format!("{part:02x?} among what came"), || {
            self.received().windows(part.len()).any(|at| at == part)
        });
    }
}

fn send(line: &OwnedFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match write(line, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(_) => sleep(LOOK),
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The name goes first, as the kernel does it.
        let _ = fs::remove_file(&self.link);
        self.unplugged.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
