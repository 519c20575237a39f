//! A PIN from a terminal, unseen, or from the first line of another standard input. Never from the
//! argument list, which every user of the machine can read.

use std::io::{self, IsTerminal, Write, stderr, stdin};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::{CommandError, machine};
use crate::pin::Pin;

/// Longer than any PIN.
const MAX_BYTES: usize = 64;

const ENTER: [u8; 2] = [b'\n', b'\r'];
/// What terminals send for Backspace.
const RUB_OUT: [u8; 2] = [0x08, 0x7f];
/// Control and C, Control and D: whoever asks for neither PIN nor clock any more.
const GIVE_UP: [u8; 2] = [0x03, 0x04];

/// Asks for a PIN.
pub(super) fn ask_pin(question: &str) -> Result<Pin, CommandError> {
    let input = stdin();
    let unseen = input
        .is_terminal()
        .then(Unseen::begin)
        .transpose()
        .map_err(machine)?;
    if unseen.is_some() {
        // Asked behind the change of mode, so that nothing typed after it is seen.
        let _ = write!(stderr(), "{question}: ");
    }
    // Past the buffer of standard input, which would keep a copy.
    let pin = read_pin(|| {
        let mut byte = Zeroizing::new([0]);
        let count = rustix::io::read(&input, byte.as_mut_slice())?;
        Ok((count > 0).then_some(byte[0]))
    });
    if unseen.is_some() {
        let _ = writeln!(stderr());
    }
    pin.map_err(|error| CommandError::Failed(format!("standard input: {error}")))?
        .ok_or_else(|| {
            let what = "no PIN was said; type it on a terminal, or give it on standard input";
            CommandError::Usage(what.into())
        })
}

/// Reads up to Enter or the end. None if nothing was typed, or it was given up.
fn read_pin(mut next: impl FnMut() -> io::Result<Option<u8>>) -> io::Result<Option<Pin>> {
    // Never grows, so that no copy stays behind.
    let mut typed = Zeroizing::new(String::with_capacity(MAX_BYTES));
    while let Some(byte) = next()? {
        match byte {
            byte if ENTER.contains(&byte) => break,
            byte if RUB_OUT.contains(&byte) => {
                typed.pop();
            }
            byte if GIVE_UP.contains(&byte) => return Ok(None),
            byte if byte.is_ascii_graphic() && typed.len() < MAX_BYTES => {
                typed.push(char::from(byte));
            }
            _ => {}
        }
    }
    Ok((!typed.is_empty()).then_some(Pin(typed)))
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Unseen {
    before: Termios,
}

impl Unseen {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut unseen = before.clone();
        // Control and C comes as a character as well, so that the modes are put back behind it.
        unseen
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(stdin(), OptionalActions::Flush, &unseen)?;
        Ok(Self { before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that is gone needs no modes.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Option<String> {
        let mut bytes = bytes.iter().copied();
        let pin = read_pin(|| Ok(bytes.next())).unwrap();
        pin.map(|pin| pin.0.to_string())
    }

    #[test]
    fn a_pin_ends_with_enter_or_with_the_input() {
        for bytes in [
            &b"1234\n"[..],
            b"1234\r\n",
            b"1234",
            b"1234\n99",
            b" 1234 \n",
        ] {
            assert_eq!(typed(bytes).as_deref(), Some("1234"));
        }
    }

    #[test]
    fn the_last_character_can_be_taken_back_and_all_of_it_given_up() {
        assert_eq!(typed(b"129\x7f\x7f34\n").as_deref(), Some("134"));
        for bytes in [&b""[..], b"\n", b"12\x7f\x7f\n", b"12\x03", b"12\x04\n"] {
            assert_eq!(typed(bytes), None);
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_not_kept_growing() {
        assert_eq!(typed(&[b'7'; 5_000]).map(|pin| pin.len()), Some(MAX_BYTES));
    }
}
