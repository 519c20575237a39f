//! A verdict: colour, sign and word over the whole screen, then the reason, whom to compare, and
//! what to do. And the ready screen between verdicts.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;
use stile_core::device::TicketShown;
use stile_core::reason::{Language, Reason};

use super::paint::{
    banner_style, bold, columns, filled, fit, height_of, paragraph, verdict_style, wrapped,
};
use crate::tui::acts::{Shown, Sort};
use crate::tui::block;
use crate::tui::phrases;
use crate::tui::screen::Screen;

/// Lines of a verdict beside a form.
pub(super) const STRIP: u16 = 3;
/// Columns and lines that the word takes at its smallest, with what stands below it.
const WORD: (u16, u16) = (80, 16);

/// The verdict over the whole area.
pub(super) fn fill(screen: &Screen, shown: &Shown, frame: &mut Frame<'_>, area: Rect) {
    frame.render_widget(Block::new().style(verdict_style(shown.sort)), area);
    let times = times_in(area);
    let word = block::verdict(shown.sort, screen.language, times).lines();
    let word: Vec<_> = word.into_iter().map(Line::raw).collect();
    let sentence = sentence(screen, shown, area.width);
    let rows = Layout::vertical([
        Constraint::Length(height_of(&word)),
        Constraint::Length(1),
        Constraint::Length(height_of(&sentence)),
        Constraint::Min(0),
    ]);
    let [top, _, said, rest] = rows.areas(inside(area));
    frame.render_widget(paragraph(word), top);
    frame.render_widget(paragraph(sentence), said);
    particulars(screen, shown, frame, rest, times);
}

/// The verdict in three lines, above a form.
pub(super) fn strip(screen: &Screen, shown: &Shown, frame: &mut Frame<'_>, area: Rect) {
    let language = screen.language;
    let style = verdict_style(shown.sort);
    frame.render_widget(Block::new().style(style), area);
    let mut lines = vec![Line::styled(
        format!(
            " {} {}",
            sign(shown.sort),
            phrases::sort(shown.sort).text(language)
        ),
        bold(),
    )];
    let mut text = shown.sentence.text(Some(language));
    if let Some(ticket) = &shown.ticket {
        text = format!("{}  {text}", name(ticket));
    }
    let width = usize::from(area.width).saturating_sub(2);
    lines.extend(
        wrapped(&text, width)
            .into_iter()
            .take(2)
            .map(|line| Line::raw(format!(" {line}"))),
    );
    frame.render_widget(paragraph(lines), area);
}

/// Nothing to show: ready for the next.
pub(super) fn ready(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let language = screen.language;
    let ready = match (screen.stands_open(), screen.state.practice) {
        (true, _) => phrases::READY_OPEN,
        (false, true) => phrases::READY_PRACTICE,
        (false, false) => phrases::READY,
    };
    let mut lines = vec![Line::raw(""), Line::raw("")];
    let arrow = [
        "   ▄█▄   ",
        " ▄█████▄ ",
        "█▀ ███ ▀█",
        "   ███   ",
        "   ███   ",
    ];
    let words = ["", "", ready.text(language), "", ""];
    for (arrow, word) in arrow.into_iter().zip(words) {
        lines.push(Line::from(vec![
            Span::raw(format!("      {arrow}     ")),
            Span::styled(word, bold()),
        ]));
    }
    lines.push(Line::raw(""));
    if screen.next_persons > 1 {
        let text = phrases::NEXT_PERSONS.text(language);
        let text = format!("   {text} {} ", screen.next_persons);
        lines.push(Line::styled(text, banner_style()));
        lines.push(Line::raw(""));
    }
    if let Some(shown) = &screen.shown {
        let text = format!(
            "   {} {}  {} {}  {}",
            phrases::LAST_READING.text(language),
            screen.words.clock(shown.at),
            sign_now(shown),
            word_now(shown).text(language),
            shown.ticket.as_ref().map(name).unwrap_or_default()
        );
        lines.push(Line::raw(fit(&text, usize::from(area.width))));
        let width = usize::from(area.width).saturating_sub(6);
        let shown = shown_now(shown, language);
        let sentence = wrapped(&shown, width);
        lines.extend(
            sentence
                .into_iter()
                .map(|line| Line::raw(format!("   {line}"))),
        );
    }
    frame.render_widget(paragraph(lines), area);
}

/// The sign in one character.
pub(super) fn sign(sort: Sort) -> &'static str {
    match sort {
        Sort::Admit => "✓",
        Sort::Refuse => "✗",
        Sort::Used => "⊘",
        Sort::Repeat => "=",
    }
}

