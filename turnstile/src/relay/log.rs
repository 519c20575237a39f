//! A relay that only says what it would do: for tests, and for trying a gate out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Relay, RelayError};

/// Writes `EPOCH_MS open` and `EPOCH_MS close`, a line each.
#[derive(Debug)]
pub struct LogRelay {
    file: Option<(PathBuf, File)>,
}

impl LogRelay {
    /// Writes to the end of a file, or to the program's log.
    pub fn new(path: Option<&Path>) -> io::Result<Self> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            io::Result::Ok((path.to_owned(), file))
        };
        Ok(Self {
            file: path.map(open).transpose()?,
        })
    }

    fn write(&mut self, action: &str) -> Result<(), RelayError> {
        let Some((path, file)) = &mut self.file else {
            tracing::info!("relay {action}");
            return Ok(());
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let ms = now.unwrap_or_default().as_millis();
        file.write_all(format!("{ms} {action}\n").as_bytes())
            .map_err(|source| RelayError::Io {
                relay: format!("log:{}", path.display()),
                source,
            })
    }
}

impl Relay for LogRelay {
    fn open(&mut self) -> Result<(), RelayError> {
        self.write("open")
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.write("close")
    }
}
