//! Who a device is: what enrolment gave it, in one file beside the journal.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::ids::{DeviceId, Kid, VenueId, VenueNumber};
use crate::key_manifest::{KeyManifest, KeyRing, ManifestError};
use crate::keys::{DeviceSigningKey, KeyError, RootVerifyingKey, root_fingerprint};
use crate::platform::Random;
use crate::protocol::{Certificate, EnrolAnswer, EnrolRequest, EnrolmentDigits, EnrolmentText};
use crate::signed::{Domain, Signed, SignedError};
use crate::ticket::Gate;
use crate::time::EpochSeconds;

const FILE: &str = "identity.json";

/// Why an enrolment or an identity cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The folder holds none.
    #[error("{0} is not enrolled yet; run `stile-gate enrol` with the text of an enrolment QR")]
    NotEnrolled(PathBuf),
    /// It is enrolled already.
    #[error("{0} is enrolled already; export its unsent records and use an empty folder")]
    AlreadyEnrolled(PathBuf),
    /// The server's root key is not the one that the QR names.
    #[error("the server's root key is not the one that the enrolment text names: wrong server?")]
    WrongRoot,
    /// The certificate does not name this device's key.
    #[error("the server's certificate is for another device")]
    WrongCertificate,
    /// A key that cannot be used.
    #[error("the server's root key: {0}")]
    Key(#[from] KeyError),
    /// The key manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The certificate's signature.
    #[error("the certificate: {0}")]
    Certificate(#[from] SignedError),
    /// The file is not what this version writes.
    #[error(
        "{path} is damaged ({source}); `stile-gate export` reads the records out without it. Then \
         put the file back from a copy, or enrol anew with an empty folder"
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It is another user's.
    #[error("{0}: permission denied; run this as root or as the user whose folder it is")]
    NotOurs(PathBuf),
    /// The file system.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
}

/// A device on its way in: its key is made, the server has not answered yet.
pub struct Candidate {
    text: EnrolmentText,
    key: DeviceSigningKey,
}

impl Candidate {
    /// Makes the device's key for an enrolment.
    pub fn new(text: EnrolmentText, random: &dyn Random) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        random.fill(seed.as_mut());
        Self {
            text,
            key: DeviceSigningKey::from_seed(&seed),
        }
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.text.server
    }

    /// What to send to `POST /v1/gate/enrol`.
    pub fn request(&self, name: &str, model: &str) -> EnrolRequest {
        EnrolRequest {
            token: self.text.token.clone(),
            name: name.to_owned(),
            model: model.to_owned(),
            public_key: self.key.verifying_key().to_base64(),
        }
    }

    /// What the device shows while the server waits for an operator's word: the digits that the
    /// operator gives there.
    pub fn digits(&self) -> Option<EnrolmentDigits> {
        let key = self.key.verifying_key();
        EnrolmentDigits::derive(&self.text.token, &self.text.root_fingerprint, &key)
    }

    /// Checks the answer from the pinned root down to the certificate for this device's key.
    pub fn accept(self, answer: EnrolAnswer) -> Result<Identity, IdentityError> {
        let root = RootVerifyingKey::from_base64(&answer.root_public_key)?;
        if !root_fingerprint(&root).eq_ignore_ascii_case(&self.text.root_fingerprint) {
            return Err(IdentityError::WrongRoot);
        }
        let manifest = KeyManifest::open(&answer.key_manifest, &root)?;
        let keys = KeyRing::new(&manifest);
        let signer = keys
            .list_key(answer.certificate.kid)
            .ok_or(IdentityError::WrongCertificate)?;
        let payload = answer
            .certificate
            .verify(&Domain::CERTIFICATE, &signer.key)?;
        let certificate: Certificate =
            serde_json::from_slice(&payload).map_err(|_| IdentityError::WrongCertificate)?;
        let ours = certificate.public_key == self.key.verifying_key().to_base64()
            && certificate.device_id == answer.device_id
            && certificate.venue_id == answer.venue_id
            && manifest.venue_id == answer.venue_id
            && manifest.number == answer.venue_number;
        if !ours {
            return Err(IdentityError::WrongCertificate);
        }
        Ok(Identity {
            server: self.text.server,
            ca_pin: self.text.ca_pin,
            enrolled_at: self.text.time,
            name: String::new(),
            device_id: answer.device_id,
            bearer: answer.bearer,
            seed: STANDARD.encode(self.key.seed()),
            venue_id: answer.venue_id,
            venue_number: answer.venue_number,
            time_zone: answer.time_zone,
            gates: answer.gates,
            root_public_key: answer.root_public_key,
            key_manifest: answer.key_manifest,
            certificate: answer.certificate,
        })
    }
}

