//! Forms of the screen: which lines each has, and what it asks for when it is filled in.

use stile_core::reason::Language;
use stile_core::ticket::Direction;
use zeroize::Zeroizing;

use super::{LOOK_UP_CHARS, Screen};
use crate::event::Weight;
use crate::tui::acts::{Act, Key, Pin, Waiving};
use crate::tui::form::{Edited, Field, Form, Kind};
use crate::tui::page::{Page, Purpose};
use crate::tui::phrases;
use crate::words::Sentence;

impl Screen {
    pub(super) fn open(&mut self, purpose: Purpose) -> Vec<Act> {
        let text = |label| Field::new(label, Kind::Text);
        let why = |ready| Field::new(phrases::FIELD_WHY, Kind::Reason(ready));
        let pin = |label| Field::new(label, Kind::Pin);
        let persons = || Field::with(phrases::FIELD_PERSONS, Kind::Number, "1");
        let fields = match purpose {
            Purpose::Persons => vec![persons()],
            Purpose::Undo => vec![why(phrases::UNDO_REASONS)],
            Purpose::Override => vec![why(phrases::OVERRIDE_REASONS), pin(phrases::FIELD_PIN)],
            Purpose::LookUp => vec![
                text(phrases::FIELD_SEARCH),
                Field::optional(phrases::FIELD_NAME),
            ],
            Purpose::WalkIn => {
                let categories = Kind::Choice(self.state.categories.clone());
                let ways = Kind::Choice(vec!["in".into(), "out".into()]);
                let mut way = Field::new(phrases::FIELD_WAY, ways);
                way.choice = usize::from(self.state.direction == Direction::Out);
                vec![
                    Field::new(phrases::FIELD_CATEGORY, categories),
                    persons(),
                    way,
                ]
            }
            Purpose::SignIn => vec![text(phrases::FIELD_OPERATOR), pin(phrases::FIELD_OWN_PIN)],
            Purpose::FreePassage => vec![why(phrases::FREE_REASONS)],
            Purpose::Clock => {
                let now = self.words.date_and_minute(self.state.now);
                let time = Field::with(phrases::FIELD_TIME, Kind::Text, now);
                vec![time, why(phrases::CLOCK_REASONS), pin(phrases::FIELD_PIN)]
            }
        };
        self.notice = None;
        self.page = Page::Form(purpose, Form::new(fields));
        Vec::new()
    }

    pub(super) fn form_key(&mut self, purpose: Purpose, mut form: Form, key: Key) -> Vec<Act> {
        if key == Key::Esc {
            return self.close(purpose);
        }
        if form.on(key) == Edited::Going || self.busy {
            self.page = Page::Form(purpose, form);
            return Vec::new();
        }
        match self.submit(purpose, &form) {
            Ok(act) => {
                // Forms whose answer may be a trouble stay, so that it can be mended.
                if matches!(
                    purpose,
                    Purpose::Override | Purpose::Clock | Purpose::SignIn | Purpose::LookUp
                ) {
                    self.page = Page::Form(purpose, form);
                }
                self.ask(act)
            }
            Err(sentence) => {
                self.page = Page::Form(purpose, form);
                self.say(Weight::Warning, sentence);
                Vec::new()
            }
        }
    }

    pub(super) fn close(&mut self, purpose: Purpose) -> Vec<Act> {
        self.page = Page::Gate;
        self.notice = None;
        match purpose {
            Purpose::SignIn => vec![Act::AwaitBadge(false)],
            _ => Vec::new(),
        }
    }

    fn submit(&mut self, purpose: Purpose, form: &Form) -> Result<Act, Sentence> {
        let is_missing = |field: &&Field| field.is_missing(self.language);
        let empty = form.fields.iter().find(is_missing);
        if let Some(field) = empty {
            let missing = |language| {
                format!(
                    "{}{}",
                    phrases::SAY_EMPTY.text(language),
                    field.label.text(language)
                )
            };
            return Err(Sentence {
                zh_cn: missing(Language::ZhCn),
                en: missing(Language::En).replace(':', ": "),
            });
        }
        let value = |at: usize| {
            let field = form.fields.get(at);
            field
                .map(|field| field.value(self.language))
                .unwrap_or_default()
        };
        let number = |at: usize| {
            let number = form.fields.get(at).and_then(Field::number);
            number.ok_or_else(|| phrases::SAY_NO_SUCH_NUMBER.sentence())
        };
        let pin = |at: usize| {
            form.fields
                .get(at)
                .map_or(Pin(Zeroizing::default()), Field::pin)
        };
        Ok(match purpose {
            Purpose::Persons => match self.by_ticket() {
                Ok((of, left)) if self.adding_to == Some(of) => {
                    let persons = number(0)?.min(u8::try_from(left).unwrap_or(u8::MAX));
                    Act::More { of, persons }
                }
                _ => {
                    self.next_persons = number(0)?;
                    Act::NextPersons(self.next_persons)
                }
            },
            Purpose::Undo => Act::Undo {
                of: self
                    .taking_back
                    .ok_or_else(|| phrases::SAY_NO_ADMISSION.sentence())?,
                why: value(0),
            },
            Purpose::Override => {
                let waiving = Waiving {
                    of: self.shown.as_ref().and_then(|shown| shown.record_id),
                    pin: pin(1),
                    why: value(0),
                    waived: self.refusal().into_iter().collect(),
                };
                self.overriding = Some(waiving.clone());
                Act::Override(waiving)
            }
            Purpose::LookUp if value(0).chars().count() < LOOK_UP_CHARS => {
                return Err(phrases::SAY_TOO_SHORT.sentence());
            }
            Purpose::LookUp => Act::LookUp {
                text: value(0),
                name: value(1),
            },
            Purpose::WalkIn => Act::WalkIn {
                category: value(0),
                persons: number(1)?,
                direction: match form.fields.get(2).map_or(0, |field| field.choice) {
                    0 => Direction::In,
                    _ => Direction::Out,
                },
            },
            Purpose::SignIn => Act::SignIn {
                operator: value(0)
                    .parse()
                    .map_err(|_| phrases::SAY_NO_SUCH_OPERATOR.sentence())?,
                pin: pin(1),
            },
            Purpose::FreePassage => Act::FreePassage(Some(value(0))),
            Purpose::Clock => Act::SetClock {
                to: self
                    .words
                    .typed_minute(&value(0))
                    .ok_or_else(|| phrases::SAY_NO_SUCH_TIME.sentence())?,
                why: value(1),
                pin: pin(2),
            },
        })
    }
}
