//! What each field of a ticket may be, in CSV and in NDJSON.

use stile_core::ticket::{CancelCause, TicketStatus};

use crate::{csv, ndjson, one, with_field, with_member};

fn problem(column: &str, value: &str) -> String {
    let refused = with_field(column, value).unwrap_err();
    assert_eq!(
        (refused.line, refused.field.as_str()),
        (2, column),
        "{value}"
    );
    assert!(
        value.len() < 3 || !refused.problem.contains(value),
        "the problem repeats {value}"
    );
    refused.problem
}

#[test]
fn of_a_phone_the_last_four_digits_are_kept_however_it_is_written() {
    for (phone, kept) in [
        ("13812345678", Some("5678")),
        ("+86 138-1234-5678", Some("5678")),
        ("(+86) 138 1234 5678", Some("5678")),
        ("０１０－１２３４５６７８", Some("5678")),
        ("'13812345678", Some("5678")),
        ("'+8613812345678", Some("5678")),
        ("13812345678\t", Some("5678")),
        ("\u{FEFF}13812345678\u{3000}", Some("5678")),
        ("+49 30 901820", Some("1820")),
        ("01.23.45.67.89", Some("6789")),
        ("138****0007", Some("0007")),
        ("0000", Some("0000")),
        ("", None),
        ("  ", None),
    ] {
        let ticket = with_field("phone", phone).unwrap();
        assert_eq!(
            ticket.last_four.map(|digits| digits.to_string()).as_deref(),
            kept,
            "{phone}"
        );
    }
}

#[test]
fn a_phone_whose_last_four_digits_would_be_a_guess_is_refused() {
    for rounded in ["1.38E+10", "1.38e+10", "1,38E+10", "1E+10"] {
        assert!(
            problem("phone", rounded).contains("spreadsheet"),
            "{rounded}"
        );
    }
    for phone in [
        "12",
        "123",
        "138****567",
        "1381234****",
        "none",
        "13812345678x9",
        "13812345678.0",
        "13812345678 / 13900001111",
        "138+12345678",
        "13812345678\u{0}",
        "１２",
        "#NAME?",
    ] {
        problem("phone", phone);
    }
}

#[test]
fn of_a_name_only_the_last_character_that_people_see_stands() {
    for (name, mask) in [
        ("张三", "*三"),
        ("三", "三"),
        ("Müller", "*****r"),
        ("Zoe\u{308}", "**e\u{308}"),
        ("👨‍👩‍👧👨‍👩‍👧", "*👨‍👩‍👧"),
        ("🇨🇳🇩🇪", "*🇩🇪"),
        ("\u{3000}李四\u{3000}", "*四"),
        ("李四\u{200B}", "*四"),
        ("\u{FEFF}李四", "*四"),
        ("Anna\u{0}B", "*****B"),
        ("", ""),
        (" \u{200B} ", ""),
    ] {
        assert_eq!(
            with_field("holder_name", name).unwrap().holder_mask,
            mask,
            "{name}"
        );
    }
    problem("holder_name", "Anna\u{0}");
    problem("holder_name", &"三".repeat(100));
}

#[test]
fn ids_are_texts_of_plain_characters() {
    let line = |line: &str| one(csv(format!("ticket_id,order_number,session_id\n{line}\n")));
    let ticket = line(" 'T1\t, '20261001 ,am").map_err(|refused| refused.field);
    assert_eq!(
        ticket,
        Err("ticket_id".to_owned()),
        "an apostrophe is cut off before digits only"
    );
    let ticket = line(" '0012\t, '20261001 ,am").unwrap();
    assert_eq!(ticket.ticket_id.as_str(), "0012");
    assert_eq!(ticket.order_number.as_str(), "20261001");
    for (bad, field) in [
        (",O1,am", "ticket_id"),
        ("T1,,am", "order_number"),
        ("T1,O1,", "session_id"),
        ("T 1,O1,am", "ticket_id"),
        ("票,O1,am", "ticket_id"),
        ("T\u{0},O1,am", "ticket_id"),
        ("T1,O\u{7},am", "order_number"),
        ("T1,2.02610E+17,am", "order_number"),
        ("2.02610E+17,O1,am", "ticket_id"),
        ("T1,O1,a m", "session_id"),
    ] {
        assert_eq!(line(bad).unwrap_err().field, field, "{bad}");
    }
    assert!(
        line("2.02610E+17,O1,am")
            .unwrap_err()
            .problem
            .contains("spreadsheet")
    );
    assert_eq!(
        line(&format!("{},O1,am", "T".repeat(65)))
            .unwrap_err()
            .field,
        "ticket_id"
    );
    assert!(line(&format!("{},{},am", "T".repeat(64), "票".repeat(21))).is_ok());
}

