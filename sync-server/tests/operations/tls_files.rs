//! Certificates, keys and the CA as files: made, renewed, and refused with a word on what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::installed::Installed;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn shown(installed: &Installed) -> Value {
    serde_json::from_str(&installed.run(&["tls", "show"])).unwrap()
}

#[test]
fn a_certificate_and_its_ca_are_made_apart_and_for_their_owner_alone() {
    let installed = Installed::new();
    let pin = installed.run(&[
        "tls",
        "new",
        "--name",
        "museum.lan",
        "--address",
        "192.168.1.5",
    ]);
    let shown = shown(&installed);
    assert_eq!(shown["ca_pin"], Value::from(pin));
    assert_eq!(
        shown["names"],
        serde_json::json!(["museum.lan", "192.168.1.5"])
    );
    assert!((396..=397).contains(&shown["days_left"].as_i64().unwrap()));
    assert_eq!(mode(&installed.pair()), 0o600);
    assert_eq!(mode(&installed.authority()), 0o600);
    assert_eq!(mode(installed.authority().parent().unwrap()), 0o700);
    let pair = fs::read_to_string(installed.pair()).unwrap();
    let authority = fs::read_to_string(installed.authority()).unwrap();
    let key = authority
        .split("-----BEGIN PRIVATE KEY-----")
        .nth(1)
        .unwrap();
    assert!(
        !pair.contains(key.lines().nth(1).unwrap()),
        "the CA's key stays apart"
    );
    let public = fs::read_to_string(installed.data().join("tls/ca.pem")).unwrap();
    assert!(public.contains("CERTIFICATE") && !public.contains("PRIVATE"));
}

#[test]
fn a_second_new_changes_nothing_and_names_renew() {
    let installed = Installed::new();
    installed.tls_new();
    let before = fs::read(installed.pair()).unwrap();
    let said = installed.refused(&["tls", "new", "--name", "other.lan"]);
    assert!(said.contains("tls renew"), "{said}");
    assert_eq!(fs::read(installed.pair()).unwrap(), before);
}

#[test]
fn renewal_keeps_the_pin_and_the_names_unless_others_are_said() {
    let installed = Installed::new();
    let pin = installed.tls_new();
    let before = fs::read(installed.pair()).unwrap();
    installed.run(&["tls", "renew"]);
    assert_ne!(fs::read(installed.pair()).unwrap(), before);
    let renewed = shown(&installed);
    assert_eq!(renewed["ca_pin"], Value::from(pin.as_str()));
    assert_eq!(
        renewed["names"],
        serde_json::json!(["localhost", "127.0.0.1"])
    );
    installed.run(&[
        "tls",
        "renew",
        "--name",
        "gate.localhost",
        "--address",
        "10.1.2.3",
    ]);
    let renewed = shown(&installed);
    assert_eq!(renewed["ca_pin"], Value::from(pin));
    assert_eq!(
        renewed["names"],
        serde_json::json!(["gate.localhost", "10.1.2.3"])
    );
}

#[test]
fn the_ca_vouches_for_the_venues_names_and_private_addresses_alone() {
    let installed = Installed::new();
    installed.tls_new();
    let before = fs::read(installed.pair()).unwrap();
    for (flag, name) in [
        ("--name", "bank.example"),
        ("--name", "notlocalhost"),
        ("--address", "93.184.216.34"),
        ("--address", "2606:2800:220:1::1"),
    ] {
        let said = installed.refused(&["tls", "renew", flag, name]);
        assert!(
            said.contains("may not vouch for") && said.contains(name),
            "{said}"
        );
        assert_eq!(fs::read(installed.pair()).unwrap(), before);
    }
    // One that was made for addresses alone vouches for no name.
    let numbers = Installed::new();
    numbers.run(&["tls", "new", "--address", "93.184.216.34"]);
    let said = numbers.refused(&["tls", "renew", "--name", "bank.example"]);
    assert!(said.contains("may not vouch for"), "{said}");
}

