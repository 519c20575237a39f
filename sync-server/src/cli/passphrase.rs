//! A passphrase: from the terminal, unseen, else a line of another standard input. Never from a flag,
//! which other users of the machine see.

use std::io::{self, BufRead, IsTerminal, Write, stderr, stdin};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::CliError;

/// Asks for the passphrase of something that is there.
pub fn ask(question: &str) -> Result<Zeroizing<String>, CliError> {
    let unseen = Unseen::begin();
    line(question, unseen.is_some())
}

/// Asks for a new one, twice.
pub fn ask_twice(question: &str) -> Result<Zeroizing<String>, CliError> {
    let unseen = Unseen::begin();
    let first = line(question, unseen.is_some())?;
    let again = line("The same once more", unseen.is_some())?;
    match first == again {
        true => Ok(first),
        false => Err(CliError::Usage(
            "the two passphrases are not the same; nothing was written".to_owned(),
        )),
    }
}

fn line(question: &str, is_unseen: bool) -> Result<Zeroizing<String>, CliError> {
    let _ = write!(stderr(), "{question}: ");
    let _ = stderr().flush();
    let mut line = Zeroizing::new(String::new());
    let read = stdin().lock().read_line(&mut line);
    if is_unseen {
        let _ = writeln!(stderr());
    }
    match read {
        Ok(0) => Err(CliError::Usage(
            "no passphrase was given; type it, or give it on standard input".to_owned(),
        )),
        Ok(_) => Ok(Zeroizing::new(
            line.trim_end_matches(['\n', '\r']).to_owned(),
        )),
        Err(source) => Err(CliError::System {
            doing: "read the passphrase",
            source,
        }),
    }
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Unseen {
    before: Termios,
}

impl Unseen {
    /// None where standard input is no terminal.
    fn begin() -> Option<Self> {
        if !stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(io::stdin()).ok()?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &unseen).ok()?;
        Some(Self { before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that is gone needs no modes.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
