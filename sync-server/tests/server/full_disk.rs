//! A full disk: what was answered is there, what was not answered was not stored, and all is well
//! again when there is room.

use std::fs;
use std::path::Path;
use std::process::Command;

use stile_core::protocol::{Filed, RecordHead};
use stile_sync_server::ServerError;
use stile_sync_server::store::LogStream;

use super::bed::Bed;

/// A small file system of its own, for as long as this lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where one cannot be mounted: that takes root.
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.0.path())
            .status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_loses_no_answered_record_and_stores_no_other() {
    let Some(disk) = SmallDisk::mount("24m") else {
        eprintln!("SKIPPED: a full disk can be tried as root only, who may mount a small one");
        return;
    };
    let bed = Bed::in_folder(disk.path()).await;
    bed.put_many_tickets(1_000).await;
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 14 * 1024 * 1024]).unwrap();
    let mut device = bed.device(1).await;
    let mut answered = Vec::new();
    let unanswered = loop {
        assert!(answered.len() < 100_000, "the disk must be full some time");
        let records: Vec<String> = (0..100)
            .map(|n| device.check_in(&format!("t{}", n * 10)))
            .collect();
        match bed.try_file(&device, &records).await {
            Ok(answer) => answered.extend(answer.results.into_iter().map(|result| result.id)),
            Err(ServerError::StoreUnavailable(_)) => break records,
            Err(other) => panic!("a full disk is no {other}"),
        }
    };
    assert!(!answered.is_empty());
    assert!(matches!(
        bed.server.ready().await,
        Err(ServerError::StoreUnavailable(_))
    ));
    assert_eq!(ids(&bed).await, answered, "reading goes on");

    fs::remove_file(&ballast).unwrap();
    let answer = bed.file(&device, &unanswered).await;
    assert!(
        answer
            .results
            .iter()
            .all(|result| result.result == Filed::Accepted)
    );
    answered.extend(answer.results.into_iter().map(|result| result.id));
    assert!(bed.server.ready().await.is_ok());
    assert_eq!(ids(&bed).await, answered);
    bed.server.close().await;
}

async fn ids(bed: &Bed) -> Vec<stile_core::ids::RecordId> {
    let pulled = bed.pull_all(LogStream::Records, 1_000).await;
    let head = |text: &str| serde_json::from_str::<RecordHead>(text).unwrap();
    pulled
        .iter()
        .map(|record| head(record.record.get()).id)
        .collect()
}
