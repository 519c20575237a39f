//! The log as a body that is made while it is taken: whoever takes slowly holds back nothing but
//! one piece of it.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::stream::try_unfold;
use jiff::tz::TimeZone;
use serde::Serialize;
use stile_core::protocol::{
    COMPLETE_THROUGH_HEADER, CURSOR_HEADER, MORE_HEADER, PulledEnd, PulledRecord,
};

use super::answer::{CSV_UTF_8, NDJSON, with_type};
use super::csv::Rows;
use super::log_csv::{CHECK_IN_LOGS, check_in_row, log_head, log_row};
use super::refusal::Refusal;
use crate::error::ServerError;
use crate::server::WholeLog;

/// What is written of each record.
enum Written {
    /// A line of JSON, and one at the end.
    Lines,
    /// A row of CSV, below a head.
    Rows(TimeZone),
    /// The same, in the columns of `checkin_logs`.
    CheckInLogs(TimeZone),
}

/// What is to be written next.
enum Turn {
    Head,
    Pieces,
    Nothing,
}

struct Download {
    log: WholeLog,
    written: Written,
    turn: Turn,
}

/// The log in lines of JSON; the last says where to go on.
pub fn lines(log: WholeLog) -> Response {
    with_type(NDJSON, body(log, Written::Lines))
}

/// The log in CSV; the header says where to go on.
pub async fn rows(log: WholeLog) -> Result<Response, Refusal> {
    let zone = log.zone().await?;
    csv(log, |log| body(log, Written::Rows(zone)))
}

/// Check-ins in the columns of `checkin_logs`.
pub async fn check_in_logs(log: WholeLog) -> Result<Response, Refusal> {
    let zone = log.zone().await?;
    csv(log, |log| body(log, Written::CheckInLogs(zone)))
}

fn csv(log: WholeLog, body: impl FnOnce(WholeLog) -> Body) -> Result<Response, Refusal> {
    let cursor = HeaderValue::from_str(log.cursor()).map_err(|error| Refusal::internal(&error))?;
    let more = HeaderValue::from_static(if log.more() { "true" } else { "false" });
    let through = log.complete_through();
    let mut response = with_type(CSV_UTF_8, body(log));
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static(CURSOR_HEADER), cursor);
    headers.insert(HeaderName::from_static(MORE_HEADER), more);
    if let Some(through) = through {
        let name = HeaderName::from_static(COMPLETE_THROUGH_HEADER);
        headers.insert(name, HeaderValue::from(through.0));
    }
    Ok(response)
}

fn body(log: WholeLog, written: Written) -> Body {
    let download = Download {
        log,
        written,
        turn: Turn::Head,
    };
    Body::from_stream(try_unfold(download, |mut download| async move {
        let part = download.next().await.inspect_err(|error| {
            tracing::warn!(%error, "an answer with the log was cut off");
        });
        Ok::<_, ServerError>(part?.map(|part| (part, download)))
    }))
}

impl Download {
    async fn next(&mut self) -> Result<Option<Bytes>, ServerError> {
        match self.turn {
            Turn::Head => {
                self.turn = Turn::Pieces;
                self.head().map(Some)
            }
            Turn::Pieces => match self.log.next().await? {
                Some(piece) => self.piece(&piece).await.map(Some),
                None => {
                    self.turn = Turn::Nothing;
                    self.end().await.map(Some)
                }
            },
            Turn::Nothing => Ok(None),
        }
    }

    fn head(&self) -> Result<Bytes, ServerError> {
        let mut rows = Rows::new();
        match self.written {
            Written::Lines => {}
            Written::Rows(_) => rows.add(log_head())?,
            Written::CheckInLogs(_) => rows.add(CHECK_IN_LOGS)?,
        }
        rows.into_bytes()
    }

    async fn piece(&self, piece: &[PulledRecord]) -> Result<Bytes, ServerError> {
        let mut rows = Rows::new();
        match &self.written {
            Written::Lines => return text_of(piece),
            Written::Rows(zone) => {
                for record in piece {
                    rows.add(log_row(record, zone)?)?;
                }
            }
            Written::CheckInLogs(zone) => {
                for one in self.log.check_in_logs(piece, zone).await? {
                    rows.add(check_in_row(&one))?;
                }
            }
        }
        rows.into_bytes()
    }

    async fn end(&self) -> Result<Bytes, ServerError> {
        match self.written {
            Written::Lines => text_of(&[PulledEnd {
                cursor: self.log.cursor().to_owned(),
                more: self.log.more(),
                sessions: self.log.sessions().await?,
            }]),
            Written::Rows(_) | Written::CheckInLogs(_) => Ok(Bytes::new()),
        }
    }
}

fn text_of(lines: &[impl Serialize]) -> Result<Bytes, ServerError> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line).map_err(ServerError::internal)?;
        text.push(b'\n');
    }
    Ok(text.into())
}
