//! Each screen in both languages at 80 by 24, held against `tests/screens/*.txt`. Run with
//! `STILE_REWRITE=1` to write them, and the pictures of the documentation, anew.

use std::fs;
use std::path::{Path, PathBuf};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use stile_core::reason::Language;
use stile_turnstile::tui::draw::draw;
use stile_turnstile::tui::screen::Screen;
use unicode_width::UnicodeWidthStr;

use crate::bed::{Hands, too_early};
use crate::cases::screens;
use crate::pictures;

pub fn frame(screen: &Screen, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(screen, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// The characters of a frame, each once however wide.
pub fn text_of(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in buffer.content().chunks(usize::from(buffer.area.width)) {
        let mut line = String::new();
        let mut cells = row.iter();
        while let Some(cell) = cells.next() {
            line.push_str(cell.symbol());
            for _ in 1..cell.symbol().width() {
                cells.next();
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

const LANGUAGES: [(Language, &str); 2] = [(Language::ZhCn, "zh-CN"), (Language::En, "en")];

fn each(mut look: impl FnMut(String, &Buffer, &[&str])) {
    for (name, prepare, required) in screens() {
        for ((language, suffix), required) in LANGUAGES.iter().zip(required) {
            let mut hands = Hands::speaking(*language);
            prepare(&mut hands);
            look(
                format!("{name}.{suffix}"),
                &frame(&hands.0, 80, 24),
                required,
            );
        }
    }
}

fn hold_against(path: &Path, text: &str) -> bool {
    if std::env::var_os("STILE_REWRITE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::read_to_string(path).is_ok_and(|kept| kept == text)
}

fn house() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_screen_looks_as_it_is_kept() {
    let mut other = Vec::new();
    each(|name, buffer, _| {
        let path = house().join(format!("tests/screens/{name}.txt"));
        if !hold_against(&path, &text_of(buffer)) {
            other.push(format!("{name}:\n{}", text_of(buffer)));
        }
    });
    assert!(
        other.is_empty(),
        "look at them, then STILE_REWRITE=1\n{}",
        other.join("\n")
    );
}

#[test]
fn nothing_that_a_guard_must_read_is_cut() {
    each(|name, buffer, required| {
        let text = text_of(buffer);
        for words in required {
            assert!(text.contains(words), "{name} lacks {words:?}:\n{text}");
        }
        assert!(!text.contains(".."), "{name} is cut:\n{text}");
    });
}

#[test]
fn every_line_is_as_wide_as_the_terminal_whatever_is_written_in_it() {
    each(|name, buffer, _| {
        for line in text_of(buffer).lines() {
            assert!(line.width() <= 80, "{name}: {line}");
        }
    });
}

#[test]
fn the_pictures_of_the_documentation_are_these_frames() {
    let mut other = Vec::new();
    each(|name, buffer, _| {
        let screen = name.split('.').next().unwrap();
        if !pictures::IN_THE_DOCUMENTATION.contains(&screen) {
            return;
        }
        let path = house().join(format!("../docs/pictures/{name}.svg"));
        if !hold_against(&path, &pictures::svg(buffer)) {
            other.push(name);
        }
    });
    assert!(
        other.is_empty(),
        "STILE_REWRITE=1 draws them anew: {other:?}"
    );
}

#[test]
fn a_smaller_terminal_still_shows_the_verdict_and_a_larger_one_draws_it_larger() {
    let hands = Hands::after(too_early());
    let small = text_of(&frame(&hands.0, 40, 12));
    assert!(small.contains('█'), "{small}");
    let usual = text_of(&frame(&hands.0, 80, 24)).matches('█').count();
    let large = text_of(&frame(&hands.0, 200, 60)).matches('█').count();
    assert!(large > 3 * usual, "{large} against {usual}");
    for (width, height) in [(1, 1), (80, 3), (3, 80), (500, 200)] {
        frame(&hands.0, width, height);
    }
}
