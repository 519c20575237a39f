//! A venue in one process and in virtual time: the product's real server handlers on a real
//! database, and the product's real devices on real folders. No sockets and no waiting; a minute
//! passes when a test says so.

mod gate;
mod server;
mod time;

pub use gate::VirtualDevice;
pub use server::{Answer, VirtualServer};
pub use time::{VirtualPlatform, VirtualTime};
