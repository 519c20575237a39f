//! Forms and questions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;

use super::paint::{bold, columns, filled, key_style, paragraph, wrapped};
use crate::tui::form::{Field, Form, Kind};
use crate::tui::page::{Purpose, Question};
use crate::tui::phrases;
use crate::tui::screen::Screen;

/// Columns of a line's label.
const LABEL: usize = 18;
/// Columns of what is typed into it.
const ENTRY: usize = 44;

pub(super) fn form(
    screen: &Screen,
    purpose: Purpose,
    form: &Form,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let language = screen.language;
    let mut lines = Vec::new();
    lines.push(Line::raw(""));
    if purpose == Purpose::Override
        && let Some(shown) = &screen.shown
    {
        let text = format!(
            "{} {}",
            phrases::HELP_OVERRIDE.text(language),
            shown.sentence.text(Some(language))
        );
        lines.extend(said(&text, area));
        lines.push(Line::raw(""));
    }
    for (at, field) in form.fields.iter().enumerate() {
        lines.push(entry(screen, field, at == form.at));
        if let Kind::Reason(ready) = &field.kind {
            for (n, phrase) in ready.iter().enumerate() {
                let is_chosen = field.text.is_empty() && n == field.choice;
                let mark = if is_chosen { ">" } else { " " };
                let text = format!("{}{mark} {}", filled("", LABEL + 2), phrase.text(language));
                let style = if is_chosen {
                    bold()
                } else {
                    Default::default()
                };
                lines.push(Line::styled(text, style));
            }
        }
        lines.push(Line::raw(""));
    }
    for phrase in purpose.help() {
        lines.extend(said(phrase.text(language), area));
    }
    frame.render_widget(
        paragraph(lines).block(titled(purpose.title().text(language))),
        area,
    );
}

pub(super) fn question(screen: &Screen, question: &Question, frame: &mut Frame<'_>, area: Rect) {
    let language = screen.language;
    let mut lines = vec![Line::raw("")];
    if let Question::Further {
        reason, sentence, ..
    } = question
    {
        let text = format!("{}  [{}]", sentence.text(Some(language)), reason.name());
        lines.extend(said(&text, area).into_iter().map(|line| line.style(bold())));
        lines.push(Line::raw(""));
    }
    lines.extend(said(question.words().text(language), area));
    frame.render_widget(paragraph(lines).block(Block::bordered()), area);
}

pub(super) fn titled(title: &str) -> Block<'static> {
    Block::bordered().title(Span::styled(format!(" {title} "), bold()))
}

/// A text in the lines that it takes, a little in from the edge.
pub(super) fn said(text: &str, area: Rect) -> Vec<Line<'static>> {
    let width = usize::from(area.width).saturating_sub(6);
    let lines = wrapped(text, width).into_iter();
    lines.map(|line| Line::raw(format!("  {line}"))).collect()
}

fn entry(screen: &Screen, field: &Field, has_keys: bool) -> Line<'static> {
    let language = screen.language;
    let shown = match &field.kind {
        Kind::Pin => "*".repeat(field.text.chars().count()),
        Kind::Choice(words) => {
            let word = words
                .get(field.choice)
                .map(String::as_str)
                .unwrap_or_default();
            format!("< {} >", spoken(word, screen))
        }
        Kind::Number => format!("< {} >", field.text.as_str()),
        Kind::Text | Kind::Reason(_) => field.text.to_string(),
    };
    let cursor = if has_keys { "_" } else { "" };
    let label = format!("  {}", field.label.text(language));
    let text = filled(&format!(" {}{cursor}", last_columns(&shown)), ENTRY);
    let style = if has_keys {
        key_style()
    } else {
        Default::default()
    };
    Line::from(vec![
        Span::styled(filled(&label, LABEL + 2), bold()),
        Span::styled(text, style),
    ])
}

/// A choice as people read it.
fn spoken<'a>(word: &'a str, screen: &Screen) -> &'a str {
    match word {
        "in" => phrases::IN.text(screen.language),
        "out" => phrases::OUT.text(screen.language),
        word => crate::words::category(word, screen.language),
    }
}

/// The end of what is typed, if all of it does not fit.
fn last_columns(text: &str) -> &str {
    let mut rest = text;
    while columns(rest) > ENTRY - 3 {
        let mut characters = rest.chars();
        characters.next();
        rest = characters.as_str();
    }
    rest
}
