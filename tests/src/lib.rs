//! Whole-system tests: real servers and gates as processes, a network between them that can be
//! bad, a booking system that never was, and the comparison of what gates wrote with what the
//! back end pulls. Nothing of the product lives here, and the product knows nothing of it.

pub mod api;
pub mod booking;
pub mod comparison;
pub mod device;
pub mod disk;
pub mod gate;
pub mod journal;
pub mod museum;
pub mod network;
pub mod programs;
pub mod qr;
pub mod server;
pub mod visitor;
