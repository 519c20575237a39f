//! How whole files may be written: headers, charsets, separators, line ends.

use stile_sync_server::import::FileFault;

use crate::{csv, ndjson};

#[test]
fn header_names_may_differ_in_case_and_spaces() {
    let outcome = csv(
        "\u{FEFF}Ticket ID, ORDER_NUMBER ,\"\u{FEFF}session_id\",手机 号,\u{3000}姓名\n\
         T1,O1,am,13812345678,张三\n",
    );
    assert_eq!(outcome.report().accepted, 1);
    assert!(outcome.report().unknown_columns.is_empty());
    assert_eq!(outcome.tickets["T1"].holder_mask, "*三");
}

#[test]
fn members_may_have_chinese_names() {
    let outcome =
        ndjson(r#"{"票号":1,"订单号":"O1","场次":"am","人数":2,"证件号":"11010519491231002X"}"#);
    assert_eq!(outcome.tickets["1"].admits, 2);
    assert_eq!(outcome.report().dropped_columns, ["document"]);
}

#[test]
fn a_column_that_is_there_twice_refuses_the_file() {
    for header in [
        "ticket_id,order_number,session_id,phone,手机号",
        "ticket_id,票号,order_number,session_id",
    ] {
        let outcome = csv(format!("{header}\n1,2,3,4,5\n"));
        assert!(
            matches!(outcome.fault(), FileFault::DuplicateColumn { .. }),
            "{header}"
        );
    }
    let outcome = csv("ticket_id,order_number,session_id,,,x,x\nT1,O1,am,,,,\n");
    assert_eq!(
        outcome.report().unknown_columns,
        ["(column 4)", "(column 5)", "x"]
    );
}

#[test]
fn a_member_that_is_there_twice_refuses_the_line() {
    let outcome = ndjson(r#"{"ticket_id":"T1","票号":"T2","order_number":"O1","session_id":"am"}"#);
    assert_eq!(outcome.refused(), [(1, "ticket_id")]);
}

#[test]
fn every_missing_column_is_named_and_nothing_of_the_file() {
    let outcome = csv("T1,O1,am,张三,13812345678\nT2,O2,am,李四,13812345678\n");
    assert!(
        outcome
            .error()
            .starts_with("missing column ticket_id, order_number, session_id")
    );
    assert!(!outcome.error().contains("138"));
}

#[test]
fn a_file_without_a_record_is_empty() {
    for text in ["", "\u{FEFF}", "\n\r\n \n"] {
        assert!(matches!(csv(text).fault(), FileFault::Empty), "{text:?}");
        assert!(matches!(ndjson(text).fault(), FileFault::Empty), "{text:?}");
    }
}

#[test]
fn archives_and_spreadsheets_are_known_by_their_first_bytes() {
    for start in [
        &b"PK\x03\x04rest"[..],
        b"PK\x05\x06",
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1rest",
    ] {
        assert!(csv(start).error().contains("not CSV"));
        assert!(ndjson(start).error().contains("save it as NDJSON"));
    }
}

#[test]
fn utf_16_is_refused_with_or_without_its_mark() {
    let text = "ticket_id,order_number,session_id\nT1,O1,am\n";
    for mark in ["", "\u{FEFF}"] {
        let units: Vec<u16> = format!("{mark}{text}").encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [little, big] {
            assert!(matches!(
                csv(&bytes).fault(),
                FileFault::NotUtf8 { line: 1 }
            ));
            assert!(matches!(
                ndjson(&bytes).fault(),
                FileFault::NotUtf8 { line: 1 }
            ));
        }
    }
}

#[test]
fn the_line_that_is_not_utf_8_is_named_also_inside_quotes() {
    let mut file = b"ticket_id,order_number,session_id,label\nT1,O1,am,\"a\r\nb".to_vec();
    file.extend_from_slice(b"\xFF\"\nT2,O2,am,\n");
    assert!(matches!(csv(file).fault(), FileFault::NotUtf8 { line: 3 }));
}

#[test]
fn every_kind_of_line_end_ends_a_line() {
    for end in ["\n", "\r\n", "\r"] {
        let lines = [
            "ticket_id,order_number,session_id,label",
            "T1,O1,am,x",
            "T2,O2,am",
            "",
            "T3,O3,am,\"a\tb\"",
            "T4,O4,am,\"\"",
        ];
        let outcome = csv(lines.join(end));
        assert_eq!(outcome.refused(), [(3, "columns"), (5, "label")], "{end:?}");
        assert_eq!(outcome.ids(), ["T1", "T4"], "{end:?}");

        let line = |id| format!(r#"{{"ticket_id":{id},"order_number":"O","session_id":"am"}}"#);
        let outcome = ndjson([line(1), "{".to_owned(), String::new(), line(2)].join(end));
        assert_eq!(outcome.refused(), [(2, "JSON")], "{end:?}");
        assert_eq!(outcome.ids(), ["1", "2"], "{end:?}");
    }
}

#[test]
fn line_breaks_inside_quotes_count_as_lines() {
    let outcome = csv("ticket_id,order_number,session_id,\"attention\"\n\
         T1,O1,am,\"one\ntwo\r\nthree\rfour\"\n\
         T2,O2,nosuch,\n\
         T3,O3,am,\"\n\n\"\n\
         T4,O4\n");
    assert_eq!(outcome.refused(), [(6, "session_id"), (10, "columns")]);
    assert_eq!(outcome.tickets["T1"].attention, "one\ntwo\r\nthree\rfour");
}

#[test]
fn fields_may_be_separated_by_semicolon_or_tab() {
    for separator in [";", "\t"] {
        let outcome = csv(
            "ticket_id,order_number,session_id,label,zones\nT1,O1,am,\"A;1\",A B\n"
                .replace(',', separator),
        );
        let ticket = &outcome.tickets["T1"];
        assert_eq!(
            (ticket.label.as_str(), ticket.zones.len()),
            ("A;1", 2),
            "{separator:?}"
        );
    }
    let outcome = csv("ticket_id,order_number,session_id,label\n1\t,O1\t,\tam\t,A;1\t\n");
    assert_eq!(outcome.tickets["1"].label, "A;1");
}

#[test]
fn empty_rows_below_the_table_are_no_tickets() {
    let outcome = csv("ticket_id,order_number,session_id\nT1,O1,am\n,,\n\"\", ,\n,\n\n");
    assert_eq!(
        (outcome.report().accepted, outcome.report().refused_count),
        (1, 0)
    );
}

#[test]
fn a_json_array_is_told_to_be_lines() {
    let outcome = ndjson(r#"[{"ticket_id":"T1","order_number":"O1","session_id":"am"}]"#);
    assert_eq!(outcome.refused(), [(1, "object")]);
    assert!(
        outcome.report().refused[0]
            .problem
            .contains("one JSON object per line")
    );
    assert_eq!(ndjson("3\n\"x\"\nnull\n").report().refused_count, 3);
}