/// What enrolment gave a device. Holds its secrets: never printed.
#[derive(Serialize, Deserialize, ZeroizeOnDrop)]
pub struct Identity {
    /// The server's address.
    pub server: String,
    /// SHA-256 of the server's own CA, where it has one.
    pub ca_pin: Option<String>,
    /// The time of the enrolment text: time never runs below it.
    #[zeroize(skip)]
    pub enrolled_at: EpochSeconds,
    /// What it called itself when it was enrolled; empty if that is not known.
    #[serde(default)]
    pub name: String,
    /// Who it is.
    #[zeroize(skip)]
    pub device_id: DeviceId,
    bearer: String,
    seed: String,
    /// Its venue.
    #[zeroize(skip)]
    pub venue_id: VenueId,
    /// The venue's number in codes.
    #[zeroize(skip)]
    pub venue_number: VenueNumber,
    /// The venue's time zone, for display.
    pub time_zone: String,
    /// The gates that it may serve, as they were at enrolment.
    #[zeroize(skip)]
    pub gates: Vec<Gate>,
    root_public_key: String,
    #[zeroize(skip)]
    pub(crate) key_manifest: Signed,
    #[zeroize(skip)]
    pub(crate) certificate: Signed,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("server", &self.server)
            .field("venue_id", &self.venue_id)
            .field("device_id", &self.device_id)
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads a folder's identity.
    pub fn load(folder: &Path) -> Result<Self, IdentityError> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(IdentityError::NotEnrolled(folder.to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(IdentityError::NotOurs(path));
            }
            Err(source) => return Err(IdentityError::Io { path, source }),
        };
        serde_json::from_str(&text).map_err(|source| IdentityError::Json { path, source })
    }

    /// Whether a folder holds one.
    pub fn exists(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Keeps it in a folder that has none, readable by its owner alone.
    pub fn save(&self, folder: &Path) -> Result<(), IdentityError> {
        if Self::exists(folder) {
            return Err(IdentityError::AlreadyEnrolled(folder.to_owned()));
        }
        let path = folder.join(FILE);
        let mut text =
            serde_json::to_string_pretty(self).map_err(|source| IdentityError::Json {
                path: path.clone(),
                source,
            })?;
        let written = write_durably(&path, text.as_bytes());
        text.zeroize();
        written.map_err(|source| IdentityError::Io { path, source })
    }

    /// What the device authorises itself with.
    pub fn bearer(&self) -> &str {
        &self.bearer
    }

    /// The key that it signs with.
    pub fn signing_key(&self) -> Option<DeviceSigningKey> {
        let seed = Zeroizing::new(STANDARD.decode(&self.seed).ok()?);
        Some(DeviceSigningKey::from_seed(
            seed.as_slice().try_into().ok()?,
        ))
    }

    /// The pinned root.
    pub fn root(&self) -> Result<RootVerifyingKey, KeyError> {
        RootVerifyingKey::from_base64(&self.root_public_key)
    }
}

/// The only key of a device.
pub(crate) const DEVICE_KID: Kid = Kid(0);

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
