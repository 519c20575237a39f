//! What a gate asks before it opens.

use stile_core::protocol::{ClaimAnswer, ClaimRequest};

use super::{Device, Server};
use crate::error::ServerError;

impl Server {
    /// Answers a claim; again, by the same scan id, as before.
    pub async fn claim(
        &self,
        device: &Device,
        request: ClaimRequest,
    ) -> Result<ClaimAnswer, ServerError> {
        if request.persons == 0 {
            return Err(ServerError::invalid("persons", "at least 1"));
        }
        if !(1..=i64::MAX as u64).contains(&request.sequence) {
            return Err(ServerError::invalid("sequence", "1 to 2^63-1"));
        }
        let now = self.now();
        Ok(self
            .store
            .claim(device.venue, &device.device_id, request, now)
            .await?)
    }
}
