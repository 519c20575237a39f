//! Values of flags, read from their texts.

use stile_core::codes::{Format, OpaqueShape};
use stile_core::ids::{Kid, VenueNumber};
use stile_core::protocol::OperatorRole;
use stile_core::ticket::Direction;
use stile_sync_server::store::ApiKeyId;

pub fn format(text: &str) -> Result<Format, &'static str> {
    let all = [
        Format::V1,
        Format::G2,
        Format::G3,
        Format::Opaque,
        Format::Document,
    ];
    let found = all.into_iter().find(|format| format.to_string() == text);
    found.ok_or("a format is one of v1, G2, G3, opaque, document")
}

pub fn direction(text: &str) -> Result<Direction, &'static str> {
    match text {
        "in" => Ok(Direction::In),
        "out" => Ok(Direction::Out),
        _ => Err("a direction is in or out"),
    }
}

pub fn role(text: &str) -> Result<OperatorRole, &'static str> {
    match text {
        "guard" => Ok(OperatorRole::Guard),
        "supervisor" => Ok(OperatorRole::Supervisor),
        _ => Err("a role is guard or supervisor"),
    }
}

pub fn kid(text: &str) -> Result<Kid, std::num::ParseIntError> {
    text.parse().map(Kid)
}

pub fn venue_number(text: &str) -> Result<VenueNumber, std::num::ParseIntError> {
    text.parse().map(VenueNumber)
}

pub fn key_id(text: &str) -> Result<ApiKeyId, std::num::ParseIntError> {
    text.parse().map(ApiKeyId)
}

pub fn shape(text: &str) -> Result<OpaqueShape, String> {
    let parts = text
        .split_once(':')
        .and_then(|(prefix, rest)| Some((prefix, rest.rsplit_once(':')?)))
        .and_then(|(prefix, (alphabet, length))| Some((prefix, alphabet, length.split_once('-')?)));
    let Some((prefix, alphabet, (from, to))) = parts else {
        return Err("a shape is written PREFIX:ALPHABET:FROM-TO".to_owned());
    };
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no length"));
    OpaqueShape::new(prefix, alphabet, [number(from)?, number(to)?]).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_may_have_colons_in_its_alphabet_and_no_prefix() {
        let read = shape(":0123456789::12-14").unwrap();
        assert_eq!(
            (read.prefix(), read.alphabet(), read.length()),
            ("", "0123456789:", [12, 14])
        );
    }

    #[test]
    fn a_shape_that_is_not_written_as_one_is_refused() {
        for text in [
            "",
            "MUS",
            "MUS:0123456789",
            "MUS:0123456789:12",
            "MUS:0123456789:a-b",
        ] {
            assert!(shape(text).is_err(), "{text}");
        }
    }
}
