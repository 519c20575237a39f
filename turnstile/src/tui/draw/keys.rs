//! The hints at the bottom: which key does what on this page.

use ratatui::text::{Line, Span};

use super::paint::{columns, key_style};
use crate::tui::form::Kind;
use crate::tui::page::Page;
use crate::tui::phrases::{self, Phrase};
use crate::tui::screen::Screen;

/// The hints, in as many lines as they take.
pub(super) fn lines(screen: &Screen, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let mut lines = Vec::new();
    for group in hints(screen) {
        let mut line = Vec::new();
        let mut taken = 0;
        for (key, phrase) in group {
            let text = format!(" {} ", phrase.text(screen.language));
            let needed = columns(key) + 2 + columns(&text);
            if taken + needed > width && !line.is_empty() {
                lines.push(Line::from(std::mem::take(&mut line)));
                taken = 0;
            }
            line.push(Span::styled(format!(" {key} "), key_style()));
            line.push(Span::raw(text));
            taken += needed;
        }
        lines.push(Line::from(line));
    }
    lines
}

type Hint = (&'static str, Phrase);

fn hints(screen: &Screen) -> Vec<Vec<Hint>> {
    const BACK: Hint = ("Esc", phrases::KEY_BACK);
    match &screen.page {
        Page::Gate => vec![about_the_last(), always(screen)],
        Page::Form(_, form) => {
            let is_choice = form
                .fields
                .get(form.at)
                .is_some_and(|field| matches!(field.kind, Kind::Choice(_) | Kind::Number));
            let last = form.at + 1 == form.fields.len();
            let enter = if last {
                phrases::KEY_OK
            } else {
                phrases::KEY_NEXT_FIELD
            };
            let mut hints = vec![("Enter", enter)];
            if is_choice {
                hints.push(("← →", phrases::KEY_CHOOSE));
            }
            hints.push(BACK);
            vec![hints]
        }
        Page::Ask(_) => vec![vec![
            ("Enter y", phrases::KEY_YES),
            ("Esc n", phrases::KEY_NO),
        ]],
        Page::Tickets(tickets) => {
            let mut hints = vec![
                ("Enter", phrases::KEY_ADMIT),
                ("↑ ↓", phrases::KEY_CHOOSE),
                ("← → 1-9", phrases::KEY_PERSONS),
            ];
            match tickets.order {
                None => hints.push(("b", phrases::KEY_ORDER)),
                Some(_) => {
                    hints.extend([("Space", phrases::KEY_TICK), ("a", phrases::KEY_ALL)]);
                }
            }
            hints.push(BACK);
            vec![hints]
        }
        Page::Last(_) => vec![vec![
            ("↑ ↓ ← →", phrases::KEY_MORE_LINES),
            ("u", phrases::KEY_UNDO),
            BACK,
        ]],
        Page::Troubles(..) => vec![vec![("↑ ↓ ← →", phrases::KEY_MORE_LINES), BACK]],
        Page::HandOver(_, true) => vec![vec![BACK]],
        Page::HandOver(_, false) => vec![vec![("s", phrases::KEY_SIGN_OUT), BACK]],
    }
}

fn about_the_last() -> Vec<Hint> {
    vec![
        ("+", phrases::KEY_MORE),
        ("p", phrases::KEY_PERSONS),
        ("x", phrases::KEY_MISMATCH),
        ("u", phrases::KEY_UNDO),
        ("o", phrases::KEY_OVERRIDE),
    ]
}

fn always(screen: &Screen) -> Vec<Hint> {
    let sign = match screen.state.operator {
        Some(_) => phrases::KEY_SIGN_OUT,
        None => phrases::KEY_SIGN_IN,
    };
    vec![
        ("/", phrases::KEY_LOOK_UP),
        ("w", phrases::KEY_WALK_IN),
        ("s", sign),
        ("h", phrases::KEY_COUNTS),
        ("r", phrases::KEY_LAST),
        ("k", phrases::KEY_TROUBLES),
        ("t", phrases::KEY_PRACTICE),
        ("f", phrases::KEY_FREE),
        ("c", phrases::KEY_CLOCK),
        ("g", phrases::KEY_LANGUAGE),
        ("q", phrases::KEY_QUIT),
    ]
}
