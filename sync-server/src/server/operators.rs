//! Operators: who signs in at the gates. PINs are hashed on arrival; the text of a staff QR is
//! shown once and kept as its hash.

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use sha2::{Digest, Sha256};
use stile_core::ids::{OperatorId, VenueId};
use stile_core::pin::{SALT_BYTES, hash_pin};
use stile_core::protocol::{NewOperator, Operator, OperatorView, Operators};
use zeroize::Zeroizing;

use super::Server;
use super::venues::check_text;
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{Change, NO_PIN, NO_ROOM, OperatorUpdate, StoreError};

/// Operators of a venue at most: every gate holds all, and tries a PIN on each supervisor.
const MAX_OPERATORS: usize = 100;
/// What the text of every staff QR begins with. No code begins so.
const BADGE_PREFIX: &str = "STAFF:";
/// Random bytes of a staff QR: 160 bits, so that its plain hash gives nothing away.
const BADGE_BYTES: usize = 20;

impl Server {
    /// Puts an operator. A new one needs a PIN; an old one keeps theirs where none is given.
    pub async fn put_operator(
        &self,
        venue: &VenueId,
        id: OperatorId,
        new: NewOperator,
    ) -> Result<(OperatorView, Change), ServerError> {
        check_text("name", &new.name)?;
        let number = self.keys(venue).await?.number;
        let pin_hash = match new.pin.map(Zeroizing::new) {
            Some(pin) => Some(self.hash_pin(pin).await?),
            None => None,
        };
        let badge = new.new_badge.then(|| {
            let random: Zeroizing<[u8; BADGE_BYTES]> = Zeroizing::new(random_bytes(&*self.random));
            BADGE_PREFIX.to_owned() + &BASE32_NOPAD.encode(&*random)
        });
        let update = OperatorUpdate {
            operator_id: id,
            name: new.name,
            role: new.role,
            pin_hash,
            badge_hash: badge
                .as_ref()
                .map(|text| HEXLOWER.encode(&Sha256::digest(text))),
        };
        let put = self
            .store
            .put_operator(number, update, MAX_OPERATORS, self.now());
        let (operator, change) = put.await.map_err(|error| match error {
            StoreError::Missing(NO_PIN) => {
                ServerError::invalid("pin", "missing; an operator who is new needs one")
            }
            StoreError::Missing(NO_ROOM) => ServerError::Conflict(format!(
                "the venue has {MAX_OPERATORS} operators, as many as it may; remove one first"
            )),
            other => other.into(),
        })?;
        Ok((view(operator, badge), change))
    }

    /// Takes about 20 ms of a core, away from those who only wait.
    async fn hash_pin(&self, pin: Zeroizing<String>) -> Result<String, ServerError> {
        let salt: [u8; SALT_BYTES] = random_bytes(&*self.random);
        tokio::task::spawn_blocking(move || hash_pin(&pin, &salt))
            .await
            .map_err(ServerError::internal)?
            .map_err(|error| ServerError::invalid("pin", error))
    }

    /// The venue's operators, by id.
    pub async fn operators(&self, venue: &VenueId) -> Result<Operators, ServerError> {
        let number = self.keys(venue).await?.number;
        let operators = self.store.operators(number).await?;
        Ok(Operators {
            operators: operators.into_iter().map(|one| view(one, None)).collect(),
        })
    }

    /// Removes an operator; gates that hear of it sign nobody in by that id any more.
    pub async fn remove_operator(
        &self,
        venue: &VenueId,
        id: &OperatorId,
    ) -> Result<(), ServerError> {
        let number = self.keys(venue).await?.number;
        let found = self.store.remove_operator(number, id, self.now()).await?;
        found.then_some(()).ok_or(ServerError::NotFound("operator"))
    }
}

fn view(operator: Operator, badge: Option<String>) -> OperatorView {
    OperatorView {
        operator_id: operator.operator_id,
        name: operator.name,
        role: operator.role,
        has_badge: operator.badge_hash.is_some(),
        badge,
    }
}
