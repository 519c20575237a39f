//! A venue's keys and secrets: made with the venue, sealed in the store, unsealed in memory while
//! the server runs.

use data_encoding::BASE64;
use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::key_manifest::{KeyManifest, KeyRole, ManifestKey};
use stile_core::keys::{
    DocumentKey, IssuerSecret, NumberingSecret, Role, RootSigningKey, SigningKey, role,
};
use stile_core::platform::Random;
use stile_core::time::{EpochSeconds, ServiceDay};
use zeroize::Zeroizing;

use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{SealedSecret, SecretKind, StoreError, StoredKeyManifest};
use crate::vault::{SealError, Vault};

/// The kid of a venue's first keys.
const FIRST_KID: Kid = Kid(1);
/// Stands for no role.
const NO_KID: Kid = Kid(0);

/// A venue's secrets, as the use cases need them. The root key stays sealed until it signs.
pub(crate) struct VenueKeys {
    pub venue_id: VenueId,
    pub number: VenueNumber,
    pub list: Signers<role::List>,
    pub code: Signers<role::Code>,
    /// The version of the key manifest that says when each of them signs; 0 where there is none.
    pub manifest_version: u64,
    pub issuer: IssuerSecret,
    pub numbering: NumberingSecret,
    pub cursor: Secret,
    pub bearer: Secret,
    root: Vec<u8>,
}

/// The private keys of one role, each with the time in which it signs. Never empty.
pub(crate) struct Signers<R: Role>(Vec<Signer<R>>);

struct Signer<R: Role> {
    kid: Kid,
    key: SigningKey<R>,
    from: EpochSeconds,
    until: Option<EpochSeconds>,
}

impl<R: Role> Signers<R> {
    /// The key that signs at a moment: the newest whose time it is. The oldest where it is nobody's
    /// time, as by a clock that was set back.
    pub(crate) fn at(&self, now: EpochSeconds) -> (Kid, &SigningKey<R>) {
        let is_its_time = |signer: &&Signer<R>| {
            signer.from <= now && signer.until.is_none_or(|until| now < until)
        };
        let signer = self.0.iter().rfind(is_its_time);
        let signer = signer
            .or(self.0.first())
            .expect("there is one of each role");
        (signer.kid, &signer.key)
    }

    /// Whether the private half of a key is here.
    pub(crate) fn has(&self, kid: Kid) -> bool {
        self.0.iter().any(|signer| signer.kid == kid)
    }

    /// The public halves, base64.
    pub(crate) fn public(&self) -> impl Iterator<Item = (Kid, String)> {
        let base64 = |key: &SigningKey<R>| BASE64.encode(key.verifying_key().as_bytes());
        self.0.iter().map(move |one| (one.kid, base64(&one.key)))
    }
}

/// A symmetric secret of the server's own.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

impl VenueKeys {
    /// Makes a venue's secrets, sealed.
    pub(crate) fn make(
        venue: &VenueId,
        vault: &Vault,
        random: &dyn Random,
    ) -> Result<Vec<SealedSecret>, SealError> {
        let seal = |kind: SecretKind| {
            let secret: Secret = Zeroizing::new(random_bytes(random));
            let kid = match kind {
                SecretKind::List | SecretKind::Code => FIRST_KID,
                _ => NO_KID,
            };
            let sealed = vault.seal(&context(venue, kind, kid), &*secret, random)?;
            Ok(SealedSecret { kind, kid, sealed })
        };
        SecretKind::ALL.into_iter().map(seal).collect()
    }

    /// Unseals a venue's secrets. When each of a role's keys signs stands in the key manifest; one
    /// that no manifest names yet always does.
    pub(crate) fn unseal(
        venue_id: VenueId,
        number: VenueNumber,
        secrets: &[SealedSecret],
        kept: Option<&StoredKeyManifest>,
        vault: &Vault,
    ) -> Result<Self, ServerError> {
        let newest = |kind: SecretKind| {
            let found = secrets
                .iter()
                .filter(|secret| secret.kind == kind)
                .max_by_key(|s| s.kid);
            found.ok_or_else(|| missing(kind))
        };
        let open = |kind| {
            let secret = newest(kind)?;
            let opened = unseal(vault, &venue_id, secret)?;
            Ok::<_, ServerError>((secret.kid, opened))
        };
        let root = newest(SecretKind::Root)?;
        let manifest = kept
            .map(|kept| {
                let root: RootSigningKey = SigningKey::from_seed(&*unseal(vault, &venue_id, root)?);
                KeyManifest::open(&kept.signed, &root.verifying_key())
                    .map_err(ServerError::internal)
            })
            .transpose()?;
        let named = manifest.as_ref().map_or(&[][..], |manifest| &manifest.keys);
        Ok(Self {
            list: signers(&venue_id, SecretKind::List, secrets, named, vault)?,
            code: signers(&venue_id, SecretKind::Code, secrets, named, vault)?,
            manifest_version: kept.map_or(0, |kept| kept.version),
            issuer: IssuerSecret::from_bytes(&open(SecretKind::Issuer)?.1),
            numbering: NumberingSecret::from_bytes(&open(SecretKind::Numbering)?.1),
            cursor: open(SecretKind::Cursor)?.1,
            bearer: open(SecretKind::Bearer)?.1,
            root: root.sealed.clone(),
            venue_id,
            number,
        })
    }

