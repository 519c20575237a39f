//! Commands that take secrets, and those on sister venues, as a program.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use crate::program::Program;

impl Program {
    /// Runs a command with a text on its standard input.
    fn told(&self, args: &[&str], input: &str) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses before it reads closes its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args)).unwrap()
    }

    fn add_venue_named(&self, id: &str, formats: &str) -> String {
        let args = [
            "venue",
            "add",
            id,
            "--name",
            id,
            "--time-zone",
            "Asia/Shanghai",
            "--formats",
            formats,
        ];
        let output = self.told(&args, "");
        assert!(output.status.success());
        said(&output)
    }
}

fn said(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    text
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.trim_end().to_owned()
}

#[test]
fn the_minting_key_is_printed_and_audited_where_v1_codes_are_derived() {
    let program = Program::new();
    program.add_venue();
    let key = program.run(&["key", "minting"]);
    assert_eq!(HEXLOWER.decode(key.as_bytes()).map(|key| key.len()), Ok(32));
    assert_eq!(key, program.run(&["key", "minting", "--venue", "museum"]));
    let audit = program.run(&["audit"]);
    assert_eq!(audit.matches("minting_key.show").count(), 2, "{audit}");
    assert!(!audit.contains(&key), "the key is no part of the log");

    let imported = program.told(&["key", "import"], "0123456789abcdef0123\n");
    assert!(imported.status.success(), "{}", said(&imported));
    let refused = program.told(&["key", "minting"], "");
    assert!(!refused.status.success());
    assert!(
        said(&refused).contains("booking system's own secret"),
        "{}",
        said(&refused)
    );
}

#[test]
fn an_operator_is_set_listed_and_removed_and_the_pin_is_printed_nowhere() {
    let program = Program::new();
    program.add_venue();
    let set = |more: &[&str], pin: &str| {
        let args = [&["operator", "set", "li", "--role", "supervisor"], more].concat();
        program.told(&args, pin)
    };
    let made = set(&["--name", "李", "--new-badge"], "246810\n");
    let badge = printed(&made);
    assert!(badge.starts_with("STAFF:"), "{badge}");
    assert!(!said(&made).contains("246810"));

    let listed = program.json(&["operator", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&listed[0]["operator_id"], &listed[0]["name"]),
        (&json!("li"), &json!("李"))
    );
    for secret in ["246810", &badge, "argon2"] {
        assert!(!listed.to_string().contains(secret), "{listed}");
    }
    assert_eq!(printed(&set(&["--keep-pin"], "")), "", "no new staff QR");

    let short = set(&[], "12\n");
    assert!(!short.status.success() && said(&short).contains("4 to 12 digits"));
    let unknown = program.told(
        &["operator", "set", "wu", "--role", "guard", "--keep-pin"],
        "",
    );
    assert!(
        !unknown.status.success() && said(&unknown).contains("pin: missing"),
        "{}",
        said(&unknown)
    );

    program.run(&["operator", "remove", "li"]);
    assert_eq!(program.json(&["operator", "list"]), json!([]));
    let twice = program.told(&["operator", "remove", "li"], "");
    assert!(!twice.status.success() && said(&twice).contains("no such operator"));
}

#[test]
fn a_booking_systems_secret_is_taken_from_a_file_or_standard_input_and_printed_nowhere() {
    let program = Program::new();
    program.add_venue();
    let key =
        |program: &Program| program.json(&["venue", "show", "museum"])["policy"]["v1_key"].clone();
    assert_eq!(key(&program), "derived");
    for (args, input, fault) in [
        (&["key", "import"][..], "short", "16 to 256 bytes"),
        (
            &["key", "import", "--encoding", "hex"],
            "0123456789abcdefXY",
            "hexadecimal",
        ),
        (
            &["key", "import", "--encoding", "base64"],
            "###################",
            "base64",
        ),
        (
            &["key", "import", "--file", "/nowhere/secret"],
            "",
            "read the secret",
        ),
    ] {
        let refused = program.told(args, input);
        assert!(!refused.status.success(), "{args:?}");
        assert!(
            said(&refused).contains(fault),
            "{args:?}: {}",
            said(&refused)
        );
        assert!(input.is_empty() || !said(&refused).contains(input));
    }
    assert_eq!(key(&program), "derived", "nothing was done");

    let taken = program.told(&["key", "import"], "a secret of sixteen\n");
    assert_eq!(printed(&taken), "");
    assert!(said(&taken).contains("Import its tickets again") && !said(&taken).contains("sixteen"));
    assert_eq!(key(&program), "shared");
    let file = program.data().join("secret");
    fs::write(&file, "000102030405060708090a0b0c0d0e0f").unwrap();
    program.run(&[
        "key",
        "import",
        "--encoding",
        "hex",
        "--file",
        file.to_str().unwrap(),
    ]);
}

