//! The program: its commands, and what it says when it cannot start.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A data folder and the program on it.
pub struct Program {
    folder: TempDir,
}

/// A running server; killed if a test ends before it does.
pub struct Serving {
    child: Child,
    pub address: String,
}

impl Program {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stile-server"));
        command.args(args).env("STILE_DATA", self.data());
        for variable in [
            "STILE_MASTER_KEY",
            "STILE_LOG",
            "STILE_LISTEN",
            "STILE_LOG_FORMAT",
            "STILE_METRICS_LISTEN",
            "STILE_WEBHOOK_ALLOW",
        ] {
            command.env_remove(variable);
        }
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a command prints on stdout; it must succeed.
    pub fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// What a command says on stderr; it must fail and print nothing else.
    pub fn refused(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(!output.status.success(), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        said
    }

    pub fn serve(&self) -> Serving {
        self.serve_with(&[], Stdio::null())
    }

    fn serve_with(&self, flags: &[&str], stderr: Stdio) -> Serving {
        self.serve_logging(flags, "info", stderr)
    }

    /// Serves, and logs what is of a level.
    pub fn serve_logging(&self, flags: &[&str], level: &str, stderr: Stdio) -> Serving {
        let args = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
        let mut command = self.command(&args);
        let mut child = command
            .env("STILE_LOG", level)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim_end().strip_prefix("listening on http://");
        let address = address
            .unwrap_or_else(|| panic!("it said {line:?}"))
            .to_owned();
        Serving { child, address }
    }

    pub fn add_venue(&self) {
        let args = [
            "venue",
            "add",
            "museum",
            "--name",
            "The Museum",
            "--time-zone",
            "Asia/Shanghai",
        ];
        self.run(&args);
    }

    pub fn add_key(&self, scopes: &str) -> String {
        self.run(&[
            "key", "add", "--venue", "museum", "--scopes", scopes, "--name", "test",
        ])
    }
}

impl Serving {
    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        // The shell's own kill: a fresh machine has no program of that name.
        let sent = Command::new("sh")
            .args(["-c", r#"kill -s "$0" "$1""#, name, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits until it ends.
    pub fn ended(mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_venue_its_gates_keys_and_devices_are_set_up_from_the_command_line() {
    let program = Program::new();
    program.run(&[
        "venue",
        "add",
        "museum",
        "--name",
        "博物馆",
        "--time-zone",
        "Asia/Shanghai",
        "--formats",
        "v1,opaque",
        "--opaque-shape",
        "MUS:0123456789abcdef-:47-47",
    ]);
    let shown: Value = serde_json::from_str(&program.run(&["venue", "show", "museum"])).unwrap();
    assert_eq!(shown["name"], "博物馆");
    assert_eq!(
        shown["policy"]["formats"],
        serde_json::json!(["v1", "opaque"])
    );
    assert_eq!(shown["policy"]["opaque_shapes"][0]["prefix"], "MUS");
    program.run(&["gate", "add", "north", "--name", "North", "--unattended"]);
    program.run(&[
        "gate",
        "add",
        "exit",
        "--venue",
        "museum",
        "--direction",
        "out",
    ]);

    let key = program.add_key("tickets:write,codes:mint");
    assert!(key.starts_with("stile_key_") && !key.contains(char::is_whitespace));
    let listed = program.run(&["key", "list"]);
    assert!(!listed.contains(&key), "a key is shown once");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        listed[0]["scopes"],
        serde_json::json!(["tickets:write", "codes:mint"])
    );
    let id = listed[0]["id"].to_string();
    program.run(&["key", "revoke", &id]);
    let listed: Value = serde_json::from_str(&program.run(&["key", "list"])).unwrap();
    assert!(listed[0]["revoked_at"].is_i64());

    let text = program.run(&[
        "enrol",
        "--gate",
        "north",
        "--server",
        "http://10.0.0.5:8470",
    ]);
    assert!(
        text.starts_with("stile://enrol?server=http%3A%2F%2F10.0.0.5%3A8470&token="),
        "{text}"
    );
}

#[test]
fn commands_work_beside_a_running_server_which_knows_of_it_at_once() {
    let program = Program::new();
    program.add_venue();
    let serving = program.serve();
    let key = program.add_key("admin");
    program.run(&["gate", "add", "north"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let gates: Value = runtime.block_on(async {
        let url = format!("http://{}/v1/gates", serving.address);
        let request = crate::site::client().get(url).bearer_auth(&key);
        crate::site::read(request.send().await.unwrap()).await
    });
    assert_eq!(gates["gates"][0]["gate_id"], "north");
}

#[test]
fn the_document_is_printed_without_any_data() {
    let program = Program::new();
    let printed = program.run(&["openapi"]);
    assert_eq!(printed, stile_sync_server::http::openapi_text().trim_end());
    assert_eq!(fs::read_dir(program.data()).unwrap().count(), 0);
}

#[test]
fn what_is_wrong_on_the_command_line_is_said_and_nothing_is_done() {
    let program = Program::new();
    program.add_venue();
    for (args, said) in [
        (
            &[
                "venue",
                "add",
                "Museum",
                "--name",
                "x",
                "--time-zone",
                "Asia/Shanghai",
            ][..],
            "a-z, 0-9 and -",
        ),
        (
            &[
                "venue",
                "add",
                "other",
                "--name",
                "x",
                "--time-zone",
                "Mars/Olympus",
            ],
            "zone",
        ),
        (
            &[
                "venue",
                "add",
                "museum",
                "--name",
                "x",
                "--time-zone",
                "Asia/Shanghai",
            ],
            "already",
        ),
        (
            &[
                "venue",
                "add",
                "b",
                "--name",
                "x",
                "--time-zone",
                "Asia/Shanghai",
                "--formats",
                "v2",
            ],
            "v1, G2, G3, opaque",
        ),
        (
            &[
                "venue",
                "add",
                "b",
                "--name",
                "x",
                "--time-zone",
                "Asia/Shanghai",
                "--opaque-shape",
                "1",
            ],
            "PREFIX:ALPHABET:FROM-TO",
        ),
        (&["venue", "show", "nowhere"], "no such venue"),
        (
            &["gate", "add", "north", "--venue", "nowhere"],
            "no such venue",
        ),
        (
            &[
                "key", "add", "--venue", "museum", "--scopes", "root", "--name", "x",
            ],
            "tickets:write",
        ),
        (
            &[
                "key", "add", "--venue", "nowhere", "--scopes", "admin", "--name", "x",
            ],
            "no such venue",
        ),
        (&["key", "revoke", "999"], "no such"),
        (
            &["enrol", "--gate", "nowhere", "--server", "http://a"],
            "no such gate",
        ),
        (
            &["enrol", "--gate", "nowhere", "--server", "ftp://a"],
            "server",
        ),
        (&["serve", "--listen", "nonsense"], "nonsense"),
        (&["serve", "--listen", "0.0.0.0:0"], "--insecure-http"),
    ] {
        let refused = program.refused(args);
        assert!(refused.contains(said), "{args:?}: {refused}");
    }
}

#[test]
fn a_port_in_use_is_said_with_what_to_do() {
    let program = Program::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = program.refused(&["serve", "--listen", &address]);
    assert!(
        said.contains(&address) && said.contains("another port"),
        "{said}"
    );
}

#[test]
fn a_second_server_on_a_folder_refuses_to_start_and_the_first_goes_on() {
    let program = Program::new();
    let serving = program.serve();
    let said = program.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(said.contains("another server"), "{said}");
    serving.signal("TERM");
    assert!(serving.ended());
    let again = program.serve();
    again.signal("INT");
    assert!(again.ended());
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let program = Program::new();
    let file = program.data().join("file");
    fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("below"), "/proc/nowhere".into()] {
        let place = place.to_str().unwrap();
        let said = program.refused(&["serve", "--data", place, "--listen", "127.0.0.1:0"]);
        assert!(said.contains(place), "{said}");
    }
}

#[test]
fn a_wrong_master_key_opens_nothing_and_changes_nothing() {
    let program = Program::new();
    program.add_venue();
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let run = |key: &str| {
        let mut command = program.command(&["venue", "show", "museum"]);
        command.env("STILE_MASTER_KEY", key).output().unwrap()
    };
    for key in [other, "nonsense", ""] {
        let output = run(key);
        assert!(!output.status.success(), "{key}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("master key"), "{said}");
        assert!(key.is_empty() || !said.contains(key), "{said}");
    }
    let right = fs::read_to_string(program.data().join("master.key")).unwrap();
    assert!(run(right.trim()).status.success());
    program.run(&["venue", "show", "museum"]);
}

#[test]
fn a_new_master_key_comes_with_a_word_on_its_backup() {
    let program = Program::new();
    let args = [
        "venue",
        "add",
        "museum",
        "--name",
        "x",
        "--time-zone",
        "Asia/Shanghai",
    ];
    let first = program.output(&args);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(
        said.contains("master.key") && said.contains("Back it up"),
        "{said}"
    );
    let second = program.output(&["venue", "show"]);
    assert!(!String::from_utf8_lossy(&second.stderr).contains("Back it up"));
}

#[test]
fn the_log_says_what_was_asked_and_names_nobody() {
    let program = Program::new();
    program.add_venue();
    let key = program.add_key("admin");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for format in ["plain", "json"] {
        let file = program.data().join("log");
        let stderr = fs::File::create(&file).unwrap();
        let serving = program.serve_with(&["--log-format", format], stderr.into());
        runtime.block_on(async {
            let get = |path: &str| {
                let url = format!("http://{}{path}", serving.address);
                let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
                let request = crate::site::client().get(url).header("traceparent", trace);
                request.bearer_auth(&key).send()
            };
            get("/v1/tickets/ZHANG-SAN").await.unwrap();
            get("/v1/records?after=13800005678").await.unwrap();
            get("/nowhere/13800005678").await.unwrap();
        });
        serving.signal("TERM");
        assert!(serving.ended());
        let log = fs::read_to_string(&file).unwrap();
        for said in [
            "/v1/tickets/{ticket_id}",
            "/v1/records",
            "404",
            "invalid_cursor",
            "4bf92f35",
        ] {
            assert!(log.contains(said), "{said} is not in {log}");
        }
        for kept in ["ZHANG", "13800005678", &key, "stile_key_"] {
            assert!(!log.contains(kept), "{kept} is in {log}");
        }
        let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok();
        assert_eq!(log.lines().all(is_json), format == "json", "{log}");
    }
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_as_it_is() {
    let program = Program::new();
    program.add_venue();
    let file = program.data().join("server.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    let columns = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
                   VALUES (999, 'of_the_future', '2030-01-01T00:00:00Z', '0')";
    database.execute(columns, []).unwrap();
    database.close().unwrap();
    let before = fs::read(&file).unwrap();
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["venue", "show"],
    ] {
        let said = program.refused(args);
        assert!(said.contains("newer"), "{said}");
    }
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn a_damaged_database_is_refused_with_the_file_that_is_damaged() {
    let program = Program::new();
    program.add_venue();
    let file = program.data().join("server.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[..4096].fill(7);
    fs::write(&file, &bytes).unwrap();
    let said = program.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(said.contains("server.db"), "{said}");
    assert!(fs::read(&file).unwrap() == bytes);
}
