//! How the demo looks: headings, sentences, results; in colour on a terminal, plain elsewhere.

use std::cell::Cell;
use std::io::IsTerminal;

/// Where a line breaks.
const WIDTH: usize = 92;

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
        let (mut line, mut width) = (String::new(), 0);
        for word in text.split_whitespace() {
            let word_width = columns(word);
            if width > 0 && width + 1 + word_width > WIDTH {
                println!("{line}");
                (line, width) = (String::new(), 0);
            }
            if width > 0 {
                line.push(' ');
                width += 1;
            }
            line.push_str(word);
            width += word_width;
        }
        println!("{line}");
    }

    /// A line of detail, indented.
    pub fn detail(&self, text: &str) {
        println!("    {text}");
    }

    /// A remark in passing, indented.
    pub fn remark(&self, text: &str) {
        println!("    {}", self.ink(Ink::Faint, text));
    }
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
