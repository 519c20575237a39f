//! The pair that `tls new` makes in the server's folder, and the CA beside it.
//!
//! `tls/server.pem` holds leaf, CA and the leaf's key, in one file so that a new pair comes whole or
//! not at all; `tls/ca.pem` is the CA's certificate for whoever wants to trust it; the CA's key lies
//! apart, in `tls-ca/authority.pem`, and may be taken away between renewals.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use stile_core::platform::Random;
use stile_core::time::EpochSeconds;

use super::authority::{Authority, AuthorityError};
use super::names::{NameError, Names};
use super::pair::{Pair, PairError, PairFiles};
use crate::small_file;

/// A leaf that ends within this is renewed by a server that can: a month, for whoever has to be
/// asked when it cannot.
pub const RENEW_BEFORE_S: i64 = 30 * 24 * 3600;

/// Where the pair and the CA lie.
#[derive(Debug, Clone)]
pub struct Own {
    pair: PathBuf,
    public: PathBuf,
    authority: PathBuf,
}

/// Why no pair was made.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// There is one.
    #[error(
        "there is a certificate already: {}; `tls renew` makes its successor under the same CA. \
         A new CA would shut out every gate that was enrolled so far",
        .0.display()
    )]
    There(PathBuf),
    /// There is none that could be renewed.
    #[error("there is no certificate to renew: {}; `tls new` makes one", .0.display())]
    Missing(PathBuf),
    /// The CA's key is elsewhere.
    #[error(
        "the CA's key is not there: {}; put it back from its backup, or say with --ca which \
         folder it is in",
        .0.display()
    )]
    NoAuthority(PathBuf),
    /// Another CA than the one that gates have pinned.
    #[error(
        "{} is another CA than the one of {}, which gates have pinned; find the one that was made \
         with it",
        authority.display(), pair.display()
    )]
    OtherAuthority {
        /// The CA's file.
        authority: PathBuf,
        /// The pair's file.
        pair: PathBuf,
    },
    /// The CA may not vouch for it.
    #[error(
        "this CA may not vouch for {name} ({source}); it was made for other names, and a CA for \
         this one has to be made in a new folder"
    )]
    NotVouched {
        /// The name or address.
        name: String,
        /// What a gate would say.
        source: rustls::Error,
    },
    /// A file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The CA.
    #[error("{}: {source}", path.display())]
    Authority {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: AuthorityError,
    },
    /// The pair.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// Names.
    #[error(transparent)]
    Names(#[from] NameError),
}

impl Own {
    /// In a server's folder; the CA in a folder of its own, if it is kept elsewhere.
    pub fn in_folder(data: &Path, ca: Option<&Path>) -> Self {
        let tls = data.join("tls");
        Self {
            pair: tls.join("server.pem"),
            public: tls.join("ca.pem"),
            authority: ca
                .map_or_else(|| data.join("tls-ca"), Path::to_owned)
                .join("authority.pem"),
        }
    }

    /// The pair's file, which is both of the files that a server takes.
    pub fn files(&self) -> PairFiles {
        PairFiles {
            certificate: self.pair.clone(),
            key: self.pair.clone(),
        }
    }

    /// The CA's certificate, for browsers and back ends that are to trust it.
    pub fn public_file(&self) -> &Path {
        &self.public
    }

    /// The CA with its key.
    pub fn authority_file(&self) -> &Path {
        &self.authority
    }

    /// Whether there is a pair.
    pub fn is_there(&self) -> bool {
        self.pair.exists()
    }

    /// Makes a CA and a pair under it. A CA that a try before has left is taken.
    pub fn make(
        &self,
        names: &Names,
        now: EpochSeconds,
        random: &dyn Random,
    ) -> Result<Pair, OwnError> {
        if self.is_there() {
            return Err(OwnError::There(self.pair.clone()));
        }
        let authority = match self.authority.exists() {
            true => self.authority()?,
            false => {
                let failed = |source| OwnError::Authority {
                    path: self.authority.clone(),
                    source,
                };
                let (authority, text) = Authority::make(names, now, random).map_err(failed)?;
                put(&self.authority, text.as_bytes())?;
                authority
            }
        };
        self.put_leaf(&authority, names, now)
    }

    /// Makes the pair's successor under the same CA, for the same names or for others.
    pub fn renew(&self, names: Option<&Names>, now: EpochSeconds) -> Result<Pair, OwnError> {
        if !self.is_there() {
            return Err(OwnError::Missing(self.pair.clone()));
        }
        let before = Pair::load(&self.files())?;
        let authority = self.authority()?;
        let pinned = before.chain.own_root.as_ref().map(|root| root.der());
        if pinned != Some(authority.certificate()) {
            return Err(OwnError::OtherAuthority {
                authority: self.authority.clone(),
                pair: self.pair.clone(),
            });
        }
        let names = match names {
            Some(names) => names.clone(),
            None => Names::of_certificate(&before.chain.leaf.names)?,
        };
        self.put_leaf(&authority, &names, now)
    }

