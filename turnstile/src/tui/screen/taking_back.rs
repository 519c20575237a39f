//! What the guard does about the admission before: which it is, and what is shown once it is taken
//! back.

use stile_core::ids::RecordId;

use super::Screen;
use crate::event::Weight;
use crate::tui::acts::{Act, Shown, Sort};
use crate::tui::page::Purpose;
use crate::tui::phrases::{self, Phrase};

impl Screen {
    /// The admission before, repeats of it included; or why there is none to act on.
    pub(super) fn admission(&self) -> Result<(RecordId, &Shown), Phrase> {
        let admits = |shown: &&Shown| matches!(shown.sort, Sort::Admit | Sort::Repeat);
        match self.shown.as_ref().filter(admits) {
            Some(shown) if shown.taken_back => Err(phrases::SAY_TAKEN_BACK),
            Some(shown) => {
                let of = shown.record_id.ok_or(phrases::SAY_NO_ADMISSION)?;
                Ok((of, shown))
            }
            None => Err(phrases::SAY_NO_ADMISSION),
        }
    }

    /// The same, if it is by a ticket, and the persons who may still enter by that.
    pub(super) fn by_ticket(&self) -> Result<(RecordId, u32), Phrase> {
        match self.admission()? {
            (_, shown) if shown.walk_in => Err(phrases::SAY_NO_TICKET),
            (of, shown) => Ok((of, shown.remaining)),
        }
    }

    pub(super) fn take_back(&mut self, of: RecordId) -> Vec<Act> {
        self.taking_back = Some(of);
        self.open(Purpose::Undo)
    }

    /// Marks what was taken back wherever it is shown; its green goes at once.
    pub(super) fn taken_back(&mut self, of: RecordId, mismatch: bool) {
        let mut is_walk_in = false;
        for shown in self.last.iter_mut().chain(&mut self.shown) {
            if shown.record_id == Some(of) {
                shown.taken_back = true;
                is_walk_in |= shown.walk_in;
            }
        }
        if self.shown.as_ref().is_some_and(|shown| shown.taken_back) {
            self.fresh = 0;
        }
        let phrase = match (is_walk_in, mismatch) {
            (true, _) => phrases::SAY_WALK_IN_UNDONE,
            (false, true) => phrases::SAY_MISMATCH,
            (false, false) => phrases::SAY_UNDONE,
        };
        self.say(Weight::Normal, phrase.sentence());
    }
}
