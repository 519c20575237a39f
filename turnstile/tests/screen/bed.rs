//! A gate as its screen sees it: the venue's words, a state, verdicts, and a screen to press keys
//! on.

use stile_core::admissions::LastEntry;
use stile_core::device::{Candidate, Network, TicketShown};
use stile_core::ids::{LastFour, RecordId, TicketNumber};
use stile_core::reason::{Language, Reason};
use stile_core::ticket::{Direction, Standing, TicketStatus};
use stile_core::time::{EpochMillis, EpochSeconds};
use stile_core::verdict::{Detail, Refusal};
use stile_turnstile::tui::acts::{
    Act, Answer, ClockWord, Counts, Event, GateState, Key, Row, SessionLine, Shown, Sort, Trouble,
    TroubleSort,
};
use stile_turnstile::tui::screen::Screen;
use stile_turnstile::words::{Sentence, Words};

use crate::venue::{NINE, TestPlatform, Venue, id};

pub const NOW: EpochMillis = EpochMillis(NINE * 1000 + 12_000);

pub fn words() -> Words {
    let mut venue = Venue::new();
    venue.gates[0].name = "东门 East".into();
    let platform = TestPlatform::at(NINE);
    let candidate = Candidate::new(venue.enrolment_text(), &platform);
    let answer = venue.enrol(&candidate.request("pda", "test"));
    Words::of(&candidate.accept(answer).unwrap())
}

pub fn state() -> GateState {
    GateState {
        gate: "东门 East".into(),
        direction: Direction::In,
        sessions: vec![SessionLine {
            name: "上午场 Morning".into(),
            admit_from: EpochSeconds(NINE - 1800),
            admit_until: EpochSeconds(NINE + 3600),
            admits_now: true,
        }],
        list_issued_at: Some(EpochMillis(NINE * 1000 - 180_000)),
        list_tickets: 12_480,
        now: NOW,
        clock: ClockWord::Right,
        wall_off_ms: None,
        revoked: false,
        keys_overdue: false,
        network: Network::Online,
        operator: Some("林 Lin".into()),
        practice: false,
        free_passage: false,
        unsent: 3,
        quarantined: 0,
        stuck: 0,
        conflicts: 0,
        categories: ["child", "guest", "staff"].map(str::to_owned).to_vec(),
    }
}

pub fn record(n: u8) -> RecordId {
    RecordId::at(NOW, [n; 10])
}

pub fn ticket_shown() -> TicketShown {
    TicketShown {
        number: TicketNumber::new(1).unwrap(),
        label: "A-12-5".into(),
        holder_mask: "*小明".into(),
        last_four: LastFour::from_digits("0678"),
        admits: 1,
        attention: String::new(),
        session: "上午场 Morning".into(),
    }
}

pub fn admitted() -> Shown {
    Shown {
        record_id: Some(record(1)),
        sort: Sort::Admit,
        reason: None,
        sentence: both("请通行。", "Please pass."),
        at: NOW,
        persons: 1,
        remaining: 0,
        ticket: Some(ticket_shown()),
        walk_in: false,
        taken_back: false,
    }
}

/// Two children without a ticket.
pub fn walked_in() -> Shown {
    Shown {
        sentence: both(
            "请通行：儿童 2人，无票。",
            "Please pass: 2 without a ticket (child).",
        ),
        persons: 2,
        ticket: None,
        walk_in: true,
        ..admitted()
    }
}

/// One of a party of four has passed.
pub fn party() -> Shown {
    Shown {
        remaining: 3,
        sentence: both("请通行，还可入3人。", "Please pass; 3 more may enter."),
        ticket: Some(TicketShown {
            admits: 4,
            attention: "学生票，查学生证 student ticket".into(),
            ..ticket_shown()
        }),
        ..admitted()
    }
}

pub fn refused(reason: Reason, detail: Option<Detail>) -> Shown {
    let refusal = Refusal { reason, detail };
    Shown {
        record_id: Some(record(2)),
        sort: match reason {
            Reason::AlreadyUsed => Sort::Used,
            _ => Sort::Refuse,
        },
        reason: Some(reason),
        sentence: words().refused(&refusal, NOW),
        persons: 0,
        ticket: Some(ticket_shown()),
        ..admitted()
    }
}

pub fn used() -> Shown {
    let last = LastEntry {
        at: EpochMillis(NINE * 1000 - 900_000),
        gate_id: id("arm-1"),
    };
    let detail = Detail::Used {
        last: Some(last),
        remaining: 1,
        asked: 2,
    };
    Shown {
        record_id: Some(record(3)),
        remaining: 1,
        ticket: Some(TicketShown {
            admits: 4,
            ..ticket_shown()
        }),
        ..refused(Reason::AlreadyUsed, Some(detail))
    }
}

