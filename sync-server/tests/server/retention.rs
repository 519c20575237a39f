//! What is removed when its time is over, and what a wrong clock may not remove.

use stile_core::protocol::{Act, Filed};
use stile_sync_server::ServerError;
use stile_sync_server::acting::{ActResult, ActedBy};
use stile_sync_server::store::{LogStream, RetentionJob, RetentionRun};

use super::bed::Bed;

const DAY_MS: i64 = 24 * 3_600_000;

async fn bed() -> (Bed, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Bed::in_folder(folder.path()).await, folder)
}

/// Puts a gate as an act that the audit log keeps.
async fn act(bed: &Bed) {
    let by = ActedBy::CommandLine(0);
    let server = &bed.server;
    let acting = server.begin_act(Act::GatePut, by, Some(&bed.venue)).await;
    server
        .act(&acting.unwrap(), bed.put_gate("west"), |()| ActResult::Done)
        .await;
}

async fn acts(bed: &Bed) -> usize {
    let log = bed.server.audit(&bed.venue, None, 100).await.unwrap();
    log.acts.len()
}

/// Acts that a run removed; none where it was held.
async fn run(bed: &Bed, clock_is_right: bool) -> Option<u64> {
    let runs = bed.server.run_retention(clock_is_right).await.unwrap();
    assert_eq!(
        runs.iter().map(|run| run.job).collect::<Vec<_>>(),
        RetentionJob::ALL,
        "each job is kept, also one that removed nothing"
    );
    let jobs = u32::try_from(RetentionJob::ALL.len()).unwrap();
    let kept = bed.server.retention(jobs).await.unwrap().runs;
    assert_eq!(kept.into_iter().rev().collect::<Vec<_>>(), runs);
    removed(&runs, RetentionJob::Acts)
}

/// What a job of a run removed; none where it was held.
fn removed(runs: &[RetentionRun], job: RetentionJob) -> Option<u64> {
    let run = runs.iter().find(|run| run.job == job).unwrap();
    run.held.is_none().then_some(run.removed)
}

/// Sessions until long after every day of these tests.
async fn sell_ahead(bed: &Bed) {
    bed.put_session("far", "2028-10-01 10:00", "2028-10-01 12:00")
        .await;
}

#[tokio::test]
async fn a_clock_past_all_sessions_removes_nothing_until_a_person_says_that_it_is_right() {
    let (bed, _folder) = bed().await;
    act(&bed).await;
    assert_eq!(run(&bed, false).await, Some(0));
    for days in [3 * 365, 1, 1, 1, 1] {
        bed.clock.move_by(days * DAY_MS);
        assert_eq!(run(&bed, false).await, None);
        assert_eq!(acts(&bed).await, 1);
    }
    assert_eq!(run(&bed, true).await, Some(1));
    assert_eq!(acts(&bed).await, 0);
}

#[tokio::test]
async fn a_clock_that_leapt_is_watched_for_three_days() {
    let (bed, _folder) = bed().await;
    sell_ahead(&bed).await;
    act(&bed).await;
    assert_eq!(run(&bed, false).await, Some(0));
    bed.clock.move_by(200 * DAY_MS);
    for _ in 0..3 {
        assert_eq!(run(&bed, false).await, None);
        bed.clock.move_by(DAY_MS);
    }
    assert_eq!(run(&bed, false).await, Some(1));
}

#[tokio::test]
async fn a_clock_that_was_set_right_again_is_believed_again() {
    let (bed, _folder) = bed().await;
    sell_ahead(&bed).await;
    act(&bed).await;
    assert_eq!(run(&bed, false).await, Some(0));
    bed.clock.move_by(300 * DAY_MS);
    assert_eq!(run(&bed, false).await, None);
    bed.clock.move_by(-299 * DAY_MS);
    assert_eq!(run(&bed, false).await, Some(0));
    // Set back, it removes less, never more.
    bed.clock.move_by(-400 * DAY_MS);
    assert_eq!(run(&bed, false).await, Some(0));
    assert_eq!(acts(&bed).await, 1);
}

