//! How the demo looks: headings, sentences, results; in colour on a terminal, plain elsewhere.

use std::cell::Cell;
use std::io::IsTerminal;

/// Where a line breaks.
const WIDTH: usize = 92;
/// What stands before a detail.
const INDENT: &str = "    ";

/// What the demo is printed on.
pub struct Paper {
    colour: bool,
    section: Cell<u32>,
}

/// Colours, by what they say.
#[derive(Clone, Copy)]
pub enum Ink {
    /// The gate opens.
    Admit,
    /// It stays shut.
    Refuse,
    /// A heading.
    Heading,
    /// A remark.
    Faint,
}

impl Paper {
    /// In colour if a person looks and has not said otherwise (`NO_COLOR`).
    pub fn new() -> Self {
        let wants = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            colour: wants && std::io::stdout().is_terminal(),
            section: Cell::new(0),
        }
    }

    /// A text in a colour.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Admit => "32;1",
            Ink::Refuse => "31;1",
            Ink::Heading => "1",
            Ink::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A numbered heading.
    pub fn heading(&self, title: &str) {
        self.section.set(self.section.get() + 1);
        let title = format!("{}  {title}", self.section.get());
        println!("\n{}", self.ink(Ink::Heading, &title));
        println!("{}", self.ink(Ink::Faint, &"─".repeat(WIDTH)));
    }

    /// A paragraph, broken into lines.
    pub fn say(&self, text: &str) {
        lines(text, WIDTH)
            .iter()
            .for_each(|line| println!("{line}"));
    }

    /// A detail, indented, broken into lines.
    pub fn detail(&self, text: &str) {
        for (at, line) in lines(text, WIDTH - INDENT.len()).iter().enumerate() {
            println!("{INDENT}{}{line}", if at == 0 { "" } else { "  " });
        }
    }

    /// One line, indented, as it is.
    pub fn line(&self, text: &str) {
        println!("{INDENT}{text}");
    }

    /// A remark in passing, indented.
    pub fn remark(&self, text: &str) {
        println!("{INDENT}{}", self.ink(Ink::Faint, text));
    }
}

/// A text in lines of so many columns. Spaces that it starts with stay.
fn lines(text: &str, width: usize) -> Vec<String> {
    let margin = text.len() - text.trim_start_matches(' ').len();
    let mut lines = vec![" ".repeat(margin)];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| columns(line));
        if line > margin && line + 1 + columns(word) > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.trim_start().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Columns that a text takes on a terminal: Chinese characters take two.
pub fn columns(text: &str) -> usize {
    text.chars()
        .map(|c| if c >= '\u{1100}' { 2 } else { 1 })
        .sum()
}

/// A text filled up with spaces.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}
