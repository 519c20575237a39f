//! Lists: tickets to choose from, the last readings, records that want a person, counts.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use stile_core::ticket::{Standing, TicketStatus};

use super::form::{said, titled};
use super::paint::{bold, filled, key_style, paragraph, warning_style};
use super::verdict::{name, shown_now, sign_now, word_now};
use crate::tui::acts::{Counts, Row, Shown, Trouble};
use crate::tui::page::Tickets;
use crate::tui::phrases::{self, Phrase};
use crate::tui::screen::Screen;

pub(super) fn tickets(screen: &Screen, tickets: &Tickets, frame: &mut Frame<'_>, area: Rect) {
    let language = screen.language;
    let title = match &tickets.order {
        Some(order) => format!("{} {order}", phrases::TITLE_ORDER.text(language)),
        None => phrases::TITLE_FOUND.text(language).to_owned(),
    };
    let pairs = tickets.rows.iter().zip(&tickets.persons);
    let rows = pairs.map(|(row, persons)| ticket_row(screen, tickets, row, *persons));
    let total = format!("{} {}", phrases::ORDER_LINE.text(language), tickets.total());
    let mut below = vec![Line::styled(format!("  {total}"), bold())];
    // Rows of one order without seats look alike.
    if let Some(row) = tickets.rows.get(tickets.at) {
        let order = phrases::TITLE_ORDER.text(language);
        let ticket = phrases::TICKET.text(language);
        let line = format!("  {order} {}, {ticket} {}", row.order, row.ticket);
        below.push(Line::raw(line));
    }
    if tickets.more > 0 {
        let text = phrases::MORE_OF_ORDER.text(language);
        let text = format!("  {text} {}", tickets.more);
        below.push(Line::styled(text, warning_style()));
    }
    list(&title, rows.collect(), tickets.at, below, frame, area);
}

fn ticket_row(screen: &Screen, tickets: &Tickets, row: &Row, persons: u8) -> String {
    let language = screen.language;
    let tick = match (&tickets.order, persons) {
        (None, _) => String::new(),
        (Some(_), 0) => "[ ] ".into(),
        (Some(_), _) => "[x] ".into(),
    };
    let digits = row.shown.last_four.map(|digits| digits.to_string());
    // The year is plain.
    let day = row.service_day.as_str().get(5..).unwrap_or_default();
    let rest = match not_good(row) {
        Some(phrase) => phrase.text(language).to_owned(),
        None => format!(
            "{persons} {} {}, {} {}",
            phrases::PARTY_OF.text(language),
            row.shown.admits,
            phrases::REMAINING.text(language),
            row.remaining,
        ),
    };
    format!(
        "{tick}{} {} {} {} {day} {rest}",
        filled(&row.shown.holder_mask, 10),
        filled(&digits.unwrap_or_default(), 4),
        filled(&row.shown.label, 10),
        filled(&row.shown.session, 14),
    )
}

/// Why a ticket admits nobody, if it does not.
fn not_good(row: &Row) -> Option<Phrase> {
    match (&row.standing, row.status) {
        (Standing::Moved { .. }, _) => Some(phrases::STATUS_MOVED),
        (Standing::Deleted, _) => Some(phrases::STATUS_DELETED),
        (_, TicketStatus::Pending) => Some(phrases::STATUS_PENDING),
        (_, TicketStatus::Blocked) => Some(phrases::STATUS_BLOCKED),
        (_, TicketStatus::Cancelled) => Some(phrases::STATUS_CANCELLED),
        (Standing::Live, TicketStatus::Valid) => None,
    }
}

pub(super) fn last(screen: &Screen, at: usize, frame: &mut Frame<'_>, area: Rect) {
    let rows: Vec<_> = screen
        .last
        .iter()
        .map(|shown| last_row(screen, shown))
        .collect();
    let language = screen.language;
    let below = match screen.last.get(at) {
        None => said(phrases::NO_SCANS.text(language), area),
        Some(shown) => said(&shown_now(shown, language), area),
    };
    list(
        phrases::TITLE_LAST.text(language),
        rows,
        at,
        below,
        frame,
        area,
    );
}

fn last_row(screen: &Screen, shown: &Shown) -> String {
    let language = screen.language;
    let ticket = shown.ticket.as_ref();
    format!(
        "{} {} {} {} {} {}",
        screen.words.clock(shown.at),
        sign_now(shown),
        filled(word_now(shown).text(language), 6),
        filled(&ticket.map(name).unwrap_or_default(), 16),
        filled(ticket.map_or("", |ticket| &ticket.label), 12),
        shown.reason.map_or("", |reason| reason.name()),
    )
}

pub(super) fn troubles(
    screen: &Screen,
    troubles: &[Trouble],
    at: usize,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let language = screen.language;
    let row = |trouble: &Trouble| {
        format!(
            "{} {} {} {}",
            screen.words.date_and_clock(trouble.at),
            filled(phrases::trouble(trouble.sort).text(language), 9),
            filled(&trouble.kind, 12),
            trouble.of
        )
    };
    let rows: Vec<_> = troubles.iter().map(row).collect();
    let phrase = match rows.is_empty() {
        true => phrases::NO_TROUBLES,
        false => phrases::TROUBLES_HELP,
    };
    let below = said(phrase.text(language), area);
    list(
        phrases::TITLE_TROUBLES.text(language),
        rows,
        at,
        below,
        frame,
        area,
    );
}

pub(super) fn hand_over(screen: &Screen, counts: &Counts, frame: &mut Frame<'_>, area: Rect) {
    let language = screen.language;
    let line = |label: &str, value: String| Line::raw(format!("  {} {value}", filled(label, 32)));
    let mut lines = vec![Line::raw("")];
    for (phrase, value) in [
        (phrases::FIELD_OPERATOR, counts.operator.clone()),
        (phrases::SINCE, screen.words.date_and_clock(counts.since)),
        (phrases::COUNT_ADMITTED, counts.admitted.to_string()),
        (phrases::COUNT_WALK_INS, counts.walk_ins.to_string()),
        (phrases::COUNT_OVERRIDES, counts.overrides.to_string()),
        (phrases::COUNT_UNDONE, counts.undone.to_string()),
    ] {
        lines.push(line(phrase.text(language), value).style(bold()));
    }
    let refused: u64 = counts.refused.iter().map(|(_, count)| count).sum();
    lines.push(line(phrases::COUNT_REFUSED.text(language), refused.to_string()).style(bold()));
    let room = usize::from(area.height).saturating_sub(lines.len() + 2);
    for (reason, count) in counts.refused.iter().take(room) {
        let reason = phrases::reason(reason, language);
        lines.push(line(&format!("  {reason}"), count.to_string()));
    }
    let title = phrases::TITLE_HAND_OVER.text(language);
    frame.render_widget(paragraph(lines).block(titled(title)), area);
}

/// Rows with the one that has the keys in sight, and lines below them.
fn list(
    title: &str,
    rows: Vec<String>,
    at: usize,
    below: Vec<Line<'static>>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let room = usize::from(area.height)
        .saturating_sub(2 + below.len())
        .max(1);
    let width = usize::from(area.width).saturating_sub(4);
    let first = (at + 1).saturating_sub(room);
    let mut lines = Vec::new();
    for (n, row) in rows.iter().enumerate().skip(first).take(room) {
        let style = if n == at { key_style() } else { Style::new() };
        lines.push(Line::styled(filled(&format!(" {row}"), width + 1), style));
    }
    lines.extend(below);
    frame.render_widget(paragraph(lines).block(titled(title)), area);
}
