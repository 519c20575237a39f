//! The codes that visitors of a day show: minted by the server for each issue of a ticket, and
//! rotated the way a visitor's app does, so that they are fresh at any time.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use axum::http::Method;
use data_encoding::BASE64;
use serde_json::{Value, json};
use stile_core::codes::g3;
use stile_core::keys::RotationKey;
use stile_core::protocol::{MintAnswer, Minted};
use stile_core::time::EpochSeconds;

use crate::case::{Day, Scan, What};
use crate::venue::BackEnd;

/// Long enough for any day of the file, in seconds.
const TTL_S: u32 = 20 * 3600;
/// A signature's place in a v1 code that nobody signed.
const NO_SIGNATURE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What was minted for one issue of a ticket.
struct Issue {
    g2: String,
    signed_payload: g3::SignedPayload,
    rotation_key: RotationKey,
}

/// Codes by ticket and issue.
#[derive(Default)]
pub struct CodeBook {
    issues: BTreeMap<(String, u8), Issue>,
    newest: BTreeMap<String, u8>,
}

impl CodeBook {
    /// Mints for each issue that the file's tickets have had, issuing them anew as often.
    pub fn mint(&mut self, server: &impl BackEnd, tickets: &[Value]) -> Result<()> {
        for ticket in tickets {
            let name = ticket["ticket_id"].as_str().context("a ticket has an id")?;
            let revision = ticket["revision"].as_u64().unwrap_or(0);
            self.mint_issue(server, name, 0)?;
            for revision in 1..=u8::try_from(revision)? {
                self.issue_anew(server, name, revision)?;
            }
            self.newest.insert(name.to_owned(), u8::try_from(revision)?);
        }
        Ok(())
    }

    /// Issues tickets anew whose newer codes a day shows to devices that have not heard of it.
    pub fn mint_later(&mut self, server: &impl BackEnd, day: &Day) -> Result<()> {
        for step in &day.steps {
            let What::Scan(scan) = &step.what else {
                continue;
            };
            let newest = self.newest.get(&scan.ticket).copied().unwrap_or(0);
            for revision in newest + 1..=scan.code_revision.unwrap_or(0) {
                self.issue_anew(server, &scan.ticket, revision)?;
            }
        }
        Ok(())
    }

    fn issue_anew(&mut self, server: &impl BackEnd, ticket: &str, revision: u8) -> Result<()> {
        let path = format!("/v1/tickets/{ticket}/reissue");
        let issued: Value = server.call(Method::POST, &path, &json!({ "revision": revision }))?;
        anyhow::ensure!(
            issued["revision"] == revision,
            "issued anew: {issued}, expected revision {revision}"
        );
        self.mint_issue(server, ticket, revision)
    }

    fn mint_issue(&mut self, server: &impl BackEnd, ticket: &str, revision: u8) -> Result<()> {
        let wanted = json!({ "codes": [
            { "ticket_id": ticket, "format": "G2", "ttl_s": TTL_S },
            { "ticket_id": ticket, "format": "G3" },
        ]});
        let answer: MintAnswer = server.call(Method::POST, "/v1/codes", &wanted)?;
        let [g2, rotating] = answer.codes.as_slice() else {
            bail!("two codes were wanted: {answer:?}");
        };
        let rotation = rotating.rotation.as_ref().context("a G3 code rotates")?;
        let signed: [u8; 91] = bytes(&rotation.signed_payload)?;
        let key: [u8; 32] = bytes(&rotation.rotation_key)?;
        let issue = Issue {
            g2: text(g2)?,
            signed_payload: g3::SignedPayload::from_bytes(&signed)?,
            rotation_key: RotationKey::from_bytes(&key),
        };
        self.issues.insert((ticket.to_owned(), revision), issue);
        Ok(())
    }

    /// The code that a visitor shows; a rotating one unless the step says otherwise.
    pub fn code_of(&self, scan: &Scan, now: EpochSeconds) -> Result<String> {
        let format = scan.format.as_deref().unwrap_or("G3");
        if format == "v1" {
            let expires_at = now.0 + 300 - scan.code_expired_by.map_or(0, |by| by + 300);
            return Ok(format!("{}-{expires_at}-{NO_SIGNATURE}", scan.ticket));
        }
        let newest = self.newest.get(&scan.ticket).copied();
        let revision = scan.code_revision.or(newest);
        let revision = revision.with_context(|| format!("no code of {}", scan.ticket))?;
        let issue = self
            .issues
            .get(&(scan.ticket.clone(), revision))
            .with_context(|| format!("no code of {} {revision}", scan.ticket))?;
        match format {
            "G2" => Ok(issue.g2.clone()),
            "G3" => Ok(g3::rotate(&issue.signed_payload, &issue.rotation_key, now)),
            other => bail!("no codes of format {other} are shown"),
        }
    }
}

fn text(minted: &Minted) -> Result<String> {
    let code = minted.code.clone();
    code.with_context(|| format!("no code: {:?}", minted.problem))
}

fn bytes<const N: usize>(base64: &str) -> Result<[u8; N]> {
    let bytes = BASE64.decode(base64.as_bytes())?;
    let length = bytes.len();
    let exact: Result<[u8; N], _> = bytes.try_into();
    exact
        .ok()
        .with_context(|| format!("{length} bytes instead of {N}"))
}
