//! The configuration that setup writes: its own keys anew, every other key as it was.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use stile_core::reason::Language;
use toml::{Table, Value};

use crate::commands::CommandError;
use crate::config::{CONFIG_FILE, ConfigError, Ms, Settings};

/// What would be written, beside what is there.
pub(super) struct Change {
    path: PathBuf,
    before: Option<Table>,
    after: Table,
}

impl Change {
    /// The change that the chosen settings make to a folder's configuration.
    pub(super) fn of(data: &Path, chosen: &Settings) -> Result<Self, CommandError> {
        let path = data.join(CONFIG_FILE);
        let before = match fs::read_to_string(&path) {
            Ok(text) => Some(text.parse::<Table>().map_err(|source| ConfigError::Toml {
                path: path.clone(),
                source: Box::new(source),
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(ConfigError::Io { path, source }.into()),
        };
        let mut after = before.clone().unwrap_or_default();
        put(&mut after, chosen);
        Ok(Self {
            path,
            before,
            after,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_there(&self) -> bool {
        self.before.is_some()
    }

    pub(super) fn is_needed(&self) -> bool {
        self.before.as_ref() != Some(&self.after)
    }

    /// Puts it in place whole; what was there is kept under another name.
    pub(super) fn write(&self) -> Result<(), CommandError> {
        let storage =
            |error: io::Error| CommandError::Storage(format!("{}: {error}", self.path.display()));
        let text = format!(
            "# Written by `stile-gate setup`, which may be run again. docs/gate.md names every key.\n{}",
            self.after
        );
        if self.is_there() {
            fs::copy(&self.path, self.path.with_extension("toml.old")).map_err(storage)?;
        }
        let aside = self.path.with_extension("toml.new");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&aside).map_err(storage)?;
        file.write_all(text.as_bytes()).map_err(storage)?;
        file.set_permissions(Permissions::from_mode(0o600))
            .map_err(storage)?;
        file.sync_all().map_err(storage)?;
        fs::rename(&aside, &self.path).map_err(storage)
    }
}

fn put(table: &mut Table, chosen: &Settings) {
    let text = |value: &dyn ToString| Some(Value::String(value.to_string()));
    let scanners: Vec<_> = chosen.scanners.iter().filter_map(|one| text(one)).collect();
    let number = |value: u64| i64::try_from(value).ok().map(Value::Integer);
    let language = chosen.language.map(|language| match language {
        Language::ZhCn => Value::String("zh-CN".into()),
        Language::En => Value::String("en".into()),
    });
    let keys = [
        ("gate", chosen.gate.as_ref().and_then(|gate| text(gate))),
        ("scanners", Some(Value::Array(scanners))),
        (
            "idle_gap_ms",
            chosen.idle_gap_ms.map(Ms::ms).and_then(number),
        ),
        (
            "display",
            chosen.display.as_ref().and_then(|display| text(display)),
        ),
    ];
    for (key, value) in keys {
        // What was not said stays.
        if let Some(value) = value {
            table.insert(key.into(), value);
        }
    }
    match language {
        Some(language) => drop(table.insert("language".into(), language)),
        None => drop(table.remove("language")),
    }
    let relay = table
        .entry("relay")
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(relay) = relay {
        if let Some(driver) = chosen.relay.driver.as_ref().and_then(|driver| text(driver)) {
            relay.insert("driver".into(), driver);
        }
        if let Some(hold_ms) = chosen.relay.hold_ms.map(Ms::ms).and_then(number) {
            relay.insert("hold_ms".into(), hold_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen() -> Settings {
        let text =
            "gate = \"north\"\nscanners = [\"stdin\"]\n[relay]\ndriver = \"log\"\nhold_ms = 5";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_as_it_was_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let change = Change::of(folder.path(), &chosen()).unwrap();
        assert!(change.is_needed() && !change.is_there());
        change.write().unwrap();
        assert_eq!(Settings::load(folder.path(), None).unwrap(), chosen());
        let mode = fs::metadata(change.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!Change::of(folder.path(), &chosen()).unwrap().is_needed());
    }

    #[test]
    fn keys_that_setup_does_not_ask_for_stay_and_the_old_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let before = "idle_gap_ms = 50\nlanguage = \"en\"\ndisplay = \"file:/tmp/d\" # mine\n";
        fs::write(folder.path().join(CONFIG_FILE), before).unwrap();
        Change::of(folder.path(), &chosen())
            .unwrap()
            .write()
            .unwrap();
        let after = Settings::load(folder.path(), None).unwrap();
        assert_eq!(after.idle_gap_ms.map(Ms::ms), Some(50));
        assert_eq!(after.display, "file:/tmp/d".parse().ok());
        assert_eq!(after.language, None, "both were chosen");
        assert_eq!(after.gate, chosen().gate);
        let old = fs::read_to_string(folder.path().join("stile-gate.toml.old")).unwrap();
        assert_eq!(old, before);
    }
}