/// The sign of what is so now: an admission may have been taken back since.
pub(super) fn sign_now(shown: &Shown) -> &'static str {
    match shown.taken_back {
        true => "↶",
        false => sign(shown.sort),
    }
}

/// The same in a word.
pub(super) fn word_now(shown: &Shown) -> phrases::Phrase {
    match shown.taken_back {
        true => phrases::TAKEN_BACK,
        false => phrases::sort(shown.sort),
    }
}

/// The same in a sentence.
pub(super) fn shown_now(shown: &Shown, language: Language) -> String {
    match shown.taken_back {
        true => phrases::SAY_TAKEN_BACK.text(language).to_owned(),
        false => shown.sentence.text(Some(language)),
    }
}

/// Whom to compare, in one line.
pub(super) fn name(ticket: &TicketShown) -> String {
    let digits = ticket.last_four.map(|digits| digits.to_string());
    let parts = [ticket.holder_mask.as_str(), digits.as_deref().unwrap_or("")];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

fn times_in(area: Rect) -> usize {
    let times = (area.width / WORD.0).min(area.height / WORD.1).max(1);
    usize::from(times)
}

fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    }
}

fn sentence(screen: &Screen, shown: &Shown, width: u16) -> Vec<Line<'static>> {
    let language = screen.language;
    let mut text = shown.sentence.text(Some(language));
    if shown.sort == Sort::Repeat {
        text = phrases::AGAIN_NOTE.text(language).to_owned();
    }
    let width = usize::from(width).saturating_sub(2);
    let lines = wrapped(&text, width).into_iter();
    let mut lines: Vec<_> = lines.map(|line| Line::styled(line, bold())).collect();
    if let Some(reason) = shown.reason {
        let to_do = match (reason, shown.sort) {
            (Reason::AlreadyUsed, Sort::Refuse) => phrases::DO_FEWER,
            _ => phrases::what_to_do(reason),
        };
        let text = format!(
            "{}: {}  [{}]",
            phrases::WHAT_TO_DO.text(language),
            to_do.text(language),
            reason.name()
        );
        lines.extend(wrapped(&text, width).into_iter().map(Line::raw));
    }
    lines
}

/// Whom to compare and what to look at; the digits stand out.
fn particulars(screen: &Screen, shown: &Shown, frame: &mut Frame<'_>, area: Rect, times: usize) {
    let Some(ticket) = &shown.ticket else {
        return;
    };
    let digits = ticket
        .last_four
        .map(|digits| block::digits(&digits.to_string(), times));
    let taken = digits.as_ref().map_or(0, |digits| digits.width() + 3);
    let columns = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(u16::try_from(taken).unwrap_or(0)),
    ]);
    let [left, right] = columns.areas(area);
    let lines = ticket_lines(screen, shown, ticket, usize::from(left.width));
    frame.render_widget(paragraph(lines), left);
    if let Some(digits) = digits {
        let lines = digits.lines().into_iter().map(Line::raw).collect();
        frame.render_widget(paragraph(lines), right);
    }
}

fn ticket_lines(
    screen: &Screen,
    shown: &Shown,
    ticket: &TicketShown,
    width: usize,
) -> Vec<Line<'static>> {
    let language = screen.language;
    let mut lines = Vec::new();
    let mut line = |phrase: phrases::Phrase, text: String, is_bold: bool| {
        if text.is_empty() {
            return;
        }
        let label = format!("{}: ", phrase.text(language));
        let room = width.saturating_sub(columns(&label));
        let mut label = label;
        for piece in wrapped(&text, room).into_iter().take(2) {
            let piece = Span::styled(piece, if is_bold { bold() } else { Default::default() });
            let indent = filled("", columns(&label));
            lines.push(Line::from(vec![
                Span::raw(std::mem::replace(&mut label, indent)),
                piece,
            ]));
        }
    };
    line(phrases::COMPARE, name(ticket), true);
    line(phrases::ATTENTION, ticket.attention.clone(), true);
    line(phrases::PARTY, party(screen, shown, ticket), true);
    line(phrases::SEAT, ticket.label.clone(), false);
    line(phrases::SESSION, ticket.session.clone(), false);
    lines
}

fn party(screen: &Screen, shown: &Shown, ticket: &TicketShown) -> String {
    let language = screen.language;
    if ticket.admits == 1 && shown.sort != Sort::Used {
        return String::new();
    }
    let left = format!("{} {}", phrases::REMAINING.text(language), shown.remaining);
    match shown.persons {
        0 => format!("{}, {left}", ticket.admits),
        persons => {
            let of = phrases::PARTY_OF.text(language);
            format!("{persons} {of} {}, {left}", ticket.admits)
        }
    }
}
