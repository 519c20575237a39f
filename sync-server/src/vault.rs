//! The master key, and what is sealed under it: venues' private keys and secrets. The key comes
//! from a file or the environment, never lies in the database, and is written nowhere else.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use data_encoding::BASE64;
use stile_core::platform::Random;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::random::random_bytes;
use crate::small_file;

/// Length of the master key, in bytes.
const KEY_BYTES: usize = 32;
/// Length of a nonce, in bytes: long enough that random ones never meet.
const NONCE_BYTES: usize = 24;
/// What sealed bytes begin with: their layout, `layout | nonce | ciphertext and tag`.
const LAYOUT: u8 = 1;
/// Stands before the context that sealed bytes are bound to.
const DOMAIN: &str = "stile/sealed/v1\0";
/// The text that a master key is checked with.
const CHECK: (&str, &[u8]) = ("check", b"stile");

/// Where the master key comes from.
#[derive(Debug, Clone)]
pub enum MasterKeySource {
    /// A file with 32 bytes in base64. Made, readable by its owner alone, where there is neither
    /// it nor anything sealed yet.
    File(PathBuf),
    /// 32 bytes in base64, as an environment variable gives them.
    Text(Zeroizing<String>),
}

impl MasterKeySource {
    /// The key itself, which must be there.
    pub(crate) fn read(&self) -> Result<MasterKey, VaultError> {
        match self {
            Self::Text(text) => parse(text),
            Self::File(path) => read(path)?.ok_or_else(|| VaultError::Missing(path.clone())),
        }
    }

    /// Puts a key back where it is missing. The path if that is a file and was written; none if the
    /// key is there already. Another key that is there stays.
    pub(crate) fn put_back(&self, key: &str) -> Result<Option<PathBuf>, VaultError> {
        let key = parse(key)?;
        let path = match self {
            Self::Text(text) if is_same(&*parse(text)?, &*key) => return Ok(None),
            Self::Text(_) => return Err(VaultError::Other("STILE_MASTER_KEY".to_owned())),
            Self::File(path) => path,
        };
        match read(path)? {
            Some(there) if is_same(&*there, &*key) => return Ok(None),
            Some(_) => return Err(VaultError::Other(path.display().to_string())),
            None => {}
        }
        let text = Zeroizing::new(BASE64.encode(&*key) + "\n");
        small_file::put(path, text.as_bytes()).map_err(|source| VaultError::File {
            path: path.clone(),
            source,
        })?;
        Ok(Some(path.clone()))
    }
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Why there is no master key, or it is not the right one.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The file is not there, and there are secrets that were sealed with it.
    #[error(
        "the master key's file {} is not there; put it back from its backup, or with `stile-server \
         key restore FILE` from a copy of the keys: without it the venues' keys cannot be read, and \
         a new one would not help",
        .0.display()
    )]
    Missing(PathBuf),
    /// The file cannot be read or made.
    #[error("the master key's file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Everybody may read the file.
    #[error(
        "the master key's file {} can be read by everybody; run: chmod 600 {}",
        .0.display(), .0.display()
    )]
    Readable(PathBuf),
    /// Not a key.
    #[error("the master key must be 32 bytes in base64 (44 characters), and this is not")]
    Spelling,
    /// Another key than the one that the secrets were sealed with.
    #[error(
        "this is not the master key that this folder's secrets were sealed with; use the one \
         that was made with it"
    )]
    Wrong,
    /// A key is there, and not the one that is to be put back.
    #[error(
        "{0} holds another master key than the copy; nothing was changed. If the copy's is the right \
         one, move that one away first"
    )]
    Other(String),
}

/// Sealed bytes that this key does not open: another key's, another context's, or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sealed secret cannot be opened; it is damaged or was sealed with another master key")]
pub struct SealError;

/// Seals and opens secrets. The key is zeroized when this is dropped.
pub struct Vault {
    cipher: XChaCha20Poly1305,
}

