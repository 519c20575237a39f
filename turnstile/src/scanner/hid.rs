//! A HID scanner through evdev. The device is grabbed: what it types reaches no console and no
//! other program.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use evdev::raw_stream::RawDevice;
use evdev::{EventSummary, SynchronizationCode};

use super::keys::Keys;
use super::line::{Source, Taken};
use crate::ports::{Kind, Place, Ports};

/// An open scanner.
pub(super) struct Keyboard {
    device: RawDevice,
    keys: Keys,
}

impl Keyboard {
    /// Opens it for this program alone.
    pub fn open(ports: &Ports, place: &Place) -> io::Result<Self> {
        let path = ports.find(place, Kind::Keyboard)?;
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut device = RawDevice::open(&path).map_err(named)?;
        device.grab().map_err(named)?;
        Ok(Self {
            device,
            keys: Keys::default(),
        })
    }
}

impl AsFd for Keyboard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Source for Keyboard {
    fn take(&mut self, bytes: &mut Vec<u8>) -> io::Result<Taken> {
        let mut taken = Taken::Bytes;
        for event in self.device.fetch_events()? {
            match event.destructure() {
                EventSummary::Key(_, key, value) => bytes.extend(self.keys.press(key, value)),
                // The kernel's buffer ran over.
                EventSummary::Synchronization(_, SynchronizationCode::SYN_DROPPED, _) => {
                    bytes.clear();
                    self.keys = Keys::default();
                    taken = Taken::BytesAfterLoss;
                }
                _ => {}
            }
        }
        Ok(taken)
    }
}
