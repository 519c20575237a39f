//! A file of tickets on its way in: what it may be written in, read as it comes on a thread that
//! may block, and what is said of one that cannot be read to its end.

use std::io;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use futures_util::TryStreamExt;
use jiff::tz::TimeZone;
use mime::Mime;
use stile_core::ids::VenueId;
use stile_core::protocol::Code;
use tokio::io::AsyncRead;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::App;
use super::answer::NDJSON;
use super::body::{self, BodyFault, Compressed, require_utf8};
use super::params::wrong;
use super::refusal::Refusal;
use crate::ServerError;
use crate::acting;
use crate::import::{
    Charset, Chunk, ColumnNames, FileFault, FileRules, Hashed, ImportError, ImportFormat,
    ImportReport, LineFault, OUR_NAMES, SinkError, read_tickets,
};
use crate::server::takes_documents;

const CSV: &str = "text/csv";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Takes a file's tickets, piece by piece.
pub trait Take: Send + 'static {
    /// Takes a piece; answers with the lines that it does not take.
    fn take(
        &mut self,
        chunk: Chunk,
    ) -> impl Future<Output = Result<Vec<(u64, LineFault)>, ServerError>> + Send;
}

/// How what is taken of a file goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// As it comes: what went in before a fault of the whole file stays.
    LineByLine,
    /// All at once in the end, or not at all.
    Whole,
}

/// A file that is about to be read.
pub struct TicketFile {
    /// Held until the file is read, also when its sender has gone away by then.
    turn: OwnedSemaphorePermit,
    format: ImportFormat,
    charset: Charset,
    names: ColumnNames,
    zone: TimeZone,
    takes_documents: bool,
    body: Box<dyn AsyncRead + Send + Unpin>,
    limit: usize,
}

/// A file that was read to its end.
pub struct ReadFile {
    /// What became of its lines.
    pub report: ImportReport,
    /// SHA-256 of it, without any content encoding.
    pub sha256: [u8; 32],
}

impl TicketFile {
    /// The file in the body of a request, if there is a turn for it.
    pub async fn open(
        app: &App,
        venue: &VenueId,
        names: ColumnNames,
        request: Request,
    ) -> Result<Self, Refusal> {
        let (format, charset) = written_in(request.headers())?;
        let turn = app.0.imports.clone().try_acquire_owned().map_err(|_| {
            Refusal::new(
                Code::TooManyRequests,
                "As many files as the server reads at a time are being read; send this one later",
            )
        })?;
        let venue = app.server().venue(venue).await?;
        let zone = TimeZone::get(&venue.time_zone).map_err(|error| Refusal::internal(&error))?;
        let limit = app.limits().compressed_import_bytes;
        let is_compressed = request.extensions().get::<Compressed>().is_some();
        let body = match is_compressed {
            true => body::limited(request.into_body(), limit),
            false => request.into_body(),
        };
        let stream = Box::pin(body.into_data_stream().map_err(io::Error::other));
        Ok(Self {
            turn,
            format,
            charset,
            names,
            zone,
            takes_documents: takes_documents(&venue.policy),
            body: Box::new(StreamReader::new(stream)),
            limit,
        })
    }

    /// Reads the file, and gives the taker back whatever came of it.
    pub async fn read<T: Take>(
        self,
        taker: T,
        put: Put,
    ) -> Result<(Result<ReadFile, Refusal>, T), Refusal> {
        let limit = self.limit;
        let acting = acting::current();
        let read = move || acting::within(acting, || self.read_blocking(taker));
        let read = tokio::task::spawn_blocking(read).await;
        let (read, taker) = read.map_err(|error| Refusal::internal(&error))?;
        Ok((read.map_err(|error| refused(error, put, limit)), taker))
    }

    fn read_blocking<T: Take>(self, mut taker: T) -> (Result<ReadFile, ImportError>, T) {
        let _turn = self.turn;
        let runtime = Handle::current();
        let mut file = Hashed::new(SyncIoBridge::new(self.body));
        let rules = FileRules {
            time_zone: &self.zone,
            takes_documents: self.takes_documents,
            names: &self.names,
            charset: self.charset,
        };
        let mut sink = |chunk| {
            let taken = runtime.block_on(taker.take(chunk));
            taken.map_err(SinkError::from)
        };
        let read = read_tickets(&mut file, self.format, rules, &mut sink);
        let read = read.map(|report| ReadFile {
            report,
            sha256: file.finish(),
        });
        (read, taker)
    }
}

/// What a file is written in, as its content type says.
fn written_in(headers: &HeaderMap) -> Result<(ImportFormat, Charset), Refusal> {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|text| text.to_str().ok());
    let media_type = media_type.and_then(|text| text.parse::<Mime>().ok());
    if let Some(media_type) = media_type.filter(|found| found.essence_str() == CSV)
        && let Some(charset) = media_type.get_param(mime::CHARSET)
    {
        let charset = Charset::named(charset.as_str()).ok_or_else(|| {
            Refusal::new(
                Code::UnsupportedMediaType,
                "The body has another charset than is known here; charsets are named as in \
                 browsers: gb18030, big5, utf-16le, utf-8",
            )
        })?;
        return Ok((ImportFormat::Csv, charset));
    }
    let format = match require_utf8(headers, &[CSV, NDJSON, XLSX])? {
        CSV => ImportFormat::Csv,
        XLSX => ImportFormat::Xlsx,
        _ => ImportFormat::Ndjson,
    };
    Ok((format, Charset::UTF_8))
}

/// What a file calls its columns, from a parameter such as `ticket_id:Ticket No,phone:Mobile`.
pub fn column_names(map: Option<&str>) -> Result<ColumnNames, Refusal> {
    let mut pairs = map.into_iter().flat_map(|map| map.split(','));
    pairs.try_fold(OUR_NAMES.clone(), |names, pair| {
        let (column, name) = pair.split_once(':').ok_or_else(|| {
            wrong(
                "map",
                "expected pairs of column and name: ticket_id:Ticket No,phone:Mobile",
            )
        })?;
        names
            .with(column, name)
            .map_err(|error| wrong("map", &error.to_string()))
    })
}

fn refused(error: ImportError, put: Put, limit: usize) -> Refusal {
    let text = match put {
        Put::LineByLine => error.to_string(),
        Put::Whole => format!("{}; nothing was done", error.fault),
    };
    let refusal = match error.fault {
        FileFault::Read(fault) => match body::fault(&fault) {
            BodyFault::TooLarge => body::too_large(limit),
            BodyFault::TooSlow => body::too_slow(),
            BodyFault::Broken => Refusal::new(
                Code::InvalidFile,
                match put {
                    Put::LineByLine => {
                        "The file broke off, or is not compressed as its content encoding says; \
                         send it again, lines that went in stay as they are"
                    }
                    Put::Whole => {
                        "The file broke off, or is not compressed as its content encoding says; \
                         nothing was done, send it again"
                    }
                },
            ),
        },
        FileFault::Sink(fault) => match fault.downcast::<ServerError>() {
            Ok(error) => Refusal::from(*error),
            Err(error) => Refusal::internal(&error),
        },
        FileFault::WorkbookTooLarge(_) => Refusal::new(Code::TooLarge, text),
        _ => Refusal::new(Code::InvalidFile, text),
    };
    match put {
        Put::LineByLine => refusal.with("accepted", error.accepted),
        Put::Whole => refusal,
    }
}
