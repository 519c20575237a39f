//! The renderer: a screen's state to a frame. Pure: the same state gives the same frame.

mod bar;
mod form;
mod keys;
mod lists;
mod paint;
mod verdict;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::page::Page;
use super::screen::Screen;
use paint::{banner_style, height_of, notice_style, paragraph};

/// The smallest terminal that all of it fits in: columns and lines.
pub const SMALLEST: (u16, u16) = (80, 24);

/// Draws the whole screen.
pub fn draw(screen: &Screen, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return small(screen, frame, area);
    }
    let hints = keys::lines(screen, area.width);
    let banners = bar::banners(screen, area.width);
    let notice = notice(screen, area.width);
    let rows = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(height_of(&banners)),
        Constraint::Min(0),
        Constraint::Length(height_of(&notice)),
        Constraint::Length(height_of(&hints)),
    ]);
    let [top, banner, body, below, bottom] = rows.areas(area);
    bar::draw(screen, frame, top);
    frame.render_widget(paragraph(banners).style(banner_style()), banner);
    page(screen, frame, body);
    frame.render_widget(paragraph(notice), below);
    frame.render_widget(paragraph(hints), bottom);
}

/// In a window that is too small: the page alone, and that the window is to be made larger.
fn small(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let rows = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]);
    let [body, below] = rows.areas(area);
    page(screen, frame, body);
    let text = super::phrases::TOO_SMALL.text(screen.language);
    frame.render_widget(
        paragraph(vec![Line::raw(text)]).style(banner_style()),
        below,
    );
}

fn page(screen: &Screen, frame: &mut Frame<'_>, body: Rect) {
    let Some(shown) = screen.fresh() else {
        return busy_with(screen, frame, body);
    };
    if screen.page == Page::Gate {
        return verdict::fill(screen, shown, frame, body);
    }
    // Whoever fills in a form still sees each verdict, and keeps the keys.
    let rows = Layout::vertical([Constraint::Length(verdict::STRIP), Constraint::Min(0)]);
    let [strip, rest] = rows.areas(body);
    verdict::strip(screen, shown, frame, strip);
    busy_with(screen, frame, rest);
}

fn busy_with(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    match &screen.page {
        Page::Gate => verdict::ready(screen, frame, area),
        Page::Form(purpose, form) => form::form(screen, *purpose, form, frame, area),
        Page::Ask(question) => form::question(screen, question, frame, area),
        Page::Tickets(tickets) => lists::tickets(screen, tickets, frame, area),
        Page::Last(at) => lists::last(screen, *at, frame, area),
        Page::Troubles(troubles, at) => lists::troubles(screen, troubles, *at, frame, area),
        Page::HandOver(counts, _) => lists::hand_over(screen, counts, frame, area),
    }
}

/// The notice, or that an act is under way.
fn notice(screen: &Screen, width: u16) -> Vec<Line<'static>> {
    let language = screen.language;
    if screen.busy {
        let text = super::phrases::WORKING.text(language);
        return vec![Line::raw(format!(" {text}"))];
    }
    let Some(notice) = &screen.notice else {
        return vec![Line::raw("")];
    };
    let style = notice_style(notice.weight);
    let text = notice.sentence.text(Some(language));
    let lines = paint::wrapped(&text, usize::from(width).saturating_sub(2));
    let line = |text: String| {
        let text = paint::filled(&format!(" {text}"), usize::from(width));
        Line::from(Span::styled(text, style))
    };
    lines.into_iter().take(2).map(line).collect()
}
