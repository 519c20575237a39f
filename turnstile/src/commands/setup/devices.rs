//! What is plugged in that may be a scanner or a relay.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux shows devices, and what it knows of them.
pub(super) struct Machine {
    /// `/dev`.
    pub(super) dev: PathBuf,
    /// `/sys`.
    pub(super) sys: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            dev: "/dev".into(),
            sys: "/sys".into(),
        }
    }
}

impl Machine {
    /// Serial ports: those with a name that stays first, then the rest.
    pub(super) fn serial_ports(&self) -> Vec<PathBuf> {
        let mut ports = listed(&self.dev.join("serial/by-id"), |_| true);
        let named: Vec<_> = ports.iter().map(|port| target(port)).collect();
        for prefix in ["ttyUSB", "ttyACM", "ttyAMA", "ttyS"] {
            let more = listed(&self.dev, |name| {
                let number = name.strip_prefix(prefix).unwrap_or_default();
                !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
            });
            let more = more.into_iter().filter(|port| self.is_wired(port));
            ports.extend(more.filter(|port| !named.contains(&target(port))));
        }
        ports
    }

    /// Keyboards, which scanners and document readers pretend to be.
    pub(super) fn keyboards(&self) -> Vec<PathBuf> {
        listed(&self.dev.join("input/by-id"), |name| name.ends_with("-kbd"))
    }

    /// GPIO chips.
    pub(super) fn gpio_chips(&self) -> Vec<PathBuf> {
        listed(&self.dev, |name| name.starts_with("gpiochip"))
    }

    /// Linux has names for serial ports that no chip stands behind; it calls their type 0.
    fn is_wired(&self, port: &Path) -> bool {
        let name = port.file_name().unwrap_or_default();
        let kind = fs::read_to_string(self.sys.join("class/tty").join(name).join("type"));
        kind.map_or(true, |kind| kind.trim() != "0")
    }
}

fn listed(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(&fits)
        })
        .collect();
    paths.sort();
    paths
}

fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_device_is_offered_once_by_its_lasting_name_and_phantoms_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (dev, sys) = (folder.path().join("dev"), folder.path().join("sys"));
        let by_id = dev.join("serial/by-id");
        let keyboards = dev.join("input/by-id");
        for folder in [&by_id, &keyboards] {
            fs::create_dir_all(folder).unwrap();
        }
        for (port, kind) in [
            ("ttyUSB0", None),
            ("ttyACM0", None),
            ("ttyS0", Some("4")),
            ("ttyS1", Some("0")),
        ] {
            fs::write(dev.join(port), "").unwrap();
            let class = sys.join("class/tty").join(port);
            fs::create_dir_all(&class).unwrap();
            if let Some(kind) = kind {
                fs::write(class.join("type"), format!("{kind}\n")).unwrap();
            }
        }
        fs::write(dev.join("ttySomething"), "").unwrap();
        fs::write(dev.join("gpiochip0"), "").unwrap();
        symlink("../../ttyUSB0", by_id.join("usb-Scanner")).unwrap();
        fs::write(keyboards.join("usb-Scanner-event-kbd"), "").unwrap();
        fs::write(keyboards.join("usb-Mouse-event-mouse"), "").unwrap();
        let machine = Machine {
            dev: dev.clone(),
            sys,
        };
        let expected = ["serial/by-id/usb-Scanner", "ttyACM0", "ttyS0"];
        assert_eq!(machine.serial_ports(), expected.map(|name| dev.join(name)));
        let expected = ["input/by-id/usb-Scanner-event-kbd"];
        assert_eq!(machine.keyboards(), expected.map(|name| dev.join(name)));
        assert_eq!(machine.gpio_chips(), [dev.join("gpiochip0")]);
    }

    #[test]
    fn a_machine_without_such_devices_offers_none() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine {
            dev: folder.path().join("dev"),
            sys: folder.path().join("sys"),
        };
        assert!(machine.serial_ports().is_empty());
        assert!(machine.keyboards().is_empty());
    }
}
