//! What SQLite says, in the store's words.

use rusqlite::ErrorCode;

use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error {
            rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
                ErrorCode::DiskFull => Self::Full,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged(text),
                ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::ApiMisuse
                | ErrorCode::ParameterOutOfRange
                | ErrorCode::TooBig
                | ErrorCode::Unknown => Self::Fault(text),
                _ => Self::Unavailable(text),
            },
            // A value that is not what was written.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => Self::Damaged(text),
            _ => Self::Fault(text),
        }
    }
}
