//! A certificate and its key as they lie on disk, in two files or in one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::certificate::CertificateError;
use super::chain::Chain;

/// Where a certificate and its key lie, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairFiles {
    /// The certificate, then what is between it and its root; a CA of one's own is in it too.
    pub certificate: PathBuf,
    /// The private key: PKCS#8, SEC1 or PKCS#1. May be the same file.
    pub key: PathBuf,
}

/// Why a certificate and a key are none that a server can show.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Everybody may read the key.
    #[error(
        "the TLS key {} can be read by every user of this machine; run: chmod o-rwx {}",
        .0.display(), .0.display()
    )]
    Readable(PathBuf),
    /// It holds no certificate.
    #[error("{} holds no certificate as PEM (-----BEGIN CERTIFICATE-----)", .0.display())]
    NoCertificate(PathBuf),
    /// It holds no key.
    #[error("{} holds no private key as PEM (-----BEGIN PRIVATE KEY-----)", .0.display())]
    NoKey(PathBuf),
    /// A certificate cannot be read.
    #[error("{}: {source}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CertificateError,
    },
    /// The key is another certificate's, or of a kind that TLS has no use for.
    #[error(
        "the key {} does not go with the certificate {}: {source}; give the two that were made \
         together",
        key.display(), certificate.display()
    )]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        source: rustls::Error,
    },
}

/// What lies in the files now, not yet understood. Zeroized when it is dropped: either may hold the
/// key.
pub(super) struct Contents {
    certificate: Zeroizing<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
}

impl Contents {
    /// What lies in the key's file.
    pub(super) fn into_key(self) -> Zeroizing<Vec<u8>> {
        self.key
    }

    /// Tells one state of the files from another.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let length = (self.certificate.len() as u64).to_be_bytes();
        let hash = Sha256::new().chain_update(length);
        hash.chain_update(&*self.certificate)
            .chain_update(&*self.key)
            .finalize()
            .into()
    }
}

impl PairFiles {
    /// Reads the files. A key that everybody may read is none.
    pub(super) fn read(&self) -> Result<Contents, PairError> {
        let file = |path: &Path| {
            fs::read(path)
                .map(Zeroizing::new)
                .map_err(|source| PairError::File {
                    path: path.to_owned(),
                    source,
                })
        };
        let certificate = file(&self.certificate)?;
        let key = file(&self.key)?;
        refuse_readable_by_all(&self.key)?;
        Ok(Contents { certificate, key })
    }
}

/// A certificate with its chain and key, fit to be shown.
#[derive(Debug)]
pub struct Pair {
    certified: Arc<CertifiedKey>,
    /// The certificates.
    pub chain: Chain,
}

impl Pair {
    /// Reads a pair.
    pub fn load(files: &PairFiles) -> Result<Self, PairError> {
        Self::parse(files, &files.read()?)
    }

    /// Reads a pair from the text of a file that holds both.
    pub(super) fn from_text(files: &PairFiles, text: &[u8]) -> Result<Self, PairError> {
        let contents = Contents {
            certificate: Zeroizing::new(text.to_vec()),
            key: Zeroizing::new(text.to_vec()),
        };
        Self::parse(files, &contents)
    }

    pub(super) fn parse(files: &PairFiles, contents: &Contents) -> Result<Self, PairError> {
        let chain = Chain::parse(&files.certificate, &contents.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key)
            .map_err(|_| PairError::NoKey(files.key.clone()))?;
        let certified = CertifiedKey::from_der(chain.all(), key, &ring::default_provider());
        let certified = certified.map_err(|source| PairError::Mismatch {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            source,
        })?;
        Ok(Self {
            certified: Arc::new(certified),
            chain,
        })
    }

    pub(super) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }
}

#[cfg(unix)]
fn refuse_readable_by_all(path: &Path) -> Result<(), PairError> {
    use std::os::unix::fs::PermissionsExt;
    let file = fs::metadata(path).map_err(|source| PairError::File {
        path: path.to_owned(),
        source,
    })?;
    match file.permissions().mode() & 0o007 {
        0 => Ok(()),
        _ => Err(PairError::Readable(path.to_owned())),
    }
}

#[cfg(not(unix))]
fn refuse_readable_by_all(_: &Path) -> Result<(), PairError> {
    Ok(())
}
