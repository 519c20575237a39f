//! The demo.

fn main() {}
