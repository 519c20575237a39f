//! A form of the screen: lines that a guard fills in with keys, one after the other. Editing only;
//! what a form is for is known by the screen.

use stile_core::reason::Language;
use zeroize::Zeroizing;

use super::acts::{Key, Pin};
use super::phrases::Phrase;

/// Longest text of a line, in characters: what fits beside its label.
const MAX_CHARS: usize = 40;

/// What a line takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Digits that are not shown.
    Pin,
    /// A number from 1 to 255.
    Number,
    /// One of the words that the venue named, by its place.
    Choice(Vec<String>),
    /// A text, with what is most often said to choose from.
    Reason(&'static [Phrase]),
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// What it asks.
    pub label: Phrase,
    /// What it takes.
    pub kind: Kind,
    /// Whether it may stay empty.
    pub may_be_empty: bool,
    /// What was typed; of a choice, nothing.
    pub text: Zeroizing<String>,
    /// Which of the choices or ready reasons it stands at.
    pub choice: usize,
    /// The next digit takes the place of the number in it, which nobody typed.
    is_proposed: bool,
}

/// Lines, one of which has the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The lines.
    pub fields: Vec<Field>,
    /// The line that has the keys.
    pub at: usize,
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// The form is as it was, or is changed.
    Going,
    /// Enter on the last line.
    Finished,
}

impl Field {
    /// An empty line.
    pub fn new(label: Phrase, kind: Kind) -> Self {
        Self {
            label,
            kind,
            may_be_empty: false,
            text: Zeroizing::default(),
            choice: 0,
            is_proposed: false,
        }
    }

    /// A line with a text in it; a number is a proposal, in whose place the first digit comes.
    pub fn with(label: Phrase, kind: Kind, text: impl Into<String>) -> Self {
        Self {
            is_proposed: kind == Kind::Number,
            text: Zeroizing::new(text.into()),
            ..Self::new(label, kind)
        }
    }

    /// An empty line for a text that need not be said.
    pub fn optional(label: Phrase) -> Self {
        Self {
            may_be_empty: true,
            ..Self::new(label, Kind::Text)
        }
    }

    /// Whether it must be filled in and is not.
    pub fn is_missing(&self, language: Language) -> bool {
        !self.may_be_empty && self.value(language).is_empty()
    }

    /// What it says now, as it is sent on.
    pub fn value(&self, language: Language) -> String {
        match &self.kind {
            Kind::Choice(words) => words.get(self.choice).cloned().unwrap_or_default(),
            Kind::Reason(ready) if self.text.is_empty() => ready
                .get(self.choice)
                .map(|phrase| phrase.text(language).to_owned())
                .unwrap_or_default(),
            _ => self.text.trim().to_owned(),
        }
    }

    /// The number that it says; none if it is none from 1 to 255.
    pub fn number(&self) -> Option<u8> {
        self.text.parse().ok().filter(|number| *number > 0)
    }

    /// The PIN that it holds.
    pub fn pin(&self) -> Pin {
        Pin(self.text.clone())
    }

    fn choose(&mut self, step: isize) {
        let count = match &self.kind {
            Kind::Choice(words) => words.len(),
            Kind::Reason(ready) => ready.len(),
            _ => 0,
        };
        if count > 0 {
            let count = isize::try_from(count).unwrap_or(1);
            let at = isize::try_from(self.choice).unwrap_or(0);
            self.choice = usize::try_from((at + step).rem_euclid(count)).unwrap_or(0);
            self.text = Zeroizing::default();
        }
        if self.kind == Kind::Number {
            let number = isize::from(self.number().unwrap_or(0)) + step;
            self.text = Zeroizing::new(number.clamp(1, 255).to_string());
            self.is_proposed = true;
        }
    }

    fn type_in(&mut self, character: char) {
        if self.is_proposed && character.is_ascii_digit() {
            self.text = Zeroizing::default();
            self.is_proposed = false;
        }
        let takes = match &self.kind {
            Kind::Text | Kind::Reason(_) => !character.is_control(),
            Kind::Pin => character.is_ascii_digit(),
            Kind::Number => character.is_ascii_digit() && self.text.len() < 3,
            Kind::Choice(_) => false,
        };
        if takes && self.text.chars().count() < MAX_CHARS {
            self.text.push(character);
        }
    }
}

