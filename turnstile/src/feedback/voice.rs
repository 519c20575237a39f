//! Recorded clips: the folder holds one folder for each language, with one file for each thing
//! that is said. A venue replaces clips by replacing files; one that is not there is not said.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stile_core::reason::Language;

use super::{Cue, Feedback, FeedbackError, Signal, VoiceSettings};

/// How often the player is looked after.
const LOOK_UP: Duration = Duration::from_millis(50);
/// The longest clip: whoever still speaks then is ended.
const LONGEST_CLIP: Duration = Duration::from_secs(15);

/// Plays clips one after the other.
pub struct Voice {
    player: Vec<String>,
    folder: PathBuf,
    languages: Vec<Language>,
    clips: VecDeque<PathBuf>,
    playing: Option<(Child, Instant)>,
}

impl Voice {
    /// Clips of a folder, by a player.
    pub fn new(settings: &VoiceSettings) -> Self {
        Self {
            player: settings.player.clone(),
            folder: settings.folder.clone(),
            languages: settings.languages.clone(),
            clips: VecDeque::new(),
            playing: None,
        }
    }

    fn stop(&mut self) {
        if let Some((mut child, _)) = self.playing.take() {
            // It may have ended by itself.
            let _ = child.kill().and_then(|()| child.wait().map(|_| ()));
        }
    }

    fn error(&self, source: std::io::Error) -> FeedbackError {
        FeedbackError::Io {
            device: self.name(),
            source,
        }
    }

    fn play_next(&mut self) -> Result<Option<Duration>, FeedbackError> {
        let Some(clip) = self.clips.pop_front() else {
            return Ok(None);
        };
        let Some((program, arguments)) = self.player.split_first() else {
            return Ok(None);
        };
        let child = Command::new(program)
            .args(arguments)
            .arg(&clip)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.map_err(|source| self.error(source))?;
        self.playing = Some((child, Instant::now()));
        Ok(Some(LOOK_UP))
    }
}

impl Feedback for Voice {
    fn name(&self) -> String {
        let program = self.player.first().map_or("", String::as_str);
        format!("voice {program}")
    }

    fn begin(&mut self, signal: &Signal) -> Result<Option<Duration>, FeedbackError> {
        self.stop();
        self.clips = clips(&self.folder, &self.languages, signal);
        self.play_next()
    }

    fn go_on(&mut self) -> Result<Option<Duration>, FeedbackError> {
        let Some((child, since)) = &mut self.playing else {
            return self.play_next();
        };
        match child.try_wait() {
            Ok(None) if since.elapsed() < LONGEST_CLIP => Ok(Some(LOOK_UP)),
            Ok(None) => {
                self.stop();
                self.play_next()
            }
            Ok(Some(status)) => {
                self.playing = None;
                match status.success() {
                    true => self.play_next(),
                    false => Err(FeedbackError::Player {
                        player: self.name(),
                        status,
                    }),
                }
            }
            Err(source) => Err(self.error(source)),
        }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The clips of a signal, in the order of languages. Of the names that fit, the first that is
/// there is taken: `repeat`, else `refuse-REASON`, else the cue's.
fn clips(folder: &Path, languages: &[Language], signal: &Signal) -> VecDeque<PathBuf> {
    if signal.cue == Cue::Rest {
        return VecDeque::new();
    }
    let reason = signal
        .reason
        .map(|reason| format!("refuse-{}", reason.name()));
    let repeat = signal.repeat.then(|| "repeat".to_owned());
    let names = [repeat, reason, Some(signal.cue.name().into())];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let clip = |language: &Language| {
        let folder = folder.join(match language {
            Language::ZhCn => "zh-CN",
            Language::En => "en",
        });
        let mut files: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
        files.sort_by_key(fs::DirEntry::file_name);
        let files: Vec<_> = files.iter().map(fs::DirEntry::path).collect();
        let named = |name: &String| {
            let is_it = |file: &&PathBuf| file.file_stem().is_some_and(|stem| *stem == **name);
            files.iter().find(is_it).cloned()
        };
        names.iter().find_map(named)
    };
    languages.iter().filter_map(clip).collect()
}

#[cfg(test)]
mod tests {
    use stile_core::reason::Reason;

    use super::*;

    #[test]
    fn the_clip_that_says_most_is_taken_and_a_missing_one_is_not_said() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "zh-CN/refuse.wav",
            "zh-CN/refuse-too_early.ogg",
            "zh-CN/repeat.wav",
            "en/refuse.wav",
            "en/admit.wav",
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let both = [Language::ZhCn, Language::En];
        let said = |signal: Signal| -> Vec<String> {
            let clips = clips(folder.path(), &both, &signal);
            let name = |clip: &PathBuf| {
                let clip = clip.strip_prefix(folder.path()).unwrap();
                clip.display().to_string()
            };
            clips.iter().map(name).collect()
        };
        let refused = Signal {
            reason: Some(Reason::TooEarly),
            ..Signal::plain(Cue::Refuse)
        };
        assert_eq!(
            said(refused.clone()),
            ["zh-CN/refuse-too_early.ogg", "en/refuse.wav"]
        );
        let repeated = Signal {
            repeat: true,
            ..refused
        };
        assert_eq!(said(repeated), ["zh-CN/repeat.wav", "en/refuse.wav"]);
        assert_eq!(said(Signal::plain(Cue::Admit)), ["en/admit.wav"]);
        assert!(said(Signal::plain(Cue::SeeStaff)).is_empty());
        assert!(said(Signal::plain(Cue::Rest)).is_empty());
    }
}
