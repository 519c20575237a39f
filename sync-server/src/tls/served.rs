//! The pair that a running server shows: taken anew on SIGHUP and when its files change. A new
//! one that is broken changes nothing, and the log says so.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use stile_core::time::EpochSeconds;
use tokio::signal::unix::Signal;
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

use super::chain::NotNamed;
use super::pair::{Pair, PairError, PairFiles};
use crate::clock::Clock;

/// How often the files are looked at: a new certificate is in use long before anybody wonders.
const LOOK: Duration = Duration::from_secs(10);

/// The pair that is shown now, and the files that it comes from.
#[derive(Debug)]
pub struct Served {
    files: PairFiles,
    now: RwLock<Shown>,
}

#[derive(Debug)]
struct Shown {
    pair: Arc<Pair>,
    fingerprint: [u8; 32],
}

/// Why a new pair is not shown.
#[derive(Debug, thiserror::Error)]
enum NotTaken {
    #[error(transparent)]
    Broken(#[from] PairError),
    #[error("the certificate was good until {0} only (epoch seconds), which is over")]
    Over(i64),
}

/// What was wrong with the files when they were last looked at.
struct Complaint {
    text: String,
    is_said: bool,
}

impl Complaint {
    /// Says each thing once. A pair may be written in two steps, and what is broken once may be half
    /// of a new one: unless somebody asked, it is said when it has stayed so.
    fn about(error: &NotTaken, last: Option<Self>, is_asked: bool) -> Self {
        let text = error.to_string();
        let before = last.filter(|last| last.text == text);
        let (has_stayed, was_said) = (
            before.is_some(),
            before.is_some_and(|before| before.is_said),
        );
        let is_due = is_asked || (has_stayed && !was_said);
        if is_due {
            warn!(%error, "the new TLS pair is not used; the old one goes on");
        }
        Self {
            text,
            is_said: was_said || is_due,
        }
    }
}

impl Served {
    /// Reads the pair to begin with.
    pub fn open(files: PairFiles) -> Result<Arc<Self>, PairError> {
        let contents = files.read()?;
        let shown = Shown {
            pair: Arc::new(Pair::parse(&files, &contents)?),
            fingerprint: contents.fingerprint(),
        };
        Ok(Arc::new(Self {
            files,
            now: RwLock::new(shown),
        }))
    }

    /// The pair that is shown now.
    pub fn pair(&self) -> Arc<Pair> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&now.pair)
    }

    /// TLS 1.2 and 1.3 over this pair, HTTP/1.1 within.
    pub fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// What an enrolment text pins for an address of this server.
    pub fn pin_for(&self, server: &str) -> Result<Option<String>, NotNamed> {
        self.pair().chain.pin_for(server)
    }

    /// Takes the pair anew on SIGHUP and when its files have changed, for as long as it is polled.
    pub async fn keep_fresh(&self, clock: &dyn Clock, mut hangups: Signal) {
        let mut looks = tokio::time::interval(LOOK);
        let mut last: Option<Complaint> = None;
        loop {
            let is_asked = tokio::select! {
                _ = hangups.recv() => true,
                _ = looks.tick() => false,
            };
            last = match self.take(clock.now().seconds(), is_asked) {
                Ok(()) => None,
                Err(error) => Some(Complaint::about(&error, last, is_asked)),
            };
        }
    }

    /// Takes what lies in the files, if it is another pair.
    fn take(&self, now: EpochSeconds, is_asked: bool) -> Result<(), NotTaken> {
        let contents = self.files.read()?;
        let fingerprint = contents.fingerprint();
        let before = {
            let shown = self.now.read().unwrap_or_else(PoisonError::into_inner);
            shown.fingerprint
        };
        if fingerprint == before {
            if is_asked {
                info!("the TLS pair is the one that is in use");
            }
            return Ok(());
        }
        let pair = Pair::parse(&self.files, &contents)?;
        if pair.chain.leaf.not_after <= now && self.pair().chain.leaf.not_after > now {
            return Err(NotTaken::Over(pair.chain.leaf.not_after.0));
        }
        info!(
            names = ?pair.chain.leaf.names,
            good_until = pair.chain.leaf.not_after.0,
            "a new TLS pair is in use"
        );
        let mut shown = self.now.write().unwrap_or_else(PoisonError::into_inner);
        *shown = Shown {
            pair: Arc::new(pair),
            fingerprint,
        };
        Ok(())
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.pair().certified())
    }
}
