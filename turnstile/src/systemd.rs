//! What a service manager is told, as `sd_notify(3)` describes it: a datagram of `NAME=value`
//! lines to the socket that the environment names. Without one, nothing is told.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG_US: &str = "WATCHDOG_USEC";
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// The way to the service manager, if there is one.
#[derive(Debug, Default)]
pub struct Notifier {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// The one that the environment names.
    pub fn from_environment() -> io::Result<Self> {
        let Some(path) = std::env::var_os(SOCKET).filter(|path| !path.is_empty()) else {
            return Ok(Self::default());
        };
        let socket = connect(&path).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("{SOCKET} {}: {error}", path.display()),
            )
        })?;
        let variable = |name| std::env::var(name).ok();
        Ok(Self {
            socket: Some(socket),
            watchdog: watchdog(
                variable(WATCHDOG_US).as_deref(),
                variable(WATCHDOG_PID).as_deref(),
                std::process::id(),
            ),
        })
    }

    /// How long the service manager waits for a [`Notifier::alive`] before it ends this process,
    /// if it waits for any.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The gate takes codes.
    pub fn ready(&self) {
        self.send("READY=1\n");
    }

    /// It takes no more.
    pub fn stopping(&self) {
        self.send("STOPPING=1\n");
    }

    /// How it is, in one line for `systemctl status`.
    pub fn status(&self, line: &str) {
        self.send(&format!("STATUS={}\n", line.replace('\n', " ")));
    }

    /// It makes progress.
    pub fn alive(&self) {
        self.send("WATCHDOG=1\n");
    }

    /// It makes none, and is to be ended now; known to systemd 243 and newer. An older one
    /// misses [`Notifier::alive`].
    pub fn hung(&self) {
        self.send("WATCHDOG=trigger\n");
    }

    fn send(&self, text: &str) {
        if let Some(socket) = &self.socket {
            // A service manager that does not listen is no reason to stop a gate.
            let _ = socket.send(text.as_bytes());
        }
    }
}

/// A path, or behind an `@` a name of the kernel's own.
fn connect(path: &OsStr) -> io::Result<UnixDatagram> {
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A full queue must not hold the gate up: what is dropped is said again.
    socket.set_nonblocking(true)?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

/// How long the service manager waits, if it means this process.
fn watchdog(usec: Option<&str>, pid: Option<&str>, own_pid: u32) -> Option<Duration> {
    if pid.is_some_and(|pid| pid.parse() != Ok(own_pid)) {
        return None;
    }
    match usec?.parse() {
        Ok(0) | Err(_) => None,
        Ok(usec) => Some(Duration::from_micros(usec)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watchdog_is_kept_only_if_it_means_this_process() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(watchdog(Some("1000000"), None, 7), second);
        assert_eq!(watchdog(Some("1000000"), Some("7"), 7), second);
        assert_eq!(watchdog(Some("1000000"), Some("8"), 7), None);
        assert_eq!(watchdog(Some("0"), None, 7), None);
        assert_eq!(watchdog(Some("soon"), None, 7), None);
        assert_eq!(watchdog(None, None, 7), None);
    }

    #[test]
    fn a_socket_is_a_path_or_a_name_behind_an_at_sign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let name = format!("stile-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_listener = UnixDatagram::bind_addr(&address).unwrap();
        for (socket, listener) in [
            (path.into_os_string(), listener),
            (format!("@{name}").into(), abstract_listener),
        ] {
            let notifier = Notifier {
                socket: Some(connect(&socket).unwrap()),
                watchdog: None,
            };
            notifier.status("two\nlines");
            let mut datagram = [0; 64];
            let length = listener.recv(&mut datagram).unwrap();
            assert_eq!(&datagram[..length], b"STATUS=two lines\n");
        }
    }

    #[test]
    fn a_socket_that_is_not_there_is_an_error() {
        assert!(connect(OsStr::new("/nonexistent/notify")).is_err());
    }
}
