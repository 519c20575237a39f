//! Values between rows and the domain's types. A value that cannot be read is damage, and says in
//! which column.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Error, Result, Row};
use serde::de::DeserializeOwned;
use stile_core::time::{EpochMillis, EpochSeconds};

use super::words::Word;

fn damaged(column: usize, kind: Type, what: impl Display) -> Error {
    Error::FromSqlConversionFailure(column, kind, what.to_string().into())
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str> {
    row.get_ref(column)?
        .as_str()
        .map_err(|error| damaged(column, Type::Text, error))
}

fn is_null(row: &Row<'_>, column: usize) -> Result<bool> {
    Ok(row.get_ref(column)? == ValueRef::Null)
}

/// A text that is an id or another thing with a shape.
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: usize) -> Result<T>
where
    T::Err: Display,
{
    text(row, column)?
        .parse()
        .map_err(|error| damaged(column, Type::Text, error))
}

/// The same, where there may be none.
pub(super) fn parsed_if_any<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Option<T>>
where
    T::Err: Display,
{
    if is_null(row, column)? {
        Ok(None)
    } else {
        parsed(row, column).map(Some)
    }
}

/// Texts joined by commas.
pub(super) fn list<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Vec<T>>
where
    T::Err: Display,
{
    text(row, column)?
        .split(',')
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.parse()
                .map_err(|error| damaged(column, Type::Text, error))
        })
        .collect()
}

/// Joins what [`list`] takes apart; none of the parts holds a comma.
pub(super) fn joined<T: Display>(parts: &[T]) -> String {
    parts.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// A member of one of the domain's enumerations.
pub(super) fn word<T: Word>(row: &Row<'_>, column: usize) -> Result<T> {
    T::of_word(text(row, column)?).ok_or_else(|| damaged(column, Type::Text, "an unknown word"))
}

/// The same, where there may be none.
pub(super) fn word_if_any<T: Word>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    if is_null(row, column)? {
        Ok(None)
    } else {
        word(row, column).map(Some)
    }
}

/// JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    serde_json::from_str(text(row, column)?).map_err(|error| damaged(column, Type::Text, error))
}

/// A number that the domain makes something of.
pub(super) fn number<T>(
    row: &Row<'_>,
    column: usize,
    make: impl FnOnce(i64) -> Option<T>,
) -> Result<T> {
    make(row.get(column)?).ok_or_else(|| damaged(column, Type::Integer, "a number out of range"))
}

/// A point in time, in seconds.
pub(super) fn seconds(row: &Row<'_>, column: usize) -> Result<EpochSeconds> {
    row.get(column).map(EpochSeconds)
}

/// The same, where there may be none.
pub(super) fn seconds_if_any(row: &Row<'_>, column: usize) -> Result<Option<EpochSeconds>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(EpochSeconds))
}

/// A point in time, in milliseconds.
pub(super) fn millis(row: &Row<'_>, column: usize) -> Result<EpochMillis> {
    row.get(column).map(EpochMillis)
}

/// The same, where there may be none.
pub(super) fn millis_if_any(row: &Row<'_>, column: usize) -> Result<Option<EpochMillis>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(EpochMillis))
}

/// A count that was never negative.
pub(super) fn count(row: &Row<'_>, column: usize) -> Result<u64> {
    number(row, column, |n| u64::try_from(n).ok())
}

/// A count as SQLite's signed integer.
pub(super) fn to_i64(count: u64) -> Result<i64> {
    i64::try_from(count).map_err(|error| Error::ToSqlConversionFailure(error.into()))
}
