//! The server as a systemd service: what is to be done for it, by this program when it may, else by
//! whoever may.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::CliError;

const UNIT: &str = include_str!("../../../../packaging/systemd/stile-server.service");
const UNIT_PATH: &str = "/etc/systemd/system/stile-server.service";

/// Where the unit in the source has the program and the data.
const PROGRAM: &str = "/usr/local/bin/stile-server";
/// Where a server keeps its data unless it is told.
pub(super) const DATA: &str = "/var/lib/stile-server";

/// The user that the server runs as.
const USER: &str = "stile-server";

/// What became of the unit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Installed {
    /// It was put in place.
    Anew,
    /// It was there.
    Before,
    /// Another one is there, and was left.
    Other(PathBuf),
}

/// The unit for a program, a data folder and what to listen at.
pub(super) fn unit(program: &Path, data: &Path, listen: &str) -> String {
    let is_usual = data == Path::new(DATA);
    let mut unit = String::new();
    for line in UNIT.lines() {
        let line = match line.split_once('=') {
            Some(("EnvironmentFile", _)) => format!("Environment=STILE_LISTEN={listen}\n{line}"),
            Some(("StateDirectory", _)) if !is_usual => {
                format!("ReadWritePaths={}", data.display())
            }
            Some(("StateDirectoryMode", _)) if !is_usual => continue,
            _ => line
                .replace(PROGRAM, &program.display().to_string())
                .replace(DATA, &data.display().to_string()),
        };
        unit.push_str(&line);
        unit.push('\n');
    }
    unit
}

/// What is to be done, in order.
fn commands(data: &Path) -> Vec<Vec<String>> {
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let mut commands = Vec::new();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_known = |line: &str| line.split(':').next() == Some(USER);
    if !users.lines().any(is_known) {
        commands.push(words(&format!(
            "useradd --system --user-group --no-create-home --home-dir {DATA} \
             --shell /usr/sbin/nologin {USER}"
        )));
    }
    let mut own = words(&format!("chown -R {USER}:{USER}"));
    own.push(data.display().to_string());
    commands.push(own);
    commands.push(words("systemctl daemon-reload"));
    commands.push(words("systemctl enable --now stile-server"));
    commands
}

/// Whether this program may and can install the service.
pub(super) fn can_install() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/run/systemd/system").is_dir()
}

/// Installs and starts it. A unit that somebody has changed is left as it is.
pub(super) fn install(program: &Path, data: &Path, listen: &str) -> Result<Installed, CliError> {
    let installed = put(Path::new(UNIT_PATH), &unit(program, data, listen))?;
    for command in commands(data) {
        run(&command)?;
    }
    Ok(installed)
}

/// Leaves the unit in the data folder and gives the commands that install it.
pub(super) fn prepare(program: &Path, data: &Path, listen: &str) -> Result<Vec<String>, CliError> {
    let file = data.join("stile-server.service");
    let text = unit(program, data, listen);
    fs::write(&file, text).map_err(|source| failed(&file, &source))?;
    let mut lines = vec![format!("sudo cp {} {UNIT_PATH}", file.display())];
    let commands = commands(data);
    lines.extend(
        commands
            .iter()
            .map(|words| format!("sudo {}", words.join(" "))),
    );
    Ok(lines)
}

fn put(path: &Path, text: &str) -> Result<Installed, CliError> {
    match fs::read_to_string(path) {
        Ok(there) if there == text => return Ok(Installed::Before),
        Ok(_) => return Ok(Installed::Other(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(path, &error)),
    }
    fs::write(path, text).map_err(|error| failed(path, &error))?;
    Ok(Installed::Anew)
}

fn failed(path: &Path, error: &io::Error) -> CliError {
    CliError::Failed(format!("{}: {error}", path.display()))
}

fn run(words: &[String]) -> Result<(), CliError> {
    let line = words.join(" ");
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let again = "see to it and run `stile-server setup` again, which goes on from here";
    match Command::new(program).args(arguments).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CliError::Failed(format!("{line}: {status}; {again}"))),
        Err(error) => Err(CliError::Failed(format!("{line}: {error}; {again}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTEN: &str = "0.0.0.0:8470";

    #[test]
    fn the_unit_has_the_paths_of_this_machine_and_the_address() {
        let unit = unit(
            Path::new("/opt/stile/stile-server"),
            Path::new(DATA),
            LISTEN,
        );
        let start = "ExecStart=/opt/stile/stile-server --data /var/lib/stile-server serve\n";
        assert!(unit.contains(start), "{unit}");
        assert!(unit.contains("\nStateDirectory=stile-server\n"));
        // What server.env says holds before it.
        let address = unit
            .find("Environment=STILE_LISTEN=0.0.0.0:8470\n")
            .unwrap();
        assert!(address < unit.find("EnvironmentFile=").unwrap());
    }

    #[test]
    fn a_folder_elsewhere_may_be_written_and_nothing_else() {
        let unit = unit(Path::new(PROGRAM), Path::new("/srv/stile"), LISTEN);
        assert!(unit.contains("ExecStart=/usr/local/bin/stile-server --data /srv/stile serve\n"));
        assert!(unit.contains("\nReadWritePaths=/srv/stile\n"));
        assert!(!unit.contains("StateDirectory"));
        assert!(unit.contains("\nProtectSystem=strict\n"));
    }

    #[test]
    fn a_unit_that_somebody_changed_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unit");
        assert_eq!(put(&path, "ours").unwrap(), Installed::Anew);
        assert_eq!(put(&path, "ours").unwrap(), Installed::Before);
        fs::write(&path, "theirs").unwrap();
        assert_eq!(put(&path, "ours").unwrap(), Installed::Other(path.clone()));
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }
}
