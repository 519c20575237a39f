//! Workbooks (XLSX): what spreadsheets make of tickets, and workbooks that are none.

use stile_core::time::EpochSeconds;
use stile_sync_server::import::{FileFault, ImportFormat, XLSX_BYTES};

use crate::workbook::{archive, of_parts, workbook};
use crate::{Outcome, import_from};

fn xlsx(bytes: impl AsRef<[u8]>) -> Outcome {
    import_from(bytes.as_ref(), ImportFormat::Xlsx)
}

const HEADER: &[&str] = &[
    "票号",
    "订单号",
    "场次",
    "姓名",
    "手机号",
    "人数",
    "admit_from",
];

#[test]
fn numbers_and_dates_of_a_spreadsheet_are_what_they_mean() {
    let outcome = xlsx(workbook(&[
        HEADER,
        &[
            "#10001",
            "O1",
            "am",
            "张三",
            "#13812345678",
            "#2",
            "@46296.395833333336",
        ],
        &["T2", "#7.0", "am", "欧阳娜娜", "139 0000 1111", "", ""],
    ]));
    assert_eq!(outcome.refused(), []);
    let first = &outcome.tickets["10001"];
    let last_four = first.last_four.map(|digits| digits.to_string());
    assert_eq!(
        (&*first.holder_mask, last_four.as_deref()),
        ("*三", Some("5678"))
    );
    // 2026-10-01 09:30 in Shanghai.
    assert_eq!(
        (first.admits, first.admit_from),
        (2, Some(EpochSeconds(1_790_818_200)))
    );
    let second = &outcome.tickets["T2"];
    assert_eq!((second.order_number.as_str(), second.admits), ("7", 1));
}

#[test]
fn rows_that_are_wrong_are_named_by_their_numbers_and_blank_ones_are_none() {
    let outcome = xlsx(workbook(&[
        &[],
        HEADER,
        &["T1", "O1", "am"],
        &["", " ", ""],
        &["T2", "O1", "am", "", "", "#2.5"],
        &["T3", "O1", "am", "", "", "?"],
        &["!", "O1", "am"],
        &["#110101194912310021", "O1", "am"],
        &["T4", "O1", "am", "", "#1.3812E+20"],
        &["T5", "O1", "am", "", "", "", "#46296"],
        &["T6", "O1", "am"],
    ]));
    assert_eq!(
        outcome.refused(),
        [
            (5, "admits"),
            (6, "admits"),
            (7, "ticket_id"),
            (8, "ticket_id"),
            (9, "phone"),
            (10, "admit_from"),
        ]
    );
    assert_eq!(outcome.ids(), ["T1", "T6"]);
}

#[test]
fn columns_are_found_by_their_names_and_others_are_named() {
    let outcome = xlsx(workbook(&[
        &["备注", "session_id", "", "Ticket ID", "order number"],
        &["x", "am", "y", "T1", "O1", "more"],
    ]));
    assert_eq!(outcome.ids(), ["T1"]);
    assert_eq!(
        outcome.report().unknown_columns,
        ["备注", "(column 3)", "(column 6)"]
    );
    let missing = xlsx(workbook(&[&["ticket_id", "order_number"], &["T1", "O1"]]));
    assert!(missing.error().contains("missing column session_id"));
    assert!(matches!(xlsx(workbook(&[])).fault(), FileFault::Empty));
    assert!(matches!(xlsx([]).fault(), FileFault::Empty));
}

#[test]
fn what_is_no_workbook_is_refused_whole_and_says_what_to_do() {
    let old: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and more";
    let cut = workbook(&[HEADER, &["T1", "O1", "am"]]);
    let cut = cut[..cut.len() / 2].to_vec();
    for (bytes, said) in [
        (old.to_vec(), "save it as XLSX"),
        (
            b"ticket_id,order_number,session_id\n".to_vec(),
            "content type",
        ),
        (cut, "cannot be read"),
        (archive(&[("readme.txt", "no workbook")]), "cannot be read"),
        (
            of_parts("<row r=\"1\"><c r=\"A1\" t=\"s\"><v>9</v></c></row>", ""),
            "",
        ),
        (of_parts("<row r=\"1\"><c r=\"A1\"><v>1</v></row>", ""), ""),
    ] {
        let outcome = xlsx(bytes);
        assert!(outcome.error().contains(said), "{}", outcome.error());
        assert!(outcome.tickets.is_empty());
    }
}

#[test]
fn a_workbook_that_unpacks_without_end_is_refused_before_it_is_parsed() {
    let blank = " ".repeat(80 * 1024 * 1024);
    let texts = of_parts("", &blank);
    assert!(texts.len() < 1024 * 1024, "it packs well");
    assert!(matches!(
        xlsx(texts).fault(),
        FileFault::WorkbookTooLarge(_)
    ));
    let many: Vec<_> = (0..1_100).map(|n| (format!("xl/{n}.xml"), "")).collect();
    let many: Vec<_> = many.iter().map(|(name, text)| (&**name, *text)).collect();
    assert!(matches!(
        xlsx(archive(&many)).fault(),
        FileFault::WorkbookTooLarge(_)
    ));
    let mut long = workbook(&[HEADER]);
    long.resize(XLSX_BYTES + 1, 0);
    assert!(xlsx(long).error().contains("16 MiB"));
}

#[test]
fn a_sheet_wider_than_tickets_are_is_refused() {
    let wide = of_parts("<row r=\"1\"><c r=\"ZZ1\" t=\"str\"><v>x</v></c></row>", "");
    assert!(matches!(xlsx(wide).fault(), FileFault::WorkbookTooLarge(_)));
}
