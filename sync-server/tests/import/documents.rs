//! The column `document`: read where the venue takes documents, dropped unread where it does not,
//! and repeated nowhere.

use stile_core::codes::Document;
use stile_sync_server::import::ImportFormat;

use crate::{Outcome, import_at};

const CARD: &str = "11010519491231002X";
const WRONG_CARD: &str = "110105194912310021";

fn csv(document: &str, takes_documents: bool) -> Outcome {
    let file = format!("票号,订单号,场次,证件号\nT1,O1,am,{document}\n");
    import_at(file.as_bytes(), ImportFormat::Csv, takes_documents)
}

fn ndjson(document: &str, takes_documents: bool) -> Outcome {
    let file = format!(
        r#"{{"ticket_id":"T1","order_number":"O1","session_id":"am","document":{document}}}"#
    );
    import_at(file.as_bytes(), ImportFormat::Ndjson, takes_documents)
}

fn document_of(outcome: &Outcome) -> Option<Document> {
    assert_eq!(outcome.refused(), [], "{:?}", outcome.report());
    outcome.tickets["T1"].document.clone()
}

#[test]
fn a_document_is_read_however_a_spreadsheet_writes_it() {
    let card = Document::new(CARD).unwrap();
    for text in [
        CARD,
        "11010519491231002x",
        " 11010519491231002X ",
        "'11010519491231002X",
        "１１０１０５１９４９１２３１００２Ｘ",
    ] {
        assert_eq!(
            document_of(&csv(text, true)).as_ref(),
            Some(&card),
            "{text}"
        );
    }
    let digits = Document::new("440524188001010014").unwrap();
    assert_eq!(
        document_of(&ndjson("440524188001010014", true)),
        Some(digits)
    );
    let passport = Document::new("E12345678").unwrap();
    assert_eq!(document_of(&csv("e12345678", true)), Some(passport));
    for none in ["", "  "] {
        assert_eq!(document_of(&csv(none, true)), None);
    }
    assert_eq!(document_of(&ndjson("null", true)), None);
}

#[test]
fn a_wrong_document_is_a_bad_line_that_says_what_is_wrong_and_repeats_nothing() {
    for (text, said) in [
        (WRONG_CARD, "check digit"),
        ("1101051949123100", "18 characters"),
        ("1101**********002X", "18 characters"),
        ("无", "18 characters"),
        ("1.10105E+17", "spreadsheet"),
    ] {
        let outcome = csv(text, true);
        assert_eq!(outcome.refused(), [(2, "document")], "{text}");
        let problem = &outcome.report().refused[0].problem;
        assert!(problem.contains(said), "{text}: {problem}");
        assert!(!problem.contains(text), "{problem}");
    }
    assert_eq!(ndjson("[1]", true).refused(), [(1, "document")]);
}

#[test]
fn where_the_venue_takes_none_a_document_is_dropped_unread_and_refuses_nobody() {
    for text in [CARD, WRONG_CARD, "无"] {
        let outcomes = [csv(text, false), ndjson(&format!("\"{text}\""), false)];
        for outcome in outcomes {
            assert_eq!(document_of(&outcome), None);
            assert_eq!(outcome.report().dropped_columns, ["document"]);
        }
    }
    assert!(csv(CARD, true).report().dropped_columns.is_empty());
}

#[test]
fn what_was_read_prints_nothing_of_the_number() {
    let outcome = csv(CARD, true);
    let said = format!("{:?} {:?}", outcome.result, outcome.tickets);
    assert!(said.contains("T1") && !said.contains("1949"), "{said}");
}
