//! What travels between gate, server and booking back end: JSON bodies with their OpenAPI
//! schemas. The types stand here once; server and gates share them.

mod admissions_feed;
mod alarms;
mod api_keys;
mod attendance;
mod audit;
mod backend;
mod changes;
mod claims;
mod device_standing;
mod enrolment;
mod enrolment_digits;
mod enrolment_text;
mod finality;
mod operators;
mod problem;
mod quarantine;
mod reconciliations;
mod records;
mod signing_keys;
mod visitors;
mod webhooks;
mod whitelist;

pub use admissions_feed::*;
pub use alarms::*;
pub use api_keys::*;
pub use attendance::*;
pub use audit::*;
pub use backend::*;
pub use changes::*;
pub use claims::*;
pub use device_standing::*;
pub use enrolment::*;
pub use enrolment_digits::{EnrolmentDigits, EnrolmentDigitsError};
pub use enrolment_text::{EnrolmentText, EnrolmentTextError};
pub use finality::*;
pub use operators::*;
pub use problem::{Code, Problem};
pub use quarantine::*;
pub use reconciliations::*;
pub use records::*;
pub use signing_keys::*;
pub use visitors::*;
pub use webhooks::*;
pub use whitelist::*;

/// Every answer's header with the server's time, epoch ms in decimal.
pub const TIME_HEADER: &str = "stile-time";
/// Every answer's header with the server's generation: UTC seconds at which its data was last
/// put back from a backup, 0 at first.
pub const GENERATION_HEADER: &str = "stile-generation";
/// The header of a log in CSV with the cursor behind it, which CSV itself has no place for.
pub const CURSOR_HEADER: &str = "stile-cursor";
/// The header beside it that says `true` where there was more already, as `limit` left it out.
pub const MORE_HEADER: &str = "stile-more";
/// The header beside it that says up to when, epoch ms, every record of the venue is in the log;
/// absent while a device that is waited for has never reported.
pub const COMPLETE_THROUGH_HEADER: &str = "stile-complete-through";
/// Seconds that a request may ask to wait for something to happen: well under what proxies allow a
/// quiet connection.
pub const MAX_WAIT_S: u32 = 25;