#[test]
fn an_integer_in_json_is_its_decimal_text_whatever_its_size() {
    let line = r#"{"ticket_id":12345678901234567890123,"order_number":0,"session_id":"am"}"#;
    let ticket = one(ndjson(line)).unwrap();
    assert_eq!(ticket.ticket_id.as_str(), "12345678901234567890123");
    assert_eq!(ticket.order_number.as_str(), "0");
    let ticket = with_member("phone", "13812345678").unwrap();
    assert_eq!(ticket.last_four.unwrap().to_string(), "5678");
}

#[test]
fn json_values_that_a_field_cannot_be_are_refused_by_name() {
    for json in ["1.5", "1e3", "true", "[1]", r#"{"a":1}"#] {
        for name in [
            "holder_name",
            "phone",
            "code",
            "admits",
            "admit_from",
            "source_version",
        ] {
            assert_eq!(with_member(name, json).unwrap_err().field, name, "{json}");
        }
    }
    for line in [
        r#"{"ticket_id":1.0,"order_number":"O1","session_id":"am"}"#,
        r#"{"ticket_id":null,"order_number":"O1","session_id":"am"}"#,
        r#"{"order_number":"O1","session_id":"am"}"#,
    ] {
        assert_eq!(one(ndjson(line)).unwrap_err().field, "ticket_id", "{line}");
    }
}

#[test]
fn a_ticket_admits_one_person_unless_it_says_otherwise() {
    for (text, admits) in [
        ("", 1),
        ("1", 1),
        ("255", 255),
        (" 2 ", 2),
        ("３", 3),
        ("02", 2),
    ] {
        assert_eq!(with_field("admits", text).unwrap().admits, admits, "{text}");
    }
    for text in ["0", "-1", "256", "1.0", "+2", "two", "99999999999999999999"] {
        problem("admits", text);
    }
    assert_eq!(with_member("admits", "null").unwrap().admits, 1);
    assert_eq!(with_member("admits", "7").unwrap().admits, 7);
    assert_eq!(with_member("admits", "\"7\"").unwrap().admits, 7);
}

#[test]
fn zones_are_a_list_however_people_write_lists() {
    for text in ["A B", "A,B", "A;B", "A|B|", "A、B", "A，B，A", " A / B "] {
        let zones = with_field("zones", text).unwrap().zones;
        assert_eq!(
            zones.iter().map(|zone| zone.as_str()).collect::<Vec<_>>(),
            ["A", "B"],
            "{text}"
        );
    }
    for json in [r#"["A","B"]"#, r#"["A","B","A"]"#, r#""A,B""#] {
        assert_eq!(with_member("zones", json).unwrap().zones.len(), 2, "{json}");
    }
    assert_eq!(
        with_member("zones", "[1,2]").unwrap().zones[1].as_str(),
        "2"
    );
    assert!(with_member("zones", "[]").unwrap().zones.is_empty());
    assert!(with_field("zones", "").unwrap().zones.is_empty());
    problem("zones", "展厅");
    for json in [r#"["A B"]"#, r#"[["A"]]"#, "[null]", r#"[""]"#] {
        assert_eq!(
            with_member("zones", json).unwrap_err().field,
            "zones",
            "{json}"
        );
    }
    let many: Vec<_> = (0..65).map(|zone| zone.to_string()).collect();
    problem("zones", &many.join(" "));
}

