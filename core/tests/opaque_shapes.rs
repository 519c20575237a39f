//! Which opaque shapes a venue may declare: none whose texts could be taken for another format's,
//! and none that is absurd.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use stile_core::codes::{OpaqueShape, ShapeError};

const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

#[test]
fn a_shape_is_refused_exactly_when_a_text_of_it_could_be_another_format() {
    let could_be = |prefix: &str, alphabet: &str, length: [u16; 2]| match OpaqueShape::new(
        prefix, alphabet, length,
    ) {
        Ok(_) => None,
        Err(ShapeError::CouldBe(what)) => Some(what),
        Err(other) => panic!("{prefix} {alphabet} {length:?}: {other}"),
    };
    let (v1, g2, g3) = (Some("v1 codes"), Some("G2 codes"), Some("G3 codes"));
    let card = Some("numbers of identity cards");

    assert_eq!(could_be("", HEX, [32, 32]), None);
    assert_eq!(could_be("MUS", "0123456789abcdef-", [47, 47]), None);
    // v1: 56 to 119 characters with a hyphen at 55 and 44 from the end, ten digits between.
    assert_eq!(could_be("", "0123456789-", [55, 55]), None);
    assert_eq!(could_be("", "0123456789-", [55, 56]), v1);
    assert_eq!(could_be("", "0123456789-", [119, 119]), v1);
    assert_eq!(could_be("", "0123456789-", [120, 256]), None);
    assert_eq!(could_be("", "0123456789", [30, 256]), None, "no hyphen");
    assert_eq!(could_be("", "abcdef-", [60, 60]), None, "no digit");
    // A prefix decides the places that it covers.
    assert_eq!(could_be("A", "0123456789-", [56, 56]), v1);
    assert_eq!(
        could_be("AB", "0123456789-", [56, 56]),
        None,
        "no hyphen at the second place"
    );
    assert_eq!(could_be("A-1", "0123456789-", [56, 56]), v1);
    assert_eq!(
        could_be("A-x", "0123456789-", [56, 56]),
        None,
        "no digit after the hyphen"
    );
    assert_eq!(could_be("A-1234567890-", HEX, [56, 56]), v1);
    assert_eq!(
        could_be("A-1234567890-", "+/", [56, 56]),
        None,
        "no signature"
    );
    assert_eq!(
        could_be("a:b", "0123456789-", [60, 60]),
        v1,
        "its id would be malformed"
    );
    // G2 and G3.
    assert_eq!(could_be("", BASE32, [148, 148]), g2);
    assert_eq!(could_be("G", BASE32, [140, 150]), g2);
    assert_eq!(could_be("G3", BASE32, [162, 162]), g3);
    assert_eq!(could_be("G3", BASE32, [148, 148]), None);
    assert_eq!(could_be("G2", BASE32, [149, 161]), None);
    assert_eq!(could_be("M", BASE32, [148, 162]), None);
    assert_eq!(
        could_be("", "ABCDEFGHIJKLMNOPQRSTUVWXYZ4567", [148, 162]),
        None,
        "no 2, no 3"
    );
    assert_eq!(could_be("G2", "0189abc", [148, 148]), None, "no base32");
    // Identity cards.
    assert_eq!(could_be("", "0123456789", [18, 18]), card);
    assert_eq!(could_be("", HEX, [16, 20]), card);
    assert_eq!(could_be("", "0123456789", [17, 17]), None);
    assert_eq!(could_be("T", "0123456789", [18, 18]), None);
    assert_eq!(could_be("12345678901234567", "Xx", [18, 18]), card);
}

#[test]
fn an_absurd_shape_is_refused_with_what_is_wrong() {
    use ShapeError::{Character, Constant, Length};
    for (prefix, alphabet, length, fault) in [
        ("", HEX, [0, 8], Length),
        ("", HEX, [3, 8], Length),
        ("", HEX, [9, 8], Length),
        ("", HEX, [8, 257], Length),
        ("", "", [8, 8], Constant),
        ("TICKET", HEX, [6, 8], Constant),
        ("TICKET", HEX, [5, 8], Constant),
        ("票", HEX, [8, 8], Character("prefix")),
        ("]Q1", HEX, [8, 8], Character("prefix")),
        ("", "0123 ", [8, 8], Character("alphabet")),
        ("", "0123\\", [8, 8], Character("alphabet")),
        ("", "0123\n", [8, 8], Character("alphabet")),
    ] {
        let found = OpaqueShape::new(prefix, alphabet, length);
        assert_eq!(found, Err(fault), "{prefix:?} {alphabet:?} {length:?}");
    }
}

#[test]
fn a_shape_travels_as_it_was_declared_and_is_checked_on_arrival() {
    let text = r#"{"prefix":"MUS","alphabet":"0123456789abcdef-","length":[47,47]}"#;
    let shape: OpaqueShape = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&shape).unwrap(), text);
    assert_eq!(
        shape,
        OpaqueShape::new("MUS", "0123456789abcdef-", [47, 47]).unwrap()
    );
    let narrow = r#"{"alphabet":"0123456789","length":[18,18]}"#;
    let fault = serde_json::from_str::<OpaqueShape>(narrow)
        .unwrap_err()
        .to_string();
    assert!(fault.contains("identity cards"), "{fault}");
}

#[test]
fn a_shape_knows_how_much_chance_its_shortest_code_can_hold() {
    let bits = |prefix, alphabet, from| {
        OpaqueShape::new(prefix, alphabet, [from, 40])
            .unwrap()
            .random_bits()
    };
    assert_eq!(bits("M", HEX, 17), 64);
    assert_eq!(bits("M", HEX, 16), 60);
    assert_eq!(
        bits("M", "0000000", 17),
        0,
        "one character, however often it stands"
    );
}
