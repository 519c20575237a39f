//! A frame as an SVG picture, colours included, for the documentation.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

/// The screens that the documentation shows.
pub const IN_THE_DOCUMENTATION: &[&str] = &[
    "ready",
    "admitted",
    "party",
    "refused",
    "used",
    "repeat",
    "override",
    "found",
    "order",
    "scan-while-typing",
    "ready-troubled",
    "hand-over",
];

/// Size of a cell in the picture's units.
const CELL: (usize, usize) = (9, 18);

pub fn svg(buffer: &Buffer) -> String {
    let (columns, lines) = (
        usize::from(buffer.area.width),
        usize::from(buffer.area.height),
    );
    let (width, height) = (columns * CELL.0, lines * CELL.1);
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Noto Sans Mono CJK SC, Noto Sans Mono, DejaVu Sans Mono, monospace\" \
         font-size=\"15\">"
    )
    .unwrap();
    writeln!(
        svg,
        "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
        paper(Color::Reset)
    )
    .unwrap();
    for (y, row) in buffer.content().chunks(columns).enumerate() {
        let row = seen(row);
        papers(&mut svg, &row, y);
        inks(&mut svg, &row, y);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A row as a terminal shows it: a wide character's second cell looks like its first.
fn seen(row: &[Cell]) -> Vec<Cell> {
    let mut row = row.to_vec();
    for x in 1..row.len() {
        if row[x - 1].symbol().width() == 2 {
            row[x] = row[x - 1].clone();
            row[x].set_symbol("");
        }
    }
    row
}

/// Ink and paper as they are seen.
fn colours(cell: &Cell) -> (&'static str, &'static str) {
    match cell.modifier.contains(Modifier::REVERSED) {
        true => (paper(cell.bg), ink(cell.fg)),
        false => (ink(cell.fg), paper(cell.bg)),
    }
}

/// Stretches of one paper as rectangles.
fn papers(svg: &mut String, row: &[Cell], y: usize) {
    let mut x = 0;
    for stretch in row.chunk_by(|one, next| colours(one).1 == colours(next).1) {
        let fill = colours(&stretch[0]).1;
        if fill != paper(Color::Reset) {
            let (left, top) = (x * CELL.0, y * CELL.1);
            let width = stretch.len() * CELL.0;
            writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{}\" fill=\"{fill}\"/>",
                CELL.1
            )
            .unwrap();
        }
        x += stretch.len();
    }
}

/// Blocks as rectangles, so that no font leaves gaps; everything else as text in its own columns.
fn inks(svg: &mut String, row: &[Cell], y: usize) {
    let mut x = 0;
    while x < row.len() {
        let fill = colours(&row[x]).0;
        let bold = is_bold(&row[x]);
        let same = |cell: &Cell| colours(cell).0 == fill && is_bold(cell) == bold;
        let symbol = row[x].symbol();
        if let Some((from, part)) = block(symbol) {
            let run = row[x..]
                .iter()
                .take_while(|cell| cell.symbol() == symbol && same(cell));
            let run = run.count();
            let (top, height) = (y * CELL.1 + from * CELL.1 / 2, part * CELL.1 / 2);
            let (left, width) = (x * CELL.0, run * CELL.0);
            writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"
            )
            .unwrap();
            x += run;
            continue;
        }
        let start = x;
        let mut text = String::new();
        while x < row.len() && same(&row[x]) && block(row[x].symbol()).is_none() {
            text.push_str(row[x].symbol());
            x += 1;
        }
        write_text(svg, &text, start, y, fill, bold);
    }
}

fn write_text(svg: &mut String, text: &str, x: usize, y: usize, fill: &str, bold: bool) {
    let mut x = x;
    // Words by themselves, so that a font of another width does not move what follows.
    for word in text.split_inclusive(' ') {
        let said = word.trim_end();
        if !said.is_empty() {
            let weight = if bold { " font-weight=\"bold\"" } else { "" };
            let (left, base) = (x * CELL.0, y * CELL.1 + 14);
            let length = said.width() * CELL.0;
            let said = said
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            writeln!(
                svg,
                "<text x=\"{left}\" y=\"{base}\" textLength=\"{length}\" fill=\"{fill}\"{weight}>{said}</text>"
            )
            .unwrap();
        }
        x += word.width();
    }
}

fn is_bold(cell: &Cell) -> bool {
    cell.modifier.contains(Modifier::BOLD)
}

/// Which half of its cell a block begins in, and how many halves it fills.
fn block(symbol: &str) -> Option<(usize, usize)> {
    match symbol {
        "█" => Some((0, 2)),
        "▀" => Some((0, 1)),
        "▄" => Some((1, 1)),
        _ => None,
    }
}

fn ink(colour: Color) -> &'static str {
    match colour {
        Color::Reset => "#d8dee4",
        colour => paint(colour),
    }
}

fn paper(colour: Color) -> &'static str {
    match colour {
        Color::Reset => "#101418",
        colour => paint(colour),
    }
}

fn paint(colour: Color) -> &'static str {
    match colour {
        Color::Black => "#000000",
        Color::White => "#ffffff",
        Color::Green => "#2fb344",
        Color::Red => "#c1121f",
        Color::Yellow => "#f2b705",
        Color::Blue => "#1d4ed8",
        Color::Cyan => "#22b8cf",
        Color::Magenta => "#d946ef",
        Color::DarkGray => "#3a424c",
        other => panic!("the screen has no {other}"),
    }
}
