//! The guard's screen as a state machine: it hears keys, verdicts and answers, and asks for acts.
//! Pure: no terminal, no clock, no device.

mod filling;
mod taking_back;

use std::collections::VecDeque;

use stile_core::ids::RecordId;
use stile_core::reason::{Language, Reason};
use zeroize::Zeroizing;

use super::acts::{Act, Answer, Event, GateState, Key, Shown, Sort, Waiving};
use super::form::Kind;
use super::page::{Page, Purpose, Question, Tickets};
use super::phrases::{self, Phrase};
use crate::event::Weight;
use crate::words::{Sentence, Words};

/// How long a verdict fills the screen, in states of about a second each: longer than a visitor
/// takes to pass, short enough that nobody takes it for the next one's.
const FRESH_STATES: u8 = 10;
/// How long a notice that is no alarm stands, in states of about a second each.
const NOTICE_STATES: u8 = 12;
/// Readings kept to look back at.
const LAST_READINGS: usize = 200;
/// A look-up takes at least so many characters.
const LOOK_UP_CHARS: usize = 4;

/// A word on what was done, not done, or went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub weight: Weight,
    /// The word.
    pub sentence: Sentence,
    left: u8,
}

/// The guard's screen.
#[derive(Debug, Clone)]
pub struct Screen {
    pub(super) language: Language,
    pub(super) words: Words,
    pub(super) state: GateState,
    pub(super) page: Page,
    pub(super) shown: Option<Shown>,
    pub(super) last: VecDeque<Shown>,
    pub(super) notice: Option<Notice>,
    pub(super) next_persons: u8,
    /// The emergency input holds the gate open.
    pub(super) emergency: bool,
    /// An act is under way, and no further one is asked for meanwhile.
    pub(super) busy: bool,
    fresh: u8,
    /// The admission that an open form takes back.
    taking_back: Option<RecordId>,
    /// The admission that an open form adds persons to; none if it is for the next reading.
    adding_to: Option<RecordId>,
    /// The override under way, for when a further reason stands.
    overriding: Option<Waiving>,
}

impl Screen {
    /// The screen of a gate at its start.
    pub fn new(words: Words, language: Language, state: GateState) -> Self {
        Self {
            language,
            words,
            state,
            page: Page::Gate,
            shown: None,
            last: VecDeque::new(),
            notice: None,
            next_persons: 1,
            emergency: false,
            busy: false,
            fresh: 0,
            taking_back: None,
            adding_to: None,
            overriding: None,
        }
    }

    /// Hears something, and says what is to be done.
    pub fn on(&mut self, event: Event) -> Vec<Act> {
        match event {
            Event::Key(key) => self.key(key),
            Event::Burst(keys) => self.burst(keys),
            Event::Shown(shown) => {
                self.verdict(*shown);
                Vec::new()
            }
            Event::State(state) => {
                self.state = *state;
                self.grow_old();
                Vec::new()
            }
            Event::Emergency(on) => {
                self.emergency = on;
                Vec::new()
            }
            Event::Told(weight, sentence) => {
                self.say(weight, sentence);
                Vec::new()
            }
            Event::Answer(answer) => self.answer(answer),
        }
    }

    /// The verdict, while it is fresh enough to fill the screen.
    pub fn fresh(&self) -> Option<&Shown> {
        self.shown.as_ref().filter(|_| self.fresh > 0)
    }

    /// Whether the gate stands open for everybody.
    pub(super) fn stands_open(&self) -> bool {
        self.emergency || self.state.free_passage
    }

    fn verdict(&mut self, shown: Shown) {
        self.last.push_front(shown.clone());
        self.last.truncate(LAST_READINGS);
        self.fresh = FRESH_STATES;
        self.next_persons = 1;
        // What was said of the reading before must not stand under this one.
        self.notice
            .take_if(|notice| notice.weight == Weight::Normal);
        // The same visitor again: what is done is done about the same record.
        let before = self.shown.as_ref().and_then(|before| before.record_id);
        let is_same = before.is_some() && before == shown.record_id;
        self.shown = Some(shown);
        let speaks_of_the_one_before = matches!(
            self.page,
            Page::Ask(Question::Further { .. })
                | Page::Form(Purpose::Override | Purpose::Persons, _)
        );
        if speaks_of_the_one_before && !is_same && !self.busy {
            self.page = Page::Gate;
            self.say(Weight::Warning, phrases::SAY_NEW_READING.sentence());
        }
    }

    fn grow_old(&mut self) {
        self.fresh = self.fresh.saturating_sub(1);
        // An alarm stands until somebody has seen it, or it is over.
        if let Some(notice) = &mut self.notice
            && notice.weight != Weight::Alarm
        {
            notice.left = notice.left.saturating_sub(1);
        }
        self.notice.take_if(|notice| notice.left == 0);
    }

    fn say(&mut self, weight: Weight, sentence: Sentence) {
        self.notice = Some(Notice {
            weight,
            sentence,
            left: NOTICE_STATES,
        });
    }