    /// The root key, to sign with and forget.
    pub(crate) fn root(&self, vault: &Vault) -> Result<RootSigningKey, ServerError> {
        let (kind, kid) = (SecretKind::Root, NO_KID);
        let secret = SealedSecret {
            kind,
            kid,
            sealed: self.root.clone(),
        };
        Ok(RootSigningKey::from_seed(&*unseal(
            vault,
            &self.venue_id,
            &secret,
        )?))
    }

    /// The public halves of the keys that can be rotated, base64.
    pub(crate) fn public_keys(&self) -> impl Iterator<Item = (KeyRole, Kid, String)> {
        let list = self
            .list
            .public()
            .map(|(kid, key)| (KeyRole::List, kid, key));
        let code = self
            .code
            .public()
            .map(|(kid, key)| (KeyRole::Code, kid, key));
        list.chain(code)
    }
}

/// The keys of a role that may sign, by kid.
fn signers<R: Role>(
    venue: &VenueId,
    kind: SecretKind,
    secrets: &[SealedSecret],
    named: &[ManifestKey],
    vault: &Vault,
) -> Result<Signers<R>, ServerError> {
    let role = match kind {
        SecretKind::List => KeyRole::List,
        _ => KeyRole::Code,
    };
    let mut signers = Vec::new();
    for secret in secrets.iter().filter(|secret| secret.kind == kind) {
        let mut known = named.iter();
        let known = known.find(|key| key.role == role && key.kid == secret.kid);
        if known.is_some_and(|key| key.revoked) {
            continue;
        }
        signers.push(Signer {
            kid: secret.kid,
            key: SigningKey::from_seed(&*unseal(vault, venue, secret)?),
            from: known.map_or(EpochSeconds(0), |key| key.valid_from),
            until: known.and_then(|key| key.valid_until),
        });
    }
    signers.sort_by_key(|signer| signer.kid);
    match signers.is_empty() {
        true => Err(missing(kind)),
        false => Ok(Signers(signers)),
    }
}

pub(crate) fn context(venue: &VenueId, kind: SecretKind, kid: Kid) -> String {
    format!("{venue}\0{}\0{}", kind.name(), kid.0)
}

/// Makes a day's key for documents, sealed.
pub(crate) fn make_document_key(
    vault: &Vault,
    venue: &VenueId,
    day: &ServiceDay,
    random: &dyn Random,
) -> Result<Vec<u8>, SealError> {
    let key: Secret = Zeroizing::new(random_bytes(random));
    vault.seal(&document_context(venue, day), &*key, random)
}

/// Opens a day's key for documents.
pub(crate) fn unseal_document_key(
    vault: &Vault,
    venue: &VenueId,
    day: &ServiceDay,
    sealed: &[u8],
) -> Result<DocumentKey, ServerError> {
    let key = open(vault, &document_context(venue, day), sealed)?;
    Ok(DocumentKey::from_bytes(&key))
}

fn document_context(venue: &VenueId, day: &ServiceDay) -> String {
    format!("{venue}\0document\0{day}")
}

fn unseal(vault: &Vault, venue: &VenueId, secret: &SealedSecret) -> Result<Secret, ServerError> {
    open(
        vault,
        &context(venue, secret.kind, secret.kid),
        &secret.sealed,
    )
}

fn open(vault: &Vault, context: &str, sealed: &[u8]) -> Result<Secret, ServerError> {
    let opened = vault
        .unseal(context, sealed)
        .map_err(ServerError::internal)?;
    let bytes: [u8; 32] = opened
        .as_slice()
        .try_into()
        .map_err(|_| ServerError::internal(SealError))?;
    Ok(Zeroizing::new(bytes))
}

fn missing(kind: SecretKind) -> ServerError {
    let what = format!("the venue has no {} secret", kind.name());
    ServerError::internal(StoreError::Damaged(what))
}
