//! Documents on their way in: hashed under the key of their ticket's day, and dropped. The number
//! is in no answer, no log and no row.

use std::collections::HashMap;
use std::sync::Arc;

use stile_core::codes::Format;
use stile_core::ids::SessionId;
use stile_core::keys::DocumentKey;
use stile_core::policy::Policy;
use stile_core::time::ServiceDay;

use super::Server;
use crate::error::ServerError;
use crate::import::{NumberedLine, TicketLine};
use crate::store::DocumentHash;
use crate::venue_keys::{VenueKeys, make_document_key, unseal_document_key};

/// Whether visitors of the venue enter with their documents.
pub fn takes_documents(policy: &Policy) -> bool {
    policy.formats.contains(&Format::Document)
}

/// What to do for a day that has no key yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingKeys {
    /// Make it.
    Make,
    /// Hash under one that nobody keeps: no ticket there has a document yet, so that any hash is
    /// as new.
    Pretend,
}

/// The keys of the days that a chunk of an import speaks of, by session.
#[derive(Default)]
pub(super) struct DayKeys(HashMap<SessionId, Option<(ServiceDay, Arc<DocumentKey>)>>);

impl DayKeys {
    /// What is kept of a line's document. An `Err` if its session was not there.
    pub(super) fn hash(&self, line: &TicketLine) -> Result<Option<DocumentHash>, NoSession> {
        let Some(document) = &line.document else {
            return Ok(None);
        };
        let known = self.0.get(&line.session_id).and_then(Option::as_ref);
        let (day, key) = known.ok_or(NoSession)?;
        Ok(Some(DocumentHash {
            day: day.clone(),
            hash: document.hash(key),
        }))
    }
}

/// A line's session is not there.
pub(super) struct NoSession;

impl Server {
    /// The keys that the documents of these lines are hashed under; a day without one gets one.
    pub(super) async fn day_keys(
        &self,
        keys: &VenueKeys,
        lines: &[NumberedLine],
        missing: MissingKeys,
    ) -> Result<DayKeys, ServerError> {
        let mut days: HashMap<ServiceDay, Arc<DocumentKey>> = HashMap::new();
        let mut found = DayKeys::default();
        let with_document = lines.iter().filter(|line| line.ticket.document.is_some());
        for id in with_document.map(|line| &line.ticket.session_id) {
            if found.0.contains_key(id) {
                continue;
            }
            let Some(session) = self.store.session(keys.number, id).await? else {
                found.0.insert(id.clone(), None);
                continue;
            };
            let day = session.service_day;
            let key = match days.get(&day) {
                Some(key) => Arc::clone(key),
                None => Arc::new(self.day_key(keys, &day, missing).await?),
            };
            days.insert(day.clone(), Arc::clone(&key));
            found.0.insert(id.clone(), Some((day, key)));
        }
        Ok(found)
    }

    async fn day_key(
        &self,
        keys: &VenueKeys,
        day: &ServiceDay,
        missing: MissingKeys,
    ) -> Result<DocumentKey, ServerError> {
        let venue = &keys.venue_id;
        let sealed = match self.store.document_key(keys.number, day).await? {
            Some(sealed) => sealed,
            None => {
                let new = make_document_key(&self.vault, venue, day, &*self.random);
                let new = new.map_err(ServerError::internal)?;
                match missing {
                    MissingKeys::Pretend => new,
                    MissingKeys::Make => {
                        let kept = self
                            .store
                            .keep_document_key(keys.number, day, new, self.now());
                        kept.await?
                    }
                }
            }
        };
        unseal_document_key(&self.vault, venue, day, &sealed)
    }
}
