//! A copy of the keys apart from the data: the master key and the venues' sealed secrets in one file
//! under a passphrase. Knows the file's bytes and the note of the newest one; what is put into it,
//! and put back, is [`crate::server`]'s to say.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use stile_core::platform::Random;
use stile_core::signed::Signed;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::random::random_bytes;
use crate::small_file;

/// The note's file in the server's folder.
pub const LAST_KEY_BACKUP_FILE: &str = "last-key-backup.json";
/// Shortest passphrase, in characters: twelve are four or five words.
pub const LEAST_CHARACTERS: usize = 12;

/// The file's first line, so that whoever finds it knows what it is.
const HEAD: &str = "stile key backup 1";
/// Bytes before the ciphertext: cost (three numbers, big endian), salt, nonce.
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
const FRONT_BYTES: usize = 12 + SALT_BYTES + NONCE_BYTES;
/// Memory in KiB, passes and lanes of argon2id: RFC 9106's choice where memory is scarce, since it
/// may have to be opened on a small machine.
const COST: [u32; 3] = [64 * 1024, 3, 4];
/// The most that a file may ask of who opens it: 256 MiB.
const MOST_COST: [u32; 3] = [256 * 1024, 8, 16];
/// Larger is no file of ours: a thousand venues have under 2 MB.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// What is in a copy.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct KeyBackup {
    /// When it was made, in epoch seconds.
    pub at: i64,
    /// The master key, base64.
    pub master_key: String,
    /// What is sealed under it.
    pub secrets: Vec<BackedUpSecret>,
    /// What each venue said of its signing keys then: when each signs, and which are revoked. Nothing
    /// secret.
    #[serde(default)]
    #[zeroize(skip)]
    pub manifests: Vec<BackedUpManifest>,
}

/// A venue's key manifest.
#[derive(Clone, Serialize, Deserialize)]
pub struct BackedUpManifest {
    /// The venue's id.
    pub venue: String,
    /// As its root signed it.
    pub signed: Signed,
}

/// A secret as the store has it.
#[derive(Clone, Serialize, Deserialize, Zeroize)]
pub struct BackedUpSecret {
    /// Whose it is and what for.
    #[serde(flatten)]
    pub name: SecretName,
    /// The sealed bytes, base64.
    pub sealed: String,
}

/// What a secret is called: nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Zeroize)]
pub struct SecretName {
    /// The venue's id.
    pub venue: String,
    /// What it is for, as in the store.
    pub kind: String,
    /// Its kid; 0 for what is no key of a role with several.
    pub kid: u8,
}

impl std::fmt::Display for SecretName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} of {}", self.kind, self.kid, self.venue)
    }
}

