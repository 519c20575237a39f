//! Codes through their public doors: the edges of windows and tags, minting, and what is
//! malformed.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use data_encoding::BASE32_NOPAD;
use stile_core::codes::{
    Code, CodeRules, Format, Malformed, OpaqueShape, Payload, PayloadError, RotatingCode,
    SignedCode, TagVerdict, V1Code, VenueShapes, Window, clean, g2, g3, parse, v1,
};
use stile_core::ids::{Kid, LastFour, TicketId, TicketNumber, VenueId, VenueNumber};
use stile_core::keys::{CodeSigningKey, IssuerSecret, RotationKey};
use stile_core::time::{EpochMillis, EpochSeconds};

fn opaque(shapes: &[OpaqueShape]) -> VenueShapes<'_> {
    VenueShapes {
        opaque: shapes,
        ..VenueShapes::default()
    }
}

const NOW: i64 = 1_790_000_000;

fn rules() -> CodeRules {
    CodeRules::default()
}

fn venue() -> VenueId {
    VenueId::new("museum-01").unwrap()
}

fn issuer() -> IssuerSecret {
    IssuerSecret::from_bytes(&[7; 32])
}

fn code_key() -> CodeSigningKey {
    CodeSigningKey::from_seed(&[9; 32])
}

fn payload() -> Payload {
    Payload {
        kid: Kid(1),
        venue_number: VenueNumber(258),
        ticket_number: TicketNumber::new(77).unwrap(),
        not_before: EpochSeconds(NOW),
        window_min: 90,
        issued_at: EpochSeconds(NOW),
        ttl_5min: 2,
        admits: 2,
        last_four: LastFour::new(42),
        revision: 3,
    }
}

fn v1_code(expires_at: i64) -> V1Code {
    let ticket = TicketId::new("ORD-77").unwrap();
    let key = issuer().ticket_key(&venue(), &ticket, 0);
    let text = v1::mint(&key, &ticket, "5678", EpochSeconds(expires_at)).unwrap();
    match parse(text.as_bytes(), &VenueShapes::default()) {
        Ok(Code::V1(code)) => code,
        other => panic!("{other:?}"),
    }
}

fn g2_code(payload: &Payload) -> SignedCode {
    let text = g2::mint(&code_key(), payload).unwrap();
    match parse(text.as_bytes(), &VenueShapes::default()) {
        Ok(Code::G2(code)) => code,
        other => panic!("{other:?}"),
    }
}

fn rotation_key() -> RotationKey {
    issuer().rotation_key(&venue(), payload().ticket_number, payload().revision)
}

/// A G3 code shown at a time.
fn g3_code(t: i64) -> RotatingCode {
    let signed = g3::sign(
        &code_key(),
        &Payload {
            ttl_5min: 0,
            ..payload()
        },
    )
    .unwrap();
    let text = g3::rotate(&signed, &rotation_key(), EpochSeconds(t));
    match parse(text.as_bytes(), &VenueShapes::default()) {
        Ok(Code::G3(code)) => code,
        other => panic!("{other:?}"),
    }
}

fn at(seconds: i64, ms: i64) -> EpochMillis {
    EpochMillis(seconds * 1000 + ms)
}

// --- windows -----------------------------------------------------------------------------------

#[test]
fn a_v1_code_is_good_to_the_last_millisecond_of_its_closed_window() {
    let code = v1_code(NOW);
    assert_eq!(code.window(at(NOW + 60, 0), 0, &rules()), Window::Good);
    assert_eq!(code.window(at(NOW + 60, 1), 0, &rules()), Window::Expired);
    assert_eq!(code.window(at(NOW - 7260, 0), 0, &rules()), Window::Good);
    assert_eq!(code.window(at(NOW - 7260, -1), 0, &rules()), Window::NotYet);
}

#[test]
fn a_g2_code_is_good_in_a_half_open_window() {
    let code = g2_code(&payload());
    assert_eq!(code.window(at(NOW - 60, -1), 0, &rules()), Window::NotYet);
    assert_eq!(code.window(at(NOW - 60, 0), 0, &rules()), Window::Good);
    assert_eq!(code.window(at(NOW + 660, -1), 0, &rules()), Window::Good);
    assert_eq!(code.window(at(NOW + 660, 0), 0, &rules()), Window::Expired);
}

#[test]
fn an_unsure_clock_stretches_a_window_by_a_minute_at_most() {
    let (v1, g2) = (v1_code(NOW), g2_code(&payload()));
    for huge in [60_000, 60_001, i64::MAX] {
        assert_eq!(v1.window(at(NOW + 120, 0), huge, &rules()), Window::Good);
        assert_eq!(v1.window(at(NOW + 120, 1), huge, &rules()), Window::Expired);
        assert_eq!(g2.window(at(NOW - 120, 0), huge, &rules()), Window::Good);
        assert_eq!(g2.window(at(NOW - 120, -1), huge, &rules()), Window::NotYet);
    }
}

