//! The line that a display is sent: what stands in it, and in which order. Pure.

use stile_core::clock::Trust;
use stile_core::device::{LiveStatus, ScanOutcome};
use stile_core::reason::Language;
use stile_core::verdict::Verdict;

use crate::words::{Sentence, Words};

/// Longest line, with its line end, in bytes: a small controller's buffer. Words are cut off.
pub const MAX_LINE_BYTES: usize = 240;

/// First word of each line; the number rises when fields change their places.
const MARK: &str = "STILE1";
/// Stands for what is not known, so that no field is empty.
const NONE: &str = "-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Idle,
    Admit,
    Refuse,
    Stopped,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Admit => "admit",
            Self::Refuse => "refuse",
            Self::Stopped => "stopped",
        }
    }
}

/// What the display shows.
#[derive(Debug)]
pub struct Board {
    words: Words,
    language: Option<Language>,
    state: State,
    reason: &'static str,
    sentence: Sentence,
    live: Option<LiveStatus>,
    waiting: Option<u64>,
}

impl Board {
    /// One of a gate that has just begun.
    pub fn new(words: Words, language: Option<Language>) -> Self {
        Self {
            words,
            language,
            state: State::Starting,
            reason: NONE,
            sentence: Sentence::new("正在启动", "Starting"),
            live: None,
            waiting: None,
        }
    }

    /// Something was read.
    pub fn outcome(&mut self, outcome: &ScanOutcome) {
        (self.state, self.reason) = match &outcome.verdict {
            Verdict::Admit(_) => (State::Admit, NONE),
            Verdict::Refuse(refusal) => (State::Refuse, refusal.reason.name()),
        };
        self.sentence = self.words.sentence(outcome);
    }

    /// How the device is now. The records that wait are those of before, if they were not counted.
    pub fn status(&mut self, live: &LiveStatus, waiting: Option<u64>) {
        self.live = Some(live.clone());
        self.waiting = waiting.or(self.waiting);
        if self.state == State::Starting {
            self.idle();
        }
    }

    /// The verdict has been shown long enough. Its reason stays until the next one.
    pub fn idle(&mut self) {
        self.state = State::Idle;
        self.sentence = Sentence::new("请扫码", "Please scan");
    }

    /// The gate is shut and takes no more codes.
    pub fn stopped(&mut self) {
        self.state = State::Stopped;
        self.sentence = Sentence::new("闸机已停用", "Out of service");
    }

    /// Nobody needs to scan where the gate stands open for everybody.
    fn sentence(&self) -> Sentence {
        let live = self.live.as_ref();
        match self.state == State::Idle && live.is_some_and(|live| live.free_passage.is_some()) {
            true => Sentence::new("自由通行，请直接进", "Open for everybody; please pass"),
            false => self.sentence.clone(),
        }
    }

    /// The line, with its line end.
    pub fn line(&self) -> String {
        let live = self.live.as_ref();
        let age = live.and_then(|live| {
            let newest = live.lists.iter().map(|list| list.issued_at.0).max()?;
            Some((live.clock.now.0.saturating_sub(newest) / 1000).max(0))
        });
        // In minutes, so that the line changes no more often than a person would look.
        let age = age.map(|seconds| (seconds / 60).to_string());
        let fields = [
            MARK,
            self.state.name(),
            self.reason,
            age.as_deref().unwrap_or(NONE),
            &self.waiting.map_or(NONE.into(), |count| count.to_string()),
            &live.map_or(NONE.into(), |live| self.words.minute(live.clock.now)),
            live.map_or(NONE, |live| trust(live.clock.trust)),
            live.map_or(NONE, |live| live.network().as_str()),
            &one_line(&self.sentence().text(self.language)),
        ];
        let mut line = fields.join("\t");
        let end = line.floor_char_boundary(MAX_LINE_BYTES - 1);
        line.truncate(end);
        line.push('\n');
        line
    }
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Anchored => "anchored",
        Trust::Disputed => "disputed",
        Trust::Unanchored => "unanchored",
        Trust::Untrusted => "untrusted",
    }
}

/// A sentence may quote a note of the venue, which may hold anything.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use stile_core::time::EpochMillis;

    use super::*;

    const NOON_IN_SHANGHAI: EpochMillis = EpochMillis(1_790_827_200_000);

    fn words() -> Words {
        Words::new("Asia/Shanghai", Vec::new())
    }

    fn live(online: bool, age_ms: i64) -> LiveStatus {
        serde_json::from_value(serde_json::json!({
            "online": online,
            "practice": false,
            "signed_in": null,
            "clock": {"now": NOON_IN_SHANGHAI, "u_ms": 5, "trust": "anchored"},
            "lists": [{
                "service_day": "2026-10-01",
                "version": 3,
                "tickets": 10,
                "issued_at": NOON_IN_SHANGHAI.plus(-age_ms),
                "not_after": 0,
            }],
            "repeats": 0,
            "unlogged": 0,
        }))
        .unwrap()
    }

    fn fields(board: &Board) -> Vec<String> {
        let line = board.line();
        let line = line.strip_suffix('\n').unwrap();
        line.split('\t').map(str::to_owned).collect()
    }

    #[test]
    fn what_is_not_known_yet_is_a_dash_and_no_field_is_empty() {
        let board = Board::new(words(), Some(Language::En));
        let expected = [
            "STILE1", "starting", "-", "-", "-", "-", "-", "-", "Starting",
        ];
        assert_eq!(fields(&board), expected);
    }

    #[test]
    fn an_idle_gate_shows_its_data_its_clock_and_its_network() {
        let mut board = Board::new(words(), Some(Language::ZhCn));
        board.status(&live(true, 125_000), Some(7));
        let expected = [
            "STILE1",
            "idle",
            "-",
            "2",
            "7",
            "12:00",
            "anchored",
            "online",
            "请扫码",
        ];
        assert_eq!(fields(&board), expected);
        board.status(&live(false, 0), None);
        assert_eq!(fields(&board)[3..5], ["0", "7"], "the count is kept");
        assert_eq!(fields(&board)[7], "offline");
    }

    #[test]
    fn an_idle_gate_that_stands_open_asks_nobody_to_scan() {
        let mut board = Board::new(words(), Some(Language::En));
        let mut open = live(true, 0);
        open.free_passage = Some(stile_core::device::FreePassageStatus {
            cause: stile_core::record::FreePassageCause::Emergency,
            since: EpochMillis(0),
            passages: None,
        });
        board.status(&open, None);
        assert_eq!(fields(&board)[8], "Open for everybody; please pass");
        board.status(&live(true, 0), None);
        assert_eq!(fields(&board)[8], "Please scan");
    }

    #[test]
    fn words_are_cut_between_characters_and_the_line_stays_short() {
        let mut board = Board::new(words(), None);
        board.sentence = Sentence::new("票".repeat(100), "x\ty\n".repeat(50));
        let line = board.line();
        assert!(line.len() <= MAX_LINE_BYTES, "{}", line.len());
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(line.matches('\t').count(), 8);
    }
}