pub fn too_early() -> Shown {
    let at = Detail::Time(EpochSeconds(NINE + 4 * 3600));
    refused(Reason::TooEarly, Some(at))
}

pub fn repeat() -> Shown {
    Shown {
        sort: Sort::Repeat,
        sentence: both("刚才已放行。", "Let through just now."),
        ..admitted()
    }
}

pub fn rows() -> Vec<Row> {
    let row =
        |ticket: &str, name: &str, digits: &str, seat: &str, admits: u8, remaining: u32| Row {
            ticket: id(ticket),
            order: id("O-20261001-77"),
            shown: TicketShown {
                label: seat.into(),
                holder_mask: name.into(),
                last_four: LastFour::from_digits(digits),
                admits,
                session: "上午场".into(),
                ..ticket_shown()
            },
            service_day: id("2026-10-01"),
            status: TicketStatus::Valid,
            standing: Standing::Live,
            remaining,
        };
    let refunded = Row {
        status: TicketStatus::Cancelled,
        ..row("T4", "*建国", "0678", "A-12-8", 1, 0)
    };
    vec![
        row("T1", "*小明", "0678", "A-12-5", 1, 1),
        row("T2", "*国强", "4410", "A-12-6", 4, 3),
        row("T3", "M*** T***", "9001", "A-12-7", 2, 0),
        refunded,
    ]
}

/// The answer to an order that has so many more tickets.
pub fn order_rows(more: usize) -> Answer {
    Answer::Order {
        order: id("O-20261001-77"),
        rows: rows(),
        more,
    }
}

pub fn counts() -> Counts {
    Counts {
        operator: "林 Lin".into(),
        since: EpochMillis(NINE * 1000 - 1_800_000),
        admitted: 412,
        walk_ins: 9,
        refused: vec![("already_used".into(), 7), ("too_early".into(), 21)],
        undone: 2,
        overrides: 1,
    }
}

pub fn troubles() -> Vec<Trouble> {
    let trouble = |sort, of: &str| Trouble {
        sort,
        at: EpochMillis(NINE * 1000 - 600_000),
        kind: "scan".into(),
        of: of.into(),
    };
    vec![
        trouble(TroubleSort::Conflict, "T-20261001-0007"),
        trouble(TroubleSort::Quarantined, "T-20261001-0311"),
        trouble(TroubleSort::Stuck, "T-20261001-0312"),
    ]
}

pub fn both(zh_cn: &str, en: &str) -> Sentence {
    Sentence {
        zh_cn: zh_cn.into(),
        en: en.into(),
    }
}

/// A screen under the test's hands.
pub struct Hands(pub Screen);

impl Hands {
    pub fn new() -> Self {
        Self::speaking(Language::En)
    }

    pub fn speaking(language: Language) -> Self {
        Self(Screen::new(words(), language, state()))
    }

    /// A screen that shows a verdict.
    pub fn after(shown: Shown) -> Self {
        let mut hands = Self::new();
        hands.see(shown);
        hands
    }

    pub fn see(&mut self, shown: Shown) {
        assert!(self.0.on(Event::Shown(Box::new(shown))).is_empty());
    }

    /// Presses keys; gives what the screen asks for.
    pub fn press(&mut self, keys: &[Key]) -> Vec<Act> {
        let asked = keys.iter().map(|key| self.0.on(Event::Key(*key)));
        asked.collect::<Vec<_>>().concat()
    }

    /// Types characters.
    pub fn type_in(&mut self, text: &str) -> Vec<Act> {
        let keys: Vec<_> = text.chars().map(Key::Char).collect();
        self.press(&keys)
    }

    pub fn enter(&mut self) -> Vec<Act> {
        self.press(&[Key::Enter])
    }

    pub fn answer(&mut self, answer: Answer) -> Vec<Act> {
        self.0.on(Event::Answer(answer))
    }

    pub fn state(&mut self, change: impl Fn(&mut GateState)) {
        let mut state = state();
        change(&mut state);
        assert!(self.0.on(Event::State(Box::new(state))).is_empty());
    }

    /// Lets about so many seconds pass.
    pub fn pass(&mut self, seconds: usize) {
        for _ in 0..seconds {
            self.state(|_| ());
        }
    }

    /// What stands on the screen, 80 columns by 24 lines.
    pub fn text(&self) -> String {
        crate::frames::text_of(&crate::frames::frame(&self.0, 80, 24))
    }

    pub fn shows(&self, words: &str) -> bool {
        self.text().contains(words)
    }
}
