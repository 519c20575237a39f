//! What the guard asks for, carried out on a device: what is answered, what goes to the scan loop
//! to move the gate.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use stile_core::device::{Device, ScanOutcome};
use stile_core::ids::RecordId;
use stile_core::pin::hash_pin;
use stile_core::protocol::{Operator, OperatorRole};
use stile_core::reason::Reason;
use stile_core::record::FreePassageCause;
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;
use stile_core::verdict::Verdict;
use stile_turnstile::relay::{Promised, Pulses, Relay, RelayError};
use stile_turnstile::scanner::{Input, Inputs, queue};
use stile_turnstile::tui::acts::{Act, Answer, Event, Pin, Shown, Sort, Waiving};
use stile_turnstile::tui::desk::Desk;
use stile_turnstile::tui::guard::{Guard, Way};
use stile_turnstile::words::Words;

use crate::venue::at_gate::AtGate;
use crate::venue::{NINE, id};

const BADGE: &str = "stile-staff-3f9a0c6e5b7d41288c1d2e3f4a5b6c7d";

fn operator(operator_id: &str, role: OperatorRole, pin: &str) -> Operator {
    let salt = Sha256::digest(operator_id)[..16].try_into().unwrap();
    Operator {
        operator_id: id(operator_id),
        name: format!("{operator_id} at the gate"),
        role,
        pin_hash: hash_pin(pin, &salt).unwrap(),
        badge_hash: Some(HEXLOWER.encode(&Sha256::digest(BADGE))),
    }
}

fn pin(digits: &str) -> Pin {
    Pin(digits.to_owned().into())
}

/// A staffed gate with a device, and a desk for it.
struct AtDesk {
    gate: AtGate,
    device: Arc<Device>,
    guard: Arc<Guard>,
    inputs: Inputs,
    promised: Promised,
    readings: Receiver<Input>,
}

impl AtDesk {
    fn new() -> Self {
        let mut gate = AtGate::new();
        gate.venue.operators = vec![
            operator("lin", OperatorRole::Guard, "2468"),
            operator("wang", OperatorRole::Supervisor, "135790"),
        ];
        gate.tickets[0].admits = 4;
        gate.tickets[1].order_number = gate.tickets[0].order_number.clone();
        let device = Arc::new(gate.ready());
        let badges = Arc::clone(&device);
        let guard = Guard::new(Box::new(move |text| badges.sign_in_by_badge(text).is_ok()));
        let (inputs, readings) = queue();
        Self {
            gate,
            device,
            guard: Arc::new(guard),
            inputs,
            promised: Promised::default(),
            readings,
        }
    }

    /// Carries acts out, one after the other; gives the answers.
    fn ask(&self, acts: Vec<Act>) -> Vec<Answer> {
        let (asked, waiting) = channel();
        acts.into_iter().for_each(|act| asked.send(act).unwrap());
        drop(asked);
        let answers = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&answers);
        let desk = Desk {
            device: Arc::clone(&self.device),
            words: Words::of(self.device.identity()),
            guard: Arc::clone(&self.guard),
            inputs: self.inputs.clone(),
            promised: self.promised.clone(),
            tell: Arc::new(move |event| {
                if let Event::Answer(answer) = event {
                    told.lock().unwrap().push(answer);
                }
            }),
            on_record: Box::new(|| ()),
        };
        desk.run(&waiting);
        std::mem::take(&mut answers.lock().unwrap())
    }

    fn ask_one(&self, act: Act) -> Answer {
        self.ask(vec![act]).remove(0)
    }

    /// What the scan loop was given, in order.
    fn decided(&self) -> Vec<ScanOutcome> {
        let inputs = self.readings.try_iter();
        inputs
            .map(|input| match input {
                Input::Decided(decided) => decided.outcome,
                other => panic!("the scan loop was given {other:?}"),
            })
            .collect()
    }

    /// A reading as the scan loop takes it.
    fn scan(&self, ticket: usize) -> RecordId {
        let reading = self.gate.g2(ticket);
        let outcome = self.device.scan_as(&reading, self.guard.say());
        self.guard.saw(&outcome, Way::Reading(reading));
        outcome.record_id.unwrap()
    }
}

/// A relay whose opening lasts until the other end of a channel goes.
struct Held(Receiver<()>, Arc<AtomicUsize>);

