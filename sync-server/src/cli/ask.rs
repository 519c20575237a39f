//! Questions on a terminal, one line each: a default in brackets, asked again until the answer
//! makes sense. With `--yes` nothing is asked. Standard output is left to what scripts want.

use std::io::{self, BufRead, Write};

use super::CliError;

/// Who answers.
pub struct Ask<R, W> {
    input: R,
    out: W,
    /// Defaults are taken without a question.
    yes: bool,
}

impl<R: BufRead, W: Write> Ask<R, W> {
    pub fn new(input: R, out: W, yes: bool) -> Self {
        Self { input, out, yes }
    }

    /// Tells something. Whoever does not listen misses only this.
    pub fn say(&mut self, line: &str) {
        let _ = writeln!(self.out, "{line}");
    }

    /// Asks until the answer can be read. An empty answer is the default. `flag` is what answers
    /// it without a question.
    pub fn ask<T>(
        &mut self,
        question: &str,
        default: Option<&str>,
        flag: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, CliError> {
        if self.yes {
            let default = default.ok_or_else(|| {
                CliError::Usage(format!("{question}: say it with {flag}, beside --yes"))
            })?;
            return read(default).map_err(|why| CliError::Usage(format!("{flag}: {why}")));
        }
        loop {
            let shown = default.filter(|default| !default.is_empty());
            let _ = match shown {
                Some(default) => write!(self.out, "{question} [{default}]: "),
                None => write!(self.out, "{question}: "),
            };
            let _ = self.out.flush();
            let line = self.line(flag)?;
            let answer = match (line.as_str(), default) {
                ("", Some(default)) => default,
                (line, _) => line,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) => self.say(&format!("  {why}")),
            }
        }
    }

    fn line(&mut self, flag: &str) -> Result<String, CliError> {
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) => Err(CliError::Usage(format!(
                "nobody answers; say it with {flag}, and --yes for what has a default"
            ))),
            Ok(_) => Ok(line.trim().to_owned()),
            // Asked again: what was typed is no text.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(String::new()),
            Err(source) => Err(CliError::System {
                doing: "read standard input",
                source,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_| "a number".to_owned())
    }

    fn asked(input: &str, default: Option<&str>, yes: bool) -> (Result<u32, CliError>, String) {
        let mut out = Vec::new();
        let mut ask = Ask::new(input.as_bytes(), &mut out, yes);
        let answer = ask.ask("How many", default, "--many", number);
        (answer, String::from_utf8(out).unwrap())
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_asked_for_again() {
        let (answer, out) = asked("some\n7\n", Some("5"), false);
        assert_eq!(answer.unwrap(), 7);
        assert_eq!(out, "How many [5]:   a number\nHow many [5]: ");
    }

    #[test]
    fn an_empty_answer_and_yes_take_the_default() {
        assert_eq!(asked("\n", Some("5"), false).0.unwrap(), 5);
        let (answer, out) = asked("", Some("5"), true);
        assert_eq!((answer.unwrap(), out.as_str()), (5, ""));
    }

    #[test]
    fn without_an_answer_the_flag_is_named() {
        for (default, yes) in [(None, true), (None, false), (Some("5"), false)] {
            let error = asked("", default, yes).0.unwrap_err();
            assert!(error.to_string().contains("--many"), "{error}");
        }
    }
}
