//! Bodies on their way in: what they may be written in, how large they may be, and what is said
//! of one that cannot be read. No refusal repeats anything of the body.

use std::error::Error;
use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mime::Mime;
use serde::de::DeserializeOwned;
use stile_core::protocol::Code;
use tower_http::timeout::TimeoutError;

use super::App;
use super::refusal::Refusal;

/// A JSON body of at most the limit for them.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        read_json(request, app.limits().json_bytes).await.map(Self)
    }
}

/// The same, with no member that means nothing here: what a back end puts and misspells would
/// otherwise silently be the default.
pub struct StrictBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for StrictBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        require_utf8(request.headers(), &["application/json"])?;
        let bytes = read_whole(request, app.limits().json_bytes).await?;
        let value = parse_json(&bytes)?;
        refuse_unknown::<T>(&bytes)?;
        Ok(Self(value))
    }
}

/// The same of one of several values that stand in one body.
pub fn strict<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, Refusal> {
    let bytes = serde_json::to_vec(value).map_err(|error| Refusal::internal(&error))?;
    let value = parse_json(&bytes)?;
    refuse_unknown::<T>(&bytes)?;
    Ok(value)
}

/// Refuses a body that [`parse_json`] has read and that has members of no meaning, naming the
/// first, unless its name may be a value in the wrong place.
fn refuse_unknown<T: DeserializeOwned>(bytes: &[u8]) -> Result<(), Refusal> {
    let mut unknown = None;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read: Result<T, _> = serde_ignored::deserialize(&mut json, |path| {
        unknown.get_or_insert_with(|| path.to_string());
    });
    let Some(path) = unknown.filter(|_| read.is_ok()) else {
        return Ok(());
    };
    let is_name = path
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'?'));
    let what = match is_name {
        true => format!("`{path}`: there is no such member here; check how it is spelled"),
        false => "a member is not known here; check how it is spelled".to_owned(),
    };
    Err(Refusal::new(Code::InvalidBody, format!("JSON: {what}")))
}

/// Reads a JSON body of at most so many bytes.
pub async fn read_json<T: DeserializeOwned>(request: Request, limit: usize) -> Result<T, Refusal> {
    require_utf8(request.headers(), &["application/json"])?;
    let bytes = read_whole(request, limit).await?;
    parse_json(&bytes)
}

/// The body's media type, which must be one of `taken`, in UTF-8.
pub fn require_utf8<'t>(headers: &HeaderMap, taken: &[&'t str]) -> Result<&'t str, Refusal> {
    let refuse = |what: &str| {
        let taken = taken.join(" or ");
        Refusal::new(
            Code::UnsupportedMediaType,
            format!("{what}; this route takes {taken}, in UTF-8"),
        )
    };
    let header = headers
        .get(CONTENT_TYPE)
        .ok_or_else(|| refuse("The request names no content type"))?;
    let media_type: Mime = header
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| refuse("The content type cannot be read"))?;
    let found = taken
        .iter()
        .find(|taken| media_type.essence_str() == **taken)
        .ok_or_else(|| refuse("The body has another content type"))?;
    match media_type.get_param(mime::CHARSET) {
        Some(charset)
            if !["utf-8", "utf8", "us-ascii"]
                .iter()
                .any(|utf8| charset == *utf8) =>
        {
            Err(refuse("The body has another charset"))
        }
        _ => Ok(found),
    }
}

/// Refuses a body in an encoding that the next layer cannot take off.
pub async fn require_known_encoding(mut request: Request, next: Next) -> Result<Response, Refusal> {
    let mut encodings = request.headers().get_all(CONTENT_ENCODING).iter();
    let is_known = match (encodings.next(), encodings.next()) {
        (None, _) => true,
        (Some(one), None) => matches!(one.as_bytes(), b"identity" | b"gzip" | b"zstd"),
        (Some(_), Some(_)) => false,
    };
    if !is_known {
        return Err(Refusal::new(
            Code::UnsupportedMediaType,
            "The body has another content encoding; gzip, zstd and identity are taken, one at a \
             time",
        ));
    }
    if request.headers().contains_key(CONTENT_ENCODING) {
        request.extensions_mut().insert(Compressed);
    }
    Ok(next.run(request).await)
}

/// Marks a request whose body came with a content encoding.
#[derive(Debug, Clone, Copy)]
pub struct Compressed;

async fn read_whole(request: Request, limit: usize) -> Result<Bytes, Refusal> {
    let stated = request.headers().get(CONTENT_LENGTH);
    let stated = stated.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if stated.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let body = Limited::new(request.into_body(), limit);
    match body.collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(match fault(error.as_ref()) {
            BodyFault::TooLarge => too_large(limit),
            BodyFault::TooSlow => too_slow(),
            BodyFault::Broken => Refusal::new(
                Code::InvalidBody,
                "The body broke off, or is not compressed as its content encoding says",
            ),
        }),
    }
}

/// Says that a body is larger than `limit` bytes.
pub fn too_large(limit: usize) -> Refusal {
    Refusal::new(
        Code::TooLarge,
        format!("The body has more than {limit} bytes, counted without compression"),
    )
}

/// Says that a body did not arrive in time.
pub fn too_slow() -> Refusal {
    Refusal::new(
        Code::RequestTimeout,
        "The body did not arrive in time; send it again",
    )
}

