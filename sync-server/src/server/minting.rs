//! Codes for visitors: v1, G2 and G3 from a ticket and its venue's keys. A code says who may come;
//! whether they are let in, a cancelled ticket's holder for one, is the gate's to decide and to
//! explain.

use data_encoding::BASE64;
use stile_core::codes::{Format, Payload, g2, g3, v1};
use stile_core::ids::{Kid, TicketId, VenueId};
use stile_core::keys::SECRET_BYTES;
use stile_core::policy::{Policy, V1Key};
use stile_core::protocol::{MintAnswer, MintItem, MintRequest, Minted, Rotation};
use stile_core::time::EpochSeconds;
use zeroize::Zeroizing;

use super::Server;
use crate::error::ServerError;
use crate::store::TicketInSession;
use crate::venue_keys::VenueKeys;

/// Codes of one request at most.
const MAX_CODES: usize = 1_000;
/// How long a code is valid unless the request says, in seconds.
const DEFAULT_TTL_S: u32 = 900;
/// The unit of a G2's life, in seconds, and the most of them that it can say.
const G2_UNIT_S: u32 = 300;
const G2_UNITS: u32 = 255;
/// How long a G3's counter lasts, in seconds, and for how many of them it is taken.
const G3_STEP_S: i64 = 30;
const G3_STEPS: i64 = 3;

/// What a ticket's codes are made with.
struct Mint<'a> {
    keys: &'a VenueKeys,
    policy: &'a Policy,
    now: EpochSeconds,
}

impl Server {
    /// Mints codes, in the order wanted; one that cannot be minted says why in its place.
    pub async fn mint(
        &self,
        venue: &VenueId,
        request: MintRequest,
    ) -> Result<MintAnswer, ServerError> {
        if request.codes.len() > MAX_CODES {
            let problem = format!("more than {MAX_CODES} codes at once; ask in parts");
            return Err(ServerError::invalid("codes", problem));
        }
        let keys = self.keys(venue).await?;
        let policy = self.policy(venue).await?;
        let number = |item: &MintItem| keys.numbering.ticket_number(venue, &item.ticket_id);
        let numbers: Vec<_> = request.codes.iter().map(number).collect();
        let tickets = self.store.tickets(keys.number, &numbers).await?;
        let mint = Mint {
            keys: &keys,
            policy: &policy,
            now: self.now().seconds(),
        };
        let codes = request
            .codes
            .into_iter()
            .zip(tickets)
            .map(|(item, ticket)| {
                let minted = match ticket {
                    Some(ticket) => mint.code(&ticket, item.format, item.ttl_s),
                    None => Err("there is no such ticket".to_owned()),
                };
                minted.unwrap_or_else(|problem| Minted {
                    ticket_id: item.ticket_id,
                    format: item.format,
                    code: None,
                    expires_at: None,
                    rotation: None,
                    problem: Some(problem),
                })
            });
        Ok(MintAnswer {
            codes: codes.collect(),
        })
    }

    /// The key that a booking system mints v1 codes with by itself, instead of asking here. Whoever
    /// has it can make a v1 code of every ticket of the venue, and nothing else.
    pub async fn minting_key(
        &self,
        venue: &VenueId,
    ) -> Result<Zeroizing<[u8; SECRET_BYTES]>, ServerError> {
        let policy = self.policy(venue).await?;
        let problem = match policy.v1_key {
            _ if !policy.formats.contains(&Format::V1) => "takes no v1 codes",
            V1Key::Shared => "takes v1 codes that are signed with the booking system's own secret",
            V1Key::Derived => return Ok(self.keys(venue).await?.issuer.minting_key()),
        };
        let problem = format!("{venue} {problem}: there is no key to mint with");
        Err(ServerError::invalid("venue", problem))
    }

    /// Mints one code.
    pub async fn code(
        &self,
        venue: &VenueId,
        ticket: &TicketId,
        format: Format,
        ttl_s: Option<u32>,
    ) -> Result<Minted, ServerError> {
        let keys = self.keys(venue).await?;
        let policy = self.policy(venue).await?;
        let number = keys.numbering.ticket_number(venue, ticket);
        let mut found = self.store.tickets(keys.number, &[number]).await?;
        let ticket = found
            .pop()
            .flatten()
            .ok_or(ServerError::NotFound("ticket"))?;
        let mint = Mint {
            keys: &keys,
            policy: &policy,
            now: self.now().seconds(),
        };
        mint.code(&ticket, format, ttl_s)
            .map_err(ServerError::Unprocessable)
    }
}

