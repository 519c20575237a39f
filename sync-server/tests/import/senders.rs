//! What a sender says of a file: its charset and what it calls its columns. And what is said of
//! codes that could be guessed.

use jiff::tz::TimeZone;
use stile_sync_server::import::{
    Charset, ColumnNameError, ColumnNames, FileFault, FileRules, ImportFormat, OUR_NAMES,
};

use crate::{Crumbs, Outcome, csv, import_with};

fn in_charset(name: &str, bytes: &[u8]) -> Outcome {
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    let rules = FileRules {
        charset: Charset::named(name).unwrap(),
        ..FileRules::new(&zone)
    };
    import_with(Crumbs { bytes, size: 7 }, ImportFormat::Csv, rules)
}

fn called(names: &ColumnNames, format: ImportFormat, text: &str) -> Outcome {
    let zone = TimeZone::UTC;
    let rules = FileRules {
        names,
        ..FileRules::new(&zone)
    };
    import_with(text.as_bytes(), format, rules)
}

#[test]
fn a_file_in_a_named_charset_is_read() {
    let text = "票号,订单号,场次,姓名\r\nT1,O1,am,张三\r\n";
    for name in ["gb18030", "GBK", "gb2312"] {
        let bytes = encoding_rs::GBK.encode(text).0;
        assert_eq!(in_charset(name, &bytes).tickets["T1"].holder_mask, "*三");
    }
    let utf16: Vec<u8> = std::iter::once('\u{FEFF}')
        .chain(text.chars())
        .flat_map(|c| u16::try_from(u32::from(c)).unwrap().to_le_bytes())
        .collect();
    assert_eq!(in_charset("utf-16le", &utf16).ids(), ["T1"]);
    let latin = b"ticket_id,order_number,session_id,holder_name\nT1,O1,am,Ren\xE9\n";
    let mask = &in_charset("iso-8859-1", latin).tickets["T1"].holder_mask;
    assert_eq!(mask, "***é");
    assert_eq!(Charset::named("klingon"), None);
    assert_eq!(Charset::named("us-ascii"), Some(Charset::UTF_8));
}

#[test]
fn a_file_that_is_not_in_its_charset_is_refused_and_never_stored_as_garbage() {
    let mut bytes = b"ticket_id,order_number,session_id\r\nT1,O1,am\rT2,O1,am\nT".to_vec();
    bytes.push(0xFF);
    bytes.extend(b",O1,am\n");
    let outcome = in_charset("gb18030", &bytes);
    assert!(
        matches!(
            outcome.fault(),
            FileFault::NotInCharset {
                line: 4,
                charset: "gb18030"
            }
        ),
        "{}",
        outcome.error()
    );
    assert!(outcome.tickets.is_empty());
    // Cut in the middle of a character.
    let cut = encoding_rs::GBK
        .encode("ticket_id,order_number,session_id\nT1,O1,am\n张")
        .0;
    let outcome = in_charset("gbk", &cut[..cut.len() - 1]);
    assert!(matches!(
        outcome.fault(),
        FileFault::NotInCharset { line: 3, .. }
    ));
}

#[test]
fn columns_are_found_by_the_names_that_the_sender_gives_them() {
    let names = OUR_NAMES
        .clone()
        .with("ticket_id", "Ticket No")
        .and_then(|names| names.with("手机号", " MOBILE "))
        .unwrap();
    let file = "TICKET NO,order_number,session_id,Mobile,phone\nT1,O1,am,13812345678,none\n";
    let outcome = called(&names, ImportFormat::Csv, file);
    let last_four = outcome.tickets["T1"]
        .last_four
        .map(|digits| digits.to_string());
    assert_eq!(last_four.as_deref(), Some("5678"));
    assert_eq!(
        outcome.report().unknown_columns,
        ["phone"],
        "it is called otherwise here"
    );
    let line = r#"{"Ticket No":7,"order_number":"O1","session_id":"am","mobile":"13812345678"}"#;
    assert_eq!(called(&names, ImportFormat::Ndjson, line).ids(), ["7"]);
    let old = called(
        &names,
        ImportFormat::Csv,
        "ticket_id,order_number,session_id\nT1,O1,am\n",
    );
    assert!(old.error().contains("missing column ticket_id"));
}

#[test]
fn a_mapping_that_means_nothing_or_two_things_is_refused() {
    let names = OUR_NAMES.clone().with("phone", "Tel").unwrap();
    let again = |column, name| names.clone().with(column, name).unwrap_err();
    assert_eq!(again("colour", "Colour"), ColumnNameError::NoColumn);
    assert_eq!(again("label", " "), ColumnNameError::Empty);
    assert_eq!(again("phone", "Mobile"), ColumnNameError::Twice);
    assert_eq!(again("label", "TEL"), ColumnNameError::Twice);
}

/// What is said of a file with these codes.
fn warnings<'c>(codes: impl IntoIterator<Item = &'c str>) -> Vec<String> {
    let lines = codes
        .into_iter()
        .enumerate()
        .map(|(n, code)| format!("T{n},O1,am,{code}\n"));
    let outcome =
        csv("ticket_id,order_number,session_id,code\n".to_owned() + &lines.collect::<String>());
    assert_eq!(outcome.refused(), []);
    let warnings = outcome.report().warnings.iter();
    warnings
        .map(|warning| {
            assert_eq!(warning.field, "code");
            warning.problem.clone()
        })
        .collect()
}

#[test]
fn codes_that_could_be_guessed_are_taken_and_warned_of() {
    let random = ["WX-8f3Kq0Zr5TnB", "WX-m1Gd7Yc2LsPe", "WX-Qa9Vx4Hj6RuW"];
    assert_eq!(warnings(random), [""; 0]);
    assert_eq!(warnings([""; 3]), [""; 0], "no codes");
    let short = warnings(["WX-48213377", "WX-90017254", "WX-17739051"]);
    assert_eq!(short.len(), 1);
    assert!(short[0].contains("at most 26 bits"), "{}", short[0]);
    // One code says what it consists of, and no more.
    assert!(warnings(["123456789012"])[0].contains("at most 39 bits"));
    assert_eq!(warnings(["8f3Kq0Zr5TnBm1Gd"]), [""; 0]);
    // Several tickets behind one code are no pattern.
    assert_eq!(warnings([random[0], random[0], random[1]]), [""; 0]);
}

#[test]
fn codes_that_run_on_are_warned_of() {
    let running: Vec<_> = (0..50)
        .map(|n| format!("8f3Kq0Zr5TnBm1Gd-{:08}-X", 9_999_990 + n))
        .collect();
    let said = warnings(running.iter().map(String::as_str));
    assert!(
        said.iter().any(|said| said.contains("49 are one more")),
        "{said:?}"
    );
}