/// What became of a body that could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It grew beyond its limit.
    TooLarge,
    /// It stood still, or took too long.
    TooSlow,
    /// It was cut off, or its compression is damaged.
    Broken,
}

/// Finds out from the error that a body's reader met.
pub fn fault(error: &(dyn Error + 'static)) -> BodyFault {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return BodyFault::TooLarge;
        }
        if error.is::<TimeoutError>() {
            return BodyFault::TooSlow;
        }
        // An I/O error shows its inner error's source and not that error itself.
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(|io_error| io_error.get_ref());
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    BodyFault::Broken
}

/// A body of at most `limit` bytes, for those that are read as a stream.
pub fn limited(body: Body, limit: usize) -> Body {
    Body::new(Limited::new(body, limit))
}

fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    // Every body is an object; from an array, serde would take the members in their order.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| *byte != b'{') {
        return Err(Refusal::new(
            Code::InvalidBody,
            "JSON: expected an object, `{…}`, in UTF-8",
        ));
    }
    // The path to a fault is only looked for when there is one.
    serde_json::from_slice(bytes).or_else(|_| {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let value = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| invalid_json(error.path(), error.inner()))?;
        let end = json.end();
        end.map_err(|error| {
            Refusal::new(
                Code::InvalidBody,
                format!("JSON{}: more text after its end", place(&error)),
            )
        })?;
        Ok(value)
    })
}

fn invalid_json(path: &serde_path_to_error::Path, error: &serde_json::Error) -> Refusal {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Eof => "the text ends too early".to_owned(),
        Category::Syntax | Category::Io => "this is not JSON".to_owned(),
        Category::Data => {
            let path = path.to_string();
            let what = without_values(&error.to_string());
            match path.as_str() {
                "." | "?" => what,
                _ => format!("{path}: {what}"),
            }
        }
    };
    Refusal::new(Code::InvalidBody, format!("JSON{}: {what}", place(error)))
}

fn place(error: &serde_json::Error) -> String {
    match error.line() {
        0 => String::new(),
        line => format!(", line {line} column {}", error.column()),
    }
}

/// A message of serde's without what it found: only what it expected.
pub fn without_values(message: &str) -> String {
    let message = match message.rfind(" at line ") {
        Some(at) => message.get(..at).unwrap_or_default(),
        None => message,
    };
    let quotes_values = [
        "invalid type: ",
        "invalid value: ",
        "invalid length ",
        "unknown ",
    ]
    .iter()
    .any(|start| message.starts_with(start));
    if !quotes_values {
        return message.to_owned();
    }
    match message.rfind(", expected ") {
        Some(at) => message.get(at + 2..).unwrap_or_default().to_owned(),
        None => "this is not expected here".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stile_core::protocol::{Cancel, NewGate, NewSession};

    fn detail<T: DeserializeOwned>(text: &str) -> String {
        match parse_json::<T>(text.as_bytes()) {
            Ok(_) => panic!("it was read"),
            Err(refusal) => refusal.detail().to_owned(),
        }
    }

    #[test]
    fn a_wrong_body_is_told_where_it_is_wrong_and_what_was_expected() {
        let said = detail::<Cancel>("{\n  \"cause\": \"because of Li\"\n}");
        assert!(said.starts_with("JSON, line 2 column "), "{said}");
        assert!(
            said.contains(": cause: expected one of `visitor`"),
            "{said}"
        );
        let said = detail::<NewGate>(r#"{"unattended": "13800005678"}"#);
        assert!(said.ends_with("unattended: expected a boolean"), "{said}");
        let said = detail::<NewSession>(r#"{"starts_at": 1}"#);
        assert!(said.ends_with("missing field `ends_at`"), "{said}");
    }

    #[test]
    fn a_member_that_means_nothing_is_refused_by_its_name() {
        let said = |text: &str| {
            let refused = refuse_unknown::<NewGate>(text.as_bytes());
            refused.err().map(|refusal| refusal.detail().to_owned())
        };
        assert_eq!(said(r#"{"name": "North", "zones": ["a"]}"#), None);
        assert!(
            said(r#"{"unatended": true}"#)
                .unwrap()
                .contains("`unatended`")
        );
        let number = said(r#"{"13800005678": 1}"#).unwrap();
        assert!(!number.contains("13800005678"), "{number}");
    }

    #[test]
    fn no_refusal_repeats_what_the_body_held() {
        for text in [
            r#"{"cause": "13800005678"}"#,
            r#"{"cause": {"13800005678": 1}}"#,
            r#"{"cause": 13800005678}"#,
            r#"{"cause": "x, expected 13800005678"}"#,
            r#""13800005678""#,
            "13800005678",
            r#"{"cause": "visitor"} 13800005678"#,
        ] {
            let said = detail::<Cancel>(text);
            assert!(!said.contains("13800005678"), "{said}");
        }
    }

    #[test]
    fn a_body_that_is_cut_off_or_nested_without_end_is_refused() {
        assert!(detail::<Cancel>(r#"{"cause": "vis"#).ends_with("the text ends too early"));
        let nested = "[".repeat(100_000);
        assert!(detail::<serde_json::Value>(&nested).contains("expected an object"));
        let nested = "{\"a\":".repeat(100_000);
        assert!(detail::<serde_json::Value>(&nested).contains("this is not JSON"));
    }
}
