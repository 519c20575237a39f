//! What keys ask for while the screen waits for a scan.

use stile_core::reason::Reason;
use stile_turnstile::tui::acts::{Act, Answer, Event, Key, Shown};

use crate::bed::*;

fn one_more() -> Act {
    Act::More {
        of: record(1),
        persons: 1,
    }
}

#[test]
fn plus_lets_one_more_person_of_the_party_in_and_only_while_some_are_left() {
    let mut hands = Hands::after(party());
    assert_eq!(hands.type_in("+"), [one_more()]);
    let mut hands = Hands::after(admitted());
    assert_eq!(hands.type_in("+"), []);
    assert!(hands.shows("Nobody more may enter by this ticket."));
    let mut hands = Hands::after(too_early());
    assert_eq!(hands.type_in("+"), []);
    assert!(hands.shows("No admission just before"));
}

#[test]
fn x_after_green_takes_the_admission_back_as_somebody_elses() {
    let mut hands = Hands::after(admitted());
    assert_eq!(hands.type_in("x"), [Act::DoesNotMatch(record(1))]);
}

#[test]
fn what_is_done_about_a_repeat_is_done_about_the_admission_that_it_repeats() {
    let another = Shown {
        record_id: Some(record(9)),
        ..party()
    };
    for between in [None, Some(another), Some(used())] {
        let mut hands = Hands::after(admitted());
        between.into_iter().for_each(|shown| hands.see(shown));
        hands.see(repeat());
        assert_eq!(hands.type_in("x"), [Act::DoesNotMatch(record(1))]);
    }
}

#[test]
fn a_repeat_of_another_visitor_ends_an_override_that_was_begun() {
    let another = Shown {
        record_id: Some(record(9)),
        ..too_early()
    };
    let mut hands = Hands::after(another.clone());
    hands.see(used());
    hands.type_in("o");
    hands.see(used());
    assert!(hands.shows("Override the last refusal"), "the same visitor");
    hands.see(another);
    assert!(hands.shows("There was a new reading. Begin again."));
}

#[test]
fn x_after_a_refusal_or_before_any_scan_does_nothing() {
    assert_eq!(Hands::after(used()).type_in("x"), []);
    assert_eq!(Hands::new().type_in("xu+"), []);
}

#[test]
fn o_offers_an_override_of_what_can_be_waived_and_says_so_of_what_cannot() {
    let mut hands = Hands::after(refused(Reason::Blocked, None));
    assert_eq!(hands.type_in("o"), []);
    assert!(hands.shows("This refusal cannot be waived."));
    let mut hands = Hands::after(admitted());
    hands.type_in("o");
    assert!(hands.shows("No refusal just before."));
    let mut hands = Hands::after(refused(Reason::NotListed, None));
    hands.type_in("o");
    assert!(hands.shows("Override the last refusal"));
}

#[test]
fn one_act_is_asked_for_at_a_time() {
    let mut hands = Hands::after(party());
    assert_eq!(hands.type_in("++"), [one_more()]);
    assert!(hands.shows("One moment"));
    hands.answer(Answer::Judged);
    assert_eq!(hands.type_in("+"), [one_more()]);
}

#[test]
fn digits_and_other_keys_without_a_meaning_do_nothing() {
    let mut hands = Hands::after(party());
    assert_eq!(hands.type_in("0123456789zjdm "), []);
    assert!(hands.shows("3 more may enter"));
}

#[test]
fn a_scanner_that_types_as_a_keyboard_presses_no_keys_and_is_named() {
    let mut hands = Hands::after(admitted());
    let keys = "xq1ux".chars().map(Key::Char).collect();
    assert_eq!(hands.0.on(Event::Burst(keys)), []);
    assert!(hands.shows("A scanner types as a keyboard here."));
}

#[test]
fn what_is_pasted_into_a_form_is_typed() {
    let mut hands = Hands::new();
    hands.type_in("/");
    let keys = "O-77-1".chars().map(Key::Char).collect();
    assert_eq!(hands.0.on(Event::Burst(keys)), []);
    let expected = Act::LookUp {
        text: "O-77-1".into(),
        name: String::new(),
    };
    assert_eq!(hands.press(&[Key::Enter, Key::Enter]), [expected]);
}

#[test]
fn quitting_is_asked_for_once_more_and_never_put_off() {
    let mut hands = Hands::after(party());
    hands.type_in("+");
    assert_eq!(hands.type_in("q"), []);
    assert_eq!(hands.type_in("n"), []);
    assert_eq!(hands.type_in("qq"), []);
    assert_eq!(hands.type_in("y"), [Act::Quit]);
}

