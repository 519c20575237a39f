//! A guard at the screen of a gate: reads verdicts off it by colour and words, and does by keys
//! what a guard does. Knows what the manual tells of the screen, and nothing of what is behind it.

use anyhow::{Result, ensure};
use stile_core::reason::Reason;
use vt100::Color;

use super::terminal::{Look, Terminal};
use crate::venue::NobodyCan;

/// The colours of verdicts, of the sixteen that every terminal has.
const RED: Color = Color::Idx(1);
const GREEN: Color = Color::Idx(2);
const YELLOW: Color = Color::Idx(3);
const BLUE: Color = Color::Idx(4);

const ESC: &str = "\x1b";
const DOWN: &str = "\x1b[B";
const RIGHT: &str = "\x1b[C";
const BACKSPACE: &str = "\x7f";

const READY: &str = "Ready to scan";
const TITLE_PERSONS: &str = "How many persons";
const TITLE_UNDO: &str = "Take back the last admission";
const TITLE_OVERRIDE: &str = "Override the last refusal";
const TITLE_LOOK_UP: &str = "Look a ticket up";
const TITLE_FOUND: &str = "Tickets found";
const TITLE_WALK_IN: &str = "Persons without a ticket";
const TITLE_LAST: &str = "Last scans";
const TITLE_ORDER: &str = "┌ Order ";
const FURTHER: &str = "A further reason stands. Waive it too?";

/// What may be open, by what is to be read of it.
const TITLES: [&str; 9] = [
    TITLE_PERSONS,
    TITLE_UNDO,
    TITLE_OVERRIDE,
    TITLE_LOOK_UP,
    TITLE_FOUND,
    TITLE_WALK_IN,
    TITLE_LAST,
    TITLE_ORDER,
    FURTHER,
];
/// What stands there while an act is under way.
const WORKING: &str = "One moment…";
/// What the screen says when it does not do what was asked.
const NOT_DONE: [&str; 10] = [
    "No admission just before",
    "No refusal just before",
    "This refusal cannot be waived.",
    "Please fill in: ",
    "Nothing to act on",
    "It is taken back already.",
    "Too long ago.",
    "Give a reason.",
    "Wrong PIN",
    "Too many wrong PINs",
];

/// See the module.
pub struct Guard {
    terminal: Terminal,
}

/// What a verdict on the screen says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Green.
    Admitted,
    /// Blue: the same ticket just before.
    Again,
    /// Red, or yellow where the ticket has been used.
    Refused(Reason),
}

/// What came of a try to waive a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waived {
    /// The verdict is green.
    Admitted,
    /// The screen asks about one more reason.
    Asks(Reason),
    /// The screen says why not.
    No,
}

impl Guard {
    /// A guard at a terminal.
    pub fn at(terminal: Terminal) -> Self {
        Self { terminal }
    }

    /// Leaves whatever is open, until the screen waits for a code and says nothing else.
    pub fn rest(&mut self) -> Result<()> {
        let mut place = self.terminal.wait_for("where it is", place_of)?;
        while place != (Place::Ready, false) {
            self.terminal.press(ESC)?;
            // Escape always leads elsewhere, and pressed once too often it would take the next
            // verdict away.
            let elsewhere = |look: &Look| place_of(look).filter(|now| *now != place);
            place = self.terminal.wait_for("another page", elsewhere)?;
        }
        Ok(())
    }

    /// Waits for the verdict that fills the screen.
    pub fn verdict(&self) -> Result<Seen> {
        self.terminal.wait_for("a verdict", verdict_of)
    }

    /// Whether the screen says this, wherever its lines are broken.
    pub fn reads(&self, words: &str) -> Result<()> {
        let says = |look: &Look| flowing(&look.text).contains(words).then_some(());
        self.terminal.wait_for(&format!("\"{words}\""), says)
    }

    /// The next reading is of so many persons.
    pub fn next_persons(&mut self, persons: u8) -> Result<()> {
        self.rest()?;
        self.open("p", TITLE_PERSONS)?;
        self.terminal.press(&format!("{BACKSPACE}{persons}\r"))?;
        let is_done = self.is_done("The next reading admits that many persons.")?;
        ensure!(is_done, "the screen takes no {persons} persons");
        Ok(())
    }

    /// Takes back the admission that was shown last, or the `n`th before it. Says whether it was.
    pub fn undo(&mut self, n: usize, reason: &str) -> Result<bool> {
        self.rest()?;
        if n == 0 {
            self.terminal.press("u")?;
        } else {
            self.open("r", TITLE_LAST)?;
            self.go_down(n)?;
            self.terminal.press("u")?;
        }
        if self.is_open(TITLE_UNDO)? {
            self.terminal.press(&format!("{reason}\r"))?;
        }
        self.is_done("Taken back; that admission counts no more.")
    }

