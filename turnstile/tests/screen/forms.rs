//! Forms: what they ask for when they are filled in, and what happens when they are not.

use stile_core::reason::Reason;
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;
use stile_turnstile::tui::acts::{Act, Answer, Key, Pin, Waiving};

use crate::bed::*;
use crate::venue::{NINE, id};

fn more(persons: u8) -> Act {
    Act::More {
        of: record(1),
        persons,
    }
}

fn pin(digits: &str) -> Pin {
    Pin(digits.to_owned().into())
}

#[test]
fn persons_of_the_party_are_chosen_but_never_more_than_remain() {
    let mut hands = Hands::after(party());
    hands.type_in("p");
    hands.press(&[Key::Right]);
    assert_eq!(hands.enter(), [more(2)]);
    let mut hands = Hands::after(party());
    hands.type_in("p9");
    assert_eq!(hands.enter(), [more(3)]);
}

#[test]
fn without_a_party_the_number_is_for_the_next_reading_and_only_for_that() {
    let mut hands = Hands::new();
    hands.type_in("p4");
    assert_eq!(hands.enter(), [Act::NextPersons(4)]);
    hands.answer(Answer::Done(both("好", "Good")));
    assert!(hands.shows("Persons at the next reading: 4"));
    hands.see(party());
    hands.pass(20);
    assert!(!hands.shows("Persons at the next reading"));
}

#[test]
fn once_the_verdict_has_gone_the_number_is_for_whoever_comes_next() {
    let mut seen_long_ago = Hands::after(party());
    seen_long_ago.pass(20);
    let mut taken_off = Hands::after(party());
    taken_off.press(&[Key::Esc]);
    for mut hands in [seen_long_ago, taken_off] {
        hands.type_in("p");
        hands.press(&[Key::Right]);
        assert_eq!(hands.enter(), [Act::NextPersons(2)]);
    }
}

#[test]
fn a_number_that_was_begun_for_a_party_stays_for_it() {
    let mut hands = Hands::after(party());
    hands.type_in("p");
    hands.pass(20);
    hands.press(&[Key::Right]);
    assert_eq!(hands.enter(), [more(2)]);
}

#[test]
fn an_undo_needs_a_reason_of_a_list_or_in_own_words() {
    let mut hands = Hands::after(admitted());
    hands.type_in("u");
    hands.type_in("wrong child");
    let why = "wrong child".into();
    assert_eq!(hands.enter(), [Act::Undo { of: record(1), why }]);
}

#[test]
fn an_override_carries_reason_pin_and_what_is_waived() {
    let mut hands = Hands::after(too_early());
    hands.type_in("o");
    hands.press(&[Key::Enter]);
    hands.type_in("1357");
    let asked = hands.enter();
    assert_eq!(
        asked,
        [Act::Override(Waiving {
            of: Some(record(2)),
            pin: pin("1357"),
            why: "person checked".into(),
            waived: vec![Reason::TooEarly],
        })]
    );
    assert!(!format!("{asked:?}").contains("1357"));
    assert!(!hands.shows("1357"));
}

#[test]
fn each_further_reason_is_shown_and_waived_by_name() {
    let mut hands = Hands::after(too_early());
    hands.type_in("o");
    hands.press(&[Key::Enter]);
    hands.type_in("1357");
    hands.enter();
    let mut waived = vec![Reason::TooEarly];
    for reason in [Reason::IdentityMismatch, Reason::AlreadyUsed] {
        let sentence = refused(reason, None).sentence;
        hands.answer(Answer::Further(reason, sentence.clone()));
        assert!(hands.shows(&sentence.en), "{}", hands.text());
        waived.push(reason);
        let asked = hands.type_in("y");
        let why = "person checked".into();
        let expected = Act::Override(Waiving {
            of: Some(record(2)),
            pin: pin("1357"),
            why,
            waived: waived.clone(),
        });
        assert_eq!(asked, [expected]);
    }
    hands.answer(Answer::Judged);
    assert!(!hands.shows("Waive it too?"));
}

#[test]
fn a_further_reason_that_is_not_waived_leaves_the_gate_shut() {
    let mut hands = Hands::after(too_early());
    hands.type_in("o");
    hands.press(&[Key::Enter]);
    hands.type_in("1357");
    hands.enter();
    let sentence = refused(Reason::AlreadyUsed, None).sentence;
    hands.answer(Answer::Further(Reason::AlreadyUsed, sentence));
    assert_eq!(hands.type_in("n"), []);
}

