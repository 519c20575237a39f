//! The text of the enrolment QR:
//! `stile://enrol?server=…&token=…&root=…&time=…[&ca=…]`, values percent-encoded.

use std::fmt;
use std::str::FromStr;

use crate::time::EpochSeconds;

/// Longest enrolment text, in bytes: what a QR of version 25 with error correction M holds.
pub const MAX_ENROLMENT_TEXT_BYTES: usize = 997;

/// What an enrolment QR carries.
#[derive(Clone, PartialEq, Eq)]
pub struct EnrolmentText {
    /// The server's address, `http://…` or `https://…`.
    pub server: String,
    /// The one-time token.
    pub token: String,
    /// The fingerprint of the root's public key, 64 hex digits.
    pub root_fingerprint: String,
    /// SHA-256 of the server's own CA certificate (DER), 64 hex digits, where it has one.
    pub ca_pin: Option<String>,
    /// The server's time when the text was made.
    pub time: EpochSeconds,
}

/// Why a text enrols nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnrolmentTextError {
    /// Another kind of text.
    #[error("this is not an enrolment text; it must start with {PREFIX}")]
    NotEnrolment,
    /// Cut off or mistyped.
    #[error("the enrolment text lacks a good `{0}`; scan or type it again")]
    Field(&'static str),
}

const PREFIX: &str = "stile://enrol?";

impl FromStr for EnrolmentText {
    type Err = EnrolmentTextError;

    fn from_str(text: &str) -> Result<Self, EnrolmentTextError> {
        let text = text.trim();
        let query = text
            .strip_prefix(PREFIX)
            .filter(|_| text.len() <= MAX_ENROLMENT_TEXT_BYTES)
            .ok_or(EnrolmentTextError::NotEnrolment)?;
        let fields: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        let field = |name: &'static str| {
            let mut values = fields.iter().filter(|(key, _)| key == name);
            match (values.next(), values.next()) {
                (Some((_, value)), None) => Ok(value.to_string()),
                _ => Err(EnrolmentTextError::Field(name)),
            }
        };
        let is_hex =
            |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let server = field("server")?;
        if !(server.starts_with("https://") || server.starts_with("http://")) {
            return Err(EnrolmentTextError::Field("server"));
        }
        let ca_pin = match fields.iter().any(|(key, _)| key == "ca") {
            true => Some(field("ca")?),
            false => None,
        };
        if !ca_pin.iter().all(is_hex) {
            return Err(EnrolmentTextError::Field("ca"));
        }
        Ok(Self {
            server,
            token: Some(field("token")?)
                .filter(|token| !token.is_empty())
                .ok_or(EnrolmentTextError::Field("token"))?,
            root_fingerprint: Some(field("root")?)
                .filter(is_hex)
                .ok_or(EnrolmentTextError::Field("root"))?,
            ca_pin,
            time: field("time")?
                .parse()
                .map(EpochSeconds)
                .map_err(|_| EnrolmentTextError::Field("time"))?,
        })
    }
}

impl fmt::Display for EnrolmentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("server", &self.server)
            .append_pair("token", &self.token)
            .append_pair("root", &self.root_fingerprint)
            .append_pair("time", &self.time.0.to_string());
        if let Some(pin) = &self.ca_pin {
            query.append_pair("ca", pin);
        }
        write!(f, "{PREFIX}{}", query.finish())
    }
}

impl fmt::Debug for EnrolmentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnrolmentText")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> EnrolmentText {
        EnrolmentText {
            server: "https://gate.museum.example:8443".into(),
            token: "b3xvK2N-_w".into(),
            root_fingerprint: "ab".repeat(32),
            ca_pin: Some("cd".repeat(32)),
            time: EpochSeconds(1_790_000_000),
        }
    }

    #[test]
    fn an_enrolment_text_says_what_it_was_made_of() {
        assert_eq!(text().to_string().parse(), Ok(text()));
        let without = EnrolmentText {
            ca_pin: None,
            ..text()
        };
        assert_eq!(without.to_string().parse(), Ok(without));
    }

    #[test]
    fn a_text_cut_off_anywhere_is_refused_and_says_what_it_lacks() {
        let whole = EnrolmentText {
            ca_pin: None,
            ..text()
        }
        .to_string();
        // Cutting digits off the time leaves a number; everything before must be noticed.
        for end in 0..whole.find("&time").map_or(0, |at| at + 6) {
            assert!(
                whole[..end].parse::<EnrolmentText>().is_err(),
                "cut at {end}"
            );
        }
        assert_eq!(
            "stile://enrol?server=https%3A%2F%2Fx".parse::<EnrolmentText>(),
            Err(EnrolmentTextError::Field("token"))
        );
    }

    #[test]
    fn a_ticket_code_is_no_enrolment() {
        assert_eq!(
            "ORD-77".parse::<EnrolmentText>(),
            Err(EnrolmentTextError::NotEnrolment)
        );
    }

    #[test]
    fn the_token_is_not_printed() {
        assert!(!format!("{:?}", text()).contains("b3xvK2N"));
    }
}
