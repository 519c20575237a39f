//! TLS at the server: the certificate and key that it shows, taken anew when they change, and a
//! CA of its own for networks where no public one vouches for anybody.

mod authority;
mod certificate;
mod chain;
mod names;
mod own;
mod pair;
mod served;

pub use authority::{Authority, AuthorityError};
pub use certificate::{Certificate, CertificateError};
pub use chain::{Chain, NotNamed};
pub use names::{NameError, Names};
pub use own::{Own, OwnError, RENEW_BEFORE_S};
pub use pair::{Pair, PairError, PairFiles};
pub use served::Served;