impl Relay for Held {
    fn open(&mut self) -> Result<(), RelayError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let _ = self.0.recv();
        Ok(())
    }

    fn close(&mut self) -> Result<(), RelayError> {
        Ok(())
    }
}

/// Puts five openings of an admission before a relay, has something done meanwhile, and gives how
/// often the gate opened.
fn opens_while(at: &mut AtDesk, of: RecordId, done: impl FnOnce(&AtDesk)) -> usize {
    let (end, ended) = channel();
    let opens = Arc::new(AtomicUsize::new(0));
    let relay = Box::new(Held(ended, Arc::clone(&opens)));
    let pulses = Pulses::start(vec![relay], Duration::ZERO, |_| ()).unwrap();
    at.promised = pulses.promised();
    (0..5).for_each(|_| drop(pulses.pulse(Some(of))));
    done(at);
    drop(end);
    drop(pulses);
    opens.load(Ordering::SeqCst)
}

#[test]
fn nobody_more_passes_by_what_was_taken_back() {
    let mut at = AtDesk::new();
    let of = at.scan(0);
    assert_eq!(opens_while(&mut at, of, |_| ()), 5);
    let opens = opens_while(&mut at, of, |at| {
        at.ask(vec![Act::Undo {
            of,
            why: "wrong group".into(),
        }]);
    });
    assert!(opens <= 1, "{opens} openings followed");
}

#[test]
fn nobody_more_passes_once_the_guard_has_quit() {
    let mut at = AtDesk::new();
    let of = at.scan(0);
    let opens = opens_while(&mut at, of, |at| drop(at.ask(vec![Act::Quit])));
    assert!(opens <= 1, "{opens} openings followed");
}

fn failure(answer: &Answer) -> &str {
    match answer {
        Answer::Failed(sentence) => &sentence.en,
        other => panic!("it did not fail: {other:?}"),
    }
}

fn is_done(answer: &Answer) -> bool {
    matches!(answer, Answer::Done(_) | Answer::TakenBack { .. })
}

fn persons(outcome: &ScanOutcome) -> u8 {
    match &outcome.verdict {
        Verdict::Admit(admission) => admission.persons,
        Verdict::Refuse(refusal) => panic!("refused: {refusal:?}"),
    }
}

#[test]
fn more_persons_follow_by_the_ticket_that_the_guard_sees() {
    let desk = AtDesk::new();
    let of = desk.scan(0);
    let answer = desk.ask_one(Act::More { of, persons: 2 });
    assert!(matches!(answer, Answer::Judged));
    let decided = desk.decided();
    assert_eq!((persons(&decided[0]), decided[0].opens), (2, true));
    let answer = desk.ask_one(Act::More { of, persons: 1 });
    assert_eq!(failure(&answer), "There was a new reading. Begin again.");
    assert!(desk.decided().is_empty());
}

#[test]
fn more_persons_follow_by_a_party_that_shows_again_though_another_came_between() {
    let desk = AtDesk::new();
    let of = desk.scan(0);
    desk.scan(1);
    let reading = desk.gate.g2(0);
    let again = desk.device.scan(&reading);
    desk.guard.saw(&again, Way::Reading(reading));
    let words = Words::of(desk.device.identity());
    assert_eq!(Shown::of(&again, &words).record_id, Some(of));
    let answer = desk.ask_one(Act::More { of, persons: 1 });
    assert!(matches!(answer, Answer::Judged));
    let ticket = desk.decided()[0].ticket.clone().unwrap();
    assert_eq!(ticket.number, desk.gate.tickets[0].number);
}

#[test]
fn the_number_for_the_next_reading_is_for_that_one_alone() {
    let desk = AtDesk::new();
    assert!(is_done(&desk.ask_one(Act::NextPersons(3))));
    desk.scan(0);
    assert_eq!(desk.guard.say().persons, None);
    let of = desk.scan(1);
    assert!(is_done(&desk.ask_one(Act::DoesNotMatch(of))));
}

#[test]
fn an_admission_is_taken_back_once() {
    let desk = AtDesk::new();
    let of = desk.scan(0);
    let undo = || Act::Undo {
        of,
        why: "scanned by mistake".into(),
    };
    let answers = desk.ask(vec![undo(), undo()]);
    assert!(is_done(&answers[0]));
    assert_eq!(failure(&answers[1]), "It is taken back already.");
}

