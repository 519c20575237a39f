//! Whether this machine's clock is set by the network: the server's time is the venue's truth, and
//! gates anchor theirs to it. The kernel knows; whichever program is there is asked for it.

use std::path::Path;
use std::process::{Command, Stdio};

/// What is known of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSync {
    /// It is set by the network.
    Synchronised,
    /// It is not.
    Alone,
    /// Nothing on this machine says.
    Unknown,
}

/// What to do about a clock that nobody sets.
pub const SET_UP_NTP: &str = "set up NTP (systemd-timesyncd or chrony): gates go by this clock, and \
                              decide by it who is on time";

/// What systemd-timesyncd leaves once it has set the clock.
const TIMESYNCD: &str = "/run/systemd/timesync/synchronized";
/// The kernel's word for a clock that nobody sets (`STA_UNSYNC`).
const UNSYNCHRONISED: u32 = 0x40;

impl TimeSync {
    /// Asks this machine.
    pub fn of_this_machine() -> Self {
        Self::asked(&said_by, Path::new(TIMESYNCD).exists())
    }

    fn asked(say: &dyn Fn(&str, &[&str]) -> Option<String>, is_set_by_timesyncd: bool) -> Self {
        let answers = [
            say("timedatectl", &["show", "-p", "NTPSynchronized", "--value"])
                .and_then(|text| timedatectl(&text)),
            say("chronyc", &["-n", "tracking"]).and_then(|text| chrony(&text)),
            is_set_by_timesyncd.then_some(Self::Synchronised),
            say("adjtimex", &["--print"]).and_then(|text| adjtimex(&text)),
        ];
        answers
            .into_iter()
            .flatten()
            .next()
            .unwrap_or(Self::Unknown)
    }

    fn of(is_synchronised: bool) -> Self {
        match is_synchronised {
            true => Self::Synchronised,
            false => Self::Alone,
        }
    }
}

fn timedatectl(text: &str) -> Option<TimeSync> {
    match text.trim() {
        "yes" => Some(TimeSync::Synchronised),
        "no" => Some(TimeSync::Alone),
        _ => None,
    }
}

fn chrony(text: &str) -> Option<TimeSync> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, leap) = lines.find(|(name, _)| name.trim() == "Leap status")?;
    Some(TimeSync::of(leap.trim() != "Not synchronised"))
}

fn adjtimex(text: &str) -> Option<TimeSync> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, status) = lines.find(|(name, _)| name.trim() == "status")?;
    let digits = status.split_whitespace().next()?;
    let status = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u32>().ok()?,
    };
    Some(TimeSync::of(status & UNSYNCHRONISED == 0))
}

/// What a program prints, if it is there and ends well.
fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHRONY: &str = "Reference ID    : C0A80101 (192.168.1.1)\nLeap status     : Normal\n";

    fn machine(has: &[(&'static str, &str)]) -> TimeSync {
        let say = |program: &str, _: &[&str]| {
            let found = has.iter().find(|(name, _)| *name == program);
            found.map(|(_, text)| (*text).to_owned())
        };
        TimeSync::asked(&say, false)
    }

    #[test]
    fn whoever_sets_the_clock_is_believed() {
        assert_eq!(machine(&[("timedatectl", "yes\n")]), TimeSync::Synchronised);
        assert_eq!(machine(&[("timedatectl", "no\n")]), TimeSync::Alone);
        assert_eq!(machine(&[("chronyc", CHRONY)]), TimeSync::Synchronised);
        let alone = CHRONY.replace("Normal", "Not synchronised");
        assert_eq!(machine(&[("chronyc", &alone)]), TimeSync::Alone);
        assert_eq!(
            machine(&[("adjtimex", " status: 8193")]),
            TimeSync::Synchronised
        );
        assert_eq!(
            machine(&[("adjtimex", "    status:       0x40 (UNSYNC)")]),
            TimeSync::Alone
        );
        assert_eq!(TimeSync::asked(&|_, _| None, true), TimeSync::Synchronised);
    }

    #[test]
    fn a_machine_that_says_nothing_of_its_clock_is_not_guessed_about() {
        assert_eq!(machine(&[]), TimeSync::Unknown);
        let nonsense = [("timedatectl", "n/a"), ("chronyc", "506"), ("adjtimex", "")];
        assert_eq!(machine(&nonsense), TimeSync::Unknown);
        assert_eq!(
            machine(&[("timedatectl", ""), ("chronyc", CHRONY)]),
            TimeSync::Synchronised
        );
    }
}