    /// Takes back the admission that was shown last, since the ticket is somebody else's.
    pub fn does_not_match(&mut self) -> Result<bool> {
        self.rest()?;
        self.terminal.press("x")?;
        self.is_done("Taken back: does not match. That admission counts no more.")
    }

    /// Has a supervisor waive the refusal that was shown last.
    pub fn waive(&mut self, reason: &str, pin: &str) -> Result<Waived> {
        self.rest()?;
        self.terminal.press("o")?;
        if self.is_open(TITLE_OVERRIDE)? {
            self.terminal.press(&format!("{reason}\r{pin}\r"))?;
        }
        self.waived(None)
    }

    /// Says yes to the further reason that the screen asks about.
    pub fn waive_further(&mut self, asked: Reason) -> Result<Waived> {
        self.terminal.press("y")?;
        self.waived(Some(asked))
    }

    /// Says no to it.
    pub fn waive_no_further(&mut self) -> Result<()> {
        self.terminal.press("n")?;
        self.rest()
    }

    /// What comes after the question about a reason, if that was asked before.
    fn waived(&self, asked: Option<Reason>) -> Result<Waived> {
        self.terminal.wait_for("what came of it", |look| {
            if look.text.contains(FURTHER) {
                let reason = reason_on(&look.text).filter(|reason| Some(*reason) != asked);
                return reason.map(Waived::Asks);
            }
            if is_not_done(&look.text) {
                return Some(Waived::No);
            }
            let is_admitted = verdict_of(look)? == Seen::Admitted;
            is_admitted.then_some(Waived::Admitted)
        })
    }

    /// Lets persons in without a ticket. Says whether they were.
    pub fn walk_in(&mut self, persons: u8, category: &str) -> Result<bool> {
        self.rest()?;
        self.open("w", TITLE_WALK_IN)?;
        self.choose(category)?;
        self.terminal.press("\r")?;
        self.terminal.press(&format!("{BACKSPACE}{persons}\r"))?;
        self.terminal.press("\r")?;
        self.terminal.wait_for("what came of it", |look| {
            let is_admitted = verdict_of(look).map(|seen| seen == Seen::Admitted);
            is_not_done(&look.text).then_some(false).or(is_admitted)
        })
    }

    /// Turns the choice of the line that has the keys to a word.
    fn choose(&mut self, word: &str) -> Result<()> {
        let chosen = |look: &Look| {
            let (_, rest) = look.text.split_once("< ")?;
            let (word, _) = rest.split_once(" >")?;
            Some(word.to_owned())
        };
        let first = self.terminal.wait_for("a choice", chosen)?;
        let mut now = first.clone();
        while now != word {
            self.terminal.press(RIGHT)?;
            let before = now;
            let turned = |look: &Look| chosen(look).filter(|now| *now != before);
            now = self.terminal.wait_for("another choice", turned)?;
            ensure!(
                now != first,
                NobodyCan(format!("the screen offers no \"{word}\""))
            );
        }
        Ok(())
    }

    /// Shows the tickets of an order, each with its line.
    pub fn look_up(&mut self, order: &str) -> Result<Vec<String>> {
        self.rest()?;
        self.open("/", TITLE_LOOK_UP)?;
        self.terminal.press(&format!("{order}\r\r"))?;
        self.shows(TITLE_FOUND)?;
        Ok(rows(&self.terminal.look().text))
    }

    /// Admits the `n`th of the tickets that are shown.
    pub fn admit(&mut self, n: usize) -> Result<Seen> {
        self.go_down(n)?;
        self.terminal.press("\r")?;
        self.verdict()
    }

    /// Admits at once what is ticked of an order whose tickets are shown; those to be ticked are
    /// told by their lines. Says how many are: one that nobody may enter by cannot be ticked.
    pub fn admit_ticked(&mut self, order: &str, wanted: impl Fn(&str) -> bool) -> Result<usize> {
        self.open("b", &format!("{TITLE_ORDER}{order} "))?;
        let lines = rows(&self.terminal.look().text);
        let mut ticked = 0;
        for (n, line) in lines.iter().enumerate() {
            if n > 0 {
                self.go_down(1)?;
            }
            let (is_ticked, is_wanted) = (line.starts_with("[x]"), wanted(line));
            let can_be = is_ticked || !line.ends_with("left 0");
            if is_ticked != (is_wanted && can_be) {
                self.terminal.press(" ")?;
                self.terminal.wait_for("another tick", |look| {
                    let now = rows(&look.text).get(n)?.starts_with("[x]");
                    (now != is_ticked).then_some(())
                })?;
            }
            ticked += usize::from(is_wanted && can_be);
        }
        if ticked > 0 {
            self.terminal.press("\r")?;
            self.verdict()?;
        }
        Ok(ticked)
    }

