//! A relay that only says what it would do: for tests, and for trying a gate out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Relay, RelayError};

/// Writes `EPOCH_MS open` and `EPOCH_MS close` to a file, a line for each time it is told; to the
/// program's log only what changes.
#[derive(Debug)]
pub struct LogRelay {
    file: Option<(PathBuf, File)>,
    is_open: bool,
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
            is_open: false,
        })
    }

    fn move_to(&mut self, open: bool) -> Result<(), RelayError> {
        let action = if open { "open" } else { "close" };
        let changes = std::mem::replace(&mut self.is_open, open) != open;
        let Some((path, file)) = &mut self.file else {
            if changes {
                tracing::info!("relay {action}");
            }
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
        self.move_to(true)
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.move_to(false)
    }
}
