//! When the database was last copied, as far as this server's own `backup` did it.

use std::path::Path;

use stile_core::time::EpochSeconds;
use stile_sync_server::last_backup::LastBackup;

use super::days;
use super::finding::Finding;

/// Days after which a daily backup has been missed more than once.
const SOON_DAYS: i64 = 2;

pub(super) fn finding(data: &Path, now: EpochSeconds) -> Finding {
    let todo = "run `stile-server backup FILE` every night, onto another disk";
    let Some(last) = LastBackup::noted(data) else {
        return Finding::warn("backup", "none that `backup` made is known of", todo);
    };
    let age = days(EpochSeconds(last.at), now);
    let what = match age {
        ..=0 => format!("made within a day: {}", last.file.display()),
        1 => format!("one day old: {}", last.file.display()),
        _ => format!("{age} days old: {}", last.file.display()),
    };
    match age > SOON_DAYS {
        true => Finding::warn("backup", what, todo),
        false => Finding::ok("backup", what),
    }
}

#[cfg(test)]
mod tests {
    use stile_sync_server::last_backup::LAST_BACKUP_FILE;

    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn a_backup_that_was_missed_more_than_once_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let now = |days: i64| EpochSeconds(1_790_820_000 + days * 24 * 3600);
        assert_eq!(finding(folder.path(), now(0)).grade, Grade::Warn);
        let last = r#"{"at":1790820000,"file":"/mnt/stick/server.db"}"#;
        std::fs::write(folder.path().join(LAST_BACKUP_FILE), last).unwrap();
        assert_eq!(finding(folder.path(), now(0)).grade, Grade::Ok);
        assert_eq!(finding(folder.path(), now(2)).grade, Grade::Ok);
        let late = finding(folder.path(), now(9));
        assert_eq!(late.grade, Grade::Warn);
        assert!(late.what.contains("9 days") && late.what.contains("/mnt/stick"));
        std::fs::write(folder.path().join(LAST_BACKUP_FILE), "nonsense").unwrap();
        assert_eq!(finding(folder.path(), now(0)).grade, Grade::Warn);
    }
}
