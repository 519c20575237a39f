//! How much of a file the import takes at a time, and how long its parts may be. Each number
//! bounds memory or the size of a whitelist row; none is a rule of the booking system.

/// Lines that the sink gets at a time, at most. Enough to fill one transaction well; a file of
/// fewer lines goes in whole or, if it is not text, not at all.
pub const CHUNK_LINES: usize = 1_000;

/// Refused lines that a report names; beyond, they are only counted. A file with the wrong
/// sessions would otherwise be answered with a report of its own size.
pub const REFUSED_LINES_NAMED: usize = 1_000;

/// Bytes of one line of the file, or of one CSV record with line breaks in quotes. A ticket has
/// some hundred; more is a broken file.
pub(super) const RECORD_BYTES: usize = 64 * 1024;

/// Bytes held of the file. Several records, so that what is left of one is seldom moved.
pub(super) const BUFFER_BYTES: usize = 4 * RECORD_BYTES;

/// Levels of nesting of one NDJSON member. A ticket has one, for its zones.
pub(super) const JSON_LEVELS: usize = 64;

/// Unknown columns that a report names. NDJSON may have other members in each line.
pub(super) const COLUMNS_NAMED: usize = 100;

/// Characters of an unknown column's name that a report shows.
pub(super) const COLUMN_NAME_CHARS: usize = 64;

/// Bytes of a holder's name; three per Chinese character.
pub(super) const NAME_BYTES: usize = 256;

/// Bytes of a text for people (label, category, attention, source, age group), which every gate
/// of the venue downloads.
pub(super) const TEXT_BYTES: usize = 512;

/// Bytes of an opaque code, as for every code (code formats, common rules).
pub(super) const CODE_BYTES: usize = 256;

/// Digits of a phone number. E.164 has 15, prefixes come on top; more are two numbers in one
/// field, and the last four would be a guess.
pub(super) const PHONE_DIGITS: u32 = 20;

/// Zones of one ticket.
pub(super) const ZONES: usize = 64;

/// Bytes of a workbook as it is sent, which is held in memory. 100,000 tickets have some 5 MiB.
pub const XLSX_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of all that a workbook unpacks to. 100,000 tickets have some 60 MiB; far more is a bomb,
/// or belongs into a CSV file, which may be of any size.
pub(super) const XLSX_UNPACKED_BYTES: u64 = 256 * 1024 * 1024;

/// Bytes of a workbook's texts, unpacked, which are held in memory.
pub(super) const XLSX_TEXTS_BYTES: u64 = 64 * 1024 * 1024;

/// Files in a workbook's archive. Ordinary ones have a dozen, and one more per sheet and picture.
pub(super) const XLSX_PARTS: usize = 1_000;

/// Columns of a sheet. More than any booking system has.
pub(super) const XLSX_COLUMNS: u32 = 256;

/// Bits that must be unknown of an opaque code so that nobody finds one by trying (code formats,
/// Opaque codes).
pub(crate) const CODE_BITS: u32 = 64;

/// Codes of which so many in a hundred follow the one before by one are numbered.
pub(super) const RUNNING_PERCENT: u64 = 10;