#[test]
fn a_negative_uncertainty_is_none() {
    assert_eq!(
        v1_code(NOW).window(at(NOW + 60, 0), i64::MIN, &rules()),
        Window::Good
    );
    assert_eq!(
        g3_code(NOW).judge_tag(&rotation_key(), at(NOW, 0), i64::MIN),
        TagVerdict::Good
    );
}

#[test]
fn windows_and_tags_stand_the_wildest_times() {
    let widest = CodeRules {
        leeway_s: u32::MAX,
        max_ttl_s: u32::MAX,
    };
    for rules in [rules(), widest] {
        for now in [EpochMillis(i64::MIN), EpochMillis(i64::MAX)] {
            for u in [0, i64::MAX] {
                assert_ne!(v1_code(NOW).window(now, u, &rules), Window::Good);
                assert_ne!(g2_code(&payload()).window(now, u, &rules), Window::Good);
                assert_eq!(
                    g3_code(NOW).judge_tag(&rotation_key(), now, u),
                    TagVerdict::BadTag
                );
            }
        }
    }
}

// --- rotating tags -----------------------------------------------------------------------------

#[test]
fn a_tag_is_good_from_two_counters_behind_to_one_ahead() {
    use TagVerdict::{Expired, Good, NotYet};
    let judged = |u_ms| -> Vec<TagVerdict> {
        (-5..=4)
            .map(|steps| g3_code(NOW + steps * 30).judge_tag(&rotation_key(), at(NOW, 0), u_ms))
            .collect()
    };
    let sure = [
        Expired, Expired, Expired, Good, Good, Good, Good, NotYet, NotYet, NotYet,
    ];
    assert_eq!(judged(0), sure);
    assert_eq!(judged(30_000), sure);
    let unsure = [
        Expired, Expired, Good, Good, Good, Good, Good, Good, NotYet, NotYet,
    ];
    assert_eq!(judged(30_001), unsure);
}

#[test]
fn a_counter_half_a_turn_away_is_still_known_and_one_further_is_forged() {
    let judge = |steps: i64| g3_code(NOW + steps * 30).judge_tag(&rotation_key(), at(NOW, 0), 0);
    assert_eq!(judge(-128), TagVerdict::Expired);
    assert_eq!(judge(127), TagVerdict::NotYet);
    assert_eq!(judge(-129), TagVerdict::BadTag);
    assert_eq!(judge(128), TagVerdict::BadTag);
}

#[test]
fn a_tag_of_another_key_is_bad_even_when_it_is_stale() {
    let other = issuer().rotation_key(&venue(), payload().ticket_number, payload().revision - 1);
    for steps in [-100, -3, 0, 2, 100] {
        let verdict = g3_code(NOW + steps * 30).judge_tag(&other, at(NOW, 0), 0);
        assert_eq!(verdict, TagVerdict::BadTag, "{steps}");
    }
}

#[test]
fn a_tag_does_not_fit_another_signature() {
    let one = g3_code(NOW).text().to_owned();
    let other = g3::sign(
        &code_key(),
        &Payload {
            ttl_5min: 0,
            revision: 4,
            ..payload()
        },
    )
    .unwrap();
    let other = g3::rotate(&other, &rotation_key(), EpochSeconds(NOW));
    let bytes = |text: &str| BASE32_NOPAD.decode(&text.as_bytes()[2..]).unwrap();
    let mixed = [&bytes(&other)[..91], &bytes(&one)[91..]].concat();
    let mixed = format!("G3{}", BASE32_NOPAD.encode(&mixed));
    let Ok(Code::G3(code)) = parse(mixed.as_bytes(), &VenueShapes::default()) else {
        panic!("not a G3")
    };
    assert!(code.verify_signature(&code_key().verifying_key()));
    assert_eq!(
        code.judge_tag(&rotation_key(), at(NOW, 0), 0),
        TagVerdict::BadTag
    );
}

// --- minting -----------------------------------------------------------------------------------

#[test]
fn nothing_is_minted_that_a_gate_would_call_malformed() {
    let mint = |payload| g2::mint(&code_key(), &payload).unwrap_err();
    assert_eq!(
        mint(Payload {
            admits: 0,
            ..payload()
        }),
        PayloadError::Admits
    );
    for wild in [-1, i64::from(u32::MAX) + 1, i64::MAX] {
        let wild = EpochSeconds(wild);
        assert_eq!(
            mint(Payload {
                issued_at: wild,
                ..payload()
            }),
            PayloadError::Time
        );
        assert_eq!(
            mint(Payload {
                not_before: wild,
                ..payload()
            }),
            PayloadError::Time
        );
    }
    assert_eq!(g3::sign(&code_key(), &payload()), Err(PayloadError::Ttl));
    let ticket = TicketId::new("A1").unwrap();
    let key = issuer().ticket_key(&venue(), &ticket, 0);
    for wild in [-1, 10_000_000_000, i64::MAX] {
        assert!(
            v1::mint(&key, &ticket, "", EpochSeconds(wild)).is_err(),
            "{wild}"
        );
    }
}