#[test]
fn a_venue_that_takes_documents_is_told_what_that_means() {
    let program = Program::new();
    assert!(
        program
            .add_venue_named("museum", "G2,document")
            .contains("steals a gate's disk")
    );
    assert!(
        !program
            .add_venue_named("gallery", "G2")
            .contains("documents")
    );
}

#[test]
fn a_sister_venue_is_added_listed_and_removed() {
    let program = Program::new();
    program.add_venue_named("museum", "G2");
    program.add_venue_named("gallery", "G2");
    let list = |venue: &str| program.json(&["key", "sister", "list", "--venue", venue]);
    let gallery = list("gallery")["venue"].clone();
    program.run(&[
        "key", "sister", "add", "--venue", "museum", "--of", "gallery",
    ]);
    assert_eq!(list("museum")["sisters"], json!([gallery]));

    // Another server's, as its own list prints it.
    let public_key = gallery["keys"][0]["public_key"].as_str().unwrap();
    let typed = [
        "key",
        "sister",
        "add",
        "theatre",
        "--venue",
        "museum",
        "--number",
        "77",
        "--kid",
        "3",
        "--public-key",
        public_key,
        "--from",
        "2026-10-01 09:00",
    ];
    program.run(&typed);
    let theatre = list("museum")["sisters"][1].clone();
    assert_eq!(
        (&theatre["venue_id"], &theatre["number"]),
        (&json!("theatre"), &json!(77))
    );
    assert_eq!(theatre["keys"][0]["valid_from"], 1_790_816_400);

    let refused = |args: &[&str]| {
        let output = program.told(&[&["key", "sister"], args].concat(), "");
        assert!(!output.status.success(), "{args:?}");
        said(&output)
    };
    let own_number = list("museum")["venue"]["number"].to_string();
    for (args, fault) in [
        (&["add", "--venue", "museum"][..], "required"),
        (&["add", "zoo", "--venue", "museum"], "--number"),
        (
            &["add", "zoo", "--venue", "museum", "--number", "9"],
            "--kid",
        ),
        (
            &[
                "add",
                "zoo",
                "--venue",
                "museum",
                "--number",
                &own_number,
                "--kid",
                "1",
                "--public-key",
                public_key,
            ],
            "museum itself",
        ),
        (
            &[
                "add",
                "zoo",
                "--venue",
                "museum",
                "--number",
                "9",
                "--kid",
                "1",
                "--public-key",
                "AAAA",
            ],
            "public_key",
        ),
        (
            &[
                "add",
                "zoo",
                "--venue",
                "museum",
                "--number",
                "9",
                "--kid",
                "1",
                "--public-key",
                public_key,
                "--from",
                "soon",
            ],
            "--from",
        ),
        (
            &["add", "--venue", "museum", "--of", "museum"],
            "the venue itself",
        ),
        (
            &["add", "--venue", "museum", "--of", "nowhere"],
            "no such venue",
        ),
        (
            &["remove", "zoo", "--venue", "museum"],
            "no such sister venue",
        ),
    ] {
        let refusal = refused(args);
        assert!(refusal.contains(fault), "{args:?}: {refusal}");
    }
    program.run(&["key", "sister", "remove", "gallery", "--venue", "museum"]);
    assert_eq!(list("museum")["sisters"], json!([theatre]));
}