impl Vault {
    /// Takes the master key and checks it against what was sealed with it, if anything was.
    /// Answers the path of the file if it had to be made.
    pub fn open(
        source: &MasterKeySource,
        check: Option<&[u8]>,
        random: &dyn Random,
    ) -> Result<(Self, Option<PathBuf>), VaultError> {
        let (key, made) = match source {
            MasterKeySource::Text(text) => (parse(text)?, None),
            MasterKeySource::File(path) => match read(path)? {
                Some(key) => (key, None),
                None if check.is_some() => return Err(VaultError::Missing(path.clone())),
                None => (make(path, random)?, Some(path.clone())),
            },
        };
        let vault = Self {
            cipher: XChaCha20Poly1305::new((&*key).into()),
        };
        let fits = |sealed| {
            vault
                .unseal(CHECK.0, sealed)
                .is_ok_and(|text| *text == CHECK.1)
        };
        match check {
            Some(sealed) if !fits(sealed) => Err(VaultError::Wrong),
            _ => Ok((vault, made)),
        }
    }

    /// What [`Self::open`] checks a key against later.
    pub fn check(&self, random: &dyn Random) -> Result<Vec<u8>, SealError> {
        self.seal(CHECK.0, CHECK.1, random)
    }

    /// Seals a secret; it opens in the same context only.
    pub fn seal(
        &self,
        context: &str,
        secret: &[u8],
        random: &dyn Random,
    ) -> Result<Vec<u8>, SealError> {
        let nonce: [u8; NONCE_BYTES] = random_bytes(random);
        let aad = [DOMAIN, context].concat();
        let payload = Payload {
            msg: secret,
            aad: aad.as_bytes(),
        };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SealError)?;
        Ok([&[LAYOUT], &nonce[..], &sealed].concat())
    }

    /// Opens what was sealed.
    pub fn unseal(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (layout, rest) = sealed.split_first().ok_or(SealError)?;
        let (nonce, msg) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(SealError)?;
        if *layout != LAYOUT {
            return Err(SealError);
        }
        let aad = [DOMAIN, context].concat();
        let payload = Payload {
            msg,
            aad: aad.as_bytes(),
        };
        let secret = self
            .cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| SealError)?;
        Ok(Zeroizing::new(secret))
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault(secret)")
    }
}

pub(crate) type MasterKey = Zeroizing<[u8; KEY_BYTES]>;

fn parse(text: &str) -> Result<MasterKey, VaultError> {
    let bytes = BASE64
        .decode(text.trim().as_bytes())
        .map_err(|_| VaultError::Spelling)?;
    let bytes = Zeroizing::new(bytes);
    let key: [u8; KEY_BYTES] = bytes
        .as_slice()
        .try_into()
        .map_err(|_| VaultError::Spelling)?;
    Ok(Zeroizing::new(key))
}

fn read(path: &Path) -> Result<Option<MasterKey>, VaultError> {
    match fs::read_to_string(path).map(Zeroizing::new) {
        Ok(text) => {
            refuse_readable_by_all(path)?;
            parse(&text).map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(VaultError::File {
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(unix)]
fn refuse_readable_by_all(path: &Path) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt;
    let file = fs::metadata(path).map_err(|source| VaultError::File {
        path: path.to_owned(),
        source,
    })?;
    if file.permissions().mode() & 0o007 != 0 {
        return Err(VaultError::Readable(path.to_owned()));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_readable_by_all(_: &Path) -> Result<(), VaultError> {
    Ok(())
}

fn make(path: &Path, random: &dyn Random) -> Result<MasterKey, VaultError> {
    let key: MasterKey = Zeroizing::new(random_bytes(random));
    let text = Zeroizing::new(BASE64.encode(&*key) + "\n");
    write_new(path, text.as_bytes()).map_err(|source| VaultError::File {
        path: path.to_owned(),
        source,
    })?;
    Ok(key)
}

/// Writes a file that is durable before anything is sealed with what stands in it.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a key would be in the way of a whole one.
        let _ = fs::remove_file(path);
        return Err(error);
    }
    // The name in the folder has to be durable too.
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => fs::File::open(".")?.sync_all(),
    }
}