#[test]
fn times_that_no_counter_can_say_are_shown_and_not_taken() {
    for t in [i64::MIN, -1, i64::MAX] {
        let verdict = g3_code(t).judge_tag(&rotation_key(), at(NOW, 0), 0);
        assert_eq!(verdict, TagVerdict::BadTag, "{t}");
    }
}

#[test]
fn the_admission_of_an_unlisted_ticket_is_half_open_and_counted_in_minutes() {
    let (from, until) = payload().admission_window();
    assert_eq!(
        (from, until),
        (EpochSeconds(NOW), EpochSeconds(NOW + 90 * 60))
    );
}

#[test]
fn a_signed_g2_payload_is_no_g3_payload() {
    let text = g2_code(&Payload {
        ttl_5min: 0,
        ..payload()
    })
    .text()
    .to_owned();
    let bytes = BASE32_NOPAD
        .decode(&text.as_bytes()[2..])
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(
        g3::SignedPayload::from_bytes(&bytes),
        Err(PayloadError::Version)
    );
}

// --- reading -----------------------------------------------------------------------------------

#[test]
fn a_malformed_text_is_named_and_never_repeated() {
    let shapes = [OpaqueShape::new("MUS", "0123456789", [10, 10]).unwrap()];
    let g2 = g2_code(&payload()).text().to_owned();
    let v1 = v1_code(NOW).text().to_owned();
    let second_spelling = format!("{}9", &v1[..v1.len() - 1]);
    let canonical = BASE32_NOPAD.decode(&g2.as_bytes()[2..]).unwrap();
    let mut admits_none = canonical.clone();
    admits_none[23] = 0;
    let admits_none = format!("G2{}", BASE32_NOPAD.encode(&admits_none));
    for (reading, malformed) in [
        ("", Malformed::Empty),
        ("]Q1\\000026 \r\n\0", Malformed::Empty),
        (&"A".repeat(257), Malformed::TooLong),
        ("A\u{7f}", Malformed::NotPrintable),
        ("票", Malformed::NotPrintable),
        ("MUS123456", Malformed::NoShape),
        (&format!("A:{v1}"), Malformed::TicketId),
        (&second_spelling, Malformed::Spelling(Format::V1)),
        (
            &admits_none,
            Malformed::Field(Format::G2, PayloadError::Admits),
        ),
    ] {
        let found = parse(reading.as_bytes(), &opaque(&shapes)).unwrap_err();
        assert_eq!(found, malformed, "{reading}");
        assert!(
            reading.len() < 4 || !found.to_string().contains(reading),
            "{found}"
        );
    }
}

#[test]
fn clean_up_takes_each_mark_once_and_in_order() {
    assert_eq!(clean(b"]Q6\\123456\0\r\n\t  A B \n\0"), Ok("A B"));
    assert_eq!(clean(b" ]Q1A"), Ok("]Q1A"));
    assert_eq!(clean(b"]Q7A"), Ok("]Q7A"));
    assert_eq!(clean(b"\\123456\\123456A"), Ok("\\123456A"));
    assert_eq!(clean(b"\\12345"), Ok("\\12345"));
    assert_eq!(clean(b"]Q"), Ok("]Q"));
    assert_eq!(clean(&[b'A'; 256]).map(str::len), Ok(256));
}

#[test]
fn an_opaque_code_of_any_declared_length_is_read_whole() {
    let shapes = [OpaqueShape::new("T-", "0123456789", [6, 8]).unwrap()];
    for (reading, read) in [
        ("T-123", false),
        ("T-1234", true),
        ("T-123456", true),
        ("T-1234567", false),
        ("t-1234", false),
        ("T-12a4", false),
        ("1234", false),
    ] {
        let code = parse(reading.as_bytes(), &opaque(&shapes));
        assert_eq!(code.is_ok(), read, "{reading}");
        if let Ok(code) = code {
            assert_eq!(
                (code.format(), code.text()),
                (Format::Opaque, Some(reading))
            );
        }
    }
}

#[test]
fn formats_are_named_as_in_policies_and_records() {
    let all = [
        Format::V1,
        Format::G2,
        Format::G3,
        Format::Opaque,
        Format::Document,
    ];
    assert_eq!(
        serde_json::to_string(&all).unwrap(),
        r#"["v1","G2","G3","opaque","document"]"#
    );
    assert_eq!(
        all.map(|format| format.to_string()),
        ["v1", "G2", "G3", "opaque", "document"]
    );
}
