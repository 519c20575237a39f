//! Lamps and buzzer: a relay that is switched on and off in a pattern. The patterns are data.

use std::time::Duration;

use super::{Cue, Feedback, FeedbackError, Signal};
use crate::relay::Relay;

/// What a relay switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The green lamp.
    Green,
    /// The red lamp.
    Red,
    /// The buzzer.
    Buzzer,
}

/// A step that lasts until the next signal.
pub const STEADY_MS: u64 = u64::MAX;

/// How long a lamp says its answer, in ms: until the next visitor holds a code to the scanner.
const LAMP: &[u64] = &[2_000];
/// A lamp that blinks for the same time.
const BLINKING: &[u64] = &[300, 250, 300, 250, 300, 250, 300];

/// What a part does on a signal, in ms: on, off, on, off … and off behind the last.
pub fn pattern(part: Part, cue: Cue, repeat: bool) -> &'static [u64] {
    match (part, cue) {
        (_, Cue::Rest) => &[],
        (Part::Green, Cue::Admit) | (Part::Red, Cue::Refuse) => LAMP,
        (Part::Red, Cue::SeeStaff) => BLINKING,
        (Part::Green, Cue::FreePassage) => &[STEADY_MS],
        (Part::Green | Part::Red, _) => &[],
        (Part::Buzzer, Cue::FreePassage) => &[],
        // Told apart with closed eyes: one short, one long, two short, three middling.
        (Part::Buzzer, _) if repeat => &[60, 60, 60],
        (Part::Buzzer, Cue::Admit) => &[100],
        (Part::Buzzer, Cue::Refuse) => &[700],
        (Part::Buzzer, Cue::SeeStaff) => &[250, 150, 250, 150, 250],
    }
}

/// A lamp or buzzer.
pub struct Blinker {
    part: Part,
    name: String,
    relay: Box<dyn Relay>,
    steps: &'static [u64],
    step: usize,
}

impl Blinker {
    /// What hangs on a relay; open is on.
    pub fn new(part: Part, name: String, relay: Box<dyn Relay>) -> Self {
        Self {
            part,
            name,
            relay,
            steps: &[],
            step: 0,
        }
    }

    fn do_step(&mut self) -> Result<Option<Duration>, FeedbackError> {
        let ms = self.steps.get(self.step).copied();
        match ms.is_some() && self.step.is_multiple_of(2) {
            true => self.relay.open()?,
            false => self.relay.close()?,
        }
        let lasts = ms.filter(|ms| *ms != STEADY_MS);
        Ok(lasts.map(Duration::from_millis))
    }
}

impl Feedback for Blinker {
    fn name(&self) -> String {
        let part = match self.part {
            Part::Green => "green",
            Part::Red => "red",
            Part::Buzzer => "buzzer",
        };
        format!("{part} {}", self.name)
    }

    fn begin(&mut self, signal: &Signal) -> Result<Option<Duration>, FeedbackError> {
        self.steps = pattern(self.part, signal.cue, signal.repeat);
        self.step = 0;
        self.do_step()
    }

    fn go_on(&mut self) -> Result<Option<Duration>, FeedbackError> {
        self.step += 1;
        self.do_step()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_lamp_is_lit_at_a_time_and_one_is_for_every_verdict() {
        for cue in [Cue::Admit, Cue::Refuse, Cue::SeeStaff] {
            for repeat in [false, true] {
                let lit = |part| !pattern(part, cue, repeat).is_empty();
                assert_ne!(lit(Part::Green), lit(Part::Red), "{cue:?}");
                assert_eq!(lit(Part::Green), cue == Cue::Admit);
            }
        }
    }

    #[test]
    fn every_answer_has_a_sound_of_its_own() {
        let sounds = [
            pattern(Part::Buzzer, Cue::Admit, false),
            pattern(Part::Buzzer, Cue::Admit, true),
            pattern(Part::Buzzer, Cue::Refuse, false),
            pattern(Part::Buzzer, Cue::SeeStaff, false),
        ];
        for (n, sound) in sounds.iter().enumerate() {
            assert!(!sound.is_empty());
            assert!(!sounds[..n].contains(sound));
        }
    }

    #[test]
    fn at_rest_everything_is_off_and_no_pattern_ends_with_a_wait_for_nothing() {
        for part in [Part::Green, Part::Red, Part::Buzzer] {
            assert!(pattern(part, Cue::Rest, false).is_empty());
            for cue in Cue::ALL {
                let steps = pattern(part, cue, false).len();
                assert!(steps == 0 || steps % 2 == 1, "{part:?} {cue:?}");
            }
        }
    }
}
