//! What holds for any text, key and field: nothing panics, what is minted is read back and
//! verifies, and a changed code never does.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use stile_core::codes::{
    Code, Format, Malformed, OpaqueShape, Payload, TagVerdict, VenueShapes, clean, g2, g3, parse,
    v1,
};
use stile_core::ids::{Kid, LastFour, TicketId, TicketNumber, VenueId, VenueNumber};
use stile_core::keys::{CodeSigningKey, IssuerSecret};
use stile_core::time::EpochSeconds;

fn opaque(shapes: &[OpaqueShape]) -> VenueShapes<'_> {
    VenueShapes {
        opaque: shapes,
        ..VenueShapes::default()
    }
}

fn shapes() -> Vec<OpaqueShape> {
    [
        ("", "0123456789abcdef", [32, 32]),
        ("MUS", "0123456789abcdef-", [47, 47]),
        ("T", "AB", [4, 9]),
    ]
    .map(|(prefix, alphabet, length)| OpaqueShape::new(prefix, alphabet, length).unwrap())
    .to_vec()
}

fn payload(ttl_5min: impl Strategy<Value = u8>) -> impl Strategy<Value = Payload> {
    let times = (any::<u32>(), any::<u16>(), any::<u32>(), ttl_5min);
    let ticket = (
        any::<u8>(),
        any::<u16>(),
        1..=i64::MAX as u64,
        1..=u8::MAX,
        any::<u8>(),
    );
    (times, ticket, proptest::option::of(0..=9999_u16)).prop_map(
        |(
            (not_before, window_min, issued_at, ttl_5min),
            (kid, venue, ticket, admits, revision),
            digits,
        )| {
            Payload {
                kid: Kid(kid),
                venue_number: VenueNumber(venue),
                ticket_number: TicketNumber::new(ticket).unwrap(),
                not_before: EpochSeconds(i64::from(not_before)),
                window_min,
                issued_at: EpochSeconds(i64::from(issued_at)),
                ttl_5min,
                admits,
                last_four: digits.and_then(LastFour::new),
                revision,
            }
        },
    )
}

/// Texts near the shapes, so that parsers are reached and not only the question of shape.
fn near_a_code() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[ -~]{0,260}".prop_map(String::into_bytes),
        "(\\]Q[0-9])?(\\\\[0-9]{5,7})?[ \r\n\t\0]{0,3}[ -~]{0,70}[ \r\n\t\0]{0,3}"
            .prop_map(String::into_bytes),
        "G2[A-Z2-7]{146}".prop_map(String::into_bytes),
        "G2A[A-H][A-Z2-7]{144}".prop_map(String::into_bytes),
        "G3AM[A-Z2-7]{158}".prop_map(String::into_bytes),
        "[ -~]{1,64}-[0-9]{10}-[A-Za-z0-9_-]{43}".prop_map(String::into_bytes),
        "[A-Za-z0-9_-]{1,64}-[0-9]{10}-[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
            .prop_map(String::into_bytes),
        "[0-9a-f]{31,33}".prop_map(String::into_bytes),
    ]
}

/// Whether a character may stand at a place of a text of a length.
type Fits = fn(usize, usize, u8) -> bool;

const TEMPLATES: [Fits; 4] = [fits_v1, fits_g2, fits_g3, fits_card];

fn fits_v1(place: usize, length: usize, c: u8) -> bool {
    match length.saturating_sub(place) {
        55 | 44 => c == b'-',
        45..=54 => c.is_ascii_digit(),
        _ => c.is_ascii_alphanumeric() || c == b'_' || c == b'-',
    }
}

fn fits_g2(place: usize, _: usize, c: u8) -> bool {
    fits_signed(b"G2", place, c)
}

fn fits_g3(place: usize, _: usize, c: u8) -> bool {
    fits_signed(b"G3", place, c)
}

