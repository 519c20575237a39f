//! `stile-gate export`: every record that is not known to be on the server, as NDJSON, to be
//! carried by hand. Works beside a running controller, and without an identity.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stile_core::journal::{Exported, OpenError, export_readable};

use super::CommandError;

enum ExportError {
    Journal(OpenError),
    Write(io::Error),
}

impl From<OpenError> for ExportError {
    fn from(error: OpenError) -> Self {
        Self::Journal(error)
    }
}

/// Writes the records to a new file, or to standard output.
pub fn export(data: &Path, out: Option<&Path>) -> Result<(), CommandError> {
    let target = out.map_or_else(
        || "standard output".into(),
        |path| path.display().to_string(),
    );
    let exported = write(data, out).map_err(|error| match error {
        ExportError::Journal(error) => CommandError::from(error),
        ExportError::Write(error) => CommandError::Storage(format!("{target}: {error}")),
    })?;
    eprintln!(
        "{} records that are not known to be on the server written to {target}",
        exported.records
    );
    match exported.unreadable {
        0 => Ok(()),
        places => Err(CommandError::Storage(format!(
            "the journal is damaged: {places} places in it cannot be read; keep the folder"
        ))),
    }
}

fn write(data: &Path, out: Option<&Path>) -> Result<Exported, ExportError> {
    // Opened with the first record: where there is no journal, no empty file must look like an
    // empty outbox.
    let mut writer = None;
    let exported = export_readable(data, |record| {
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(open(out).map_err(ExportError::Write)?),
        };
        writeln!(writer, "{record}").map_err(ExportError::Write)
    })?;
    let finish = || {
        let file = match writer {
            Some(writer) => writer.into_inner().map_err(|error| error.into_error())?,
            None => open(out)?
                .into_inner()
                .map_err(|error| error.into_error())?,
        };
        // Carried away on a stick, perhaps, the moment this returns.
        out.map_or(Ok(()), |_| file.sync_all())
    };
    finish().map_err(ExportError::Write)?;
    Ok(exported)
}

/// Never over another export: that one may be the only copy.
fn open(out: Option<&Path>) -> io::Result<BufWriter<File>> {
    let file = match out {
        Some(path) => {
            let mut options = OpenOptions::new();
            options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?
        }
        None => File::from(io::stdout().as_fd().try_clone_to_owned()?),
    };
    Ok(BufWriter::new(file))
}
