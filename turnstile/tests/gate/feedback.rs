//! Lamps, buzzer, text and voice of a running gate.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

use stile_turnstile::feedback::{Cue, Feedback, FeedbackError, Feedbacks, Signal};
use stile_turnstile::words::Words;

use crate::common::process::{Running, Scene, eventually};
use crate::common::pty::Pty;

fn run(scene: &Scene, feedback: &str) -> Running {
    fs::write(scene.place.data().join("stile-gate.toml"), feedback).unwrap();
    scene.place.run(&[])
}

#[test]
fn relay_and_lamps_share_a_board_and_the_panel_says_the_verdict_in_its_own_encoding() {
    let scene = Scene::new();
    let (board_path, panel_path) = (scene.place.beside("board"), scene.place.beside("panel"));
    let (board, panel) = (Pty::plug(&board_path), Pty::plug(&panel_path));
    let config = format!(
        "[feedback]\ngreen = \"lcus:{0},channel=3\"\nred = \"lcus:{0},channel=4\"\n\
         [feedback.text]\nport = \"{1}:9600\"\nencoding = \"gb18030\"\n",
        board_path.display(),
        panel_path.display()
    );
    fs::write(scene.place.data().join("stile-gate.toml"), config).unwrap();
    let relay = format!("lcus:{},channel=1", board_path.display());
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "5"];
    let mut gate = Running::start(&scene.place.data(), &arguments);
    gate.scan(&scene.code(0));
    board.has_received(&[0xA0, 0x01, 0x01, 0xA2]);
    board.has_received(&[0xA0, 0x03, 0x01, 0xA4]);
    panel.has_received(&encoding_rs::GB18030.encode("请通行。\r\n").0);
    gate.scan("no ticket at all");
    board.has_received(&[0xA0, 0x04, 0x01, 0xA5]);
    panel.has_received(&encoding_rs::GB18030.encode("这不是门票码。\r\n").0);
    gate.terminate();
    eventually("all that was written has come", || {
        let received = board.received();
        let last = |channel: u8| received.chunks(4).rfind(|command| command[1] == channel);
        last(3) == Some(&[0xA0, 0x03, 0x00, 0xA3]) && last(4) == Some(&[0xA0, 0x04, 0x00, 0xA4])
    });
}

#[test]
fn a_lamp_that_does_not_work_is_told_and_delays_nobody() {
    let scene = Scene::new();
    let lamp = scene.place.beside("no-board");
    let config = format!("[feedback]\ngreen = \"lcus:{}\"\n", lamp.display());
    let mut gate = run(&scene, &config);
    let failed = gate.event("feedback_failed");
    assert!(
        failed["device"]
            .as_str()
            .unwrap()
            .starts_with("green lcus:")
    );
    let admitted = gate.scan(&scene.code(0));
    assert!(admitted["line_to_relay_us"].is_u64(), "{admitted}");
    let _board = Pty::plug(&lamp);
    gate.event("feedback_back");
    gate.terminate();
}

#[test]
fn the_voice_says_a_clip_in_each_language() {
    let scene = Scene::new();
    let (player, said) = (scene.place.beside("player"), scene.place.beside("said"));
    let script = format!("#!/bin/sh\necho \"$1 $2\" >> {}\n", said.display());
    fs::write(&player, script).unwrap();
    fs::set_permissions(&player, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = scene.place.beside("voice");
    for language in ["zh-CN", "en"] {
        fs::create_dir_all(folder.join(language)).unwrap();
        fs::write(folder.join(language).join("admit.wav"), "").unwrap();
    }
    let config = format!(
        "[feedback.voice]\nplayer = [\"{}\", \"-q\"]\nfolder = \"{}\"\n",
        player.display(),
        folder.display()
    );
    let mut gate = run(&scene, &config);
    gate.scan(&scene.code(0));
    let folder = folder.display();
    let expected = format!("-q {folder}/zh-CN/admit.wav\n-q {folder}/en/admit.wav\n");
    eventually("both are said", || {
        fs::read_to_string(&said).unwrap_or_default() == expected
    });
    gate.terminate();
}

/// A device that waits to be let on at each signal, and tells what it is shown.
struct Slow {
    shown: SyncSender<Cue>,
    on: Receiver<()>,
}

impl Feedback for Slow {
    fn name(&self) -> String {
        "slow".into()
    }

    fn begin(&mut self, signal: &Signal) -> Result<Option<Duration>, FeedbackError> {
        let _ = self.shown.send(signal.cue);
        let _ = self.on.recv();
        Ok(None)
    }

    fn go_on(&mut self) -> Result<Option<Duration>, FeedbackError> {
        Ok(None)
    }
}

#[test]
fn a_device_that_hangs_holds_nobody_up_and_shows_what_is_newest_when_it_goes_on() {
    let scene = Scene::new();
    let device = stile_core::device::Identity::load(&scene.place.data()).unwrap();
    let (shown_sender, shown) = sync_channel(16);
    let (on, on_receiver) = channel();
    let slow = Slow {
        shown: shown_sender,
        on: on_receiver,
    };
    let tell: stile_turnstile::event::Tell = std::sync::Arc::new(|_| ());
    let feedback = Feedbacks::of(vec![Box::new(slow)], Words::of(&device), &tell).unwrap();
    let signals = feedback.signals();
    assert_eq!(shown.recv(), Ok(Cue::Rest));
    // It hangs, and none of these waits.
    for cue in [Cue::Refuse, Cue::Refuse, Cue::Admit] {
        signals.cue(cue);
    }
    on.send(()).unwrap();
    assert_eq!(shown.recv(), Ok(Cue::Admit));
    for _ in 0..100 {
        signals.cue(Cue::Refuse);
    }
    on.send(()).unwrap();
    assert_eq!(shown.recv(), Ok(Cue::Refuse));
    drop(on);
    feedback.finish();
    assert_eq!(shown.iter().last(), Some(Cue::Rest), "dark at the end");
}
