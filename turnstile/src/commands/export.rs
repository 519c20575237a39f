//! `stile-gate export`: every record that is not known to be on the server, as NDJSON, to be
//! carried by hand. Works beside a running controller, and without an identity.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stile_core::journal::{self, JournalError};

use super::CommandError;

enum ExportError {
    Journal(JournalError),
    Write(io::Error),
}

impl From<JournalError> for ExportError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// Writes the records to a new file, or to standard output.
pub fn export(data: &Path, out: Option<&Path>) -> Result<(), CommandError> {
    let (_, sync_log) = journal::open_to_look(data)?;
    let target = out.map_or_else(
        || "standard output".into(),
        |path| path.display().to_string(),
    );
    let failed = |error: ExportError| match error {
        ExportError::Journal(error) => error.into(),
        ExportError::Write(error) => CommandError::Storage(format!("{target}: {error}")),
    };
    let mut file = out
        .map(create)
        .transpose()
        .map_err(ExportError::Write)
        .map_err(failed)?;
    let mut writer: BufWriter<Box<dyn Write>> = BufWriter::new(match &mut file {
        Some(file) => Box::new(file),
        None => Box::new(io::stdout()),
    });
    let count = sync_log.export(|record| writeln!(writer, "{record}").map_err(ExportError::Write));
    let count = count.map_err(failed)?;
    writer.flush().map_err(ExportError::Write).map_err(failed)?;
    drop(writer);
    if let Some(file) = file {
        file.sync_all()
            .map_err(ExportError::Write)
            .map_err(failed)?;
    }
    eprintln!("{count} records that are not known to be on the server written to {target}");
    Ok(())
}

/// Never over another export: that one may be the only copy.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}