#[test]
fn practice_and_free_passage_begin_and_end_on_a_yes_alone() {
    let mut hands = Hands::new();
    assert_eq!(hands.press(&[Key::Char('t'), Key::Esc]), []);
    assert_eq!(
        hands.press(&[Key::Char('t'), Key::Enter]),
        [Act::Practice(true)]
    );
    let mut hands = Hands::new();
    hands.state(|state| (state.practice, state.free_passage) = (true, true));
    assert_eq!(hands.type_in("ty"), [Act::Practice(false)]);
    hands.answer(Answer::Done(both("好", "Good")));
    assert_eq!(hands.type_in("fy"), [Act::FreePassage(None)]);
}

#[test]
fn the_language_changes_on_the_spot() {
    let mut hands = Hands::after(admitted());
    assert_eq!(hands.type_in("g"), []);
    assert!(hands.shows("请通行。"));
    hands.type_in("G");
    assert!(hands.shows("Please pass."));
}

#[test]
fn signing_out_asks_and_then_shows_what_is_handed_over() {
    let mut hands = Hands::new();
    assert_eq!(hands.type_in("sy"), [Act::SignOut]);
    hands.answer(Answer::SignedOut(Box::new(counts())));
    assert!(hands.shows("412") && hands.shows("Note what is handed over."));
    assert_eq!(hands.type_in("s"), []);
    hands.press(&[Key::Esc]);
    assert!(hands.shows("Ready to scan"));
}

#[test]
fn an_earlier_admission_is_taken_back_from_the_list_of_last_scans() {
    let mut hands = Hands::after(admitted());
    hands.see(too_early());
    assert_eq!(hands.press(&[Key::Char('r'), Key::Char('u')]), []);
    assert!(hands.shows("Last scans"), "a refusal cannot be taken back");
    hands.press(&[Key::Down, Key::Char('u'), Key::Down]);
    let why = "visitor did not enter".into();
    assert_eq!(hands.enter(), [Act::Undo { of: record(1), why }]);
}

#[test]
fn what_is_taken_back_is_green_no_more_and_marked_among_the_last_scans() {
    for mismatch in [true, false] {
        let mut hands = Hands::after(party());
        hands.answer(Answer::TakenBack {
            of: record(1),
            mismatch,
        });
        assert!(hands.0.fresh().is_none());
        assert!(hands.shows("↶ UNDONE") && hands.shows("hat admission counts no more."));
        assert!(!hands.shows("ADMIT") && !hands.shows("3 more may enter"));
        for key in ["+", "x", "u"] {
            assert_eq!(hands.type_in(key), []);
            assert!(
                hands.shows("That admission is taken back; scan again."),
                "{key}"
            );
        }
        hands.type_in("r");
        assert!(hands.shows("↶ UNDONE") && !hands.shows("ADMIT"));
        assert_eq!(hands.type_in("u"), []);
        assert!(hands.shows("Last scans"));
    }
}

#[test]
fn persons_without_a_ticket_are_shown_with_number_and_category_and_spoken_of_as_such() {
    let mut hands = Hands::after(walked_in());
    assert!(hands.shows("2 without a ticket (child)"));
    for key in ["+", "x"] {
        assert_eq!(hands.type_in(key), []);
        assert!(hands.shows("They came without a ticket"), "{key}");
    }
    hands.type_in("u");
    assert!(matches!(&hands.enter()[..], [Act::Undo { of, .. }] if *of == record(1)));
    hands.answer(Answer::TakenBack {
        of: record(1),
        mismatch: false,
    });
    assert!(
        hands.shows("those without a ticket count no more")
            && !hands.shows("That admission counts")
    );
}

#[test]
fn refused_readings_are_handed_over_in_the_guards_language() {
    let mut hands = Hands::speaking(stile_core::reason::Language::ZhCn);
    hands.answer(Answer::HandOver(Box::new(counts())));
    assert!(hands.shows("已使用") && hands.shows("未到时间"));
    assert!(!hands.shows("already_used") && !hands.shows("too_early"));
}

#[test]
fn what_was_said_of_one_reading_does_not_stand_under_the_next() {
    let mut hands = Hands::after(admitted());
    hands.type_in("x");
    hands.answer(Answer::TakenBack {
        of: record(1),
        mismatch: true,
    });
    assert!(hands.shows("That admission counts no more."));
    hands.see(Shown {
        record_id: Some(record(9)),
        ..party()
    });
    assert!(!hands.shows("That admission counts no more."));
}
