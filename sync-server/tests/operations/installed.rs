//! A data folder and the program on it, at work or not.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use reqwest::tls::TlsInfo;
use reqwest::{Certificate, Client, Response};
use tempfile::TempDir;

/// How often what must come is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long it may take: longer than the pause between two looks at the certificate.
const ENOUGH: Duration = Duration::from_secs(60);

/// A server's folder, in one that is the test's alone.
pub struct Installed {
    folder: TempDir,
}

/// A server at work; killed if a test ends before it does.
pub struct Serving {
    child: Child,
    /// `http` or `https`.
    pub scheme: String,
    pub address: SocketAddr,
    log: PathBuf,
}

/// What a command said.
pub struct Said {
    pub succeeded: bool,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let said = Self {
            succeeded: output.status.success(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!said.err.contains("panicked"), "{}", said.err);
        said
    }
}

impl Installed {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The folder around the data.
    pub fn around(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stile-server"));
        command.args(args).arg("--data").arg(self.data());
        for variable in [
            "STILE_DATA",
            "STILE_MASTER_KEY",
            "STILE_LOG",
            "STILE_LISTEN",
            "STILE_LOG_FORMAT",
            "STILE_TLS_CERT",
            "STILE_TLS_KEY",
        ] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null());
        command
    }

    pub fn say(&self, args: &[&str]) -> Said {
        self.command(args).output().unwrap().into()
    }

    /// A command that reads something from standard input.
    pub fn say_with(&self, args: &[&str], input: &str) -> Said {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that has ended does not read, and says why.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// What a command prints on stdout; it must succeed.
    pub fn run(&self, args: &[&str]) -> String {
        let said = self.say(args);
        assert!(said.succeeded, "{args:?}: {}", said.err);
        said.out.trim_end().to_owned()
    }

    /// What a command says on stderr; it must fail and print nothing else.
    pub fn refused(&self, args: &[&str]) -> String {
        let said = self.say(args);
        assert!(!said.succeeded, "{args:?}");
        assert_eq!(said.out, "", "{args:?}");
        said.err
    }

    /// Makes a venue with a gate, and answers an admin key.
    pub fn add_venue(&self) -> String {
        self.run(&[
            "venue",
            "add",
            "museum",
            "--name",
            "M",
            "--time-zone",
            "Asia/Shanghai",
        ]);
        self.run(&["gate", "add", "north"]);
        self.run(&[
            "key", "add", "--venue", "museum", "--scopes", "admin", "--name", "test",
        ])
    }

    /// A certificate for this machine, as tests reach it.
    pub fn tls_new(&self) -> String {
        self.run(&[
            "tls",
            "new",
            "--name",
            "localhost",
            "--address",
            "127.0.0.1",
        ])
    }

    /// The certificate with its key.
    pub fn pair(&self) -> PathBuf {
        self.data().join("tls/server.pem")
    }

    /// The CA with its key.
    pub fn authority(&self) -> PathBuf {
        self.data().join("tls-ca/authority.pem")
    }

    pub fn serve(&self, flags: &[&str]) -> Serving {
        self.serve_at("127.0.0.1:0", flags)
    }

    pub fn serve_at(&self, listen: &str, flags: &[&str]) -> Serving {
        let log = self.folder.path().join("log");
        let args = [&["serve", "--listen", listen], flags].concat();
        let mut child = self
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said = || panic!("it said {line:?}: {}", fs::read_to_string(&log).unwrap());
        let url = line.trim_end().strip_prefix("listening on ");
        let (scheme, address) = url
            .and_then(|url| url.split_once("://"))
            .unwrap_or_else(said);
        Serving {
            scheme: scheme.to_owned(),
            address: address.parse().unwrap(),
            child,
            log,
        }
    }

    /// A client that trusts this server's CA, and nothing else.
    pub fn client(&self) -> Client {
        let ca = fs::read(self.data().join("tls/ca.pem")).unwrap();
        client_that_trusts(&ca)
    }
}

/// A client that trusts one CA, and nothing else.
pub fn client_that_trusts(ca: &[u8]) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .tls_info(true)
        .tls_certs_only([Certificate::from_pem(ca).unwrap()])
        .build()
        .unwrap()
}

/// The certificate that an answer came under.
pub fn certificate(response: &Response) -> Vec<u8> {
    let tls: &TlsInfo = response.extensions().get().unwrap();
    tls.peer_certificate().unwrap().to_vec()
}

impl Serving {
    /// An address of the server by name, or by its number.
    pub fn url(&self, path: &str) -> String {
        format!("{}://localhost:{}{path}", self.scheme, self.address.port())
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the log says something.
    pub async fn says(&self, text: &str) {
        let until = std::time::Instant::now() + ENOUGH;
        while !self.log().contains(text) {
            assert!(std::time::Instant::now() < until, "{}", self.log());
            tokio::time::sleep(LOOK).await;
        }
    }

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

    /// Waits until it ends, and says whether it ended well.
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
