//! A booking system that never was: a seeded timetable and day of tickets, as such systems export
//! them. The same seed, day and count give the same file, whatever the hour.

mod expected;
mod file;
mod generate;
mod holders;
mod timetable;

pub use expected::Door;
pub use file::{Header, write_csv};
pub use generate::{BookingDay, Kind, Order, Window};
pub use timetable::{Slot, Timetable};

/// The zone of the halls that every session opens.
pub const MAIN_ZONE: &str = "main";
/// The zone of the special exhibition, which few tickets open.
pub const SPECIAL_ZONE: &str = "special";
