//! Commands on the database as a file: copied, put back, read out when it is damaged.

#![allow(clippy::unwrap_used, clippy::panic)]

mod backup;
mod salvage;

use std::path::Path;
use std::process::{Command, Output};

fn stile_server(data: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stile-server"))
        .arg("--data")
        .arg(data)
        .args(args)
        .output()
        .unwrap()
}

fn add_venue(data: &Path, id: &str) {
    let args = [
        "venue",
        "add",
        id,
        "--name",
        "M",
        "--time-zone",
        "Asia/Shanghai",
    ];
    assert!(stile_server(data, &args).status.success());
}
