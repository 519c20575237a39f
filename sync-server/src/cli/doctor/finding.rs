//! What the doctor found: one line each.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    /// As it should be.
    Ok,
    /// It could not be looked at.
    LeftOut,
    /// The server works, and somebody should see to it.
    Warn,
    /// The server does not work, or will not for long.
    Fail,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at.
    pub(super) check: &'static str,
    /// How bad it is.
    pub(super) grade: Grade,
    /// What was found.
    pub(super) what: String,
    /// What to do about it.
    pub(super) todo: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self {
            check,
            grade: Grade::Ok,
            what: what.into(),
            todo: None,
        }
    }

    pub(super) fn left_out(check: &'static str, why: impl Into<String>) -> Self {
        Self {
            grade: Grade::LeftOut,
            ..Self::ok(check, why)
        }
    }

    pub(super) fn warn(check: &'static str, what: impl Into<String>, todo: &str) -> Self {
        Self {
            grade: Grade::Warn,
            todo: Some(todo.into()),
            ..Self::ok(check, what)
        }
    }

    pub(super) fn fail(check: &'static str, what: impl Into<String>, todo: &str) -> Self {
        Self {
            grade: Grade::Fail,
            ..Self::warn(check, what, todo)
        }
    }

    /// The line for people.
    pub(super) fn line(&self) -> String {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::LeftOut => "-",
            Grade::Warn => "WARN",
            Grade::Fail => "FAIL",
        };
        let todo = self.todo.as_ref().map(|todo| format!(" → {todo}"));
        format!(
            "{grade:<5}{:<10}{}{}",
            self.check,
            self.what,
            todo.unwrap_or_default()
        )
    }
}
