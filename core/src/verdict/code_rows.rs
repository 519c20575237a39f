//! Rows 1 to 8: the text, its key and signature, the clock, and the code's own window.

use super::Refusal;
use super::judge::Judge;
use crate::clock::Trust;
use crate::codes::{Code, TagVerdict, V1Code, Window};
use crate::policy::{Leave, V1Key, V1SharedOffline};
use crate::reason::Reason;
use crate::record::Flag;

impl Judge<'_> {
    pub(super) fn malformed(&mut self) -> Result<(), Refusal> {
        self.refuse_unless(self.code().is_some(), Reason::Malformed)
    }

    pub(super) fn format_not_accepted(&mut self) -> Result<(), Refusal> {
        let taken = self
            .format()
            .is_some_and(|format| self.question.policy.formats.contains(&format));
        self.refuse_unless(taken, Reason::FormatNotAccepted)
    }

    pub(super) fn unknown_key(&mut self) -> Result<(), Refusal> {
        let Some(payload) = self.code().and_then(Code::payload) else {
            return Ok(());
        };
        self.key =
            self.question
                .keys
                .code_key(payload.venue_number, payload.kid, payload.issued_at);
        self.refuse_unless(self.key.is_some(), Reason::UnknownKey)
    }

    pub(super) fn bad_signature(&mut self) -> Result<(), Refusal> {
        match self.code() {
            Some(Code::V1(code)) => self.v1_signature(code),
            Some(Code::G2(code)) => {
                let genuine = self
                    .key
                    .is_some_and(|key| code.verify_signature(key.verifying_key));
                self.refuse_unless(genuine, Reason::BadSignature)
            }
            Some(Code::G3(code)) => {
                let genuine = self
                    .key
                    .is_some_and(|key| code.verify_signature(key.verifying_key));
                self.refuse_unless(genuine, Reason::BadSignature)?;
                // Of another issue than the list's, or unlisted: neither tag nor counter counts.
                let rotation_key = self
                    .ticket()
                    .filter(|ticket| ticket.revision == code.payload().revision)
                    .and_then(|ticket| ticket.rotation_key.as_ref());
                let read_at = self.question.read_at;
                self.tag = rotation_key.map(|key| code.judge_tag(key, read_at.at, read_at.u_ms));
                match self.tag {
                    Some(TagVerdict::BadTag) if !read_at.trust.is_anchored() => {
                        self.refuse(Reason::ClockUntrusted)
                    }
                    Some(TagVerdict::BadTag) => self.refuse(Reason::BadSignature),
                    _ => Ok(()),
                }
            }
            Some(Code::Opaque(_) | Code::Document(_)) | None => Ok(()),
        }
    }

    fn v1_signature(&mut self, code: &V1Code) -> Result<(), Refusal> {
        let Some(ticket) = self.ticket() else {
            // Without any list of today the guard must hear that, not that the ticket is unknown.
            return self.refuse_unless(!self.has_current_list(), Reason::NotListed);
        };
        match (
            self.question.policy.v1_key,
            self.question.server_says_genuine,
        ) {
            (V1Key::Derived, _) => {
                let holder = ticket
                    .last_four
                    .map(|digits| digits.to_string())
                    .unwrap_or_default();
                match &ticket.ticket_key {
                    Some(key) => {
                        let genuine = code.verify(key.as_bytes(), &holder);
                        self.refuse_unless(genuine, Reason::BadSignature)
                    }
                    None => self.refuse(Reason::NotListed),
                }
            }
            (V1Key::Shared, Some(genuine)) => self.refuse_unless(genuine, Reason::BadSignature),
            (V1Key::Shared, None) => match self.policy.v1_shared_offline {
                V1SharedOffline::UnverifiableOffline => self.refuse(Reason::UnverifiableOffline),
                V1SharedOffline::ListedMatch => {
                    self.flags.push(Flag::Unverified);
                    Ok(())
                }
            },
        }
    }

    pub(super) fn wrong_venue(&mut self) -> Result<(), Refusal> {
        let is_sister = self.key.is_some_and(|key| key.is_sister);
        self.refuse_unless(!is_sister, Reason::WrongVenue)
    }

    pub(super) fn clock_untrusted(&mut self) -> Result<(), Refusal> {
        let trusted = match self.question.now.trust {
            Trust::Anchored | Trust::Disputed => true,
            Trust::Unanchored => self.policy.clock_unanchored == Leave::Admit,
            Trust::Untrusted => false,
        };
        self.refuse_unless(trusted, Reason::ClockUntrusted)
    }

    pub(super) fn own_window(&mut self) -> Result<(), Refusal> {
        let (read_at, rules) = (self.question.read_at, &self.question.policy.codes);
        let window = match self.code() {
            Some(Code::V1(code)) => code.window(read_at.at, read_at.u_ms, rules),
            Some(Code::G2(code)) => code.window(read_at.at, read_at.u_ms, rules),
            Some(Code::G3(_)) => match self.tag {
                Some(TagVerdict::NotYet) => Window::NotYet,
                Some(TagVerdict::Expired) => Window::Expired,
                _ => Window::Good,
            },
            Some(Code::Opaque(_) | Code::Document(_)) | None => Window::Good,
        };
        match window {
            Window::Good => Ok(()),
            Window::NotYet => self.refuse(Reason::CodeNotYetValid),
            Window::Expired => self.refuse(Reason::CodeExpired),
        }
    }
}
