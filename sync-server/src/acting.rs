//! An administrative act while it is carried out, on its way into the audit log. It surrounds the
//! whole of the work ([`Acting::carry_out`]), and a store that writes within it finds it there
//! ([`current`]) and puts its row into the same transaction: what was done is in the log, also
//! after a crash, and neither handlers nor use cases pass anything on.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stile_core::ids::VenueNumber;
use stile_core::protocol::{Act, ActError, ApiKeyId, Code};
use stile_core::time::EpochMillis;

use crate::store::Position;

/// The log of acts that are about no venue.
pub const WHOLE_SERVER: VenueNumber = VenueNumber(0);

tokio::task_local! {
    static CURRENT: Acting;
}

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActedBy {
    /// A key.
    Key(ApiKeyId),
    /// A user of the command line, by the id on this machine.
    CommandLine(u32),
}

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActResult {
    /// It takes several transactions, and its end was not seen yet.
    Begun,
    /// It was done.
    Done,
    /// It was refused, or failed.
    Refused(Code),
}

impl fmt::Display for ActResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Refused(code) => code.name(),
        })
    }
}

impl FromStr for ActResult {
    type Err = ActError;
    fn from_str(text: &str) -> Result<Self, ActError> {
        match text {
            "begun" => Ok(Self::Begun),
            "done" => Ok(Self::Done),
            other => {
                let mut codes = Code::ALL.iter().copied();
                let code = codes.find(|code| code.name() == other).ok_or(ActError)?;
                Ok(Self::Refused(code))
            }
        }
    }
}

/// What the audit log says of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    /// When it began.
    pub at: EpochMillis,
    /// What.
    pub act: Act,
    /// Who.
    pub by: ActedBy,
    /// The id of what it is about, if it has one.
    pub thing: Option<String>,
    /// What became of it.
    pub result: ActResult,
    /// Of how many things, where it counts them.
    pub count: Option<u64>,
    /// The trace id of its request.
    pub trace: Option<String>,
}

/// See the module. Clones are the same act.
#[derive(Debug, Clone)]
pub struct Acting(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    row: ActRow,
    /// The venues whose logs it stands in; none for the server as a whole.
    venues: Vec<VenueNumber>,
    /// Whether a store is about to keep it.
    is_taken: bool,
    /// As it was kept, and where.
    kept: Option<(ActRow, Vec<(VenueNumber, Position)>)>,
}

/// The act within which this runs, if it runs within one.
pub fn current() -> Option<Acting> {
    CURRENT.try_with(Clone::clone).ok()
}

/// The current act is about the thing of this id.
pub fn names(thing: impl ToString) {
    if let Some(acting) = current() {
        acting.state().row.thing = Some(thing.to_string());
    }
}

/// The current act is about this venue as well.
pub fn concerns(venue: VenueNumber) {
    if let Some(acting) = current() {
        let venues = &mut acting.state().venues;
        if !venues.contains(&venue) {
            venues.push(venue);
        }
    }
}

/// The current act was done to so many things.
pub fn counts(things: u64) {
    if let Some(acting) = current() {
        acting.state().row.count = Some(things);
    }
}

/// Runs what another thread does for the current act, taken along by [`current`].
pub fn within<T>(acting: Option<Acting>, work: impl FnOnce() -> T) -> T {
    match acting {
        Some(acting) => CURRENT.sync_scope(acting, work),
        None => work(),
    }
}

impl Acting {
    /// An act that is about to be carried out. `row.result` is what the log says once something of
    /// it was stored.
    pub fn new(row: ActRow, venue: Option<VenueNumber>) -> Self {
        Self(Arc::new(Mutex::new(State {
            row,
            venues: venue.into_iter().collect(),
            is_taken: false,
            kept: None,
        })))
    }

    /// Carries it out.
    pub async fn carry_out<T>(&self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self.clone(), work).await
    }

    /// It is over; says whether the log does not say so yet. What an act that was refused named
    /// may be no id, and is not kept.
    pub fn end(&self, result: ActResult) -> bool {
        let mut state = self.state();
        state.row.result = result;
        if let ActResult::Refused(_) = result {
            state.row.thing = None;
        }
        let said = state.kept.as_ref().map(|(row, _)| row);
        said != Some(&state.row)
    }

    /// Whether whoever asks is to keep it, being the first.
    pub fn take(&self) -> bool {
        !std::mem::replace(&mut self.state().is_taken, true)
    }

    /// What the log is to say, and the venues in whose logs.
    pub fn to_keep(&self) -> (ActRow, Vec<VenueNumber>) {
        let state = self.state();
        let venues = match state.venues.as_slice() {
            [] => vec![WHOLE_SERVER],
            venues => venues.to_vec(),
        };
        (state.row.clone(), venues)
    }

    /// Where it was kept, if it was.
    pub fn places(&self) -> Option<Vec<(VenueNumber, Position)>> {
        let state = self.state();
        state.kept.as_ref().map(|(_, places)| places.clone())
    }

    /// It is kept, durably; or it is not, and the next may keep it.
    pub fn kept(&self, kept: Option<(ActRow, Vec<(VenueNumber, Position)>)>) {
        let mut state = self.state();
        state.is_taken = kept.is_some();
        state.kept = kept;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
