//! Codes as lines on standard input: a keyboard-like scanner behind a pipe, tests, the demo.

use std::time::Duration;

use super::line::{Pauses, Plain, read_codes};
use super::{Input, Inputs, Scanner};

/// Reads standard input until its end.
#[derive(Debug)]
pub struct Stdin {
    idle_gap: Option<Duration>,
}

impl Stdin {
    /// `idle_gap`: how long it is quiet behind a code that has no line end.
    pub fn new(idle_gap: Option<Duration>) -> Self {
        Self { idle_gap }
    }
}

impl Scanner for Stdin {
    fn name(&self) -> String {
        "stdin".into()
    }

    fn run(self: Box<Self>, inputs: Inputs) {
        let name = self.name();
        let pauses = Pauses {
            idle_gap: self.idle_gap,
            cut_off: None, // somebody may type
        };
        read_codes(&mut Plain(rustix::stdio::stdin()), &name, pauses, &inputs);
        inputs.put(Input::Ended(name));
    }
}
