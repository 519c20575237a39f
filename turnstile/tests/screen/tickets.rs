//! Look-ups and orders.

use stile_turnstile::tui::acts::{Act, Answer, Key, Row};

use crate::bed::*;
use crate::venue::id;

fn found() -> Hands {
    let mut hands = Hands::new();
    hands.type_in("/0678");
    assert_eq!(
        hands.press(&[Key::Enter, Key::Enter]),
        [looks_up("0678", "")]
    );
    hands.answer(found_rows(rows()));
    hands
}

fn looks_up(text: &str, name: &str) -> Act {
    Act::LookUp {
        text: text.into(),
        name: name.into(),
    }
}

fn found_rows(rows: Vec<Row>) -> Answer {
    Answer::Found { rows, more: false }
}

fn order() -> Hands {
    let mut hands = found();
    assert_eq!(hands.type_in("b"), [Act::Order(id("O-20261001-77"))]);
    hands.answer(order_rows(0));
    hands
}

fn admits(tickets: &[(&str, u8)], of_order: bool) -> Act {
    let ticket = |(ticket, persons): &(&str, u8)| (id(ticket), *persons);
    Act::Admit {
        tickets: tickets.iter().map(ticket).collect(),
        order: of_order.then(|| id("O-20261001-77")),
    }
}

#[test]
fn a_look_up_takes_at_least_four_characters() {
    let mut hands = Hands::new();
    hands.type_in("/067");
    assert_eq!(hands.press(&[Key::Enter, Key::Enter]), []);
    assert!(hands.shows("At least four characters."));
}

#[test]
fn what_is_not_found_says_so_and_can_be_typed_anew() {
    let mut hands = Hands::new();
    hands.type_in("/0679");
    hands.press(&[Key::Down, Key::Enter]);
    hands.answer(found_rows(Vec::new()));
    assert!(hands.shows("Nothing found.") && hands.shows("0679"));
    hands.press(&[Key::Up, Key::Backspace]);
    hands.type_in("8");
    hands.press(&[Key::Down]);
    hands.type_in("小明");
    assert_eq!(hands.enter(), [looks_up("0678", "小明")]);
}

#[test]
fn when_more_were_found_than_can_be_shown_the_screen_says_so() {
    let mut hands = Hands::new();
    hands.type_in("/0678");
    hands.press(&[Key::Enter, Key::Enter]);
    hands.answer(Answer::Found {
        rows: rows(),
        more: true,
    });
    assert!(hands.shows("There are more: type more of it, or a name."));
}

#[test]
fn a_cancelled_ticket_is_named_as_such() {
    assert!(found().shows("cancelled"));
}

#[test]
fn enter_admits_one_person_by_the_ticket_that_is_marked() {
    let mut hands = found();
    hands.press(&[Key::Down]);
    assert_eq!(hands.enter(), [admits(&[("T2", 1)], false)]);
}

#[test]
fn more_persons_are_chosen_with_arrows_or_a_digit_up_to_what_remains() {
    let mut hands = found();
    hands.press(&[Key::Down, Key::Right]);
    assert_eq!(hands.enter(), [admits(&[("T2", 2)], false)]);
    let mut hands = found();
    hands.press(&[Key::Down]);
    hands.type_in("9");
    assert_eq!(hands.enter(), [admits(&[("T2", 3)], false)]);
}

#[test]
fn a_ticket_that_is_used_up_may_still_be_asked_for_and_is_then_refused_with_its_reason() {
    let mut hands = found();
    hands.press(&[Key::Down, Key::Down, Key::Right]);
    assert_eq!(hands.enter(), [admits(&[("T3", 1)], false)]);
}

#[test]
fn a_whole_order_is_ticked_as_far_as_persons_remain() {
    assert_eq!(order().enter(), [admits(&[("T1", 1), ("T2", 3)], true)]);
}

#[test]
fn tickets_of_an_order_are_unticked_and_counted_one_by_one() {
    let mut hands = order();
    hands.type_in(" ");
    hands.press(&[Key::Down, Key::Left]);
    assert!(hands.shows("Persons to be admitted: 2"));
    assert_eq!(hands.enter(), [admits(&[("T2", 2)], true)]);
}

#[test]
fn an_order_that_is_longer_than_the_list_says_by_how_much() {
    let mut hands = order();
    assert!(!hands.shows("not shown here"));
    hands.answer(order_rows(12));
    assert!(hands.shows("Tickets of this order not shown here; look them up by name (/): 12"));
}

#[test]
fn an_order_without_a_tick_admits_nobody() {
    let mut hands = order();
    hands.type_in("a");
    assert_eq!(hands.enter(), []);
    assert!(hands.shows("No ticket is ticked."));
    hands.type_in("a");
    assert_eq!(hands.enter(), [admits(&[("T1", 1), ("T2", 3)], true)]);
}
