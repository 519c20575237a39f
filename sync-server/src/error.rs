//! Why the server did not do what it was asked: one type, which becomes one answer. Its text is
//! for whoever asked; what is for the operator alone is its source.

use stile_core::protocol::{Code, RevocationNotice};

use crate::store::StoreError;

/// What an error knows beyond its text, for the operator's log.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why the server did not do what it was asked. The text says what, where and what to do, and
/// holds no secret and nothing personal.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The body is not what the route takes.
    #[error("{0}")]
    InvalidBody(String),
    /// A value is wrong.
    #[error("{field}: {problem}")]
    Invalid {
        /// The member or parameter.
        field: &'static str,
        /// What is wrong with it and what to do.
        problem: String,
    },
    /// A cursor that is not one of ours, or of another stream or venue.
    #[error("the cursor is not of this stream; start without one, or use the last that it gave")]
    InvalidCursor,
    /// A cursor of this stream that was given for other filters.
    #[error("the cursor was given for other filters; use it with those, or start without a cursor")]
    CursorOfOtherFilters,
    /// No key or token, or one that is not known.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// Known, and may not.
    #[error("{0}")]
    Forbidden(String),
    /// A token that enrols nothing.
    #[error("{0}")]
    EnrolmentRefused(&'static str),
    /// No such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It contradicts what is there.
    #[error("{0}")]
    Conflict(String),
    /// The data was put back from a backup since the cursor was given.
    #[error(
        "the server's data was put back from a backup; what was pulled since may be missing or \
         come again: start anew with the cursor {start}"
    )]
    CursorRestarted {
        /// A cursor at the start of the stream.
        start: String,
    },
    /// Records behind the cursor are gone: their time was over before they were pulled.
    #[error(
        "records behind this cursor were removed since their time was over, and can be pulled no \
         more; what is left begins behind the cursor {go_on}"
    )]
    CursorExpired {
        /// The cursor behind what is gone.
        go_on: String,
    },
    /// Larger than the route takes.
    #[error("{0}")]
    TooLarge(String),
    /// Well-formed, and yet it cannot be done.
    #[error("{0}")]
    Unprocessable(String),
    /// More than the server takes now; nothing of the request was stored.
    #[error("{0}")]
    TooMany(&'static str),
    /// The device is revoked; the signed word on it goes beside.
    #[error("this device is revoked: enrol it anew, with an empty folder")]
    Revoked(Box<RevocationNotice>),
    /// The device is known by its certificate alone.
    #[error(
        "this device waits for an operator's word: the server was put back from a backup that \
             is older than its enrolment. Its records are taken meanwhile"
    )]
    DeviceForgotten,
    /// The server cannot store now; nothing of the request was stored.
    #[error("the server cannot store now; nothing was stored, ask again later")]
    StoreUnavailable(#[source] StoreError),
    /// A fault of the server.
    #[error("the server failed; its log says more")]
    Internal(#[source] Cause),
}

impl ServerError {
    /// The stable name for programs.
    pub fn code(&self) -> Code {
        match self {
            Self::InvalidBody(_) => Code::InvalidBody,
            Self::Invalid { .. } | Self::Unprocessable(_) => Code::Unprocessable,
            Self::InvalidCursor => Code::InvalidCursor,
            Self::CursorOfOtherFilters => Code::CursorOfOtherFilters,
            Self::Unauthorized(_) => Code::Unauthorized,
            Self::Forbidden(_) => Code::Forbidden,
            Self::EnrolmentRefused(_) => Code::EnrolmentRefused,
            Self::NotFound(_) => Code::NotFound,
            Self::Conflict(_) => Code::Conflict,
            Self::CursorRestarted { .. } => Code::CursorRestarted,
            Self::CursorExpired { .. } => Code::CursorExpired,
            Self::TooLarge(_) => Code::TooLarge,
            Self::TooMany(_) => Code::TooManyRequests,
            Self::Revoked(_) => Code::Revoked,
            Self::DeviceForgotten => Code::DeviceForgotten,
            Self::StoreUnavailable(_) => Code::StoreUnavailable,
            Self::Internal(_) => Code::Internal,
        }
    }

    pub(crate) fn invalid(field: &'static str, problem: impl ToString) -> Self {
        Self::Invalid {
            field,
            problem: problem.to_string(),
        }
    }

    pub(crate) fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }
}

impl From<StoreError> for ServerError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exists(what) => Self::Conflict(format!("there is already such a {what}")),
            StoreError::Missing(what) => Self::NotFound(what),
            StoreError::QuarantineFull => Self::TooMany(
                "100,000 records of this device wait for an operator's judgement; it keeps the \
                 others until some of them are judged: stile-server quarantine list",
            ),
            StoreError::Damaged(_) | StoreError::Fault(_) => Self::Internal(Box::new(error)),
            StoreError::Full | StoreError::Closed | StoreError::Unavailable(_) => {
                Self::StoreUnavailable(error)
            }
        }
    }
}
