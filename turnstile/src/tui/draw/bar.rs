//! The bar at the top: which gate, which session, how the gate is. What is wrong stands out.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use stile_core::device::Network;
use stile_core::ticket::Direction;

use super::paint::{bar_style, bold, columns, fit, paragraph, warning_style};
use crate::tui::acts::ClockWord;
use crate::tui::phrases;
use crate::tui::screen::Screen;

/// A list older than this is shown as old, in minutes: the age from which the unlisted policy
/// wants it seen.
const OLD_LIST_MIN: i64 = 15;
/// Columns for the gate's name and for the session's.
const NAME_COLUMNS: usize = 20;

pub(super) fn draw(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let lines = vec![place(screen), supply(screen), records(screen)];
    frame.render_widget(paragraph(lines).style(bar_style()), area);
}

/// What changes everything that the gate does, in as many lines as it takes; none if nothing
/// does.
pub(super) fn banners(screen: &Screen, width: u16) -> Vec<Line<'static>> {
    let (state, language) = (&screen.state, screen.language);
    let said = [
        (screen.emergency, phrases::EMERGENCY),
        (state.practice && !screen.stands_open(), phrases::PRACTICE),
        (
            state.practice && screen.stands_open(),
            phrases::PRACTICE_OPEN,
        ),
        (state.free_passage, phrases::FREE_PASSAGE),
        (state.revoked, phrases::REVOKED),
        (state.keys_overdue, phrases::KEYS_OVERDUE),
    ];
    let said = said.into_iter().filter(|(holds, _)| *holds);
    let said = said.map(|(_, phrase)| phrase.text(language).to_owned());
    let mut lines: Vec<String> = Vec::new();
    for text in said.chain(clock(screen)) {
        let text = format!(" {text} ");
        match lines.last_mut() {
            Some(line) if columns(line) + columns(&text) <= usize::from(width) => {
                line.push_str(&text);
            }
            _ => lines.push(text),
        }
    }
    lines.into_iter().map(Line::raw).collect()
}

fn place(screen: &Screen) -> Line<'static> {
    let (state, language) = (&screen.state, screen.language);
    let way = match state.direction {
        Direction::In => phrases::WAY_IN,
        Direction::Out => phrases::WAY_OUT,
    };
    Line::from(vec![
        Span::styled(
            format!(
                " {} {} ({})",
                phrases::GATE.text(language),
                fit(&state.gate, NAME_COLUMNS),
                way.text(language)
            ),
            bold(),
        ),
        between(),
        session(screen),
        between(),
        Span::styled(screen.words.clock(state.now), bold()),
    ])
}

fn session(screen: &Screen) -> Span<'static> {
    let language = screen.language;
    let Some(first) = screen.state.sessions.first() else {
        return Span::raw(phrases::NO_SESSION.text(language));
    };
    let next = match first.admits_now {
        true => String::new(),
        false => format!("{} ", phrases::NEXT_SESSION.text(language)),
    };
    let more = match screen.state.sessions.len() {
        0 | 1 => String::new(),
        n => format!(" +{}", n - 1),
    };
    Span::raw(format!(
        "{next}{} {}-{}{more}",
        fit(&first.name, NAME_COLUMNS),
        screen.words.minute(first.admit_from.millis()),
        screen.words.minute(first.admit_until.millis())
    ))
}

/// What the gate works with: network, list, operator.
fn supply(screen: &Screen) -> Line<'static> {
    let (state, language) = (&screen.state, screen.language);
    let network = match state.network {
        Network::Online => Span::styled(phrases::ONLINE.text(language), bold()),
        Network::NoAnswer => warned(phrases::NO_ANSWER.text(language)),
        Network::Offline => warned(phrases::OFFLINE.text(language)),
    };
    let operator = match &state.operator {
        Some(name) => Span::styled(fit(name, NAME_COLUMNS), bold()),
        None => Span::raw(phrases::NOBODY.text(language)),
    };
    Line::from(vec![
        Span::raw(" "),
        network,
        between(),
        list(screen),
        between(),
        operator,
    ])
}

/// What has become of its records.
fn records(screen: &Screen) -> Line<'static> {
    let (state, language) = (&screen.state, screen.language);
    let mut spans = vec![Span::raw(" ")];
    for (phrase, number, wants_a_person) in [
        (phrases::WAITING, state.unsent, false),
        (phrases::CONFLICTS, state.conflicts, true),
        (phrases::QUARANTINED, state.quarantined, true),
        (phrases::STUCK, state.stuck, true),
    ] {
        if spans.len() > 1 {
            spans.push(between());
        }
        spans.push(count(phrase.text(language), number, wants_a_person));
    }
    Line::from(spans)
}

fn list(screen: &Screen) -> Span<'static> {
    let (state, language) = (&screen.state, screen.language);
    let Some(issued_at) = state.list_issued_at else {
        return warned(phrases::NO_LIST.text(language));
    };
    let age = state.now.since(issued_at).max(0) / 60_000;
    let text = format!(
        "{} {} {}, {age} {}",
        phrases::LIST.text(language),
        state.list_tickets,
        phrases::TICKETS.text(language),
        phrases::LIST_AGE_MIN.text(language)
    );
    match age > OLD_LIST_MIN {
        true => warned(&text),
        false => Span::raw(text),
    }
}

/// What is to be known of the clock, if anything is.
fn clock(screen: &Screen) -> Option<String> {
    let (state, language) = (&screen.state, screen.language);
    let word = match state.clock {
        ClockWord::Right => None,
        ClockWord::Disputed(Some(at)) => {
            let word = phrases::CLOCK_SERVER_SAYS.text(language);
            return Some(format!("{word} {}", screen.words.date_and_minute(at)));
        }
        ClockWord::Disputed(None) => Some(phrases::CLOCK_DISPUTED),
        ClockWord::Own => Some(phrases::CLOCK_OWN),
        ClockWord::Unknown => Some(phrases::CLOCK_UNKNOWN),
    };
    if let Some(word) = word {
        return Some(word.text(language).to_owned());
    }
    let off_ms = state.wall_off_ms?;
    let way = match off_ms {
        0.. => phrases::CLOCK_AHEAD,
        _ => phrases::CLOCK_BEHIND,
    };
    let seconds = off_ms.saturating_abs() / 1000;
    Some(format!(
        "{} {seconds} {}",
        way.text(language),
        phrases::SECONDS.text(language)
    ))
}

fn count(word: &str, number: u64, wants_a_person: bool) -> Span<'static> {
    let text = format!("{word} {number}");
    match wants_a_person && number > 0 {
        true => warned(&text),
        false => Span::raw(text),
    }
}

fn warned(text: &str) -> Span<'static> {
    Span::styled(text.to_owned(), warning_style())
}

fn between() -> Span<'static> {
    Span::styled(" | ", Style::new())
}
