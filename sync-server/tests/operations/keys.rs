//! Keys apart from the data: the way there, the way back, and what goes wrong on either.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::installed::{Installed, Said};

const WORDS: &str = "museum gate lantern river";

fn stick(installed: &Installed) -> PathBuf {
    let folder = installed.around().join("stick");
    fs::create_dir_all(&folder).unwrap();
    folder.join("keys")
}

fn back_up(installed: &Installed, typed: &str) -> Said {
    let file = stick(installed);
    installed.say_with(&["key", "backup", file.to_str().unwrap()], typed)
}

fn restore(installed: &Installed, words: &str) -> Said {
    let file = stick(installed);
    let typed = format!("{words}\n");
    installed.say_with(&["key", "restore", file.to_str().unwrap()], &typed)
}

fn backed_up() -> Installed {
    let installed = Installed::new();
    installed.add_venue();
    let said = back_up(&installed, &format!("{WORDS}\n{WORDS}\n"));
    assert!(said.succeeded, "{}", said.err);
    installed
}

fn key_finding(installed: &Installed) -> Value {
    let said = installed.say(&["doctor", "--json"]);
    let mut lines = said
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.find(|line: &Value| line["check"] == "keys").unwrap()
}

#[test]
fn a_lost_master_key_comes_back_from_its_copy() {
    let installed = backed_up();
    let key = fs::read(installed.data().join("master.key")).unwrap();
    fs::remove_file(installed.data().join("master.key")).unwrap();
    assert!(installed.refused(&["venue", "show"]).contains("master key"));
    let said = restore(&installed, WORDS);
    assert!(said.succeeded, "{}", said.err);
    assert!(said.err.contains("The master key is back"), "{}", said.err);
    let file = installed.data().join("master.key");
    assert_eq!(fs::read(&file).unwrap(), key);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(installed.run(&["venue", "show"]).contains("museum"));
    // Once more, it says that all is there, and changes nothing.
    let again = restore(&installed, WORDS);
    assert!(again.err.contains("is there already"), "{}", again.err);
    assert!(again.err.contains(", 0 were added"), "{}", again.err);
    let log = installed.run(&["audit"]);
    assert!(
        log.contains("key.backup") && log.contains("key.restore"),
        "{log}"
    );
}

#[test]
fn on_a_new_machine_the_keys_come_first_and_the_data_after_them() {
    let installed = backed_up();
    let copy = installed.around().join("copy.db");
    installed.run(&["backup", copy.to_str().unwrap()]);
    fs::rename(installed.data(), installed.around().join("burnt")).unwrap();
    let early = installed.refused(&["restore", copy.to_str().unwrap()]);
    assert!(early.contains("master key"), "{early}");
    let said = restore(&installed, WORDS);
    assert!(said.err.contains("no database here yet"), "{}", said.err);
    installed.run(&["restore", copy.to_str().unwrap()]);
    let said = restore(&installed, WORDS);
    assert!(said.succeeded, "{}", said.err);
    let serving = installed.serve(&[]);
    serving.signal("TERM");
    assert!(serving.ended());
}

#[test]
fn a_wrong_passphrase_half_a_file_and_another_key_change_nothing() {
    let installed = backed_up();
    let key = installed.data().join("master.key");
    let held = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    let wrong = restore(&installed, "another one entirely");
    assert!(
        wrong.err.contains("passphrase is not the one"),
        "{}",
        wrong.err
    );
    let nothing = installed.say_with(&["key", "restore", stick(&installed).to_str().unwrap()], "");
    assert!(nothing.err.contains("no passphrase"), "{}", nothing.err);
    let whole = fs::read(stick(&installed)).unwrap();
    fs::write(stick(&installed), &whole[..whole.len() / 2]).unwrap();
    let half = restore(&installed, WORDS);
    assert!(!half.succeeded && half.out.is_empty(), "{}", half.err);
    assert!(!key.exists());
    fs::write(stick(&installed), &whole).unwrap();
    // Another key is in its place, and stays there.
    let other = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=\n";
    fs::write(&key, other).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let taken = restore(&installed, WORDS);
    assert!(
        taken.err.contains("holds another master key"),
        "{}",
        taken.err
    );
    assert_eq!(fs::read_to_string(&key).unwrap(), other);
    fs::write(&key, held).unwrap();
    // The copy of another server's keys opens nothing here.
    let elsewhere = Installed::new();
    elsewhere.add_venue();
    fs::copy(stick(&installed), stick(&elsewhere)).unwrap();
    fs::remove_file(elsewhere.data().join("master.key")).unwrap();
    let foreign = restore(&elsewhere, WORDS);
    assert!(
        foreign.err.contains("not the master key"),
        "{}",
        foreign.err
    );
    assert!(!elsewhere.data().join("master.key").exists());
}

#[test]
fn a_copy_is_the_owners_alone_has_a_place_of_its_own_and_is_known_to_the_doctor() {
    let installed = Installed::new();
    installed.add_venue();
    assert_eq!(key_finding(&installed)["grade"], "warn");
    let differ = back_up(&installed, &format!("{WORDS}\nsomething else\n"));
    assert!(differ.err.contains("not the same"), "{}", differ.err);
    let short = back_up(&installed, "short\nshort\n");
    assert!(short.err.contains("12 characters"), "{}", short.err);
    assert!(!stick(&installed).exists());
    let twice = format!("{WORDS}\n{WORDS}\n");
    let copy = installed.around().join("copy.db");
    installed.run(&["backup", copy.to_str().unwrap()]);
    for near in [
        installed.data().join("keys"),
        installed.around().join("keys"),
    ] {
        let args = ["key", "backup", near.to_str().unwrap()];
        let said = installed.say_with(&args, &twice);
        assert!(said.err.contains("--beside-data"), "{}", said.err);
        assert!(!near.exists());
    }
    assert!(back_up(&installed, &twice).succeeded);
    let mode = fs::metadata(stick(&installed))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = back_up(&installed, &twice);
    assert!(again.err.contains("is there already"), "{}", again.err);
    let near = installed.around().join("keys");
    let args = ["key", "backup", "--beside-data", near.to_str().unwrap()];
    assert!(installed.say_with(&args, &twice).succeeded);
    assert_eq!(key_finding(&installed)["grade"], "ok");
}
