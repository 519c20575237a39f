//! Devices by what they are instead of where they are plugged in: a USB id is looked up in the
//! kernel's tree (`/sys/class/tty`, `/sys/class/input`), so that no udev is needed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Options, SpecError};

/// Where a device is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A device file.
    Path(PathBuf),
    /// Wherever the USB device is plugged in.
    Usb(UsbId),
}

/// What tells one USB device from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UsbId {
    /// The maker's number.
    pub vendor: u16,
    /// The maker's number of the product.
    pub product: u16,
    /// The device's own number, for a machine with two of a kind.
    pub serial: Option<String>,
}

/// What is looked for in a USB device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A serial port.
    Serial,
    /// A keyboard, as a HID scanner is one.
    Keyboard,
}

/// Bit of the Enter key in `capabilities/key`: what has it types lines.
const ENTER_BIT: u64 = 1 << 28;

impl Place {
    /// Takes the place out of the options: what stands first, or `usb=VVVV:PPPP[,serial=…]`.
    pub(crate) fn take(options: &mut Options<'_>) -> Result<Self, SpecError> {
        match (options.place, options.take("usb")) {
            (Some(path), None) if path.starts_with('/') => Ok(Self::Path(path.into())),
            (None, Some(text)) => {
                let number = |text: &str| u16::from_str_radix(text, 16).ok();
                let ids = text.split_once(':');
                let ids = ids.and_then(|(v, p)| Some((number(v)?, number(p)?)));
                let Some((vendor, product)) = ids else {
                    return Err(SpecError(format!(
                        "usb is `{text}`; it is two hexadecimal numbers, such as `1a86:7523`"
                    )));
                };
                let serial = options.take("serial").map(str::to_owned);
                Ok(Self::Usb(UsbId {
                    vendor,
                    product,
                    serial,
                }))
            }
            _ => Err(SpecError(
                "say where it is: a path such as `/dev/ttyUSB0`, or `usb=1a86:7523`".into(),
            )),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Usb(id) => {
                write!(f, "usb={:04x}:{:04x}", id.vendor, id.product)?;
                match &id.serial {
                    Some(serial) => write!(f, ",serial={serial}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The name under `/dev` of a USB device's first port or keyboard. Two devices that fit are an
/// error: the gate would take now this one and now that.
pub(super) fn find(sys: &Path, id: &UsbId, kind: Kind) -> io::Result<PathBuf> {
    let class = sys.join(match kind {
        Kind::Serial => "class/tty",
        Kind::Keyboard => "class/input",
    });
    let mut found = BTreeMap::<PathBuf, Vec<String>>::new();
    for entry in fs::read_dir(&class)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let fits = match kind {
            Kind::Serial => true,
            Kind::Keyboard => name.starts_with("event") && types_lines(&entry.path()),
        };
        if fits && let Some(device) = usb_device(&entry.path(), id) {
            found.entry(device).or_default().push(name);
        }
    }
    let place = Place::Usb(id.clone());
    let mut devices = found.into_values();
    match (devices.next(), devices.next()) {
        (Some(mut names), None) => {
            // event9 stands before event10.
            names.sort_by_key(|name| (name.len(), name.clone()));
            let name = names.swap_remove(0);
            Ok(match kind {
                Kind::Serial => name.into(),
                Kind::Keyboard => Path::new("input").join(name),
            })
        }
        (None, _) => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("{place} is not plugged in"),
        )),
        (Some(_), Some(_)) => Err(io::Error::other(format!(
            "several devices are {place}; name this one with its `serial=`, or by its path under \
             /dev/serial/by-path or /dev/input/by-path"
        ))),
    }
}

/// The USB device above a port, if it is the one that is looked for.
fn usb_device(port: &Path, id: &UsbId) -> Option<PathBuf> {
    let port = port.canonicalize().ok()?;
    let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok();
    let device = port.ancestors().find(|at| at.join("idVendor").exists())?;
    let number = |name| u16::from_str_radix(read(device, name)?.trim(), 16).ok();
    let same = number("idVendor")? == id.vendor && number("idProduct")? == id.product;
    let serial_fits = match &id.serial {
        Some(serial) => read(device, "serial")?.trim() == serial,
        None => true,
    };
    (same && serial_fits).then(|| device.to_owned())
}

fn types_lines(event: &Path) -> bool {
    // Words of a bit mask, the lowest last.
    let mask = fs::read_to_string(event.join("device/capabilities/key")).unwrap_or_default();
    let lowest = mask.split_whitespace().last();
    let lowest = lowest.and_then(|word| u64::from_str_radix(word, 16).ok());
    lowest.is_some_and(|word| word & ENTER_BIT != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A kernel's tree with USB devices in it.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for class in ["class/tty", "class/input"] {
                fs::create_dir_all(folder.path().join(class)).unwrap();
            }
            Self(folder)
        }

        /// Plugs a device in at a socket, with a port or a keyboard of this name.
        fn plug(&self, socket: &str, ids: [&str; 3], class: &str, name: &str, keys: &str) {
            let device = self.0.path().join("devices/usb1").join(socket);
            let port = device.join(format!("{socket}:1.0")).join(class).join(name);
            fs::create_dir_all(port.join("device/capabilities")).unwrap();
            for (file, text) in ["idVendor", "idProduct", "serial"].iter().zip(ids) {
                fs::write(device.join(file), format!("{text}\n")).unwrap();
            }
            fs::write(port.join("device/capabilities/key"), keys).unwrap();
            let link = self.0.path().join("class").join(class).join(name);
            symlink(port, link).unwrap();
        }

        fn find(&self, text: &str, kind: Kind) -> Result<String, String> {
            let mut options = Options::parse(text).unwrap();
            let Place::Usb(id) = Place::take(&mut options).unwrap() else {
                panic!("{text}");
            };
            let found = find(self.0.path(), &id, kind);
            found
                .map(|path| path.display().to_string())
                .map_err(|error| error.to_string())
        }
    }

    #[test]
    fn a_serial_port_is_found_by_its_usb_id_wherever_it_is_plugged_in() {
        let tree = Tree::new();
        tree.plug("1-1", ["0403", "6001", "A1"], "tty", "ttyUSB0", "");
        tree.plug("1-2", ["1a86", "7523", ""], "tty", "ttyUSB1", "");
        assert_eq!(
            tree.find("usb=1A86:7523", Kind::Serial),
            Ok("ttyUSB1".into())
        );
        assert!(
            tree.find("usb=1a86:7524", Kind::Serial)
                .unwrap_err()
                .contains("usb=1a86:7524 is not plugged in")
        );
    }

    #[test]
    fn two_of_a_kind_are_told_apart_by_their_serial_number_alone() {
        let tree = Tree::new();
        tree.plug("1-1", ["0403", "6001", "A1"], "tty", "ttyUSB0", "");
        tree.plug("1-2", ["0403", "6001", "A2"], "tty", "ttyUSB1", "");
        let both = tree.find("usb=0403:6001", Kind::Serial);
        assert!(both.unwrap_err().contains("several devices"));
        let second = tree.find("usb=0403:6001,serial=A2", Kind::Serial);
        assert_eq!(second, Ok("ttyUSB1".into()));
    }

    #[test]
    fn of_a_scanner_with_several_event_devices_the_one_that_types_is_taken() {
        let tree = Tree::new();
        let ids = ["0c2e", "0901", ""];
        tree.plug("1-1", ids, "input", "event2", "0 0 0");
        tree.plug("1-1", ids, "input", "event10", "e080ffdf fffffffffffffffe");
        tree.plug("1-1", ids, "input", "event9", "e080ffdf fffffffffffffffe");
        let found = tree.find("usb=0c2e:0901", Kind::Keyboard);
        assert_eq!(found, Ok("input/event9".into()));
    }

    #[test]
    fn a_place_is_a_path_or_a_usb_id() {
        for text in ["", "ttyUSB0", "usb=1a86", "usb=1a86:x", "/dev/x,usb=1:2"] {
            let mut options = Options::parse(text).unwrap();
            assert!(Place::take(&mut options).is_err(), "{text}");
        }
    }
}