impl Mint<'_> {
    fn code(
        &self,
        ticket: &TicketInSession,
        format: Format,
        ttl_s: Option<u32>,
    ) -> Result<Minted, String> {
        if !self.policy.formats.contains(&format) {
            return Err(format!("the venue does not take {format} codes"));
        }
        let ttl_s = ttl_s.unwrap_or(DEFAULT_TTL_S);
        if ttl_s == 0 {
            return Err("ttl_s must be at least 1".to_owned());
        }
        let (code, expires_at, rotation) = match format {
            Format::V1 => self.v1(ticket, ttl_s)?,
            Format::G2 => self.g2(ticket, ttl_s)?,
            Format::G3 => self.g3(ticket)?,
            Format::Opaque => return Err("opaque codes are the booking system's own".to_owned()),
            Format::Document => return Err("documents are the visitor's own".to_owned()),
        };
        Ok(Minted {
            ticket_id: ticket.ticket.fields.ticket_id.clone(),
            format,
            code: Some(code),
            expires_at: Some(expires_at),
            rotation,
            problem: None,
        })
    }

    fn v1(&self, ticket: &TicketInSession, ttl_s: u32) -> Result<MintedCode, String> {
        if self.policy.v1_key == V1Key::Shared {
            return Err("the booking system signs this venue's v1 codes itself".to_owned());
        }
        let longest = self.policy.codes.max_ttl_s;
        if ttl_s > longest {
            return Err(format!("ttl_s must be at most {longest} for v1 codes"));
        }
        let ticket = &ticket.ticket;
        let (id, revision): (&TicketId, u8) = (&ticket.fields.ticket_id, ticket.revision);
        let key = self
            .keys
            .issuer
            .ticket_key(&self.keys.venue_id, id, revision);
        let holder = ticket
            .fields
            .last_four
            .map(|digits| digits.to_string())
            .unwrap_or_default();
        let expires_at = after(self.now, i64::from(ttl_s));
        let code = v1::mint(&key, id, &holder, expires_at).map_err(|error| error.to_string())?;
        Ok((code, expires_at, None))
    }

    fn g2(&self, ticket: &TicketInSession, ttl_s: u32) -> Result<MintedCode, String> {
        let units = ttl_s.div_ceil(G2_UNIT_S);
        let ttl_5min = u8::try_from(units).map_err(|_| {
            format!(
                "ttl_s must be at most {} for G2 codes",
                G2_UNITS * G2_UNIT_S
            )
        })?;
        let (kid, key) = self.keys.code.at(self.now);
        let payload = self.payload(ticket, kid, ttl_5min);
        let code = g2::mint(key, &payload).map_err(|error| error.to_string())?;
        Ok((code, after(self.now, payload.ttl_s()), None))
    }

    fn g3(&self, ticket: &TicketInSession) -> Result<MintedCode, String> {
        let (kid, key) = self.keys.code.at(self.now);
        let payload = self.payload(ticket, kid, 0);
        let signed = g3::sign(key, &payload).map_err(|error| error.to_string())?;
        let TicketInSession { ticket, .. } = ticket;
        let rotation_key =
            self.keys
                .issuer
                .rotation_key(&self.keys.venue_id, ticket.number, ticket.revision);
        let counter = self.now.0.div_euclid(G3_STEP_S);
        let rotation = Rotation {
            signed_payload: BASE64.encode(signed.as_bytes()),
            rotation_key: BASE64.encode(rotation_key.as_bytes()),
        };
        let expires_at = EpochSeconds((counter + G3_STEPS) * G3_STEP_S);
        Ok((
            g3::rotate(&signed, &rotation_key, self.now),
            expires_at,
            Some(rotation),
        ))
    }

    fn payload(
        &self,
        TicketInSession { ticket, session }: &TicketInSession,
        kid: Kid,
        ttl_5min: u8,
    ) -> Payload {
        let from = ticket.fields.admit_from.unwrap_or(session.admit_from);
        let until = ticket.fields.admit_until.unwrap_or(session.admit_until);
        let minutes = (until.0 - from.0).max(0).saturating_add(59) / 60;
        Payload {
            kid,
            venue_number: self.keys.number,
            ticket_number: ticket.number,
            not_before: from,
            window_min: u16::try_from(minutes).unwrap_or(u16::MAX),
            issued_at: self.now,
            ttl_5min,
            admits: ticket.fields.admits,
            last_four: ticket.fields.last_four,
            revision: ticket.revision,
        }
    }
}

/// A code, the first second at which it is no longer valid, and what rotates it.
type MintedCode = (String, EpochSeconds, Option<Rotation>);

fn after(now: EpochSeconds, span_s: i64) -> EpochSeconds {
    EpochSeconds(now.0.saturating_add(span_s))
}