#[tokio::test]
async fn a_persons_word_holds_for_the_days_after_it() {
    let (bed, _folder) = bed().await;
    sell_ahead(&bed).await;
    assert_eq!(run(&bed, false).await, Some(0));
    bed.clock.move_by(30 * DAY_MS);
    assert_eq!(run(&bed, true).await, Some(0));
    bed.clock.move_by(DAY_MS);
    assert_eq!(run(&bed, false).await, Some(0));
}

#[tokio::test]
async fn the_audit_log_is_kept_for_the_days_that_are_set_and_180_at_least() {
    let (bed, _folder) = bed().await;
    act(&bed).await;
    let few = bed.server.set_keep_days(179).await;
    assert!(matches!(
        few,
        Err(ServerError::Invalid { field: "days", .. })
    ));
    bed.clock.move_by(179 * DAY_MS);
    assert_eq!(run(&bed, true).await, Some(0));
    bed.server.set_keep_days(365).await.unwrap();
    bed.clock.move_by(100 * DAY_MS);
    assert_eq!(run(&bed, true).await, Some(0));
    assert_eq!(acts(&bed).await, 1);
    bed.server.set_keep_days(180).await.unwrap();
    assert_eq!(run(&bed, true).await, Some(1));
    // What comes after is not taken for what is gone.
    act(&bed).await;
    assert_eq!(acts(&bed).await, 1);
}

#[tokio::test]
async fn records_go_after_the_days_that_are_set_and_their_ids_after_400() {
    let (bed, folder) = bed().await;
    bed.put_many_tickets(2).await;
    let mut device = bed.device(1).await;
    let first = [device.check_in("t0")];
    bed.file(&device, &first).await;
    bed.clock.move_by(2 * DAY_MS);
    let second = [device.check_in("t1")];
    bed.file(&device, &second).await;
    let left = async || bed.pull_all(LogStream::Records, 10).await.len();
    // The first is 179 days old, then 181, and the second is 179.
    for (days, records, are_left) in [(177, 0, 2), (2, 1, 1), (0, 0, 1)] {
        bed.clock.move_by(days * DAY_MS);
        let runs = bed.server.run_retention(true).await.unwrap();
        assert_eq!(removed(&runs, RetentionJob::Records), Some(records));
        assert_eq!(removed(&runs, RetentionJob::RecordIds), Some(0));
        assert_eq!(left().await, are_left);
    }
    // A device that comes back on day 300 is told that its record was here, and nothing counts.
    bed.clock.move_by(119 * DAY_MS);
    let again = bed.file(&device, &first).await;
    assert_eq!(again.results[0].result, Filed::Replayed);
    assert_eq!(left().await, 1);
    let ids = async || {
        let runs = bed.server.run_retention(true).await.unwrap();
        removed(&runs, RetentionJob::RecordIds)
    };
    bed.clock.move_by(99 * DAY_MS);
    assert_eq!(ids().await, Some(0), "day 399");
    bed.clock.move_by(2 * DAY_MS);
    assert_eq!(ids().await, Some(1), "day 401");
    let again = bed.file(&device, &first).await;
    assert_eq!(again.results[0].result, Filed::Quarantined);
    assert_eq!(left().await, 0);
    drop(folder);
}

#[tokio::test]
async fn a_clock_in_2099_removes_no_record() {
    let (bed, _folder) = bed().await;
    sell_ahead(&bed).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let record = device.check_in("t0");
    bed.file(&device, &[record]).await;
    assert_eq!(run(&bed, false).await, Some(0));
    bed.clock.move_by(73 * 365 * DAY_MS);
    let runs = bed.server.run_retention(false).await.unwrap();
    assert!(
        runs.iter()
            .all(|run| run.held.is_some() && run.removed == 0)
    );
    assert_eq!(bed.pull_all(LogStream::Records, 10).await.len(), 1);
}