#[test]
fn a_wrong_pin_is_typed_anew_and_the_reason_stays() {
    let mut hands = Hands::after(too_early());
    hands.type_in("o");
    hands.type_in("guide is known");
    hands.press(&[Key::Enter]);
    hands.type_in("1111");
    hands.enter();
    hands.answer(Answer::Failed(both("PIN错误", "wrong PIN; 4 tries left")));
    assert!(hands.shows("wrong PIN; 4 tries left") && hands.shows("guide is known"));
    hands.type_in("1357");
    let asked = hands.enter();
    let again = matches!(&asked[..], [Act::Override(waiving)] if waiving.pin == pin("1357"));
    assert!(again, "{asked:?}");
}

#[test]
fn a_form_with_an_empty_line_says_which() {
    let mut hands = Hands::after(too_early());
    hands.type_in("o");
    hands.press(&[Key::Enter]);
    assert_eq!(hands.enter(), []);
    assert!(
        hands.shows("Please fill in: Supervisor's PIN"),
        "{}",
        hands.text()
    );
}

#[test]
fn a_number_of_persons_that_is_none_is_told_and_admits_nobody() {
    let mut hands = Hands::new();
    hands.type_in("w");
    hands.press(&[Key::Enter]);
    hands.type_in("999");
    assert!(hands.enter().is_empty());
    assert!(hands.press(&[Key::Enter]).is_empty());
    assert!(hands.shows("Persons are 1 to 255."), "{}", hands.text());
}

#[test]
fn a_walk_in_says_category_number_and_way() {
    let mut hands = Hands::new();
    hands.type_in("w");
    hands.press(&[
        Key::Right,
        Key::Enter,
        Key::Right,
        Key::Right,
        Key::Enter,
        Key::Right,
    ]);
    let expected = Act::WalkIn {
        direction: Direction::Out,
        persons: 3,
        category: "guest".into(),
    };
    assert_eq!(hands.enter(), [expected]);
}

#[test]
fn somebody_signs_in_by_pin_or_by_staff_qr_while_the_form_is_open() {
    let mut hands = Hands::new();
    hands.state(|state| state.operator = None);
    assert_eq!(hands.type_in("s"), [Act::AwaitBadge(true)]);
    hands.type_in("lin");
    hands.press(&[Key::Enter]);
    hands.type_in("2468");
    let expected = Act::SignIn {
        operator: id("lin"),
        pin: pin("2468"),
    };
    assert_eq!(hands.enter(), [expected]);
    let closed = hands.answer(Answer::Done(both("已登录", "Signed in: Lin")));
    assert_eq!(closed, [Act::AwaitBadge(false)]);
    assert!(hands.shows("Signed in: Lin") && hands.shows("Ready to scan"));
}

#[test]
fn leaving_the_sign_in_makes_readings_tickets_again() {
    let mut hands = Hands::new();
    hands.state(|state| state.operator = None);
    hands.type_in("s");
    assert_eq!(hands.press(&[Key::Esc]), [Act::AwaitBadge(false)]);
}

#[test]
fn the_clock_is_set_to_a_time_of_the_venue() {
    let mut hands = Hands::new();
    hands.type_in("c");
    hands.press(&[Key::Backspace, Key::Backspace]);
    hands.type_in("05");
    hands.press(&[Key::Enter, Key::Enter]);
    hands.type_in("1357");
    let expected = Act::SetClock {
        pin: pin("1357"),
        to: EpochMillis((NINE + 300) * 1000),
        why: "wrong after a power cut".into(),
    };
    assert_eq!(hands.enter(), [expected]);
}

#[test]
fn a_time_that_does_not_exist_is_not_set() {
    let mut hands = Hands::new();
    hands.type_in("c");
    hands.press(&[Key::Backspace; 16]);
    hands.type_in("2026-02-30 09:00");
    hands.press(&[Key::Enter, Key::Enter]);
    hands.type_in("1357");
    assert_eq!(hands.enter(), []);
    assert!(hands.shows("No such time"));
}

#[test]
fn free_passage_begins_with_a_reason() {
    let mut hands = Hands::new();
    hands.type_in("f");
    let why = Some("emergency".into());
    assert_eq!(hands.enter(), [Act::FreePassage(why)]);
}

#[test]
fn escape_leaves_every_form_and_asks_for_nothing() {
    for key in ["p", "u", "o", "/", "w", "f", "c", "q", "t", "r"] {
        let mut hands = Hands::after(match key {
            "u" => admitted(),
            _ => too_early(),
        });
        hands.type_in(key);
        hands.press(&[Key::Esc, Key::Esc]);
        assert!(hands.shows("Ready to scan"), "{key}: {}", hands.text());
    }
}
