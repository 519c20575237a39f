//! What this machine says of itself to the server: its name, make and model.

use std::fs;

/// What the machine is called; `gate` where it has no name.
pub fn host_name() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    match name.is_empty() {
        true => "gate".into(),
        false => name,
    }
}

/// Make and model, where the board tells.
pub fn model() -> String {
    let board = fs::read_to_string("/sys/firmware/devicetree/base/model").unwrap_or_default();
    let board = board.trim_matches(['\0', '\n', ' ']);
    let machine = rustix::system::uname()
        .machine()
        .to_string_lossy()
        .into_owned();
    match board {
        "" => format!("Linux {machine}"),
        board => format!("{board} ({machine})"),
    }
}