    fn warn(&mut self, phrase: Phrase) -> Vec<Act> {
        self.say(Weight::Warning, phrase.sentence());
        Vec::new()
    }

    /// Keys faster than a person's: outside of a form they are a scanner's, and do nothing.
    fn burst(&mut self, keys: Vec<Key>) -> Vec<Act> {
        match self.page {
            Page::Form(..) => {
                let mut acts = Vec::new();
                for key in keys {
                    acts.extend(self.key(key));
                }
                acts
            }
            _ => self.warn(phrases::SAY_WEDGE),
        }
    }

    fn key(&mut self, key: Key) -> Vec<Act> {
        if key == Key::Interrupt {
            let left = match self.page {
                Page::Form(purpose, _) => self.close(purpose),
                _ => Vec::new(),
            };
            self.page = Page::Ask(Question::Quit);
            return left;
        }
        let key = match (&self.page, key) {
            (Page::Form(..), key) => key,
            (_, Key::Char(character)) => Key::Char(character.to_ascii_lowercase()),
            (_, key) => key,
        };
        match std::mem::replace(&mut self.page, Page::Gate) {
            Page::Gate => self.gate_key(key),
            Page::Form(purpose, form) => self.form_key(purpose, form, key),
            Page::Tickets(tickets) => self.tickets_key(tickets, key),
            Page::Ask(question) => self.question_key(question, key),
            Page::Last(at) => self.last_key(at, key),
            Page::Troubles(troubles, top) => {
                if let Some(top) = scrolled(top, troubles.len(), key) {
                    self.page = Page::Troubles(troubles, top);
                }
                Vec::new()
            }
            Page::HandOver(counts, is_last) => match key {
                Key::Char('s') if !is_last => {
                    self.page = Page::Ask(Question::SignOut);
                    Vec::new()
                }
                Key::Esc | Key::Enter => Vec::new(),
                _ => {
                    self.page = Page::HandOver(counts, is_last);
                    Vec::new()
                }
            },
        }
    }

    fn gate_key(&mut self, key: Key) -> Vec<Act> {
        match key {
            Key::Esc => {
                self.fresh = 0;
                self.notice = None;
                Vec::new()
            }
            Key::Char('+' | '=') => match self.by_ticket() {
                Ok((_, 0)) => self.warn(phrases::SAY_NOTHING_LEFT),
                Ok((of, _)) => self.ask(Act::More { of, persons: 1 }),
                Err(why_not) => self.warn(why_not),
            },
            Key::Char('x') => match self.by_ticket() {
                Ok((of, _)) => self.ask(Act::DoesNotMatch(of)),
                Err(why_not) => self.warn(why_not),
            },
            Key::Char('p') => {
                // Once the verdict has gone, whoever comes next is meant.
                let seen = self.fresh().and_then(|_| self.by_ticket().ok());
                self.adding_to = seen.filter(|(_, left)| *left > 0).map(|(of, _)| of);
                self.open(Purpose::Persons)
            }
            Key::Char('u') => match self.admission() {
                Ok((of, _)) => self.take_back(of),
                Err(why_not) => self.warn(why_not),
            },
            Key::Char('o') => match self.refusal() {
                Some(reason) if reason.can_be_overridden() || reason == Reason::NotListed => {
                    self.open(Purpose::Override)
                }
                Some(_) => self.warn(phrases::SAY_NOT_WAIVABLE),
                None => self.warn(phrases::SAY_NO_REFUSAL),
            },
            Key::Char('/') => self.open(Purpose::LookUp),
            Key::Char('w') => self.open(Purpose::WalkIn),
            Key::Char('s') => match self.state.operator {
                Some(_) => self.ask_whether(Question::SignOut),
                None => {
                    self.open(Purpose::SignIn);
                    vec![Act::AwaitBadge(true)]
                }
            },
            Key::Char('h') => self.ask(Act::HandOver),
            Key::Char('r') => {
                self.page = Page::Last(0);
                Vec::new()
            }
            Key::Char('k') => self.ask(Act::Troubles),
            Key::Char('t') => self.ask_whether(Question::Practice(!self.state.practice)),
            Key::Char('f') => match self.state.free_passage {
                true => self.ask_whether(Question::EndFreePassage),
                false => self.open(Purpose::FreePassage),
            },
            Key::Char('c') => self.open(Purpose::Clock),
            Key::Char('g') => {
                self.language = match self.language {
                    Language::ZhCn => Language::En,
                    Language::En => Language::ZhCn,
                };
                Vec::new()
            }
            Key::Char('q') => self.ask_whether(Question::Quit),
            _ => Vec::new(),
        }
    }

    fn last_key(&mut self, at: usize, key: Key) -> Vec<Act> {
        let can_be = |shown: &&Shown| shown.sort == Sort::Admit && !shown.taken_back;
        let shown = self.last.get(at).filter(can_be);
        match (key, shown.and_then(|shown| shown.record_id)) {
            (Key::Char('u'), Some(of)) => self.take_back(of),
            (key, _) => {
                let at = scrolled(at, self.last.len(), key);
                self.page = at.map_or(Page::Gate, Page::Last);
                Vec::new()
            }
        }
    }

