//! Whole sets of tickets: kept aside while they are read, then applied at once or not at all. A
//! dry run of any file is a set that is never applied.

use stile_core::ids::VenueId;
use stile_core::time::ServiceDay;

use super::Server;
use super::documents::MissingKeys;
use super::tickets::{Upserts, fault};
use crate::error::ServerError;
use crate::import::{Chunk, LineFault};
use crate::random::random_bytes;
use crate::store::{SetCounts, SetId, SetLines, SetOutcome, Upserted, VanishCounts, VanishRule};

/// What is kept aside of a set that was given up by a crash goes after this long, in ms. No file
/// takes that long to send.
const GIVEN_UP_AFTER_MS: i64 = 24 * 3600 * 1000;

/// A set that is being read. [`Server::end_set`] must be called in the end.
#[derive(Debug)]
pub struct TicketSet {
    pub(super) venue: VenueId,
    pub(super) id: SetId,
    /// The day whose whole set it is, if it is one.
    pub(super) day: Option<ServiceDay>,
    missing_keys: MissingKeys,
    /// Lines that name no ticket.
    nameless: u64,
}

/// What a set does, or would do.
#[derive(Debug, Clone)]
pub struct SetChanges {
    /// The store's counts.
    pub counts: SetCounts,
    /// The lines among them that cannot be taken any more.
    pub refused: Vec<(u64, LineFault)>,
    /// What vanishes, where the set is a day's whole set.
    pub vanish: Option<Vanish>,
}

/// What is in a day and not in its whole set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vanish {
    /// The store's counts.
    pub counts: VanishCounts,
    /// How many may vanish: by the venue's share, or by a person's word.
    pub allowed: u64,
    /// Whether none vanishes, since lines of the set name no ticket that could be read: any of
    /// those that seem to be missing may be theirs.
    pub withheld: bool,
}

impl Vanish {
    /// Whether the set is refused until somebody says how many may vanish.
    pub fn needs_confirmation(&self) -> bool {
        !self.withheld && self.counts.vanishing > self.allowed
    }
}

impl Server {
    /// Begins a set: a day's whole one if a day is given. A dry run changes nothing else either.
    pub fn begin_set(&self, venue: &VenueId, day: Option<ServiceDay>, dry_run: bool) -> TicketSet {
        TicketSet {
            venue: venue.clone(),
            id: SetId::at(self.now(), random_bytes(&*self.random)),
            day,
            missing_keys: match dry_run {
                true => MissingKeys::Pretend,
                false => MissingKeys::Make,
            },
            nameless: 0,
        }
    }

    /// Keeps a piece of a file aside; answers with the lines that it refuses.
    pub async fn stage_tickets(
        &self,
        set: &mut TicketSet,
        chunk: Chunk,
    ) -> Result<Vec<(u64, LineFault)>, ServerError> {
        let keys = self.keys(&set.venue).await?;
        let Upserts { lines, mut faults } =
            self.upserts(&keys, chunk.tickets, set.missing_keys).await?;
        let mut named = Vec::new();
        let of_fault = faults.iter().map(|(_, fault)| fault.ticket_id.as_ref());
        for ticket in chunk.unread.iter().map(Option::as_ref).chain(of_fault) {
            match ticket {
                Some(id) => named.push(keys.numbering.ticket_number(&set.venue, id)),
                None => set.nameless += 1,
            }
        }
        let places: Vec<_> = lines.iter().map(|(line, _)| *line).collect();
        let outcomes = self
            .store
            .stage_tickets(
                keys.number,
                set.id,
                set.day.clone(),
                SetLines { lines, named },
                self.now(),
            )
            .await?;
        faults.extend(places.into_iter().zip(outcomes).filter_map(refused));
        Ok(faults)
    }

    /// What a set would do.
    pub async fn plan_set(
        &self,
        set: &TicketSet,
        confirmed: u64,
    ) -> Result<SetChanges, ServerError> {
        let number = self.keys(&set.venue).await?.number;
        let rule = self.vanish_rule(set, confirmed).await?;
        let plan = self
            .store
            .plan_set(number, set.id, rule.clone(), self.now());
        Ok(changes(plan.await?, rule.as_ref()))
    }

    /// Applies a set, in one version of its day's list; or answers what would vanish where that is
    /// more than may, and does nothing.
    pub async fn apply_set(
        &self,
        set: &TicketSet,
        confirmed: u64,
    ) -> Result<Result<SetChanges, Vanish>, ServerError> {
        let number = self.keys(&set.venue).await?.number;
        let rule = self.vanish_rule(set, confirmed).await?;
        let applied = self
            .store
            .apply_set(number, set.id, rule.clone(), self.now());
        Ok(match (applied.await?, rule) {
            (SetOutcome::TooManyVanish(counts), Some(rule)) => Err(vanish(counts, &rule)),
            (SetOutcome::TooManyVanish(_), None) => {
                return Err(ServerError::internal(
                    "a set without a rule has none to break",
                ));
            }
            (SetOutcome::Applied(counts), rule) => Ok(changes(counts, rule.as_ref())),
        })
    }

    /// Forgets what was kept aside of a set, applied or not.
    pub async fn end_set(&self, set: &TicketSet) -> Result<(), ServerError> {
        let number = self.keys(&set.venue).await?.number;
        Ok(self.store.drop_set(number, set.id).await?)
    }

    /// Removes what is left of sets that were begun a day ago: the server went down while they
    /// were read. Says of how many tickets.
    pub async fn forget_sets(&self) -> Result<u64, ServerError> {
        let begun_before = self.now().plus(-GIVEN_UP_AFTER_MS);
        Ok(self.store.forget_sets(begun_before).await?)
    }

    async fn vanish_rule(
        &self,
        set: &TicketSet,
        confirmed: u64,
    ) -> Result<Option<VanishRule>, ServerError> {
        let Some(day) = &set.day else {
            return Ok(None);
        };
        Ok(Some(VanishRule {
            day: day.clone(),
            percent: self.policy(&set.venue).await?.vanish_percent,
            confirmed,
            withheld: set.nameless > 0,
        }))
    }
}

fn changes(counts: SetCounts, rule: Option<&VanishRule>) -> SetChanges {
    let of_rule = counts.vanish.zip(rule);
    SetChanges {
        refused: counts.refused.iter().copied().filter_map(refused).collect(),
        vanish: of_rule.map(|(counts, rule)| vanish(counts, rule)),
        counts,
    }
}

fn vanish(counts: VanishCounts, rule: &VanishRule) -> Vanish {
    Vanish {
        counts,
        allowed: rule.allowed(&counts),
        withheld: rule.withheld,
    }
}

fn refused((line, outcome): (u64, Upserted)) -> Option<(u64, LineFault)> {
    Some((line, fault(outcome).err()?))
}