fn fits_signed(prefix: &[u8; 2], place: usize, c: u8) -> bool {
    match prefix.get(place) {
        Some(fixed) => c == *fixed,
        None => c.is_ascii_uppercase() || (b'2'..=b'7').contains(&c),
    }
}

fn fits_card(place: usize, _: usize, c: u8) -> bool {
    c.is_ascii_digit() || (place == 17 && matches!(c, b'X' | b'x'))
}

/// The text of a shape that fits a format at as many places as it can.
fn closest_text(prefix: &str, alphabet: &str, length: usize, fits: Fits) -> String {
    (0..length)
        .map(|place| match prefix.as_bytes().get(place) {
            Some(c) => char::from(*c),
            None => {
                let fitting = alphabet.bytes().find(|c| fits(place, length, *c));
                char::from(fitting.unwrap_or(alphabet.as_bytes()[0]))
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn any_reading_is_parsed_without_panic_and_alike_after_clean_up(reading in near_a_code()) {
        let shapes = shapes();
        let parsed = parse(&reading, &opaque(&shapes));
        if let Ok(code) = &parsed {
            let cleaned = clean(&reading).unwrap();
            prop_assert_eq!(code.text(), Some(cleaned));
            prop_assert_eq!(clean(cleaned.as_bytes()), Ok(cleaned), "a code holds no scanner's mark");
            prop_assert_eq!(&parse(cleaned.as_bytes(), &opaque(&shapes)), &parsed);
        }
    }

    #[test]
    fn a_code_between_a_scanners_marks_is_the_same_code(
        before in "(\\]Q[0-6])?(\\\\[0-9]{6})?[ \r\n\t\0]{0,9}",
        after in "[ \r\n\t\0]{0,9}",
        payload in payload(any::<u8>()),
    ) {
        let text = g2::mint(&CodeSigningKey::from_seed(&[1; 32]), &payload).unwrap();
        let read = parse(format!("{before}{text}{after}").as_bytes(), &VenueShapes::default());
        prop_assert_eq!(read, parse(text.as_bytes(), &VenueShapes::default()));
    }

    #[test]
    fn a_minted_v1_code_is_read_and_verified_for_its_holder_alone(
        id in "[A-Za-z0-9_-]{1,64}",
        holder in "[0-9]{0,11}",
        other in "[0-9]{0,11}",
        expires_at in 0..=9_999_999_999_i64,
        revision: u8,
        secret: [u8; 32],
    ) {
        let (ticket, venue) = (TicketId::new(id).unwrap(), VenueId::new("museum-01").unwrap());
        let issuer = IssuerSecret::from_bytes(&secret);
        let key = issuer.ticket_key(&venue, &ticket, revision);
        let text = v1::mint(&key, &ticket, &holder, EpochSeconds(expires_at)).unwrap();
        let Ok(Code::V1(code)) = parse(text.as_bytes(), &opaque(&shapes())) else {
            return Err(TestCaseError::fail(text));
        };
        prop_assert_eq!(code.text(), &text);
        prop_assert_eq!(code.ticket_id(), &ticket);
        prop_assert_eq!(code.expires_at(), EpochSeconds(expires_at));
        prop_assert!(code.verify(key.as_bytes(), &holder));
        prop_assert_eq!(code.verify(key.as_bytes(), &other), other == holder);
        let newer = issuer.ticket_key(&venue, &ticket, revision.wrapping_add(1));
        prop_assert!(!code.verify(newer.as_bytes(), &holder));
    }

    #[test]
    fn a_minted_g2_code_is_read_and_verified(payload in payload(any::<u8>()), seed: [u8; 32]) {
        let key = CodeSigningKey::from_seed(&seed);
        let text = g2::mint(&key, &payload).unwrap();
        prop_assert_eq!(text.len(), 148);
        let Ok(Code::G2(code)) = parse(text.as_bytes(), &opaque(&shapes())) else {
            return Err(TestCaseError::fail(text));
        };
        prop_assert_eq!(code.payload(), &payload);
        prop_assert!(code.verify_signature(&key.verifying_key()));
        let other = CodeSigningKey::from_seed(&seed.map(|b| !b)).verifying_key();
        prop_assert!(!code.verify_signature(&other));
    }

    #[test]
    fn a_rotated_g3_code_is_read_and_verified(
        payload in payload(Just(0)),
        seed: [u8; 32],
        t in 0..=i64::from(u32::MAX) * 30,
    ) {
        let key = CodeSigningKey::from_seed(&seed);
        let rotation = IssuerSecret::from_bytes(&seed).rotation_key(
            &VenueId::new("museum-01").unwrap(),
            payload.ticket_number,
            payload.revision,
        );
        let signed = g3::sign(&key, &payload).unwrap();
        let text = g3::rotate(&signed, &rotation, EpochSeconds(t));
        prop_assert_eq!(text.len(), 162);
        let Ok(Code::G3(code)) = parse(text.as_bytes(), &opaque(&shapes())) else {
            return Err(TestCaseError::fail(text));
        };
        prop_assert_eq!(code.payload(), &payload);
        prop_assert!(code.verify_signature(&key.verifying_key()));
        prop_assert_eq!(code.judge_tag(&rotation, EpochSeconds(t).millis(), 0), TagVerdict::Good);
    }

    #[test]
    fn a_g2_code_with_one_character_changed_never_verifies(
        payload in payload(any::<u8>()),
        place in 0..148_usize,
        character in prop_oneof![
            4 => proptest::sample::select(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".to_vec()),
            1 => 0x20..0x7F_u8,
        ],
    ) {
        let key = CodeSigningKey::from_seed(&[1; 32]);
        let text = g2::mint(&key, &payload).unwrap();
        let mut changed = text.clone().into_bytes();
        changed[place] = character;
        prop_assume!(changed != text.as_bytes());
        match parse(&changed, &opaque(&shapes())) {
            Err(_) => {}
            Ok(Code::G2(code)) => prop_assert!(!code.verify_signature(&key.verifying_key())),
            Ok(other) => return Err(TestCaseError::fail(format!("a {}", other.format()))),
        }
    }

    #[test]
    fn a_shape_is_declared_exactly_when_no_text_of_it_has_another_formats_shape(
        prefix in prop_oneof!["[A-Z0-9-]{0,3}", "G[23]", "[A-Z]-[0-9]{10}-"],
        alphabet in prop_oneof![
            "[A-Za-z0-9_-]{1,12}",
            "[0-9]{1,3}[A-Fx-z-]{0,3}",
            "[A-Z2-7]{1,32}",
        ],
        from in prop_oneof![14..=256_u16, 14..=18_u16, 50..=60_u16, 148..=162_u16],
        more in prop_oneof![Just(0), 0..=200_u16],
    ) {
        let length = [from, from.saturating_add(more).min(256)];
        let declared = OpaqueShape::new(&prefix, &alphabet, length);
        // Of every length, the texts that come closest to each format.
        let closest = (from..=length[1]).flat_map(|length| {
            TEMPLATES.map(|fits| closest_text(&prefix, &alphabet, usize::from(length), fits))
        });
        let another = |text: &String| parse(text.as_bytes(), &VenueShapes::default()) != Err(Malformed::NoShape)
            || (text.len() == 18 && (0..18).all(|place| fits_card(place, 18, text.as_bytes()[place])));
        let found = closest.clone().find(another);
        prop_assert_eq!(declared.is_err(), found.is_some(), "{:?} {:?}", declared, found);
        if let Ok(shape) = declared {
            for text in closest {
                let code = parse(text.as_bytes(), &opaque(std::slice::from_ref(&shape))).unwrap();
                prop_assert_eq!((code.format(), code.text()), (Format::Opaque, Some(text.as_str())));
            }
        }
    }
}
