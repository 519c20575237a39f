//! The doctor on a server that is well, and on one with each of the things that can be wrong.

use std::fs;

use serde_json::Value;

use crate::installed::Installed;

/// What the doctor found, by check.
struct Found(Vec<Value>);

impl Found {
    fn at(installed: &Installed, flags: &[&str]) -> Self {
        let said = installed.say(&[&["doctor", "--json"], flags].concat());
        let lines = said
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let found = Self(lines.collect());
        let fails = found.0.iter().any(|finding| finding["grade"] == "fail");
        assert_eq!(said.succeeded, !fails, "{}", said.out);
        for finding in &found.0 {
            let grade = finding["grade"].as_str().unwrap();
            let needs_todo = matches!(grade, "warn" | "fail");
            assert_eq!(finding["todo"].is_string(), needs_todo, "{finding}");
        }
        found
    }

    fn of(installed: &Installed) -> Self {
        Self::at(installed, &[])
    }

    fn finding(&self, check: &str) -> &Value {
        let found = self.0.iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("no {check} in {:?}", self.0))
    }

    fn grade(&self, check: &str) -> &str {
        self.finding(check)["grade"].as_str().unwrap()
    }

    fn what(&self, check: &str) -> &str {
        self.finding(check)["what"].as_str().unwrap()
    }
}

#[test]
fn a_server_that_is_well_is_found_well_line_by_line() {
    let installed = Installed::new();
    installed.add_venue();
    installed.tls_new();
    let backup = installed.around().join("copy.db");
    installed.run(&["backup", backup.to_str().unwrap()]);
    let _serving = installed.serve(&[]);
    let found = Found::of(&installed);
    let checks: Vec<_> = found
        .0
        .iter()
        .map(|finding| finding["check"].as_str().unwrap())
        .collect();
    let expected = [
        "data", "storage", "room", "database", "key", "tls", "expiry", "port", "names", "clock",
        "backup", "keys",
    ];
    assert_eq!(checks, expected);
    for check in [
        "data", "database", "key", "tls", "expiry", "port", "names", "backup",
    ] {
        assert_eq!(found.grade(check), "ok", "{}", found.finding(check));
    }
    assert!(found.what("port").contains("https://127.0.0.1:"));
    assert!(found.what("tls").contains("localhost, 127.0.0.1"));
    assert!(found.what("expiry").contains("renewed by itself"));
    assert!(found.what("backup").contains("copy.db"));
    // The same for people.
    let lines = installed.say(&["doctor"]).out;
    assert_eq!(lines.lines().count(), expected.len());
    assert!(lines.contains("ok   database  "), "{lines}");
}

#[test]
fn a_server_that_does_not_run_is_looked_at_as_far_as_it_goes() {
    let installed = Installed::new();
    installed.add_venue();
    let serving = installed.serve(&[]);
    let found = Found::of(&installed);
    assert_eq!((found.grade("port"), found.grade("tls")), ("ok", "warn"));
    assert_eq!(found.grade("backup"), "warn");
    drop(serving);
    // Killed, it could not say that it listens no more.
    let found = Found::of(&installed);
    assert_eq!(found.grade("port"), "left_out");
}

#[test]
fn where_there_is_nothing_it_says_so_and_makes_nothing() {
    let installed = Installed::new();
    let found = Found::of(&installed);
    assert_eq!(found.grade("data"), "fail");
    assert!(!installed.data().exists());
    fs::create_dir(installed.data()).unwrap();
    let found = Found::of(&installed);
    assert_eq!(found.grade("database"), "fail");
    assert_eq!(fs::read_dir(installed.data()).unwrap().count(), 0);
}

#[test]
fn a_master_key_that_is_gone_or_another_one_fails_and_none_is_made() {
    let installed = Installed::new();
    installed.add_venue();
    let key = installed.data().join("master.key");
    let aside = installed.around().join("master.key");
    fs::rename(&key, &aside).unwrap();
    let found = Found::of(&installed);
    assert_eq!(found.grade("key"), "fail");
    assert!(found.what("key").contains("backup"));
    assert!(!key.exists());
    let other = Installed::new();
    other.add_venue();
    let theirs = other.data().join("master.key");
    let found = Found::at(&installed, &["--master-key", theirs.to_str().unwrap()]);
    assert_eq!(found.grade("key"), "fail");
    let found = Found::at(&installed, &["--master-key", aside.to_str().unwrap()]);
    assert_eq!(found.grade("key"), "ok");
}

#[test]
fn a_damaged_database_fails_with_the_way_out() {
    let installed = Installed::new();
    installed.add_venue();
    let file = installed.data().join("server.db");
    let mut bytes = fs::read(&file).unwrap();
    let from = bytes.len() / 2;
    bytes[from..].fill(0x5a);
    fs::write(&file, &bytes).unwrap();
    let found = Found::of(&installed);
    assert_eq!(found.grade("database"), "fail");
    let todo = found.finding("database")["todo"].as_str().unwrap();
    assert!(todo.contains("salvage"), "{todo}");
    assert_eq!(found.grade("key"), "left_out");
    assert_eq!(fs::read(&file).unwrap(), bytes, "it is left as it was");
}

#[test]
fn certificates_that_gates_do_not_take_fail() {
    let installed = Installed::new();
    installed.add_venue();
    installed.tls_new();
    let whole = fs::read_to_string(installed.pair()).unwrap();
    // Without its CA in the chain a gate finds nothing that it has pinned.
    let parts: Vec<_> = whole
        .split_inclusive("-----END CERTIFICATE-----\n")
        .collect();
    let without_ca = [parts[0], parts[2]].concat();
    fs::write(installed.pair(), without_ca).unwrap();
    let found = Found::of(&installed);
    assert_eq!(found.grade("tls"), "fail", "{}", found.what("tls"));
    fs::write(installed.pair(), "nonsense").unwrap();
    let found = Found::of(&installed);
    assert_eq!(found.grade("tls"), "fail");
    assert!(found.what("tls").contains("no certificate"));
}

#[test]
fn a_name_that_leads_nowhere_is_warned_of() {
    let installed = Installed::new();
    installed.add_venue();
    installed.run(&["tls", "new", "--name", "nowhere.invalid"]);
    let _serving = installed.serve(&[]);
    let found = Found::of(&installed);
    assert_eq!(found.grade("port"), "ok", "{}", found.what("port"));
    assert_eq!(found.grade("names"), "warn");
    assert!(found.what("names").contains("nowhere.invalid"));
}