impl Form {
    /// A form that begins at its first line.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields, at: 0 }
    }

    /// Takes a key.
    pub fn on(&mut self, key: Key) -> Edited {
        let last = self.fields.len().saturating_sub(1);
        let Some(field) = self.fields.get_mut(self.at) else {
            return Edited::Finished;
        };
        match (key, &field.kind) {
            (Key::Enter, _) if self.at == last => return Edited::Finished,
            (Key::Enter, _) => self.at += 1,
            (Key::Left, _) => field.choose(-1),
            (Key::Right, _) => field.choose(1),
            (Key::Up, Kind::Reason(_)) => field.choose(-1),
            (Key::Down, Kind::Reason(_)) if field.text.is_empty() || self.at == last => {
                field.choose(1);
            }
            (Key::Up, _) => self.at = self.at.saturating_sub(1),
            (Key::Down, _) => self.at = (self.at + 1).min(last),
            (Key::Backspace, _) => {
                field.text.pop();
                field.is_proposed = false;
            }
            (Key::Char(character), _) => field.type_in(character),
            (Key::Esc | Key::Interrupt, _) => {}
        }
        Edited::Going
    }
}

#[cfg(test)]
mod tests {
    use super::super::phrases;
    use super::*;

    fn typed(form: &mut Form, text: &str) {
        for character in text.chars() {
            form.on(Key::Char(character));
        }
    }

    #[test]
    fn a_pin_takes_digits_alone_and_does_not_show_in_debug_output() {
        let mut form = Form::new(vec![Field::new(phrases::FIELD_PIN, Kind::Pin)]);
        typed(&mut form, "1a3 5");
        assert_eq!(form.fields[0].text.as_str(), "135");
        assert_eq!(format!("{:?}", form.fields[0].pin()), "Pin");
    }

    #[test]
    fn a_number_goes_from_1_to_255() {
        let mut field = Field::with(phrases::FIELD_PERSONS, Kind::Number, "1");
        field.choose(-1);
        assert_eq!(field.number(), Some(1));
        field.text = Zeroizing::new("256".into());
        assert_eq!(field.number(), None);
        field.text = Zeroizing::new("0".into());
        assert_eq!(field.number(), None);
    }

    #[test]
    fn the_first_digit_takes_the_place_of_the_number_that_was_proposed() {
        let field = Field::with(phrases::FIELD_PERSONS, Kind::Number, "1");
        let mut form = Form::new(vec![field]);
        typed(&mut form, "12");
        assert_eq!(form.fields[0].number(), Some(12));
        form.on(Key::Right);
        typed(&mut form, "3");
        assert_eq!(form.fields[0].number(), Some(3));
        form.on(Key::Backspace);
        typed(&mut form, "45");
        assert_eq!(form.fields[0].number(), Some(45));
    }

    #[test]
    fn a_ready_reason_is_chosen_with_arrows_and_gives_way_to_what_is_typed() {
        let reasons = Kind::Reason(phrases::UNDO_REASONS);
        let mut form = Form::new(vec![Field::new(phrases::FIELD_WHY, reasons)]);
        form.on(Key::Down);
        assert_eq!(form.fields[0].value(Language::ZhCn), "游客未入场");
        typed(&mut form, " 其他 ");
        assert_eq!(form.fields[0].value(Language::ZhCn), "其他");
        form.on(Key::Up);
        assert_eq!(form.fields[0].value(Language::En), "scanned by mistake");
    }

    #[test]
    fn enter_goes_from_line_to_line_and_ends_on_the_last() {
        let mut form = Form::new(vec![
            Field::new(phrases::FIELD_OPERATOR, Kind::Text),
            Field::new(phrases::FIELD_OWN_PIN, Kind::Pin),
        ]);
        assert_eq!(form.on(Key::Enter), Edited::Going);
        assert_eq!(form.at, 1);
        assert_eq!(form.on(Key::Enter), Edited::Finished);
    }
}
