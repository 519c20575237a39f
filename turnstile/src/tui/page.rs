//! What the screen is busy with: waiting for a scan, a form, a list, a question.

use stile_core::ids::OrderNumber;
use stile_core::reason::Reason;

use super::acts::{Act, Counts, Key, Row, Trouble, Waiving};
use super::form::Form;
use super::phrases::{self, Phrase};
use crate::words::Sentence;

/// What has the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// Waits for a scan, or shows its verdict while that is fresh.
    Gate,
    /// Lines to fill in.
    Form(Purpose, Form),
    /// Tickets to choose from.
    Tickets(Tickets),
    /// A question to be answered with yes or no.
    Ask(Question),
    /// The readings since the start; the first line shown.
    Last(usize),
    /// Records that want a person; the first line shown.
    Troubles(Vec<Trouble>, usize),
    /// Counts since sign-in; whether they are the last, after signing out.
    HandOver(Counts, bool),
}

/// What a form is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// How many persons.
    Persons,
    /// Why an admission is taken back.
    Undo,
    /// Why a refusal is waived, and by whom.
    Override,
    /// What ticket to look for.
    LookUp,
    /// Who comes without one.
    WalkIn,
    /// Who works here.
    SignIn,
    /// Why the gate stands open.
    FreePassage,
    /// What time it is.
    Clock,
}

impl Purpose {
    /// Its heading.
    pub fn title(self) -> Phrase {
        match self {
            Self::Persons => phrases::TITLE_PERSONS,
            Self::Undo => phrases::TITLE_UNDO,
            Self::Override => phrases::TITLE_OVERRIDE,
            Self::LookUp => phrases::TITLE_LOOK_UP,
            Self::WalkIn => phrases::TITLE_WALK_IN,
            Self::SignIn => phrases::TITLE_SIGN_IN,
            Self::FreePassage => phrases::TITLE_FREE,
            Self::Clock => phrases::TITLE_CLOCK,
        }
    }

    /// What helps to fill it in.
    pub fn help(self) -> &'static [Phrase] {
        match self {
            Self::Persons => &[phrases::HELP_PERSONS],
            Self::Undo | Self::Override | Self::FreePassage => &[phrases::HELP_WHY],
            Self::LookUp => &[phrases::HELP_LOOK_UP],
            Self::WalkIn => &[phrases::HELP_CHOICE],
            Self::SignIn => &[phrases::HELP_SIGN_IN],
            Self::Clock => &[phrases::HELP_TIME, phrases::HELP_WHY],
        }
    }
}

/// Tickets to choose from, found one by one or as an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tickets {
    /// The order that they are of, if they are shown as one.
    pub order: Option<OrderNumber>,
    /// The tickets.
    pub rows: Vec<Row>,
    /// Persons to admit by each; 0 is not ticked.
    pub persons: Vec<u8>,
    /// Tickets of the order beyond those.
    pub more: usize,
    /// The line that has the keys.
    pub at: usize,
}

impl Tickets {
    /// Those that a look-up found: the first is ready to be admitted with one person.
    pub fn found(rows: Vec<Row>) -> Self {
        let persons = vec![1; rows.len()];
        Self {
            order: None,
            rows,
            persons,
            more: 0,
            at: 0,
        }
    }

    /// Those of an order, each ticked with all who may still enter.
    pub fn of_order(order: OrderNumber, rows: Vec<Row>, more: usize) -> Self {
        let persons = rows.iter().map(left).collect();
        Self {
            order: Some(order),
            rows,
            persons,
            more,
            at: 0,
        }
    }

    /// Moves, ticks, or chooses persons.
    pub fn on(&mut self, key: Key) {
        let last = self.rows.len().saturating_sub(1);
        let (Some(row), Some(persons)) = (self.rows.get(self.at), self.persons.get_mut(self.at))
        else {
            return;
        };
        let is_order = self.order.is_some();
        // A ticket without any left may still be asked for, and is refused with its reason.
        let most = left(row).max(u8::from(!is_order));
        let least = u8::from(!is_order);
        match key {
            Key::Up => self.at = self.at.saturating_sub(1),
            Key::Down => self.at = (self.at + 1).min(last),
            Key::Left => *persons = persons.saturating_sub(1).max(least),
            Key::Right => *persons = persons.saturating_add(1).min(most),
            Key::Char(digit @ '1'..='9') => {
                let digit = digit
                    .to_digit(10)
                    .and_then(|digit| u8::try_from(digit).ok());
                *persons = digit.unwrap_or(1).min(most);
            }
            Key::Char(' ') if is_order => *persons = if *persons == 0 { most } else { 0 },
            Key::Char('a') if is_order => {
                let all = self
                    .persons
                    .iter()
                    .zip(&self.rows)
                    .all(|(n, row)| *n == left(row));
                self.persons = self
                    .rows
                    .iter()
                    .map(|row| if all { 0 } else { left(row) })
                    .collect();
            }
            _ => {}
        }
    }

    /// What Enter admits: the line with the keys, or what is ticked of an order.
    pub fn chosen(&self) -> Option<Act> {
        let pairs = self.rows.iter().zip(&self.persons).enumerate();
        let tickets: Vec<_> = pairs
            .filter(|(at, (_, persons))| match self.order {
                Some(_) => **persons > 0,
                None => *at == self.at,
            })
            .map(|(_, (row, persons))| (row.ticket.clone(), *persons))
            .collect();
        let order = self.order.clone();
        (!tickets.is_empty()).then_some(Act::Admit { tickets, order })
    }

    /// Persons that Enter admits.
    pub fn total(&self) -> u32 {
        match self.order {
            Some(_) => self.persons.iter().map(|n| u32::from(*n)).sum(),
            None => self.persons.get(self.at).copied().map_or(0, u32::from),
        }
    }
}

fn left(row: &Row) -> u8 {
    u8::try_from(row.remaining).unwrap_or(u8::MAX)
}

/// A question that yes or no answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Shut the gate and end?
    Quit,
    /// Practice on or off?
    Practice(bool),
    /// Sign out?
    SignOut,
    /// End free passage?
    EndFreePassage,
    /// Waive a further reason too?
    Further {
        /// The override, with what is waived so far.
        waiving: Waiving,
        /// The one that stands now.
        reason: Reason,
        /// It, in a sentence.
        sentence: Sentence,
    },
}

impl Question {
    /// The words of it.
    pub fn words(&self) -> Phrase {
        match self {
            Self::Quit => phrases::ASK_QUIT,
            Self::Practice(true) => phrases::ASK_PRACTICE_ON,
            Self::Practice(false) => phrases::ASK_PRACTICE_OFF,
            Self::SignOut => phrases::ASK_SIGN_OUT,
            Self::EndFreePassage => phrases::ASK_FREE_END,
            Self::Further { .. } => phrases::ASK_FURTHER,
        }
    }

    /// What yes asks for.
    pub fn yes(&self) -> Act {
        match self {
            Self::Quit => Act::Quit,
            Self::Practice(on) => Act::Practice(*on),
            Self::SignOut => Act::SignOut,
            Self::EndFreePassage => Act::FreePassage(None),
            Self::Further {
                waiving, reason, ..
            } => {
                let mut waiving = waiving.clone();
                waiving.waived.push(*reason);
                Act::Override(waiving)
            }
        }
    }
}
