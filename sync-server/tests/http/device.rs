//! A gate's own device, core's, that enrols and gets its lists over HTTP.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use stile_core::clock::{BootId, Moment};
use stile_core::device::{Candidate, Device, ScanOutcome};
use stile_core::ids::GateId;
use stile_core::platform::{Platform, Random};
use stile_core::protocol::Enrolment;
use stile_core::time::EpochMillis;
use stile_sync_server::random::SystemRandom;
use tempfile::TempDir;

use crate::site::{Site, read};

/// This machine, booted when the test began; time can be skipped.
struct Machine {
    booted: Instant,
    skipped_ms: AtomicI64,
}

impl Machine {
    fn boot_ms(&self) -> i64 {
        let elapsed: i64 = self.booted.elapsed().as_millis().try_into().unwrap();
        elapsed + self.skipped_ms.load(Ordering::SeqCst)
    }
}

impl Random for Machine {
    fn fill(&self, bytes: &mut [u8]) {
        SystemRandom.fill(bytes);
    }
}

impl Platform for Machine {
    fn moment(&self) -> Moment {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Moment {
            wall: EpochMillis(wall.as_millis().try_into().unwrap()),
            boot_ms: self.boot_ms(),
            boot_id: BootId(1),
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.boot_ms()).unwrap() * 1_000
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(1 << 40)
    }

    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    fn fingerprint(&self) -> String {
        "this machine".to_owned()
    }
}

/// A device at the gate `north`.
pub struct GateDevice {
    machine: Arc<Machine>,
    device: Device,
    _folder: TempDir,
}

impl GateDevice {
    pub async fn enrol(site: &Site) -> Self {
        let machine = Arc::new(Machine {
            booted: Instant::now(),
            skipped_ms: AtomicI64::new(0),
        });
        let invited: Enrolment = site
            .done(
                "POST",
                "/v1/enrolments",
                json!({"gates": ["north"], "confirm": false}),
            )
            .await;
        let candidate = Candidate::new(invited.text.parse().unwrap(), &*machine);
        let request = candidate.request("north", "test");
        let answer = site.request("POST", "/v1/gate/enrol").json(&request).send();
        let identity = candidate.accept(read(answer.await.unwrap()).await).unwrap();
        let folder = tempfile::tempdir().unwrap();
        identity.save(folder.path()).unwrap();
        let gate = GateId::new("north").unwrap();
        let device = Device::open(folder.path(), Some(&gate), machine.clone()).unwrap();
        Self {
            machine,
            device,
            _folder: folder,
        }
    }

    /// Takes every list that is newer than what it holds; answers how many these were.
    pub async fn fetch_lists(&self, site: &Site) -> usize {
        let body = self.get(site, "/v1/gate/lists").await;
        let wanted = self.device.lists_answered(&body).unwrap();
        assert!(wanted.refused.is_empty(), "{:?}", wanted.refused);
        let count = wanted.fetch.len();
        for day in wanted.fetch {
            let rows = self.get(site, &format!("/v1/gate/whitelist/{day}")).await;
            let mut download = self.device.begin_list(day);
            download.feed(&rows).unwrap();
            download.finish().unwrap();
        }
        count
    }

    /// Goes on some seconds later.
    pub fn skip(&self, seconds: i64) {
        self.machine
            .skipped_ms
            .fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    pub fn scan(&self, text: &str) -> ScanOutcome {
        self.device.scan(text.as_bytes())
    }

    async fn get(&self, site: &Site, path: &str) -> Vec<u8> {
        let sent = self.machine.moment().boot_ms;
        let request = site.request("GET", path);
        let bearer = self.device.identity().bearer();
        let answer = request.bearer_auth(bearer).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let time = answer.headers()["stile-time"].to_str().unwrap();
        let time = EpochMillis(time.parse().unwrap());
        self.device.hear_server(time, sent).unwrap();
        answer.bytes().await.unwrap().to_vec()
    }
}

/// The policy of the site's venue, with other members.
pub async fn set_policy(site: &Site, members: Value) {
    let mut policy: Value = site.done("GET", "/v1/policy", Value::Null).await;
    let policy_members = policy.as_object_mut().unwrap();
    policy_members.extend(members.as_object().unwrap().clone());
    let _: Value = site.done("PUT", "/v1/policy", policy).await;
}