/// Why a copy was not made or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KeyBackupError {
    /// It would be cracked in a day.
    #[error(
        "the passphrase is shorter than {LEAST_CHARACTERS} characters; take four words or more"
    )]
    TooShort,
    /// There is something already.
    #[error("{} is there already; give the copy a name of its own", .0.display())]
    Exists(PathBuf),
    /// Another kind of file, or half of one.
    #[error("{} is no key backup, or not the whole of one: {}", .0.display(), .1)]
    NotOne(PathBuf, &'static str),
    /// It opens with nothing that was given.
    #[error("the passphrase is not the one of {}, or the file is damaged", .0.display())]
    DoesNotOpen(PathBuf),
    /// The file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The key could not be derived or the copy sealed.
    #[error("the passphrase cannot be used: {0}")]
    Seal(&'static str),
}

impl KeyBackup {
    /// Writes it to a new file for its owner alone, durable when this returns.
    pub fn write(
        &self,
        path: &Path,
        passphrase: &str,
        random: &dyn Random,
    ) -> Result<(), KeyBackupError> {
        if passphrase.chars().count() < LEAST_CHARACTERS {
            return Err(KeyBackupError::TooShort);
        }
        let plain = Zeroizing::new(
            serde_json::to_vec(self).map_err(|_| KeyBackupError::Seal("it is no JSON"))?,
        );
        let salt: [u8; SALT_BYTES] = random_bytes(random);
        let nonce: [u8; NONCE_BYTES] = random_bytes(random);
        let mut bytes = Vec::with_capacity(FRONT_BYTES + plain.len() + 16);
        COST.iter().for_each(|n| bytes.extend(n.to_be_bytes()));
        bytes.extend(salt);
        bytes.extend(nonce);
        let cipher = cipher(passphrase, COST, &salt).map_err(KeyBackupError::Seal)?;
        let payload = Payload {
            msg: &plain,
            aad: &aad(&bytes),
        };
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| KeyBackupError::Seal("it is too long"))?;
        bytes.extend(sealed);
        if path.symlink_metadata().is_ok() {
            return Err(KeyBackupError::Exists(path.to_owned()));
        }
        let text = format!("{HEAD}\n{}\n", BASE64.encode(&bytes));
        small_file::put(path, text.as_bytes()).map_err(|source| KeyBackupError::Io {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads one.
    pub fn read(path: &Path, passphrase: &str) -> Result<Self, KeyBackupError> {
        let not_one = |why| KeyBackupError::NotOne(path.to_owned(), why);
        let io = |source| KeyBackupError::Io {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).map_err(io)?.len() > MOST_BYTES {
            return Err(not_one("it is too large"));
        }
        let text = fs::read(path).map_err(io)?;
        let text = String::from_utf8(text).map_err(|_| not_one("it is no text"))?;
        let body = text
            .strip_prefix(HEAD)
            .and_then(|rest| rest.strip_prefix(['\n', '\r']))
            .ok_or_else(|| not_one("it begins otherwise"))?;
        let bytes = BASE64
            .decode(body.trim().as_bytes())
            .map_err(|_| not_one("its end is missing, or something was changed in it"))?;
        let (front, sealed) = bytes
            .split_at_checked(FRONT_BYTES)
            .ok_or_else(|| not_one("its end is missing"))?;
        let (cost, rest) = front.split_at(12);
        let (salt, nonce) = rest.split_at(SALT_BYTES);
        let cost = cost_of(cost).ok_or_else(|| not_one("it asks for more memory than any"))?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| not_one("it is too short"))?;
        let cipher = cipher(passphrase, cost, salt).map_err(KeyBackupError::Seal)?;
        let payload = Payload {
            msg: sealed,
            aad: &aad(front),
        };
        let plain = cipher
            .decrypt(&XNonce::from(nonce), payload)
            .map(Zeroizing::new)
            .map_err(|_| KeyBackupError::DoesNotOpen(path.to_owned()))?;
        serde_json::from_slice(&plain).map_err(|_| not_one("another version made it"))
    }
}

fn cost_of(bytes: &[u8]) -> Option<[u32; 3]> {
    let mut cost = [0; 3];
    for ((n, bytes), most) in cost.iter_mut().zip(bytes.chunks(4)).zip(MOST_COST) {
        *n = u32::from_be_bytes(bytes.try_into().ok()?);
        if *n > most {
            return None;
        }
    }
    Some(cost)
}

fn cipher(
    passphrase: &str,
    [memory, passes, lanes]: [u32; 3],
    salt: &[u8],
) -> Result<XChaCha20Poly1305, &'static str> {
    let params = Params::new(memory, passes, lanes, Some(32)).map_err(|_| "the cost is none")?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut key = Zeroizing::new([0; 32]);
    argon
        .hash_password_into(passphrase.as_bytes(), salt, key.as_mut())
        .map_err(|_| "no key follows from it")?;
    Ok(XChaCha20Poly1305::new((&*key).into()))
}

/// What is not secret, and is vouched for all the same.
fn aad(front: &[u8]) -> Vec<u8> {
    [HEAD.as_bytes(), b"\0", front].concat()
}

/// The newest copy that was made or put back here.
#[derive(Debug, Serialize, Deserialize)]
pub struct LastKeyBackup {
    /// When it was made, in epoch seconds.
    pub at: i64,
    /// Where it was, by its full path.
    pub file: PathBuf,
    /// What is in it.
    pub secrets: Vec<SecretName>,
}

impl LastKeyBackup {
    /// The note of a copy.
    pub fn of(backup: &KeyBackup, file: &Path) -> Self {
        Self {
            at: backup.at,
            file: std::path::absolute(file).unwrap_or_else(|_| file.to_owned()),
            secrets: backup.secrets.iter().map(|one| one.name.clone()).collect(),
        }
    }

    /// The one that is noted in a server's folder, if one is.
    pub fn noted(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join(LAST_KEY_BACKUP_FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Notes it.
    pub fn note(&self, data: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        small_file::put_public(&data.join(LAST_KEY_BACKUP_FILE), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SystemRandom;

    const WORDS: &str = "four words and more";

    fn backup() -> KeyBackup {
        KeyBackup {
            at: 1_790_820_000,
            master_key: BASE64.encode(&[7; 32]),
            secrets: vec![BackedUpSecret {
                name: SecretName {
                    venue: "museum".into(),
                    kind: "root".into(),
                    kid: 0,
                },
                sealed: "AAAA".into(),
            }],
            manifests: Vec::new(),
        }
    }

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("keys");
        backup().write(&path, WORDS, &SystemRandom).unwrap();
        path
    }

    #[test]
    fn what_was_written_is_read_with_its_passphrase_and_with_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let read = KeyBackup::read(&path, WORDS).unwrap();
        assert_eq!(read.master_key, backup().master_key);
        assert_eq!(read.secrets[0].name, backup().secrets[0].name);
        for other in ["", "four words and mor", "Four words and more"] {
            let wrong = KeyBackup::read(&path, other);
            assert!(matches!(wrong, Err(KeyBackupError::DoesNotOpen(_))));
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&backup().master_key) && !text.contains("museum"));
    }

    #[test]
    fn half_a_file_and_one_with_a_changed_byte_open_with_nothing_and_break_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = fs::read(&path).unwrap();
        let ends = (0..whole.len() - 1).step_by(17);
        let cut = ends.map(|end| whole[..end].to_vec());
        let changed = (0..whole.len() - 2).step_by(37).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            bytes
        });
        for bytes in cut.chain(changed) {
            fs::write(&path, &bytes).unwrap();
            assert!(KeyBackup::read(&path, WORDS).is_err());
        }
        fs::write(&path, [HEAD.as_bytes(), b"\n\xff\xfe"].concat()).unwrap();
        assert!(matches!(
            KeyBackup::read(&path, WORDS),
            Err(KeyBackupError::NotOne(..))
        ));
    }

    #[test]
    fn a_short_passphrase_and_a_file_that_is_there_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let short = backup().write(&path, "short", &SystemRandom);
        assert!(matches!(short, Err(KeyBackupError::TooShort)));
        assert!(!path.exists());
        fs::write(&path, "mine").unwrap();
        let taken = backup().write(&path, WORDS, &SystemRandom);
        assert!(matches!(taken, Err(KeyBackupError::Exists(_))));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