    /// Renews the pair if it ends soon and the CA's key is there.
    pub fn renew_if_due(&self, now: EpochSeconds) -> Result<Option<Pair>, OwnError> {
        let left = |pair: &Pair| pair.chain.leaf.not_after.0.saturating_sub(now.0);
        if !self.is_there() || !self.authority.exists() {
            return Ok(None);
        }
        match left(&Pair::load(&self.files())?) {
            RENEW_BEFORE_S.. => Ok(None),
            _ => self.renew(None, now).map(Some),
        }
    }

    fn authority(&self) -> Result<Authority, OwnError> {
        if !self.authority.exists() {
            return Err(OwnError::NoAuthority(self.authority.clone()));
        }
        let files = PairFiles {
            certificate: self.authority.clone(),
            key: self.authority.clone(),
        };
        let text = files.read()?.into_key();
        Authority::from_pem(&text).map_err(|source| OwnError::Authority {
            path: self.authority.clone(),
            source,
        })
    }

    fn put_leaf(
        &self,
        authority: &Authority,
        names: &Names,
        now: EpochSeconds,
    ) -> Result<Pair, OwnError> {
        let text = authority
            .leaf(names, now)
            .map_err(|source| OwnError::Authority {
                path: self.authority.clone(),
                source,
            })?;
        let pair = Pair::from_text(&self.files(), text.as_bytes())?;
        for name in names.texts() {
            pair.chain
                .as_gates_see(&name, now)
                .map_err(|source| OwnError::NotVouched { name, source })?;
        }
        put(&self.pair, text.as_bytes())?;
        let public = authority.certificate_pem();
        small_file::put_public(&self.public, public.as_bytes()).map_err(|source| {
            OwnError::File {
                path: self.public.clone(),
                source,
            }
        })?;
        Ok(pair)
    }
}

/// Puts a file that holds a key, in a folder for its owner alone.
fn put(path: &Path, bytes: &[u8]) -> Result<(), OwnError> {
    let failed = |source| OwnError::File {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        make_folder(folder).map_err(failed)?;
    }
    small_file::put(path, bytes).map_err(failed)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    belong_to_parent(folder)
}

/// As files do, a folder belongs to whom the one around it belongs to.
#[cfg(unix)]
fn belong_to_parent(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let Some(parent) = folder.parent().filter(|parent| parent.is_dir()) else {
        return Ok(());
    };
    let owner = fs::metadata(parent)?;
    match rustix::process::geteuid().is_root() {
        true => chown(folder, Some(owner.uid()), Some(owner.gid())),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn belong_to_parent(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SystemRandom;

    /// 2026-10-01.
    const NOW: EpochSeconds = EpochSeconds(1_790_820_000);

    fn after(days: i64) -> EpochSeconds {
        EpochSeconds(NOW.0 + days * 24 * 3600)
    }

    #[test]
    fn a_pair_is_renewed_a_month_before_its_end_and_keeps_its_ca() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::in_folder(folder.path(), None);
        assert!(own.renew_if_due(NOW).unwrap().is_none(), "there is none");
        let names = Names::new(&["museum.lan"], &[]).unwrap();
        let first = own.make(&names, NOW, &SystemRandom).unwrap();
        assert!(own.renew_if_due(after(366)).unwrap().is_none());
        let second = own.renew_if_due(after(368)).unwrap().unwrap();
        assert_eq!(second.chain.leaf.names, ["museum.lan"]);
        assert!(second.chain.leaf.not_after > first.chain.leaf.not_after);
        let pin = |pair: &Pair| pair.chain.own_root.as_ref().unwrap().pin();
        assert_eq!(pin(&second), pin(&first));
        assert!(own.renew_if_due(after(369)).unwrap().is_none());
        // Also one that is over already: gates come back.
        assert!(own.renew_if_due(after(2_000)).unwrap().is_some());
    }

    #[test]
    fn without_the_cas_key_nothing_is_renewed_and_the_pair_stays() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::in_folder(folder.path(), None);
        let names = Names::new(&["museum.lan"], &[]).unwrap();
        own.make(&names, NOW, &SystemRandom).unwrap();
        let before = fs::read(&own.pair).unwrap();
        fs::remove_file(&own.authority).unwrap();
        assert!(own.renew_if_due(after(380)).unwrap().is_none());
        assert!(matches!(
            own.renew(None, after(380)),
            Err(OwnError::NoAuthority(_))
        ));
        assert_eq!(fs::read(&own.pair).unwrap(), before);
    }
}
