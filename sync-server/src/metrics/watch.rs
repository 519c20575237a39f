//! What is measured at the moment somebody looks: of venues, by counts of the store; of the server,
//! by what lies around it. What cannot be found out is left out, and never keeps the rest back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use stile_core::time::EpochMillis;

use super::PREFIX;
use crate::last_backup::LastBackup;
use crate::server::Server;
use crate::store::sqlite::DATABASE_FILE;
use crate::store::{RetentionJob, VenueFigures};
use crate::tls::Served;

/// A device that was not heard of for so long is silent, in seconds: its longest wait between two
/// tries is five minutes, and when it was heard of is kept to the minute.
const SILENT_AFTER_S: i64 = 6 * 60;
/// One that was not heard of for so long is away, in seconds: in a drawer, or given up. It waits
/// for nobody.
const AWAY_AFTER_S: i64 = 24 * 3600;

/// What can be looked at of a running server.
#[derive(Clone)]
pub struct Watch {
    server: Arc<Server>,
    data: PathBuf,
    tls: Option<Arc<Served>>,
}

/// One gauge per set of labels, in a registry of this moment alone.
struct Moment(Registry);

type Labels = Vec<(&'static str, String)>;

impl Watch {
    /// Of the server on a folder, with what it shows over TLS.
    pub fn new(server: Arc<Server>, data: &Path, tls: Option<Arc<Served>>) -> Self {
        let data = data.to_owned();
        Self { server, data, tls }
    }

    /// Everything, in the text format of Prometheus.
    pub async fn text(&self) -> Result<String, std::fmt::Error> {
        let mut moment = Moment(Registry::with_prefix(PREFIX));
        self.look_at_server(&mut moment).await;
        self.look_at_folder(&mut moment);
        match self.server.figures().await {
            Ok(venues) => look_at_venues(&mut moment, &venues, self.server.now()),
            Err(error) => tracing::warn!(%error, "venues could not be counted for the metrics"),
        }
        self.look_at_lists(&mut moment).await;
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.server.metrics().registry)?;
        prometheus_text::encode(&mut text, &moment.0)?;
        Ok(text)
    }

    async fn look_at_server(&self, moment: &mut Moment) {
        let version = [("version", env!("CARGO_PKG_VERSION").to_owned())];
        moment.all(
            "build_info",
            "The version that runs; always 1",
            [(version.to_vec(), 1)],
        );
        moment.one(
            "ready",
            "1 if the server can store, as /readyz says; 0 if not",
            self.server.ready().await.is_ok().into(),
        );
        moment.one(
            "generation_timestamp_seconds",
            "When the data was last put back from a backup; 0 if never",
            signed(self.server.generation()),
        );
        if let Ok(retention) = self.server.retention(RetentionJob::ALL.len() as u32).await {
            let (mut ran, mut held) = (Vec::new(), Vec::new());
            for run in retention.runs {
                let job = vec![("job", run.job.name().to_owned())];
                // Of a version that had fewer jobs, there may be two runs of some.
                if held.iter().any(|(known, _)| *known == job) {
                    continue;
                }
                ran.push((job.clone(), run.at.seconds().0));
                held.push((job, run.held.is_some().into()));
            }
            moment.all(
                "retention_run_timestamp_seconds",
                "When what is over was last removed, by job",
                ran,
            );
            moment.all(
                "retention_held",
                "1 if the last run removed nothing since the clock is doubted, by job",
                held,
            );
        }
        if let Some(tls) = &self.tls {
            moment.one(
                "certificate_expiry_timestamp_seconds",
                "When the certificate that is shown ends",
                tls.pair().chain.leaf.not_after.0,
            );
        }
    }

    fn look_at_folder(&self, moment: &mut Moment) {
        if let Ok(disk) = rustix::fs::statvfs(&self.data) {
            moment.one(
                "storage_free_bytes",
                "What the disk under the data still takes; below 8 MiB the server stores nothing",
                signed(disk.f_bavail.saturating_mul(disk.f_frsize)),
            );
        }
        let files = [("main", DATABASE_FILE.to_owned()), ("wal", wal_file())];
        let sizes = files.into_iter().filter_map(|(name, file)| {
            let bytes = fs::metadata(self.data.join(file)).ok()?.len();
            Some((vec![("file", name.to_owned())], signed(bytes)))
        });
        moment.all("database_bytes", "Size of the database's files", sizes);
        moment.one(
            "backup_timestamp_seconds",
            "When `backup` last made a copy; 0 if it is not known to have",
            LastBackup::noted(&self.data).map_or(0, |last| last.at),
        );
    }

    async fn look_at_lists(&self, moment: &mut Moment) {
        let mut lists = self.server.given_lists().await;
        lists.sort_by(|a, b| a.service_day.cmp(&b.service_day));
        let by_venue = |value: fn(&stile_core::protocol::ListManifest) -> i64| {
            let of = |list| (venue_label(&list), value(&list));
            // Of two days at once, the later.
            let all: std::collections::BTreeMap<_, _> = lists.iter().cloned().map(of).collect();
            all.into_iter()
        };
        moment.all(
            "list_tickets",
            "Tickets in the whitelist of the service day that it is, as gates last asked for it",
            by_venue(|list| signed(list.count)),
        );
        moment.all(
            "list_signed_timestamp_seconds",
            "When that whitelist was last signed for a gate",
            by_venue(|list| list.issued_at.seconds().0),
        );
    }
}

