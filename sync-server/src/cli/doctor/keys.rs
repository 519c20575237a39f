//! When the keys were last copied apart from the data, as far as this server's own `key backup` did it.

use std::path::Path;

use stile_core::time::EpochSeconds;
use stile_sync_server::key_backup::LastKeyBackup;

use super::days;
use super::finding::Finding;

pub(super) fn finding(data: &Path, now: EpochSeconds) -> Finding {
    let Some(last) = LastKeyBackup::noted(data) else {
        return Finding::warn(
            "keys",
            "none that `key backup` made is known of",
            "run `stile-server key backup FILE`, onto something that is kept apart from the data",
        );
    };
    let what = match days(EpochSeconds(last.at), now) {
        ..=0 => format!("made within a day: {}", last.file.display()),
        1 => format!("one day old: {}", last.file.display()),
        age => format!("{age} days old: {}", last.file.display()),
    };
    Finding::ok("keys", what)
}

#[cfg(test)]
mod tests {
    use stile_sync_server::key_backup::LAST_KEY_BACKUP_FILE;

    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn keys_that_were_never_copied_are_said_and_old_copies_are_as_good_as_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let now = |days: i64| EpochSeconds(1_790_820_000 + days * 24 * 3600);
        assert_eq!(finding(folder.path(), now(0)).grade, Grade::Warn);
        let last = r#"{"at":1790820000,"file":"/mnt/stick/keys","secrets":[]}"#;
        std::fs::write(folder.path().join(LAST_KEY_BACKUP_FILE), last).unwrap();
        let late = finding(folder.path(), now(900));
        assert_eq!(late.grade, Grade::Ok);
        assert!(late.what.contains("900 days") && late.what.contains("/mnt/stick"));
    }
}
