//! PINs of operators: how the server hashes one, and how a gate checks one. Argon2id, as PHC
//! strings with a salt of their own. Slow by intent: never call these under a lock that a scan
//! waits for.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};

use crate::protocol::{MAX_PIN_DIGITS, MIN_PIN_DIGITS};

/// Memory of one hash, in KiB: what OWASP recommends with two passes, some 40 ms on a PDA.
const MEMORY_KIB: u32 = 19 * 1024;
/// Passes over that memory.
const PASSES: u32 = 2;
/// Bytes of salt in a hash made here.
pub const SALT_BYTES: usize = 16;

/// The most memory that a gate spends on one check, in KiB: an old board has 512 MiB in all.
const MAX_MEMORY_KIB: u32 = 64 * 1024;
/// The most passes times memory, in KiB: about a second on an old board.
const MAX_WORK_KIB: u32 = 4 * MAX_MEMORY_KIB;
/// The most lanes; they are computed one after the other.
const MAX_LANES: u32 = 4;

/// Why a PIN cannot be hashed or checked. Never repeats the PIN or its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// Not 4 to 12 digits.
    #[error("a PIN is {MIN_PIN_DIGITS} to {MAX_PIN_DIGITS} digits")]
    Shape,
    /// The hash is not one of argon2id, version 19, in PHC spelling.
    #[error("the PIN's hash is no PHC string of argon2id (v=19); set the PIN again on the server")]
    Hash,
    /// The hash would cost more than a gate can spend.
    #[error(
        "the PIN's hash asks for more than {MAX_MEMORY_KIB} KiB, {MAX_LANES} lanes or \
         {MAX_WORK_KIB} KiB of work; set the PIN again on the server"
    )]
    TooCostly,
}

fn is_pin(pin: &str) -> bool {
    (MIN_PIN_DIGITS..=MAX_PIN_DIGITS).contains(&pin.len())
        && pin.bytes().all(|b| b.is_ascii_digit())
}

/// The PHC string of a PIN. `salt` is random and of this PIN alone.
pub fn hash_pin(pin: &str, salt: &[u8; SALT_BYTES]) -> Result<String, PinError> {
    if !is_pin(pin) {
        return Err(PinError::Shape);
    }
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).map_err(|_| PinError::TooCostly)?;
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(pin.as_bytes(), salt)
        .map_err(|_| PinError::Hash)?;
    Ok(hash.to_string())
}

/// Whether a PIN is the one of a hash, compared in constant time. A hash that is none, or that
/// would hang an old board, is an error and never a match.
pub fn check_pin(pin: &str, phc: &str) -> Result<bool, PinError> {
    if !is_pin(pin) {
        return Ok(false);
    }
    let hash = PasswordHash::new(phc).map_err(|_| PinError::Hash)?;
    let is_ours = hash.algorithm.as_str() == Algorithm::Argon2id.as_str()
        && hash.version == Some(Version::V0x13.into())
        && hash.salt.is_some()
        && hash.hash.is_some_and(|output| output.len() >= SALT_BYTES);
    if !is_ours {
        return Err(PinError::Hash);
    }
    let params = Params::try_from(&hash).map_err(|_| PinError::Hash)?;
    let work = params.m_cost().checked_mul(params.t_cost());
    let affordable = params.m_cost() <= MAX_MEMORY_KIB
        && params.p_cost() <= MAX_LANES
        && work.is_some_and(|work| work <= MAX_WORK_KIB);
    if !affordable {
        return Err(PinError::TooCostly);
    }
    Ok(Argon2::from(params)
        .verify_password(pin.as_bytes(), &hash)
        .is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phc(memory: u32, passes: u32, lanes: u32) -> String {
        let made = hash_pin("2468", b"sixteen bytes ok").unwrap();
        made.replace(
            &format!("m={MEMORY_KIB},t={PASSES},p=1"),
            &format!("m={memory},t={passes},p={lanes}"),
        )
    }

    #[test]
    fn a_pin_is_known_by_its_hash_and_no_other_is() {
        let made = hash_pin("2468", b"sixteen bytes ok").unwrap();
        assert!(made.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_eq!(check_pin("2468", &made), Ok(true));
        assert_eq!(check_pin("2469", &made), Ok(false));
        assert_eq!(check_pin("24680", &made), Ok(false));
    }

    #[test]
    fn what_is_no_pin_is_neither_hashed_nor_a_match() {
        for text in ["", "123", "1234567890123", "12a4", "１２３４"] {
            assert_eq!(hash_pin(text, &[7; SALT_BYTES]), Err(PinError::Shape));
        }
        assert_eq!(check_pin("", "anything"), Ok(false));
    }

    #[test]
    fn a_hash_that_would_hang_an_old_board_is_refused_before_it_is_computed() {
        for costly in [
            phc(1 << 30, 2, 1),
            phc(65_537, 1, 1),
            phc(65_536, 5, 1),
            phc(19_456, u32::MAX, 1),
            phc(19_456, 2, 5),
        ] {
            assert_eq!(check_pin("2468", &costly), Err(PinError::TooCostly));
        }
    }

    #[test]
    fn other_algorithms_and_noise_are_no_hashes() {
        let made = hash_pin("2468", b"sixteen bytes ok").unwrap();
        for other in [
            "",
            "2468",
            &made.replace("argon2id", "argon2d"),
            &made.replace("v=19", "v=16"),
            &made.replace("$v=19", ""),
            &made[..made.len() - 44],
        ] {
            assert_eq!(check_pin("2468", other), Err(PinError::Hash), "{other}");
        }
    }
}