fn look_at_venues(moment: &mut Moment, venues: &[VenueFigures], now: EpochMillis) {
    let labels = |venue: &VenueFigures| vec![("venue", venue.venue_id.to_string())];
    let each = |value: fn(&VenueFigures) -> u64| {
        venues
            .iter()
            .map(move |venue| (labels(venue), signed(value(venue))))
            .collect::<Vec<_>>()
    };
    moment.all(
        "conflicts_open",
        "Tickets that were admitted for more persons than they have, and not taken back",
        each(|venue| venue.conflicts_open),
    );
    let alarms = venues.iter().flat_map(|venue| {
        venue.alarms_open.iter().map(|(kind, open)| {
            let mut labels = labels(venue);
            labels.push(("kind", kind.to_string()));
            (labels, signed(*open))
        })
    });
    moment.all(
        "alarms_open",
        "Alarms that are open, by kind; stile-server alarms list says which",
        alarms.collect::<Vec<_>>(),
    );
    moment.all(
        "quarantined_records",
        "Records that wait for a person",
        each(|venue| venue.quarantined),
    );
    moment.all(
        "records_missing",
        "Records that are missing before later ones of the same gate",
        each(|venue| venue.missing),
    );
    moment.all(
        "sessions_admitting",
        "Sessions that admit now",
        each(|venue| venue.admitting),
    );
    let versions = venues.iter().filter_map(|venue| {
        let version = venue.list_version?;
        Some((labels(venue), signed(version)))
    });
    moment.all(
        "list_version",
        "Version of the whitelist of the service day that it is; it grows with each change",
        versions,
    );
    let (mut states, mut silent_for) = (Vec::new(), Vec::new());
    for venue in venues {
        let ages = venue
            .heard
            .iter()
            .map(|heard| heard.map(|at| now.since(at) / 1000));
        let mut counts = [("heard", 0), ("silent", 0), ("away", 0), ("never", 0)];
        let mut oldest = 0;
        for age in ages {
            let state = match age {
                Some(..SILENT_AFTER_S) => 0,
                Some(age @ SILENT_AFTER_S..AWAY_AFTER_S) => {
                    oldest = oldest.max(age);
                    1
                }
                Some(_) => 2,
                None => 3,
            };
            if let Some((_, count)) = counts.get_mut(state) {
                *count += 1;
            }
        }
        for (state, count) in counts {
            let mut labels = labels(venue);
            labels.push(("state", state.to_owned()));
            states.push((labels, count));
        }
        silent_for.push((labels(venue), oldest));
    }
    moment.all(
        "devices",
        "Enrolled devices at gates: heard of within 6 minutes, silent since, away for a day, or \
         never heard of",
        states,
    );
    moment.all(
        "device_silent_seconds",
        "How long ago that one of the silent devices was heard of that is silent the longest; 0 \
         where none is",
        silent_for,
    );
}

impl Moment {
    fn all(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, i64)>) {
        let family = Family::<Labels, Gauge>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }

    fn one(&mut self, name: &str, help: &str, value: i64) {
        self.all(name, help, [(Labels::new(), value)]);
    }
}

fn venue_label(list: &stile_core::protocol::ListManifest) -> Labels {
    vec![("venue", list.venue_id.to_string())]
}

fn wal_file() -> String {
    format!("{DATABASE_FILE}-wal")
}

/// As gauges hold it.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