#[test]
fn texts_for_people_keep_all_but_outer_spaces_and_control_characters() {
    for column in ["label", "category", "attention", "source", "age_group"] {
        problem(column, "A\u{0}B");
        problem(column, &"x".repeat(513));
    }
    assert_eq!(
        with_field("label", " 5\" A-12-5 ").unwrap().label,
        "5\" A-12-5"
    );
    assert_eq!(
        with_field("attention", "儿童票\n请核验").unwrap().attention,
        "儿童票\n请核验"
    );
    problem("label", "A\nB");
    assert_eq!(
        with_member("label", r#""\u5ea7 \"1\"""#).unwrap().label,
        "座 \"1\""
    );
}

#[test]
fn a_status_is_taken_only_where_the_line_says_so() {
    let ticket = with_field("label", "").unwrap();
    assert_eq!((ticket.status, ticket.cancel_cause), (None, None));
    assert_eq!(with_field("status", "").unwrap().status, None);
    assert_eq!(with_member("status", "null").unwrap().status, None);
    for (text, status) in [
        ("pending", TicketStatus::Pending),
        ("Valid", TicketStatus::Valid),
        ("blocked", TicketStatus::Blocked),
        ("CANCELLED", TicketStatus::Cancelled),
    ] {
        assert_eq!(with_field("status", text).unwrap().status, Some(status));
    }
    problem("status", "used");
}

#[test]
fn a_cause_belongs_to_a_cancelled_ticket() {
    let line = |status: &str, cause: &str| {
        one(csv(format!(
            "ticket_id,order_number,session_id,status,cancel_cause\nT1,O1,am,{status},{cause}\n"
        )))
    };
    for (text, cause) in [
        ("visitor", CancelCause::Visitor),
        ("operator", CancelCause::Operator),
        ("refunded", CancelCause::Refunded),
        ("expired", CancelCause::Expired),
        ("session_cancelled", CancelCause::SessionCancelled),
    ] {
        assert_eq!(line("cancelled", text).unwrap().cancel_cause, Some(cause));
    }
    assert_eq!(line("cancelled", "").unwrap().cancel_cause, None);
    for (status, cause) in [
        ("cancelled", "weather"),
        ("valid", "visitor"),
        ("", "visitor"),
    ] {
        assert_eq!(line(status, cause).unwrap_err().field, "cancel_cause");
    }
}

#[test]
fn a_window_of_its_own_is_read_in_the_venues_time_and_must_not_be_empty() {
    let line = |from: &str, until: &str| {
        one(csv(format!(
            "ticket_id,order_number,session_id,admit_from,admit_until\nT1,O1,am,{from},{until}\n"
        )))
    };
    let ticket = line("2026-10-01 09:30", "1790821800").unwrap();
    assert_eq!(ticket.admit_from.map(|time| time.0), Some(1_790_818_200));
    assert_eq!(ticket.admit_until.map(|time| time.0), Some(1_790_821_800));
    let ticket = line("", "2026/10/1 10:30").unwrap();
    assert_eq!(
        (ticket.admit_from, ticket.admit_until.map(|time| time.0)),
        (None, Some(1_790_821_800))
    );
    assert_eq!(
        line("1790821800", "1790821800").unwrap_err().field,
        "admit_until"
    );
    assert_eq!(
        line("1790821801", "1790821800").unwrap_err().field,
        "admit_until"
    );
    assert_eq!(line("tomorrow", "").unwrap_err().field, "admit_from");
    let ticket = with_member("admit_from", "1790818200").unwrap();
    assert_eq!(ticket.admit_from.map(|time| time.0), Some(1_790_818_200));
}

#[test]
fn a_code_is_printable_ascii_and_shown_in_no_debug_output() {
    let ticket = with_field("code", " GK-20261001-7f3a9c ").unwrap();
    assert_eq!(ticket.code.as_ref().unwrap().as_str(), "GK-20261001-7f3a9c");
    assert!(!format!("{ticket:?}").contains("7f3a9c"));
    assert_eq!(with_field("code", "").unwrap().code, None);
    problem("code", "票123");
    problem("code", "1.23457E+17");
    problem("code", &"7".repeat(257));
}

#[test]
fn a_source_version_is_a_whole_number() {
    assert_eq!(
        with_field("source_version", "").unwrap().source_version,
        None
    );
    assert_eq!(
        with_member("source_version", "17").unwrap().source_version,
        Some(17)
    );
    assert_eq!(
        with_field("source_version", "9223372036854775807")
            .unwrap()
            .source_version,
        Some(i64::MAX)
    );
    problem("source_version", "9223372036854775808");
    problem("source_version", "-1");
}
