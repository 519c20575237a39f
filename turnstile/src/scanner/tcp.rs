//! Codes as lines over TCP: network scanners, serial servers. Whoever can reach the port can send
//! codes, as whoever stands before the gate can show them: only the code's signature counts.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;

use super::line::{CUT_OFF, Pauses, Plain, read_codes};
use super::{Input, Inputs, Scanner};
use crate::event::Event;
use crate::threads;

/// Scanners at one port at a time: a gate has one or two; more is a fault, and must not eat the
/// memory.
pub const MAX_CONNECTIONS: usize = 8;
/// A scanner that lost its power is found gone after this, in seconds (first probe, then two
/// more at the same distance), so that its place is free when it comes back.
const KEEPALIVE_S: u64 = 10;
/// Wait after an accept that failed, as when no file descriptor is left.
const ACCEPT_RETRY: Duration = Duration::from_millis(200);

/// Listens on an address and reads from each that connects.
#[derive(Debug)]
pub struct Tcp {
    listener: TcpListener,
    address: SocketAddr,
    idle_gap: Option<Duration>,
}

impl Tcp {
    /// Binds the address; port 0 takes a free one. `idle_gap`: how long the line is quiet behind
    /// a code that has no line end.
    pub fn bind(address: SocketAddr, idle_gap: Option<Duration>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            idle_gap,
        })
    }

    /// The address that was bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Scanner for Tcp {
    fn name(&self) -> String {
        format!("tcp:{}", self.address)
    }

    fn run(self: Box<Self>, inputs: Inputs) {
        let name = self.name();
        let place = Arc::new(());
        // Told once, until there was a place again.
        let mut was_full = false;
        loop {
            let Ok((connection, _)) = self.listener.accept() else {
                std::thread::sleep(ACCEPT_RETRY);
                continue;
            };
            // Each connection's thread holds a clone for as long as it lives.
            if Arc::strong_count(&place) > MAX_CONNECTIONS {
                if !was_full {
                    inputs.put(Input::Trouble(Event::ScannersTooMany {
                        scanner: name.clone(),
                        most: MAX_CONNECTIONS,
                    }));
                }
                was_full = true;
                continue; // closed at once
            }
            was_full = false;
            let (place, name, idle_gap, inputs) = (
                Arc::clone(&place),
                name.clone(),
                self.idle_gap,
                inputs.clone(),
            );
            // Without a thread the connection is closed, and the scanner tries again.
            let _ = threads::spawn("scanner", move || {
                keep_alive(&connection);
                let pauses = Pauses {
                    idle_gap,
                    cut_off: Some(CUT_OFF),
                };
                read_codes(&mut Plain(connection), &name, pauses, &inputs);
                drop(place);
            });
        }
    }
}

/// Best effort: a kernel without it only finds a dead scanner later.
fn keep_alive(connection: &TcpStream) {
    let gap = Duration::from_secs(KEEPALIVE_S);
    let _ = sockopt::set_socket_keepalive(connection, true)
        .and_then(|()| sockopt::set_tcp_keepidle(connection, gap))
        .and_then(|()| sockopt::set_tcp_keepintvl(connection, gap))
        .and_then(|()| sockopt::set_tcp_keepcnt(connection, 2));
}