#[test]
fn a_supervisor_overrides_with_the_right_pin_and_the_gate_opens() {
    let desk = AtDesk::new();
    desk.gate.platform.pass_ms(2 * 3_600_000);
    let reading = desk.gate.g2(1);
    let refused = desk.device.scan(&reading);
    let Verdict::Refuse(refusal) = refused.verdict else {
        panic!("the session is over");
    };
    let of = refused.record_id;
    let overriding = |digits: &str, waived: &[Reason]| {
        Act::Override(Waiving {
            of,
            pin: pin(digits),
            why: "person checked".into(),
            waived: waived.to_vec(),
        })
    };
    let wrong = desk.ask_one(overriding("000000", &[refusal.reason]));
    assert_eq!(failure(&wrong), "Wrong PIN; 4 tries left.");
    let mut waived = vec![refusal.reason];
    // Whatever stands against it besides is named, one by one.
    loop {
        match desk.ask_one(overriding("135790", &waived)) {
            Answer::Judged => break,
            Answer::Further(reason, sentence) => {
                assert!(!sentence.zh_cn.is_empty() && !waived.contains(&reason));
                waived.push(reason);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(desk.decided()[0].opens);
    let nothing = desk.ask_one(overriding("135790", &waived));
    assert_eq!(failure(&nothing), "Nothing to act on; scan again.");
}

#[test]
fn a_ticket_is_looked_up_and_admitted_and_its_order_with_it() {
    let desk = AtDesk::new();
    let look_up = |text: &str| Act::LookUp {
        text: text.into(),
        name: String::new(),
    };
    let Answer::Found { rows, more: false } = desk.ask_one(look_up("5678")) else {
        panic!("five tickets have these digits");
    };
    assert_eq!(rows.len(), 5);
    let order = desk.gate.tickets[0].order_number.clone();
    let Answer::Order { rows, more: 0, .. } = desk.ask_one(Act::Order(order.clone())) else {
        panic!("the order is listed");
    };
    assert_eq!(rows.len(), 2);
    let tickets = rows.iter().map(|row| (row.ticket.clone(), 1)).collect();
    let order = Some(order);
    desk.ask_one(Act::Admit { tickets, order });
    let decided = desk.decided();
    assert_eq!(decided.len(), 2);
    assert!(decided.iter().all(|one| one.opens));
    let short = desk.ask_one(look_up("56"));
    assert!(failure(&short).starts_with("Type at least 4 characters"));
}

#[test]
fn who_is_refused_comes_last_so_that_it_stays_on_the_screen() {
    let desk = AtDesk::new();
    desk.scan(1);
    let ids: Vec<_> = [1, 0]
        .map(|n: usize| desk.gate.tickets[n].ticket_id.clone())
        .into();
    let tickets = ids.into_iter().map(|ticket| (ticket, 1)).collect();
    desk.gate.platform.pass_ms(10_000);
    desk.ask_one(Act::Admit {
        tickets,
        order: Some(desk.gate.tickets[0].order_number.clone()),
    });
    let opens: Vec<_> = desk.decided().iter().map(|one| one.opens).collect();
    assert_eq!(opens, [true, false]);
}

#[test]
fn persons_without_a_ticket_pass_in_a_category_of_the_venue() {
    let desk = AtDesk::new();
    let walk_in = |category: &str| Act::WalkIn {
        direction: Direction::In,
        persons: 2,
        category: category.into(),
    };
    assert!(matches!(desk.ask_one(walk_in("child")), Answer::Judged));
    let decided = desk.decided();
    assert_eq!((persons(&decided[0]), decided[0].opens), (2, true));
    let shown = Shown::of(&decided[0], &Words::of(desk.device.identity()));
    assert!(shown.walk_in);
    assert_eq!(
        shown.sentence.en,
        "Please pass: 2 without a ticket (child)."
    );
    assert_eq!(shown.sentence.zh_cn, "请通行：儿童 2人，无票。");
    let unknown = desk.ask_one(walk_in("ghost"));
    assert!(failure(&unknown).contains("ghost"));
    assert!(desk.decided().is_empty());
}

#[test]
fn somebody_signs_in_and_hands_over_and_a_staff_qr_is_taken_only_while_it_is_waited_for() {
    let desk = AtDesk::new();
    let sign_in = |digits: &str| Act::SignIn {
        operator: id("lin"),
        pin: pin(digits),
    };
    let answers = desk.ask(vec![sign_in("1111"), sign_in("2468")]);
    assert_eq!(failure(&answers[0]), "Wrong PIN; 4 tries left.");
    assert!(is_done(&answers[1]));
    let thrice = (0..3).map(|_| sign_in("1111")).collect();
    desk.ask(thrice);
    assert_eq!(
        failure(&desk.ask_one(sign_in("1111"))),
        "Wrong PIN; 1 try left."
    );
    assert!(is_done(&desk.ask_one(sign_in("2468"))));
    desk.scan(1);
    let Answer::SignedOut(counts) = desk.ask_one(Act::SignOut) else {
        panic!("somebody is signed in");
    };
    assert_eq!(
        (counts.operator.as_str(), counts.admitted),
        ("lin at the gate", 1)
    );
    assert_eq!(
        failure(&desk.ask_one(Act::HandOver)),
        "Nobody is signed in."
    );
    assert!(!desk.guard.takes(BADGE.as_bytes()));
    desk.ask(vec![Act::AwaitBadge(true)]);
    assert!(
        !desk.guard.takes(&desk.gate.g2(2)),
        "a ticket goes to the gate"
    );
    assert!(desk.guard.takes(BADGE.as_bytes()));
}

#[test]
fn free_passage_stands_at_the_device_until_it_ends_and_the_scan_loop_is_woken_for_both() {
    let desk = AtDesk::new();
    let begin = Act::FreePassage(Some("end of a session".into()));
    assert!(is_done(&desk.ask_one(begin)));
    assert_eq!(desk.device.free_passage(), Some(FreePassageCause::Staff));
    assert_eq!(desk.readings.try_recv(), Ok(Input::FreePassage));
    assert!(is_done(&desk.ask_one(Act::FreePassage(None))));
    assert_eq!(desk.device.free_passage(), None);
    assert_eq!(desk.readings.try_recv(), Ok(Input::FreePassage));
}

#[test]
fn practice_opens_nothing_and_the_clock_wants_a_supervisor() {
    let desk = AtDesk::new();
    assert!(is_done(&desk.ask_one(Act::Practice(true))));
    assert!(!desk.device.scan(&desk.gate.g2(1)).opens);
    let set_clock = |digits: &str, at: i64| Act::SetClock {
        pin: pin(digits),
        to: EpochMillis(at * 1000),
        why: "compared with a watch".into(),
    };
    let wrong = desk.ask_one(set_clock("2468", NINE + 600));
    assert!(failure(&wrong).starts_with("Wrong PIN"));
    let early = desk.ask_one(set_clock("135790", NINE - 7 * 86_400));
    assert!(failure(&early).starts_with("It cannot be earlier than 2026-10-01"));
    assert!(is_done(&desk.ask_one(set_clock("135790", NINE + 600))));
    let Answer::Troubles(troubles) = desk.ask_one(Act::Troubles) else {
        panic!("there is a list of them");
    };
    assert!(troubles.is_empty());
}

#[test]
fn two_persons_by_an_unused_ticket_for_one_are_told_so_and_it_is_not_called_used() {
    let desk = AtDesk::new();
    desk.ask_one(Act::NextPersons(2));
    let outcome = desk.device.scan_as(&desk.gate.g2(1), desk.guard.say());
    let shown = Shown::of(&outcome, &Words::of(desk.device.identity()));
    assert_eq!(shown.sort, Sort::Refuse);
    let expected = "2 persons asked, but only 1 may enter by this ticket.";
    assert_eq!(shown.sentence.en, expected);
    let hands = crate::bed::Hands::after(shown);
    assert!(hands.shows(expected) && !hands.shows("has been used"));
    assert!(hands.shows("Choose fewer persons (p) and scan again."));
}

#[test]
fn a_gate_is_called_as_the_list_in_hand_calls_it() {
    let mut gate = AtGate::new();
    for one in &mut gate.venue.gates {
        one.name = format!("{} by the list", one.gate_id);
    }
    let device = Arc::new(gate.ready());
    let reading = gate.g2(1);
    assert!(device.scan(&reading).opens);
    gate.platform.pass_ms(10_000);
    let used = device.scan(&reading);
    let sentence = Words::at(&device).sentence(&used).en;
    assert!(sentence.ends_with(" by the list."), "{sentence}");
}
