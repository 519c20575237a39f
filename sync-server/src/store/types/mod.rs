//! What the store takes and gives: the domain's things as the server knows them, without any
//! engine's.

mod alarms;
mod api_keys;
mod audit;
mod devices;
mod enrolments;
mod figures;
mod finality;
mod operators;
mod reconciliations;
mod records;
mod retention;
mod ticket_sets;
mod tickets;
mod venues;
mod webhooks;

pub use alarms::*;
pub use api_keys::*;
pub use audit::*;
pub use devices::*;
pub use enrolments::*;
pub use figures::*;
pub use finality::*;
pub use operators::*;
pub use reconciliations::*;
pub use records::*;
pub use retention::*;
pub use ticket_sets::*;
pub use tickets::*;
pub use venues::*;
pub use webhooks::*;
