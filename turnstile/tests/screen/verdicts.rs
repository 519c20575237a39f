//! How verdicts come and go.

use stile_turnstile::event::Weight;
use stile_turnstile::tui::acts::{Event, Key};

use crate::bed::*;

#[test]
fn a_verdict_fills_the_screen_and_goes_by_itself() {
    let mut hands = Hands::after(admitted());
    assert!(hands.0.fresh().is_some());
    hands.pass(9);
    assert!(hands.0.fresh().is_some());
    hands.pass(1);
    assert!(hands.0.fresh().is_none());
    assert!(hands.shows("Ready to scan") && hands.shows("Last 09:00:12"));
}

#[test]
fn escape_clears_it_and_the_next_one_takes_its_place() {
    let mut hands = Hands::after(admitted());
    hands.press(&[Key::Esc]);
    assert!(hands.0.fresh().is_none());
    hands.see(used());
    hands.see(too_early());
    assert!(hands.shows("Too early"));
}

#[test]
fn whoever_fills_in_a_form_sees_verdicts_and_keeps_the_keys() {
    let mut hands = Hands::new();
    hands.type_in("/06");
    hands.see(admitted());
    hands.type_in("78");
    assert!(hands.shows("✓ ADMIT") && hands.shows("Please pass."));
    assert!(hands.shows("0678_"));
}

#[test]
fn a_new_reading_ends_an_override_of_the_one_before() {
    let mut hands = Hands::after(too_early());
    hands.type_in("o");
    hands.see(used());
    assert!(hands.shows("There was a new reading. Begin again."));
    assert!(hands.shows("Used at 08:45"));
}

#[test]
fn a_new_reading_does_not_end_an_undo_which_names_its_admission() {
    let mut hands = Hands::after(admitted());
    hands.type_in("u");
    hands.see(too_early());
    let asked = hands.enter();
    let undoes_the_first = matches!(&asked[..],
        [stile_turnstile::tui::acts::Act::Undo { of, .. }] if *of == record(1));
    assert!(undoes_the_first, "{asked:?}");
}

fn say(hands: &mut Hands, weight: Weight) {
    let sentence = both("坏了", "It is broken.");
    hands.0.on(Event::Told(weight, sentence));
}

#[test]
fn a_notice_goes_by_itself_and_escape_takes_it_away() {
    let mut hands = Hands::new();
    say(&mut hands, Weight::Warning);
    assert!(hands.shows("It is broken."));
    hands.pass(20);
    assert!(!hands.shows("It is broken."));
    say(&mut hands, Weight::Warning);
    hands.press(&[Key::Esc]);
    assert!(!hands.shows("It is broken."));
}

#[test]
fn an_alarm_stands_until_it_is_seen_or_over() {
    let mut hands = Hands::new();
    say(&mut hands, Weight::Alarm);
    hands.pass(200);
    assert!(hands.shows("It is broken."));
    hands.press(&[Key::Esc]);
    assert!(!hands.shows("It is broken."));
    say(&mut hands, Weight::Alarm);
    let over = both("好了", "It works again.");
    hands.0.on(Event::Told(Weight::Normal, over));
    assert!(!hands.shows("It is broken."));
    hands.pass(20);
    assert!(!hands.shows("It works again."));
}

#[test]
fn an_emergency_stands_at_the_top_until_it_ends() {
    let mut hands = Hands::new();
    hands.0.on(Event::Emergency(true));
    hands.pass(200);
    assert!(hands.shows("EMERGENCY: the gate stands open"));
    hands.0.on(Event::Emergency(false));
    assert!(!hands.shows("EMERGENCY"));
}

#[test]
fn while_the_gate_stands_open_nobody_is_asked_to_scan() {
    let mut hands = Hands::new();
    hands.state(|state| state.free_passage = true);
    assert!(hands.shows("People simply pass") && !hands.shows("Ready to scan"));
    hands.state(|state| (state.free_passage, state.practice) = (true, true));
    assert!(hands.shows("PRACTICE: nothing counts") && !hands.shows("stays shut"));
    hands.state(|_| ());
    hands.0.on(Event::Emergency(true));
    assert!(hands.shows("People simply pass") && !hands.shows("Ready to scan"));
}
