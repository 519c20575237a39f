//! A venue's keys and secrets: made with the venue, sealed in the store, unsealed in memory while
//! the server runs.

use data_encoding::BASE64;
use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::keys::{
    CodeSigningKey, DocumentKey, IssuerSecret, ListSigningKey, NumberingSecret, RootSigningKey,
};
use stile_core::platform::Random;
use stile_core::time::ServiceDay;
use zeroize::Zeroizing;

use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{SealedSecret, SecretKind, StoreError};
use crate::vault::{SealError, Vault};

/// The kid of a venue's first keys.
const FIRST_KID: Kid = Kid(1);
/// Stands for no role.
const NO_KID: Kid = Kid(0);

/// A venue's secrets, as the use cases need them. The root key stays sealed until it signs.
pub(crate) struct VenueKeys {
    pub venue_id: VenueId,
    pub number: VenueNumber,
    pub list: (Kid, ListSigningKey),
    pub code: (Kid, CodeSigningKey),
    pub issuer: IssuerSecret,
    pub numbering: NumberingSecret,
    pub cursor: Secret,
    pub bearer: Secret,
    root: Vec<u8>,
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

    /// Unseals a venue's secrets. Of a role with several keys, the highest kid signs.
    pub(crate) fn unseal(
        venue_id: VenueId,
        number: VenueNumber,
        secrets: &[SealedSecret],
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
        let (list_kid, list) = open(SecretKind::List)?;
        let (code_kid, code) = open(SecretKind::Code)?;
        Ok(Self {
            list: (list_kid, ListSigningKey::from_seed(&list)),
            code: (code_kid, CodeSigningKey::from_seed(&code)),
            issuer: IssuerSecret::from_bytes(&open(SecretKind::Issuer)?.1),
            numbering: NumberingSecret::from_bytes(&open(SecretKind::Numbering)?.1),
            cursor: open(SecretKind::Cursor)?.1,
            bearer: open(SecretKind::Bearer)?.1,
            root: newest(SecretKind::Root)?.sealed.clone(),
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

    /// The list key's public half, base64.
    pub(crate) fn list_public_key(&self) -> String {
        BASE64.encode(self.list.1.verifying_key().as_bytes())
    }

    /// The code key's public half, base64.
    pub(crate) fn code_public_key(&self) -> String {
        BASE64.encode(self.code.1.verifying_key().as_bytes())
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
