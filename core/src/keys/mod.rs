//! Keys and secrets, each a type of its own so that one never stands in for another. All are
//! zeroized when dropped and print nothing of themselves. Bytes are passed in: no randomness is
//! made here, and nothing is stored or encrypted here.

mod secrets;
mod signing;

pub(crate) use secrets::keyed;
pub use secrets::{
    DocumentKey, EmptyKey, IssuerSecret, NumberingSecret, RotationKey, SECRET_BYTES, SharedKey,
    TicketKey,
};
pub use signing::{
    CodeSigningKey, CodeVerifyingKey, DeviceSigningKey, DeviceVerifyingKey, KeyError,
    ListSigningKey, ListVerifyingKey, PUBLIC_KEY_BYTES, Role, RootSigningKey, RootVerifyingKey,
    SIGNATURE_BYTES, SigningKey, VerifyingKey, role, root_fingerprint,
};
