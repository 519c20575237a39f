//! Whether the opaque codes of a file could be guessed: too little that differs between them, or
//! numbers that run on. A warning and no refusal, since the codes may be in visitors' hands.

use super::columns::Column;
use super::limits::{CODE_BITS, RUNNING_PERCENT};
use super::report::Warning;

type Class = (fn(&u8) -> bool, u32);

/// Characters of which a code may consist, class by class: which, and how many there are.
const CLASSES: [Class; 4] = [
    (u8::is_ascii_digit, 10),
    (u8::is_ascii_uppercase, 26),
    (u8::is_ascii_lowercase, 26),
    (|byte| !byte.is_ascii_alphanumeric(), 33),
];

/// What is seen of a file's codes, in constant memory.
#[derive(Default)]
pub(super) struct Codes {
    count: u64,
    /// What all codes begin with; the first one as long as there is no other.
    prefix: String,
    differ: bool,
    shortest: usize,
    /// The classes that were seen behind the prefix as it was then.
    classes: [bool; CLASSES.len()],
    last: String,
    /// Codes that are one more than the one before.
    running: u64,
}

impl Codes {
    pub(super) fn add(&mut self, code: &str) {
        if self.count == 0 {
            code.clone_into(&mut self.prefix);
            self.shortest = code.len();
        } else if code == self.last {
            return;
        } else {
            self.differ = true;
            let shared = shared(&self.prefix, code);
            self.see(self.prefix.clone().get(shared..).unwrap_or_default());
            self.prefix.truncate(shared);
            self.see(code.get(shared..).unwrap_or_default());
            self.shortest = self.shortest.min(code.len());
            self.running += u64::from(follows(&self.last, code));
        }
        self.count += 1;
        code.clone_into(&mut self.last);
    }

    fn see(&mut self, text: &str) {
        for (seen, (is_of, _)) in self.classes.iter_mut().zip(CLASSES) {
            *seen |= text.as_bytes().iter().any(is_of);
        }
    }

    /// What should be looked at.
    pub(super) fn warnings(mut self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.count == 0 {
            return warnings;
        }
        if !self.differ {
            // Of a single code all may differ from the next.
            let only = std::mem::take(&mut self.prefix);
            self.see(&only);
        }
        let bits = self.bits();
        if bits < CODE_BITS {
            warnings.push(warning(format!(
                "these codes could be guessed: at most {bits} bits differ from code to code, and \
                 {CODE_BITS} keep a code safe from whoever tries; make them random and longer"
            )));
        }
        if self.running > 0 && self.running * 100 >= self.count * RUNNING_PERCENT {
            let running = self.running;
            warnings.push(warning(format!(
                "these codes are numbered: {running} are one more than the one before, so that \
                 whoever has a code knows others; make them random"
            )));
        }
        warnings
    }

    /// Bits that the shortest code has behind what all begin with, were it random.
    fn bits(&self) -> u32 {
        let seen = self.classes.iter().zip(CLASSES);
        let alphabet: u32 = seen.map(|(seen, (_, size))| u32::from(*seen) * size).sum();
        let free = self.shortest.saturating_sub(self.prefix.len());
        // A code has 256 characters at most.
        let free = u8::try_from(free).unwrap_or(u8::MAX);
        let bits = f64::from(free) * f64::from(alphabet.max(1)).log2();
        // Below 2,000, so this is exact but for the fraction that is cut off.
        bits as u32
    }
}

fn warning(problem: String) -> Warning {
    Warning {
        field: Column::Code.name().to_owned(),
        problem,
    }
}

/// Bytes that both begin with. Codes are ASCII.
fn shared(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}

/// Whether a code is the one before with one more in its last number, which may be followed by a
/// letter or two.
fn follows(before: &str, code: &str) -> bool {
    let (Some(before), Some(code)) = (numbered(before), numbered(code)) else {
        return false;
    };
    (before.0, before.2) == (code.0, code.2) && before.1.checked_add(1) == Some(code.1)
}

/// What stands before the last number, that number, and what stands behind.
fn numbered(code: &str) -> Option<(&str, u64, &str)> {
    let end = code.rfind(|c: char| c.is_ascii_digit())? + 1;
    let (head, tail) = code.split_at(end);
    let begin = head.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    // The last digits are enough, and those before them belong to what must be the same.
    let begin = begin.max(head.len().saturating_sub(18));
    let (head, number) = head.split_at(begin);
    Some((head, number.parse().ok()?, tail))
}
