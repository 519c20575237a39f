//! The gate as a systemd service: what is to be done for it, by this program when it may, else by
//! whoever may.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::commands::CommandError;

const UNIT: &str = include_str!("../../../../packaging/systemd/stile-gate.service");
const MODULES: &str = include_str!("../../../../packaging/systemd/stile-gate.modules-load.conf");

const UNIT_PATH: &str = "/etc/systemd/system/stile-gate.service";
const MODULES_PATH: &str = "/etc/modules-load.d/stile-gate.conf";

/// Where the unit in the source has the program and the data.
const PROGRAM: &str = "/usr/local/bin/stile-gate";
const DATA: &str = "/var/lib/stile-gate";

/// The user that the gate runs as.
const USER: &str = "stile-gate";
/// Groups that own serial ports, keyboards and GPIO lines, where a system has them.
const DEVICE_GROUPS: [&str; 3] = ["dialout", "input", "gpio"];

/// The unit for a program and a data folder.
pub(super) fn unit(program: &Path, data: &Path) -> String {
    let own_folder = match data == Path::new(DATA) {
        true => return UNIT.replace(PROGRAM, &program.display().to_string()),
        false => format!("ReadWritePaths={}", data.display()),
    };
    let lines = UNIT
        .lines()
        .filter(|line| !line.starts_with("StateDirectoryMode="));
    let lines = lines.map(|line| match line.starts_with("StateDirectory=") {
        true => own_folder.clone(),
        false => line
            .replace(PROGRAM, &program.display().to_string())
            .replace(DATA, &data.display().to_string()),
    });
    lines.map(|line| line + "\n").collect()
}

/// What is to be done, in order.
pub(super) fn commands(data: &Path) -> Vec<Vec<String>> {
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let mut commands = Vec::new();
    if !is_listed("/etc/passwd", USER) {
        commands.push(words(&format!(
            "useradd --system --user-group --no-create-home --home-dir {DATA} \
             --shell /usr/sbin/nologin {USER}"
        )));
    }
    for group in DEVICE_GROUPS {
        if is_listed("/etc/group", group) {
            commands.push(words(&format!("usermod --append --groups {group} {USER}")));
        }
    }
    let mut own = words(&format!("chown -R {USER}:{USER}"));
    own.push(data.display().to_string());
    commands.push(own);
    commands.push(words("systemctl daemon-reload"));
    commands.push(words("systemctl enable stile-gate"));
    commands.push(words("systemctl restart stile-gate"));
    commands
}

/// Whether this program may and can install the service.
pub(super) fn can_install() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/run/systemd/system").is_dir()
}

/// Installs and starts it.
pub(super) fn install(program: &Path, data: &Path) -> Result<(), CommandError> {
    put(UNIT_PATH, &unit(program, data))?;
    put(MODULES_PATH, MODULES)?;
    for command in commands(data) {
        run(&command)?;
    }
    Ok(())
}

/// Leaves the unit in the data folder and gives the commands that install it.
pub(super) fn prepare(program: &Path, data: &Path) -> Result<Vec<String>, CommandError> {
    let file = data.join("stile-gate.service");
    put(&file.display().to_string(), &unit(program, data))?;
    let mut lines = vec![
        format!("sudo cp {} {UNIT_PATH}", file.display()),
        format!("printf 'usbserial\\ncdc_acm\\n' | sudo tee {MODULES_PATH}"),
    ];
    let commands = commands(data);
    lines.extend(
        commands
            .iter()
            .map(|words| format!("sudo {}", words.join(" "))),
    );
    Ok(lines)
}

fn put(path: &str, text: &str) -> Result<(), CommandError> {
    let storage = |error: io::Error| CommandError::Storage(format!("{path}: {error}"));
    if let Some(folder) = Path::new(path).parent() {
        fs::create_dir_all(folder).map_err(storage)?;
    }
    fs::write(path, text).map_err(storage)
}

fn run(words: &[String]) -> Result<(), CommandError> {
    let line = words.join(" ");
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    match Command::new(program).args(arguments).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::Failed(format!("{line}: {status}"))),
        Err(error) => Err(CommandError::Failed(format!("{line}: {error}"))),
    }
}

/// Whether a file such as /etc/passwd has a line of that name.
fn is_listed(file: &str, name: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .any(|line| line.split(':').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_has_the_paths_of_this_machine() {
        let unit = unit(Path::new("/opt/stile/stile-gate"), Path::new(DATA));
        assert!(unit.contains("ExecStart=/opt/stile/stile-gate --data /var/lib/stile-gate run\n"));
        assert!(unit.contains("\nStateDirectory=stile-gate\n"));
    }

    #[test]
    fn a_folder_elsewhere_may_be_written_and_nothing_else() {
        let unit = unit(Path::new(PROGRAM), Path::new("/srv/gate"));
        assert!(unit.contains("ExecStart=/usr/local/bin/stile-gate --data /srv/gate run\n"));
        assert!(unit.contains("\nReadWritePaths=/srv/gate\n"));
        assert!(!unit.contains("StateDirectory"));
        assert!(unit.contains("\nProtectSystem=strict\n"));
    }

    #[test]
    fn the_modules_that_the_unit_speaks_of_are_those_that_people_are_told_of() {
        let names: Vec<_> = MODULES
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert_eq!(names, ["usbserial", "cdc_acm"]);
    }
}