#[test]
fn the_cas_key_may_lie_elsewhere_and_without_it_nothing_is_renewed() {
    let installed = Installed::new();
    let stick = installed.around().join("stick");
    let flag = stick.to_str().unwrap();
    installed.run(&["tls", "new", "--name", "museum.lan", "--ca", flag]);
    let before = fs::read(installed.pair()).unwrap();
    let said = installed.refused(&["tls", "renew"]);
    assert!(said.contains("--ca") && said.contains("backup"), "{said}");
    let other = Installed::new();
    other.tls_new();
    let theirs = other.data().join("tls-ca");
    let said = installed.refused(&["tls", "renew", "--ca", theirs.to_str().unwrap()]);
    assert!(said.contains("another CA"), "{said}");
    assert_eq!(fs::read(installed.pair()).unwrap(), before);
    installed.run(&["tls", "renew", "--ca", flag]);
    assert_ne!(fs::read(installed.pair()).unwrap(), before);
}

#[test]
fn a_making_that_was_cut_off_goes_on_with_the_ca_that_it_had_made() {
    let installed = Installed::new();
    let pin = installed.tls_new();
    fs::remove_file(installed.pair()).unwrap();
    assert_eq!(installed.tls_new(), pin);
}

#[test]
fn what_no_certificate_can_be_for_is_refused_before_anything_is_made() {
    let installed = Installed::new();
    for (args, said) in [
        (&["tls", "new"][..], "--name or --address"),
        (&["tls", "new", "--name", "10.0.0.1"], "--address"),
        (&["tls", "new", "--name", "博物馆"], "no DNS name"),
        (&["tls", "new", "--address", "museum.lan"], "--address"),
        (&["tls", "renew"], "tls new"),
        (&["tls", "show"], "server.pem"),
    ] {
        let refused = installed.refused(args);
        assert!(refused.contains(said), "{args:?}: {refused}");
    }
    assert!(!installed.data().exists());
}

#[test]
fn a_server_refuses_to_start_on_a_pair_that_is_none_and_says_what_to_do() {
    let installed = Installed::new();
    installed.tls_new();
    let pair = installed.pair();
    let pair = pair.to_str().unwrap();
    let other = Installed::new();
    other.tls_new();
    let theirs = other.pair();
    let empty = installed.around().join("empty.pem");
    fs::write(&empty, "").unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o600)).unwrap();
    let (empty, theirs) = (empty.to_str().unwrap(), theirs.to_str().unwrap());
    let serve = |flags: &[&str]| {
        installed.refused(&[&["serve", "--listen", "127.0.0.1:0"], flags].concat())
    };
    for (flags, said) in [
        (
            &["--tls-cert", pair, "--tls-key", theirs][..],
            "does not go with",
        ),
        (&["--tls-cert", pair, "--tls-key", empty], "no private key"),
        (&["--tls-cert", empty, "--tls-key", pair], "no certificate"),
        (&["--tls-cert", pair, "--tls-key", "/nowhere"], "/nowhere"),
        (&["--tls-cert", pair], "--tls-key"),
        (&["--tls-key", pair], "--tls-cert"),
        (
            &["--tls-cert", pair, "--tls-key", pair, "--insecure-http"],
            "--insecure-http",
        ),
    ] {
        let refused = serve(flags);
        assert!(refused.contains(said), "{flags:?}: {refused}");
    }
    fs::set_permissions(pair, fs::Permissions::from_mode(0o604)).unwrap();
    let refused = serve(&[]);
    assert!(
        refused.contains("chmod o-rwx") && refused.contains(pair),
        "{refused}"
    );
    fs::set_permissions(pair, fs::Permissions::from_mode(0o640)).unwrap();
    installed.serve(&[]);
}

#[test]
fn beyond_this_machine_there_is_tls_or_a_word_that_there_is_none() {
    let installed = Installed::new();
    let said = installed.refused(&["serve", "--listen", "0.0.0.0:0"]);
    for way in ["tls new", "--tls-cert", "127.0.0.1", "--insecure-http"] {
        assert!(said.contains(way), "{said}");
    }
    let everywhere = "0.0.0.0:0";
    let plain = installed.serve_at(everywhere, &["--insecure-http"]);
    assert_eq!(plain.scheme, "http");
    drop(plain);
    installed.tls_new();
    assert_eq!(installed.serve_at(everywhere, &[]).scheme, "https");
    assert_eq!(installed.serve(&["--insecure-http"]).scheme, "http");
}
