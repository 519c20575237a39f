//! What a running gate tells beside its verdicts: to the person on call as a line of the log, to
//! programs as `{"event": …}`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use stile_core::clock::Trust;
use stile_core::ids::GateId;
use stile_core::time::{EpochMillis, ServiceDay};

use crate::heartbeats::Loop;

/// Takes events; cheap, and never waits.
pub type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The way of things.
    Normal,
    /// Somebody should look at it today.
    Warning,
    /// Somebody should come.
    Alarm,
}

/// Something that happened. Holds no code, no name, no number of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The gate takes codes.
    Ready {
        /// The gate that it serves.
        gate_id: GateId,
        /// The scanners, with the TCP address that was bound.
        scanners: Vec<String>,
        /// The relay.
        relay: String,
    },
    /// A damaged journal was kept aside, and what could be read of it saved.
    JournalSalvaged {
        /// The damaged file.
        kept_aside: PathBuf,
        /// Records saved.
        records: u64,
    },
    /// A day's list is in use.
    ListApplied {
        /// The day.
        service_day: ServiceDay,
        /// Its tickets, tombstones included.
        tickets: u64,
        /// Since when its sessions, gates, policy or operators hold, if they are others than before.
        #[serde(skip_serializing_if = "Option::is_none")]
        settings_since: Option<EpochMillis>,
    },
    /// A list, or the word on lists, was not taken; those in use stay.
    ListRefused {
        /// Why.
        why: String,
    },
    /// The server answers.
    Online,
    /// It does not: not at the start, or not for a minute.
    Offline {
        /// What is known of the cause.
        why: String,
    },
    /// The server does not know this device, or will not serve it.
    Unauthorised {
        /// What it says.
        what: String,
    },
    /// The venue revoked this device.
    Revoked {
        /// When, by the server's clock.
        at: EpochMillis,
    },
    /// The server was put back from a backup that is older than this device's enrolment, and knows
    /// it by its certificate alone.
    Forgotten,
    /// Records do not go up.
    UploadTrouble {
        /// What is known of the cause.
        what: String,
    },
    /// Records go up again.
    UploadResumed,
    /// The server lacks records that it had confirmed, such as after a restored backup; they are
    /// sent again.
    ServerWentBack {
        /// How many.
        again: u64,
    },
    /// The feed brings entries and exits of this gate that its journal does not have: it was put
    /// back from an image, or damaged, or a copy of it is at work. They count from now on.
    JournalWentBack {
        /// How many.
        lacking: usize,
    },
    /// The folder was last used on another machine.
    FolderCopied,
    /// Lists in the folder could not be read or verified.
    ListsDropped {
        /// How many.
        lists: usize,
    },
    /// There was no journal beside lists.
    JournalGone,
    /// The wall clock is off.
    ClockWarning {
        /// By how much, in ms; positive when it is ahead.
        off_ms: i64,
    },
    /// The wall clock is right again.
    ClockRight,
    /// How far the device's own clock can be trusted, at the start and when it changes.
    ClockTrust {
        /// How far.
        trust: Trust,
    },
    /// The journal cannot be read or written beside scans.
    StorageTrouble {
        /// What is wrong.
        what: String,
    },
    /// The relay did not do what it was told.
    RelayFailed {
        /// What is wrong.
        what: String,
    },
    /// A loop stands still; the program is ended so that it is started again.
    LoopHung {
        /// Which.
        which: Loop,
        /// For how long, in seconds.
        still_s: u64,
    },
    /// A scanner sent a line that is longer than any code; it was dropped.
    CodeOverlong {
        /// Which scanner.
        scanner: String,
    },
    /// One more scanner connected to a port than may at a time, and was turned away.
    ScannersTooMany {
        /// The port.
        scanner: String,
        /// How many may.
        most: usize,
    },
    /// The relay was found away, unplugged or without power.
    RelayLost {
        /// What is wrong.
        what: String,
    },
    /// The relay is there again, and closed.
    RelayBack,
    /// Openings that were promised do not follow: their admission was taken back, or the gate
    /// stops.
    OpeningsCancelled {
        /// How many.
        openings: u32,
    },
    /// The gate stands open: an emergency, or free passage.
    HeldOpen,
    /// The emergency input is on.
    EmergencyOn,
    /// The emergency input is off again.
    EmergencyOff,
    /// A scanner sent noise, or half a code; it was dropped.
    CodeBroken {
        /// Which scanner.
        scanner: String,
    },
    /// A scanner was unplugged, or is not there yet.
    ScannerLost {
        /// Which scanner.
        scanner: String,
        /// What is known of the cause.
        why: String,
    },
    /// A scanner is there again.
    ScannerBack {
        /// Which scanner.
        scanner: String,
    },
    /// An input does not answer.
    InputLost {
        /// Which input.
        input: String,
        /// What is known of the cause.
        why: String,
    },
    /// An input answers again.
    InputBack {
        /// Which input.
        input: String,
    },
    /// A lamp, buzzer, panel or voice does not work.
    FeedbackFailed {
        /// Which device.
        device: String,
        /// What is wrong.
        what: String,
    },
    /// It works again.
    FeedbackBack {
        /// Which device.
        device: String,
    },
    /// Somebody passed the gate.
    Passed,
    /// The gate was opened for somebody who did not pass.
    NotPassed {
        /// Whether the admission is free again.
        frees: bool,
    },
    /// A scanner has ended.
    ScannerEnded {
        /// Which scanner.
        scanner: String,
    },
    /// Output was dropped because nobody took it.
    OutputDropped {
        /// Lines dropped.
        lines: u64,
    },
    /// What held the gate open has ended, and it is shut again.
    LetGo,
    /// The gate takes no more codes.
    Stopped {
        /// Whether it is known to be shut: closing may have failed, or an emergency holds it open.
        shut: bool,
    },
}

