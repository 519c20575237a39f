//! Errors as RFC 9457 documents (`application/problem+json`) with a stable `code`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:tt, $status:literal, $title:literal;)*) => {
        /// What went wrong: stable names for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The HTTP status that it travels with.
            pub fn status(self) -> u16 {
                match self { $(Code::$variant => $status,)* }
            }

            /// The same for people, without the particulars.
            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }
        }
    };
}

codes! {
    /// The body is no JSON, or not of the type that the route takes.
    InvalidBody = "invalid_body", 400, "The body cannot be read";
    /// A parameter of path or query is wrong.
    InvalidParameter = "invalid_parameter", 400, "A parameter is wrong";
    /// The cursor is not one of ours, or of another stream.
    InvalidCursor = "invalid_cursor", 422, "The cursor is not valid here";
    /// The cursor was given for other filters than those of the request.
    CursorOfOtherFilters = "cursor_of_other_filters", 422, "The cursor is of other filters";
    /// The whole file cannot be taken.
    InvalidFile = "invalid_file", 400, "The file cannot be imported";
    /// No key or token, or one that is not known.
    Unauthorized = "unauthorized", 401, "Who asks is not known";
    /// The device is revoked; the member `revocation` says so under a key of the venue.
    Revoked = "revoked", 401, "The device is revoked";
    /// The server knows the device by its certificate alone.
    DeviceForgotten = "device_forgotten", 403, "The device waits for an operator's word";
    /// The key may not do this.
    Forbidden = "forbidden", 403, "The key may not do this";
    /// The enrolment token is wrong, used or over.
    EnrolmentRefused = "enrolment_refused", 403, "The enrolment is not valid";
    /// No such route.
    NoSuchRoute = "no_such_route", 404, "There is no such route";
    /// No such thing at this venue.
    NotFound = "not_found", 404, "There is no such thing here";
    /// The route has other methods.
    MethodNotAllowed = "method_not_allowed", 405, "The route has other methods";
    /// The client was too slow in sending.
    RequestTimeout = "request_timeout", 408, "The request took too long to arrive";
    /// It contradicts what is there.
    Conflict = "conflict", 409, "It contradicts what is there";
    /// The server's data was put back from a backup; the cursor must start anew.
    CursorRestarted = "cursor_restarted", 409, "The log was restarted";
    /// Records behind the cursor are gone: their time was over.
    CursorExpired = "cursor_expired", 410, "The cursor is too old";
    /// More tickets would vanish by a day's whole set than may without a person's word.
    TooManyVanish = "too_many_vanish", 409, "Too many tickets would vanish";
    /// A day's whole set is not the one that was stated.
    IncompleteSet = "incomplete_set", 422, "The set is not what was stated";
    /// Larger than the route takes.
    TooLarge = "too_large", 413, "The body is too large";
    /// A charset or content type that the route does not take.
    UnsupportedMediaType = "unsupported_media_type", 415, "The content type is not taken";
    /// Well-formed, and yet it cannot be done.
    Unprocessable = "unprocessable", 422, "It cannot be done";
    /// Too many requests.
    TooManyRequests = "too_many_requests", 429, "Too many requests";
    /// A fault of the server.
    Internal = "internal", 500, "The server failed";
    /// The server cannot store now.
    StoreUnavailable = "store_unavailable", 503, "The server cannot store now";
}

/// An RFC 9457 problem document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `about:blank#` and the code: the code says all that there is to say.
    #[serde(rename = "type")]
    pub problem_type: String,
    /// The same for people, without the particulars.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What, where, and what to do.
    pub detail: String,
    /// The stable name for programs.
    pub code: Code,
    /// The id of the request, as in the answer's `x-request-id` and in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The trace that the request was part of, as in its `traceparent` if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl Problem {
    /// A problem with its particulars. `detail` never holds a secret or anything personal.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            problem_type: format!("about:blank#{}", code.name()),
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            code,
            request_id: None,
            trace: None,
        }
    }
}