    /// Why the reading before was refused, if it was.
    fn refusal(&self) -> Option<Reason> {
        self.shown.as_ref().and_then(|shown| shown.reason)
    }

    fn ask(&mut self, act: Act) -> Vec<Act> {
        if self.busy {
            return Vec::new();
        }
        self.busy = true;
        self.notice = None;
        vec![act]
    }

    fn ask_whether(&mut self, question: Question) -> Vec<Act> {
        self.page = Page::Ask(question);
        Vec::new()
    }

    fn tickets_key(&mut self, mut tickets: Tickets, key: Key) -> Vec<Act> {
        match key {
            Key::Esc => Vec::new(),
            Key::Enter => match tickets.chosen() {
                Some(act) => self.ask(act),
                None => {
                    self.page = Page::Tickets(tickets);
                    self.warn(phrases::SAY_TICK_ONE)
                }
            },
            Key::Char('b') if tickets.order.is_none() => {
                let order = tickets.rows.get(tickets.at).map(|row| row.order.clone());
                self.page = Page::Tickets(tickets);
                order.map_or_else(Vec::new, |order| self.ask(Act::Order(order)))
            }
            key => {
                tickets.on(key);
                self.page = Page::Tickets(tickets);
                Vec::new()
            }
        }
    }

    fn question_key(&mut self, question: Question, key: Key) -> Vec<Act> {
        match key {
            Key::Enter | Key::Char('y') => {
                let act = question.yes();
                if let Act::Override(waiving) = &act {
                    self.overriding = Some(waiving.clone());
                }
                // Ending is never put off.
                match act {
                    Act::Quit => vec![Act::Quit],
                    act => self.ask(act),
                }
            }
            Key::Esc | Key::Char('n') => {
                self.overriding = None;
                Vec::new()
            }
            _ => {
                self.page = Page::Ask(question);
                Vec::new()
            }
        }
    }

    fn answer(&mut self, answer: Answer) -> Vec<Act> {
        self.busy = false;
        let overriding = self.overriding.take();
        match answer {
            Answer::Done(sentence) => {
                let closed = self.leave_form();
                self.say(Weight::Normal, sentence);
                return closed;
            }
            Answer::TakenBack { of, mismatch } => {
                let closed = self.leave_form();
                self.taken_back(of, mismatch);
                return closed;
            }
            Answer::Failed(sentence) => {
                self.clear_pins();
                self.say(Weight::Warning, sentence);
            }
            Answer::Judged => return self.leave_form(),
            Answer::Further(reason, sentence) => {
                if let Some(waiving) = overriding {
                    self.page = Page::Ask(Question::Further {
                        waiving,
                        reason,
                        sentence,
                    });
                }
            }
            Answer::Found { rows, .. } if rows.is_empty() => {
                self.say(Weight::Warning, phrases::NOTHING_FOUND.sentence());
            }
            Answer::Found { rows, more } => {
                self.page = Page::Tickets(Tickets::found(rows));
                if more {
                    self.say(Weight::Warning, phrases::MORE_FOUND.sentence());
                }
            }
            Answer::Order { order, rows, more } => {
                self.page = Page::Tickets(Tickets::of_order(order, rows, more));
            }
            Answer::HandOver(counts) => self.page = Page::HandOver(*counts, false),
            Answer::SignedOut(counts) => {
                self.page = Page::HandOver(*counts, true);
                self.say(Weight::Normal, phrases::SIGNED_OUT.sentence());
            }
            Answer::Troubles(troubles) => self.page = Page::Troubles(troubles, 0),
        }
        Vec::new()
    }

    /// The form has done what it was opened for.
    fn leave_form(&mut self) -> Vec<Act> {
        match self.page {
            Page::Form(purpose, _) => self.close(purpose),
            _ => Vec::new(),
        }
    }

    /// A PIN that was not taken is typed anew.
    fn clear_pins(&mut self) {
        if let Page::Form(_, form) = &mut self.page {
            for (at, field) in form.fields.iter_mut().enumerate() {
                if field.kind == Kind::Pin {
                    field.text = Zeroizing::default();
                    form.at = at;
                }
            }
        }
    }
}

/// The first line shown after a key; none if the list is left.
fn scrolled(top: usize, lines: usize, key: Key) -> Option<usize> {
    let last = lines.saturating_sub(1);
    match key {
        Key::Esc | Key::Enter => None,
        Key::Up => Some(top.saturating_sub(1)),
        Key::Down => Some((top + 1).min(last)),
        Key::Left => Some(top.saturating_sub(10)),
        Key::Right => Some((top + 10).min(last)),
        Key::Char(_) | Key::Backspace | Key::Interrupt => Some(top),
    }
}