impl Event {
    /// How much it matters.
    pub fn weight(&self) -> Weight {
        match self {
            Self::Ready { .. }
            | Self::ListApplied { .. }
            | Self::Online
            | Self::UploadResumed
            | Self::ClockRight
            | Self::ClockTrust {
                trust: Trust::Anchored,
            }
            | Self::RelayBack
            | Self::EmergencyOff
            | Self::ScannerBack { .. }
            | Self::InputBack { .. }
            | Self::FeedbackBack { .. }
            | Self::Passed
            | Self::NotPassed { .. }
            | Self::ScannerEnded { .. }
            | Self::LetGo
            | Self::Stopped { shut: true } => Weight::Normal,
            Self::ListRefused { .. }
            | Self::Offline { .. }
            | Self::UploadTrouble { .. }
            | Self::ServerWentBack { .. }
            | Self::JournalWentBack { .. }
            | Self::FolderCopied
            | Self::ListsDropped { .. }
            | Self::ClockWarning { .. }
            | Self::ClockTrust { .. }
            | Self::CodeOverlong { .. }
            | Self::CodeBroken { .. }
            | Self::ScannersTooMany { .. }
            | Self::OpeningsCancelled { .. }
            | Self::HeldOpen
            | Self::FeedbackFailed { .. }
            | Self::OutputDropped { .. } => Weight::Warning,
            Self::JournalSalvaged { .. }
            | Self::JournalGone
            | Self::Unauthorised { .. }
            | Self::Revoked { .. }
            | Self::Forgotten
            | Self::StorageTrouble { .. }
            | Self::RelayFailed { .. }
            | Self::LoopHung { .. }
            | Self::Stopped { shut: false }
            | Self::RelayLost { .. }
            | Self::EmergencyOn
            | Self::ScannerLost { .. }
            | Self::InputLost { .. } => Weight::Alarm,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready {
                gate_id,
                scanners,
                relay,
            } => write!(
                f,
                "ready: gate {gate_id}, scanner {}, relay {relay}",
                scanners.join(", ")
            ),
            Self::JournalSalvaged {
                kept_aside,
                records,
            } => write!(
                f,
                "the journal was damaged: {records} records saved, the file is kept as {}",
                kept_aside.display()
            ),
            Self::ListApplied {
                service_day,
                tickets,
                settings_since,
            } => {
                write!(f, "list of {service_day} in use: {tickets} tickets")?;
                match settings_since {
                    Some(_) => f.write_str(", with new settings"),
                    None => Ok(()),
                }
            }
            Self::ListRefused { why } => write!(f, "{why}; the lists in use stay"),
            Self::Online => f.write_str("online: the server answers"),
            Self::Offline { why } => {
                write!(f, "offline: {why}; admission goes on, check-ins wait")
            }
            Self::Unauthorised { what } => write!(
                f,
                "the server will not serve this device ({what}); nothing is deleted, \
                 check-ins wait"
            ),
            Self::Revoked { .. } => f.write_str(
                "this device is revoked: keys and lists are removed, and it admits nobody; check-ins \
                 that wait still go up. Enrol it anew with an empty folder",
            ),
            Self::Forgotten => f.write_str(
                "the server was put back from a backup that does not know this device: nothing is \
                 deleted, admission goes on, check-ins go up and wait there. The administrator must \
                 run: stile-server device readmit",
            ),
            Self::UploadTrouble { what } => write!(f, "check-ins do not go up: {what}"),
            Self::UploadResumed => f.write_str("check-ins go up again"),
            Self::ServerWentBack { again } => write!(
                f,
                "the server lacks {again} records that it had confirmed, such as after a restored \
                 backup; they are sent again"
            ),
            Self::JournalWentBack { lacking } => write!(
                f,
                "{lacking} entries and exits of this gate came back from the server, which its \
                 journal does not have: it was put back from an image, lost a part of its journal, \
                 or another machine works with a copy of its folder"
            ),
            Self::ListsDropped { lists } => write!(
                f,
                "{lists} damaged lists were removed and are fetched again; without the network their \
                 tickets are not known"
            ),
            Self::JournalGone => f.write_str(
                "the journal is gone, and a new one begins: whom this gate admitted before is not \
                 known until the server tells",
            ),
            Self::FolderCopied => f.write_str(
                "this folder was last used on another machine; a new log starts. One of the two \
                 must stop: enrol a gate of its own for each machine",
            ),
            Self::ClockWarning { off_ms } => {
                let (way, off) = match *off_ms {
                    0.. => ("ahead", *off_ms),
                    _ => ("behind", off_ms.saturating_neg()),
                };
                write!(f, "this machine's clock is {} s {way}", off / 1000)
            }
            Self::ClockRight => f.write_str("this machine's clock is right again"),
            Self::ClockTrust { trust } => f.write_str(match trust {
                Trust::Anchored => "the time is the server's",
                Trust::Disputed => {
                    "the server's time is far off what is known; the gate goes on with its own \
                     until a signed list agrees"
                }
                Trust::Unanchored => {
                    "no word of the server on the time since this machine started; its own clock \
                     serves"
                }
                Trust::Untrusted => {
                    "the time is not known: no word of the server, and a clock that cannot be \
                     right; set it, or connect the network"
                }
            }),
            Self::StorageTrouble { what } => f.write_str(what),
            Self::RelayFailed { what } => f.write_str(what),
            Self::LoopHung { which, still_s } => write!(
                f,
                "{which} has stood still for {still_s} s; this program ends, to be started again"
            ),
            Self::CodeOverlong { scanner } => {
                write!(f, "{scanner}: a line longer than any code was dropped")
            }
            Self::ScannersTooMany { scanner, most } => write!(
                f,
                "{scanner}: {most} scanners are connected, and another was turned away; see who is"
            ),
            Self::RelayLost { what } => {
                write!(f, "{what}; the gate opens for nobody until it is back")
            }
            Self::RelayBack => f.write_str("the relay is there again, and closed"),
            Self::OpeningsCancelled { openings } => {
                write!(
                    f,
                    "{openings} openings that were still to come are cancelled"
                )
            }
            Self::HeldOpen => f.write_str("the gate stands open"),
            Self::EmergencyOn => f.write_str("emergency: the gate is held open"),
            Self::EmergencyOff => f.write_str("the emergency is over: the gate closes"),
            Self::CodeBroken { scanner } => {
                write!(f, "{scanner}: noise or half a code was dropped")
            }
            Self::ScannerLost { scanner, why } => {
                write!(f, "{scanner}: {why}; it is looked for until it is back")
            }
            Self::ScannerBack { scanner } => write!(f, "{scanner}: there again"),
            Self::InputLost { input, why } => {
                write!(f, "{input}: {why}; it is tried until it answers")
            }
            Self::InputBack { input } => write!(f, "{input}: answers again"),
            Self::FeedbackFailed { device, what } => write!(f, "{device}: {what}"),
            Self::FeedbackBack { device } => write!(f, "{device}: works again"),
            Self::Passed => f.write_str("somebody passed"),
            Self::NotPassed { frees: true } => {
                f.write_str("the gate closed and nobody passed; the ticket may be shown once more")
            }
            Self::NotPassed { frees: false } => f.write_str("the gate closed and nobody passed"),
            Self::ScannerEnded { scanner } => write!(f, "{scanner}: ended"),
            Self::OutputDropped { lines } => {
                write!(f, "{lines} lines of output were dropped: nobody takes them")
            }
            Self::LetGo => f.write_str("the gate is shut again"),
            Self::Stopped { shut: true } => f.write_str("stopped; the gate is shut"),
            Self::Stopped { shut: false } => {
                f.write_str("stopped; the gate is not known to be shut: look at it")
            }
        }
    }
}
