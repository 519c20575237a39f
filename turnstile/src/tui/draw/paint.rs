//! What all parts of the renderer share: styles, and texts measured in terminal columns, since a
//! Chinese character takes two.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::event::Weight;
use crate::tui::acts::Sort;

/// Ink and paper of a verdict. The sixteen colours that every terminal has; sign and word differ
/// as well, since not every eye has them.
pub(super) fn verdict_style(sort: Sort) -> Style {
    let (ink, paper) = match sort {
        Sort::Admit => (Color::Black, Color::Green),
        Sort::Refuse => (Color::White, Color::Red),
        Sort::Used => (Color::Black, Color::Yellow),
        Sort::Repeat => (Color::White, Color::Blue),
    };
    Style::new().fg(ink).bg(paper)
}

pub(super) fn bar_style() -> Style {
    Style::new().fg(Color::White).bg(Color::DarkGray)
}

pub(super) fn banner_style() -> Style {
    let style = Style::new().fg(Color::Black).bg(Color::Magenta);
    style.add_modifier(Modifier::BOLD)
}

pub(super) fn warning_style() -> Style {
    Style::new().fg(Color::Black).bg(Color::Yellow)
}

pub(super) fn notice_style(weight: Weight) -> Style {
    match weight {
        Weight::Normal => Style::new().fg(Color::Black).bg(Color::Cyan),
        Weight::Warning => warning_style(),
        Weight::Alarm => Style::new().fg(Color::White).bg(Color::Red),
    }
}

pub(super) fn key_style() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// Lines as a paragraph.
pub(super) fn paragraph(lines: Vec<Line<'_>>) -> Paragraph<'_> {
    Paragraph::new(lines)
}

pub(super) fn height_of(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

/// Columns that a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// A text in at most so many columns; what is left out is marked by two dots.
pub(super) fn fit(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut width = 2;
    for character in text.chars() {
        width += character.width().unwrap_or(0);
        if width > most {
            break;
        }
        fitted.push(character);
    }
    fitted.push_str("..");
    fitted
}

/// A text in exactly so many columns.
pub(super) fn filled(text: &str, width: usize) -> String {
    let mut text = fit(text, width);
    let missing = width.saturating_sub(columns(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// A text in lines of at most so many columns: broken at spaces, and anywhere between Chinese
/// characters.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        if columns(&line) + columns(piece.trim_end()) > most && !line.is_empty() {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        line.push_str(if line.is_empty() {
            piece.trim_start()
        } else {
            piece
        });
        while columns(line.trim_end()) > most.max(2) {
            let rest = cut(&line, most.max(2));
            lines.push(line[..rest].to_owned());
            line = line[rest..].to_owned();
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// What a line may be broken behind: each word with its space, each wide character, with the mark
/// that follows it.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let end = at + character.len_utf8();
        let is_wide = character.width() == Some(2);
        let mark_follows = characters
            .peek()
            .is_some_and(|(_, next)| "。，；：！？、）".contains(*next));
        if (is_wide && !mark_follows) || character == ' ' {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// Where the columns end, in bytes.
fn cut(text: &str, most: usize) -> usize {
    let mut width = 0;
    for (at, character) in text.char_indices() {
        width += character.width().unwrap_or(0);
        if width > most {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_filled_in_columns_not_characters() {
        assert_eq!(fit("北门", 4), "北门");
        assert_eq!(fit("北门入口", 6), "北门..");
        assert_eq!(filled("北门", 6), "北门  ");
        assert_eq!(filled("a北门", 4), "a.. ");
    }

    #[test]
    fn lines_break_at_spaces_and_between_chinese_characters_but_not_before_a_mark() {
        assert_eq!(
            wrapped("Used at ten at north.", 11),
            ["Used at ten", "at north."]
        );
        assert_eq!(
            wrapped("此票已使用。请核对", 10),
            ["此票已使", "用。请核对"]
        );
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    }
}