    /// Moves down a list, key by key.
    fn go_down(&mut self, lines: usize) -> Result<()> {
        for _ in 0..lines {
            let mark = |look: &Look| look.marked.clone();
            let before = self.terminal.wait_for("a line with the keys", mark)?;
            self.terminal.press(DOWN)?;
            let next = |look: &Look| mark(look).filter(|now| *now != before);
            self.terminal
                .wait_for("the next line with the keys", next)?;
        }
        Ok(())
    }

    fn open(&mut self, key: &str, title: &str) -> Result<()> {
        self.terminal.press(key)?;
        self.shows(title)
    }

    fn shows(&self, words: &str) -> Result<()> {
        let shows = |look: &Look| look.text.contains(words).then_some(());
        self.terminal.wait_for(&format!("\"{words}\""), shows)
    }

    /// Whether a form opens, or the screen says why not.
    fn is_open(&self, title: &str) -> Result<bool> {
        self.terminal.wait_for("a form or why not", |look| {
            let is_open = look.text.contains(title).then_some(true);
            is_open.or(is_not_done(&look.text).then_some(false))
        })
    }

    /// Whether the screen says that it is done, in these words, or why not.
    fn is_done(&self, words: &str) -> Result<bool> {
        self.terminal.wait_for("what came of it", |look| {
            let is_done = notice(&look.text).is_some_and(|says| says == words);
            let is_not = is_not_done(&look.text).then_some(false);
            is_done.then_some(true).or(is_not)
        })
    }
}

/// What has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It waits for a code.
    Ready,
    /// It shows a verdict.
    Verdict,
    /// A form, list or question of this title.
    Open(&'static str),
}

/// Where the screen is, and whether it says something above the keys.
fn place_of(look: &Look) -> Option<(Place, bool)> {
    let says = notice(&look.text).is_some();
    let mut titles = TITLES.into_iter();
    if let Some(title) = titles.find(|title| look.text.contains(title)) {
        return Some((Place::Open(title), says));
    }
    if verdict_of(look).is_some() {
        return Some((Place::Verdict, says));
    }
    look.text.contains(READY).then_some((Place::Ready, says))
}

fn is_not_done(text: &str) -> bool {
    let is_it = |says: &str| NOT_DONE.iter().any(|words| says.starts_with(words));
    notice(text).is_some_and(is_it)
}

/// The line above the keys, if it says anything.
fn notice(text: &str) -> Option<&str> {
    let lines: Vec<_> = text.lines().collect();
    let is_keys = |line: &&str| line.starts_with(" +  one more") || line.starts_with(" Enter ");
    let keys = lines.iter().position(is_keys)?;
    let above = lines.get(keys.checked_sub(1)?)?.trim();
    // While a page is being painted over another, its frame may stand there.
    let is_said = !above.is_empty() && !above.starts_with(['│', '└']) && above != WORKING;
    is_said.then_some(above)
}

/// A verdict whose colour and words agree; while it is being painted they may not.
fn verdict_of(look: &Look) -> Option<Seen> {
    let text = look.text.as_str();
    let reason = || reason_on(text);
    let is_used = |reason: &Reason| *reason == Reason::AlreadyUsed;
    match look.colour {
        GREEN => text.contains("Please pass").then_some(Seen::Admitted),
        BLUE => text.contains("Read just before").then_some(Seen::Again),
        RED => reason()
            .filter(|reason| !is_used(reason))
            .map(Seen::Refused),
        YELLOW => reason().filter(is_used).map(Seen::Refused),
        _ => None,
    }
}

/// The reason whose name stands in brackets.
fn reason_on(text: &str) -> Option<Reason> {
    let mut parts = text.split('[').skip(1);
    parts.find_map(|part| {
        let (name, _) = part.split_once(']')?;
        serde_json::from_value(name.into()).ok()
    })
}

/// The lines of a list of tickets, without its frame: those before the one that counts persons.
fn rows(text: &str) -> Vec<String> {
    let inside = text.lines().filter_map(|line| line.strip_prefix('│'));
    let inside = inside.map(|line| line.trim_end_matches('│').trim().to_owned());
    let is_row = |line: &String| !line.starts_with("Persons to be admitted");
    inside.take_while(is_row).collect()
}

/// Lines of a screen as one text.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
