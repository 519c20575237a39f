//! What leaves the server for webhooks: how a message is written and signed, and to which addresses
//! it may go. When one is sent, and what becomes of it, is `server/webhook_delivery.rs`.

mod message;
mod networks;
mod sender;
mod sentences;

pub(crate) use message::{CHECK_INS, Message, Secret, TEST};
pub use networks::{Network, NetworkError};
pub(crate) use sender::{Failure, Receiver, Sender, checked_url};
