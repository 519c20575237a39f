//! A device from enrolment to upload, through its public door, with the bad days in between.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::{NINE, TestPlatform, Venue, id};
use stile_core::clock::Trust;
use stile_core::device::{Candidate, Device, DeviceError, IdentityError, ListsError, Uploaded};
use stile_core::ids::Kid;
use stile_core::journal::OpenError;
use stile_core::keys::DeviceVerifyingKey;
use stile_core::outbox::HttpAnswer;
use stile_core::protocol::{
    Batch, Code, Filed, Lists, Problem, RecordHead, RecordResult, RecordsAnswer, SignedBatch,
};
use stile_core::reason::Reason;
use stile_core::signed::Domain;
use stile_core::ticket::{Standing, Ticket, TicketStatus};
use stile_core::time::EpochSeconds;
use stile_core::verdict::Verdict;

struct AtGate {
    folder: tempfile::TempDir,
    platform: Arc<TestPlatform>,
    venue: Venue,
    tickets: Vec<Ticket>,
}

impl AtGate {
    /// An enrolled device at nine o'clock that holds the list of a few tickets.
    fn new() -> Self {
        let mut venue = Venue::new();
        venue.sessions.push(common::session("pm"));
        let names = ["A1", "A2", "A3", "A4", "A5"];
        let tickets = names.iter().map(|name| venue.ticket(name)).collect();
        let folder = tempfile::tempdir().unwrap();
        let platform = Arc::new(TestPlatform::at(NINE));
        let candidate = Candidate::new(venue.enrolment_text(), platform.as_ref());
        let answer = venue.enrol(&candidate.request("pda", "test"));
        candidate
            .accept(answer)
            .unwrap()
            .save(folder.path())
            .unwrap();
        Self {
            folder,
            platform,
            venue,
            tickets,
        }
    }

    fn try_open(&self) -> Result<Device, DeviceError> {
        Device::open(self.folder.path(), None, self.platform.clone())
    }

    fn open(&self) -> Device {
        self.try_open().unwrap()
    }

    /// Opens it, tells it the time, gives it the list.
    fn ready(&self) -> Device {
        let device = self.open();
        self.anchor(&device);
        give(&device, &self.venue.list(1, &self.tickets)).unwrap();
        device
    }

    fn anchor(&self, device: &Device) {
        let sent = self.platform.boot_ms.load(Ordering::SeqCst);
        let wall = self.platform.wall_ms.load(Ordering::SeqCst);
        device
            .hear_server(stile_core::time::EpochMillis(wall), sent)
            .unwrap();
    }

    fn g2(&self, ticket: usize) -> Vec<u8> {
        let now = self.platform.wall_ms.load(Ordering::SeqCst) / 1000;
        self.venue.g2(&self.tickets[ticket], now).into_bytes()
    }

    fn lists(&self, version: u64) -> Vec<u8> {
        let rows = Venue::rows(&self.tickets);
        let lists = Lists {
            key_manifest: self.venue.signed_key_manifest(1),
            manifests: vec![self.venue.sign_list(&self.venue.manifest(version, &rows))],
        };
        serde_json::to_vec(&lists).unwrap()
    }
}

fn give(device: &Device, stream: &[u8]) -> Result<u64, ListsError> {
    let mut list = device.begin_list(id("2026-10-01"));
    for piece in stream.chunks(777) {
        list.feed(piece)?;
    }
    list.finish()
}

fn reason(verdict: &Verdict) -> Option<Reason> {
    match verdict {
        Verdict::Admit(_) => None,
        Verdict::Refuse(refusal) => Some(refusal.reason),
    }
}

fn exported(device: &Device) -> Vec<RecordHead> {
    let mut records = Vec::new();
    device
        .export(|text| {
            records.push(serde_json::from_str(text).unwrap());
            Ok::<_, stile_core::journal::JournalError>(())
        })
        .unwrap();
    records
}

fn ok(results: Vec<RecordResult>) -> HttpAnswer {
    let body = serde_json::to_vec(&RecordsAnswer {
        results,
        logs: Vec::new(),
    })
    .unwrap();
    HttpAnswer {
        status: 200,
        retry_after_s: None,
        body,
    }
}

fn result(record: &RecordHead, result: Filed) -> RecordResult {
    RecordResult {
        id: record.id,
        result,
        standing: None,
        why: None,
    }
}

#[test]
fn a_listed_ticket_is_admitted_once_and_its_record_is_in_the_journal() {
    let gate = AtGate::new();
    let device = gate.ready();
    let admitted = device.scan(&gate.g2(0));
    assert!(admitted.opens);
    assert_eq!(admitted.ticket.as_ref().unwrap().holder_mask, "*三");
    gate.platform.pass_ms(60_000);
    let again = device.scan(&gate.g2(0));
    assert_eq!(reason(&again.verdict), Some(Reason::AlreadyUsed));
    let records = exported(&device);
    assert_eq!(records.len(), 2);
    assert_eq!(Some(records[0].id), admitted.record_id);
    assert!(records[0].is_check_in() && !records[1].is_check_in());
    assert_eq!((records[0].sequence, records[1].sequence), (1, 2));
}

#[test]
fn a_restart_forgets_no_admission_and_goes_on_in_the_same_log() {
    let gate = AtGate::new();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let log = exported(&device)[0].log_id;
    drop(device);
    let device = gate.open();
    gate.platform.pass_ms(60_000);
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::AlreadyUsed)
    );
    assert!(
        device.scan(&gate.g2(1)).opens,
        "the list and the anchor are still there"
    );
    let records = exported(&device);
    assert_eq!(
        records
            .iter()
            .map(|record| record.sequence)
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(records.iter().all(|record| record.log_id == log));
}

#[test]
fn the_same_ticket_within_three_seconds_is_one_scan_and_the_three_seconds_do_not_slide() {
    let gate = AtGate::new();
    let device = gate.ready();
    let code = gate.g2(0);
    assert!(device.scan(&code).opens);
    gate.platform.pass_ms(2_000);
    let repeat = device.scan(&code);
    assert!(repeat.repeat && !repeat.opens);
    assert_eq!(
        reason(&repeat.verdict),
        None,
        "the first answer again, in green"
    );
    gate.platform.pass_ms(2_000);
    assert_eq!(
        reason(&device.scan(&code).verdict),
        Some(Reason::AlreadyUsed)
    );
    assert_eq!(exported(&device).len(), 2);
    assert_eq!(device.status().unwrap().live.repeats, 1);
}

#[test]
fn a_forged_code_of_the_ticket_just_admitted_is_no_repeat() {
    let gate = AtGate::new();
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    let forger = stile_core::keys::CodeSigningKey::from_seed(&[99; 32]);
    let payload = gate.venue.payload(&gate.tickets[0], NINE);
    let forged = stile_core::codes::g2::mint(&forger, &payload).unwrap();
    let outcome = device.scan(forged.as_bytes());
    assert!(!outcome.repeat);
    assert_eq!(reason(&outcome.verdict), Some(Reason::BadSignature));
    assert_eq!(
        outcome.ticket, None,
        "nothing of an unverified code is shown"
    );
}

#[test]
fn too_early_is_asked_again_at_once() {
    let gate = AtGate::new();
    gate.platform.pass_ms(-1_801_000);
    let device = gate.ready();
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::TooEarly)
    );
    gate.platform.pass_ms(1_000);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn a_party_at_a_turnstile_enters_one_by_one_as_the_gate_closes_behind_each() {
    let mut gate = AtGate::new();
    gate.tickets[0].admits = 3;
    let device = Device::open(
        gate.folder.path(),
        Some(&id("arm-1")),
        gate.platform.clone(),
    )
    .unwrap();
    gate.anchor(&device);
    give(&device, &gate.venue.list(1, &gate.tickets)).unwrap();
    let code = gate.g2(0);
    for _ in 0..3 {
        assert!(device.scan(&code).opens);
        device.gate_closed();
        gate.platform.pass_ms(1_000);
    }
    assert!(!device.scan(&code).opens);
    assert_eq!(
        exported(&device)
            .iter()
            .filter(|record| record.is_check_in())
            .count(),
        3
    );
}

#[test]
fn records_name_a_ticket_only_when_its_code_is_genuine() {
    let gate = AtGate::new();
    let device = gate.ready();
    let mut forged = gate.venue.v1(&gate.tickets[0], NINE + 600).into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    device.scan(&forged);
    device.scan(b"6901234567892");
    let records = exported(&device);
    assert!(records.iter().all(|record| record.ticket_id.is_none()));
    assert_eq!(records[0].reason.as_deref(), Some("bad_signature"));
    assert_eq!(records[1].reason.as_deref(), Some("malformed"));
}

#[test]
fn neither_journal_nor_list_holds_a_scanned_text() {
    let gate = AtGate::new();
    let device = gate.ready();
    let code = gate.venue.v1(&gate.tickets[0], NINE + 600);
    device.scan(code.as_bytes());
    drop(device);
    let signature = &code.as_bytes()[code.len() - 43..];
    for entry in fs::read_dir(gate.folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(43).any(|window| window == signature));
    }
}

#[test]
fn a_second_controller_on_the_folder_refuses_to_start() {
    let gate = AtGate::new();
    let _first = gate.open();
    let second = gate.try_open();
    assert!(matches!(
        second,
        Err(DeviceError::Open(OpenError::Locked(_)))
    ));
}

#[test]
fn a_folder_can_be_looked_at_beside_its_controller_and_nothing_changes() {
    let gate = AtGate::new();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let look = Device::open_to_look(gate.folder.path(), None, gate.platform.clone()).unwrap();
    let explained = look.explain(&gate.g2(0), None).unwrap();
    assert_eq!(reason(&explained.verdict), Some(Reason::AlreadyUsed));
    assert_eq!(explained.rows.last().unwrap().row, 20);
    assert_eq!(exported(&look).len(), 1);
    assert!(!look.scan(&gate.g2(1)).opens, "looking opens nothing");
    gate.platform.pass_ms(1_000);
    assert!(device.scan(&gate.g2(1)).opens);
}

#[test]
fn a_folder_without_an_identity_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Device::open(folder.path(), None, Arc::new(TestPlatform::at(NINE)));
    assert!(matches!(
        opened,
        Err(DeviceError::Identity(IdentityError::NotEnrolled(_)))
    ));
}

#[test]
fn a_server_with_another_root_than_the_qr_names_enrols_nobody() {
    let venue = Venue::new();
    let mut text = venue.enrolment_text();
    text.root_fingerprint = "00".repeat(32);
    let candidate = Candidate::new(text, &TestPlatform::at(NINE));
    let answer = venue.enrol(&candidate.request("pda", "test"));
    assert!(matches!(
        candidate.accept(answer),
        Err(IdentityError::WrongRoot)
    ));
}

#[test]
fn a_certificate_for_another_key_enrols_nobody() {
    let venue = Venue::new();
    let candidate = Candidate::new(venue.enrolment_text(), &TestPlatform::at(NINE));
    let mut request = candidate.request("pda", "test");
    request.public_key = venue.code_key.verifying_key().to_base64();
    let answer = venue.enrol(&request);
    assert!(matches!(
        candidate.accept(answer),
        Err(IdentityError::WrongCertificate)
    ));
}

#[test]
fn a_device_serves_only_the_gates_that_it_was_enrolled_for() {
    let gate = AtGate::new();
    let opened = Device::open(
        gate.folder.path(),
        Some(&id("vault")),
        gate.platform.clone(),
    );
    assert!(matches!(opened, Err(DeviceError::Gate { .. })));
}

#[test]
fn without_a_list_the_gate_stays_shut_and_says_so() {
    let gate = AtGate::new();
    let device = gate.open();
    gate.anchor(&device);
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::WhitelistStale)
    );
}

#[test]
fn a_list_cut_off_anywhere_leaves_the_one_in_use() {
    let mut gate = AtGate::new();
    let device = gate.ready();
    gate.tickets[0].status = TicketStatus::Cancelled;
    let stream = gate.venue.list(2, &gate.tickets);
    for end in (0..stream.len()).step_by(211).chain([stream.len() - 1]) {
        assert!(give(&device, &stream[..end]).is_err(), "cut at {end}");
    }
    assert!(device.scan(&gate.g2(0)).opens, "version 1 is still in use");
    drop(device);
    let device = gate.open();
    assert!(device.scan(&gate.g2(1)).opens, "and after a restart");
    give(&device, &stream).unwrap();
    gate.platform.pass_ms(10_000);
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::Cancelled)
    );
}

#[test]
fn a_list_with_a_changed_missing_or_doubled_row_is_not_taken() {
    let gate = AtGate::new();
    let device = gate.ready();
    let rows = Venue::rows(&gate.tickets);
    let manifest = gate.venue.manifest(2, &rows);
    let mut other = gate.tickets[2].clone();
    other.admits = 200;
    let mut changed = gate.tickets.clone();
    changed[2] = other;
    let mut doubled = rows.clone();
    doubled.insert(1, rows[0].clone());
    let mut reversed = rows.clone();
    reversed.reverse();
    for bad in [Venue::rows(&changed), rows[1..].to_vec(), doubled, reversed] {
        let refused = give(&device, &gate.venue.stream(&manifest, &bad));
        assert!(matches!(refused, Err(ListsError::List(_))), "{refused:?}");
    }
    assert_eq!(device.status().unwrap().live.lists[0].version, 1);
}

#[test]
fn a_list_signed_by_a_stranger_or_with_other_settings_is_not_taken() {
    let gate = AtGate::new();
    let device = gate.ready();
    let mut stranger = Venue::new();
    stranger.list_key = stile_core::keys::ListSigningKey::from_seed(&[66; 32]);
    let rows = Venue::rows(&gate.tickets);
    let mut lines = gate.venue.stream(&stranger.manifest(2, &rows), &rows);
    let forged = stranger.sign_list(&stranger.manifest(2, &rows));
    let mut head: stile_core::protocol::ListHead =
        serde_json::from_slice(lines.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    head.manifest = forged;
    let rest = lines.iter().position(|byte| *byte == b'\n').unwrap();
    let mut stream = serde_json::to_vec(&head).unwrap();
    stream.extend(lines.drain(rest..));
    assert!(matches!(give(&device, &stream), Err(ListsError::List(_))));
    let mut tampered = gate.venue.list(2, &gate.tickets);
    let text = String::from_utf8(std::mem::take(&mut tampered)).unwrap();
    let text = text.replacen("\\\"unattended\\\":true", "\\\"unattended\\\":false", 1);
    assert!(matches!(
        give(&device, text.as_bytes()),
        Err(ListsError::List(_))
    ));
}

#[test]
fn a_lower_version_and_an_equal_one_with_other_rows_are_refused() {
    let mut gate = AtGate::new();
    let device = gate.open();
    gate.anchor(&device);
    give(&device, &gate.venue.list(5, &gate.tickets)).unwrap();
    assert!(matches!(
        give(&device, &gate.venue.list(4, &gate.tickets)),
        Err(ListsError::Lower(_))
    ));
    let wanted = device.lists_answered(&gate.lists(5)).unwrap();
    assert!(wanted.fetch.is_empty() && wanted.refused.is_empty());
    gate.tickets.pop();
    let wanted = device.lists_answered(&gate.lists(5)).unwrap();
    assert!(matches!(
        wanted.refused.as_slice(),
        [ListsError::Contradicts(_)]
    ));
    let wanted = device.lists_answered(&gate.lists(6)).unwrap();
    assert_eq!(wanted.fetch, [id("2026-10-01")]);
}

#[test]
fn a_list_of_another_venue_or_day_is_refused() {
    let gate = AtGate::new();
    let device = gate.ready();
    let rows = Venue::rows(&gate.tickets);
    let mut manifest = gate.venue.manifest(2, &rows);
    manifest.venue_id = id("museum-02");
    assert!(matches!(
        give(&device, &gate.venue.stream(&manifest, &rows)),
        Err(ListsError::Foreign(_))
    ));
    manifest = gate.venue.manifest(2, &rows);
    manifest.service_day = id("2026-10-02");
    assert!(matches!(
        give(&device, &gate.venue.stream(&manifest, &rows)),
        Err(ListsError::Foreign(_))
    ));
}

#[test]
fn a_list_that_rotted_on_disk_is_dropped_and_fetched_again() {
    let gate = AtGate::new();
    drop(gate.ready());
    let path = stile_core::whitelist::list_path(gate.folder.path(), &id("2026-10-01"));
    let mut bytes = fs::read(&path).unwrap();
    // The masked name stands in the rows alone.
    let at = bytes
        .windows(4)
        .rposition(|window| window == "*三".as_bytes())
        .unwrap();
    bytes[at] = b'#';
    fs::write(&path, bytes).unwrap();
    let device = gate.open();
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::WhitelistStale)
    );
    assert_eq!(
        device.lists_answered(&gate.lists(1)).unwrap().fetch,
        [id("2026-10-01")]
    );
    give(&device, &gate.venue.list(1, &gate.tickets)).unwrap();
    gate.platform.pass_ms(10_000);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn a_live_row_beats_a_tombstone_in_another_list() {
    let mut gate = AtGate::new();
    let live = gate.tickets.clone();
    gate.tickets[0].standing = Standing::Moved {
        session_id: id("pm"),
        service_day: id("2026-10-01"),
        admit_from: EpochSeconds(NINE),
    };
    let device = gate.ready();
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::WrongDay)
    );
    let rows = Venue::rows(&live[..1]);
    let mut manifest = gate.venue.manifest(1, &rows);
    manifest.service_day = id("2026-10-02");
    let mut list = device.begin_list(id("2026-10-02"));
    list.feed(&gate.venue.stream(&manifest, &rows)).unwrap();
    list.finish().unwrap();
    gate.platform.pass_ms(10_000);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn several_tickets_of_one_opaque_code_are_tried_by_the_one_that_admits_now() {
    let mut gate = AtGate::new();
    let code = "9f86d081884c7d659a2feaa0c55ad015";
    let hash = stile_core::codes::opaque::hash(&gate.venue.venue_id, code);
    for (at, (from, until)) in [(-7200, -3600), (-60, 600), (3600, 7200)]
        .into_iter()
        .enumerate()
    {
        gate.tickets[at].opaque_hashes = vec![hash];
        gate.tickets[at].admit_from = Some(EpochSeconds(NINE + from));
        gate.tickets[at].admit_until = Some(EpochSeconds(NINE + until));
    }
    let device = gate.ready();
    let outcome = device.scan(code.as_bytes());
    assert!(outcome.opens);
    assert_eq!(outcome.ticket.unwrap().number, gate.tickets[1].number);
    gate.platform.pass_ms(700_000);
    let next = device.scan(code.as_bytes());
    assert_eq!(reason(&next.verdict), Some(Reason::TooEarly));
    assert_eq!(next.ticket.unwrap().number, gate.tickets[2].number);
}

#[test]
fn a_wall_clock_set_back_by_two_months_changes_nothing_at_an_anchored_gate() {
    let gate = AtGate::new();
    let device = gate.ready();
    gate.platform
        .wall_ms
        .fetch_sub(60 * 86_400_000, Ordering::SeqCst);
    let code = gate.venue.g2(&gate.tickets[0], NINE).into_bytes();
    assert!(device.scan(&code).opens);
    let expired = gate.venue.g2(&gate.tickets[1], NINE - 7200).into_bytes();
    assert_eq!(
        reason(&device.scan(&expired).verdict),
        Some(Reason::CodeExpired)
    );
    assert!(device.status().unwrap().live.clock.wall_off_ms.is_some());
}

#[test]
fn after_a_reboot_without_network_records_are_marked_unanchored() {
    let gate = AtGate::new();
    drop(gate.ready());
    gate.platform.boot.store(2, Ordering::SeqCst);
    gate.platform.boot_ms.store(5_000, Ordering::SeqCst);
    gate.platform.wall_ms.fetch_add(60_000, Ordering::SeqCst);
    let device = gate.open();
    assert!(device.scan(&gate.g2(0)).opens);
    assert_eq!(exported(&device)[0].trust, Trust::Unanchored);
}

#[test]
fn time_never_runs_below_the_newest_record_after_a_reboot_with_a_dead_clock() {
    let gate = AtGate::new();
    let device = gate.ready();
    gate.platform.pass_ms(3_000_000);
    device.scan(&gate.g2(0));
    drop(device);
    gate.platform.boot.store(2, Ordering::SeqCst);
    gate.platform.wall_ms.store(0, Ordering::SeqCst);
    let device = gate.open();
    assert_eq!(
        device.status().unwrap().live.clock.now,
        EpochSeconds(NINE + 3_000).millis()
    );
}

#[test]
fn a_batch_is_signed_by_the_device_over_the_bytes_of_its_journal() {
    let gate = AtGate::new();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let upload = device.next_upload().unwrap().unwrap();
    let SignedBatch(signed) = serde_json::from_slice(&upload.body).unwrap();
    let request = {
        // The identity's public key is what the certificate names.
        let text = fs::read_to_string(gate.folder.path().join("identity.json")).unwrap();
        let identity: serde_json::Value = serde_json::from_str(&text).unwrap();
        let seed = data_encoding::BASE64.decode(identity["seed"].as_str().unwrap().as_bytes());
        stile_core::keys::DeviceSigningKey::from_seed(&seed.unwrap().try_into().unwrap())
    };
    assert_eq!(signed.kid, Kid(0));
    let key = DeviceVerifyingKey::from_bytes(request.verifying_key().as_bytes()).unwrap();
    let payload = signed.verify(&Domain::RECORDS, &key).unwrap();
    let batch: Batch<'_> = serde_json::from_slice(&payload).unwrap();
    let mut in_journal = String::new();
    device
        .export(|text| {
            in_journal = text.to_owned();
            Ok::<_, stile_core::journal::JournalError>(())
        })
        .unwrap();
    assert_eq!(batch.records[0].get(), in_journal);
}

#[test]
fn only_records_that_a_well_formed_answer_names_leave_the_outbox() {
    let gate = AtGate::new();
    let device = gate.ready();
    for ticket in 0..3 {
        device.scan(&gate.g2(ticket));
    }
    let records = exported(&device);
    let upload = device.next_upload().unwrap().unwrap();
    let page = HttpAnswer {
        status: 200,
        body: b"<html>log in</html>".to_vec(),
        ..ok(vec![])
    };
    assert!(matches!(
        device.upload_answered(&upload, Some(&page)).unwrap(),
        Uploaded::Failed(_)
    ));
    assert!(matches!(
        device.upload_answered(&upload, None).unwrap(),
        Uploaded::Failed(_)
    ));
    assert_eq!(exported(&device).len(), 3);
    let answer = ok(vec![
        result(&records[0], Filed::Accepted),
        result(&records[2], Filed::Quarantined),
    ]);
    assert_eq!(
        device.upload_answered(&upload, Some(&answer)).unwrap(),
        Uploaded::Delivered(2)
    );
    assert_eq!(exported(&device).len(), 1);
    let status = device.status().unwrap();
    assert_eq!(
        (status.unsent, status.quarantined, status.records),
        (1, 1, 3)
    );
    let again = device.next_upload().unwrap().unwrap();
    let answer = ok(vec![result(&records[1], Filed::Replayed)]);
    device.upload_answered(&again, Some(&answer)).unwrap();
    assert!(device.next_upload().unwrap().is_none());
}

#[test]
fn one_poison_record_is_set_aside_as_stuck_and_the_others_go_up() {
    let gate = AtGate::new();
    let device = gate.ready();
    for ticket in 0..5 {
        device.scan(&gate.g2(ticket));
    }
    let records = exported(&device);
    let poison = records[2].id;
    let problem = Problem::new(Code::Unprocessable, "record 0");
    let body = serde_json::to_vec(&problem).unwrap();
    let refuse = HttpAnswer {
        status: 422,
        retry_after_s: None,
        body,
    };
    let mut rounds = 0;
    while let Some(upload) = device.next_upload().unwrap() {
        rounds += 1;
        assert!(rounds < 50, "the poison record blocks the outbox");
        let SignedBatch(signed) = serde_json::from_slice(&upload.body).unwrap();
        let payload = data_encoding::BASE64
            .decode(signed.payload.as_bytes())
            .unwrap();
        let batch: Batch<'_> = serde_json::from_slice(&payload).unwrap();
        let heads: Vec<RecordHead> = batch
            .records
            .iter()
            .map(|one| serde_json::from_str(one.get()).unwrap())
            .collect();
        if heads.iter().any(|head| head.id == poison) {
            device.upload_answered(&upload, Some(&refuse)).unwrap();
        } else {
            let results = heads
                .iter()
                .map(|head| result(head, Filed::Accepted))
                .collect();
            device.upload_answered(&upload, Some(&ok(results))).unwrap();
        }
    }
    let status = device.status().unwrap();
    assert_eq!((status.unsent, status.stuck, status.synced), (0, 1, 4));
    assert_eq!(exported(&device)[0].id, poison, "it is kept and exportable");
    gate.platform.pass_ms(3_600_000);
    let retry = device.next_upload().unwrap().unwrap();
    assert_eq!(retry.records(), 1, "it is tried again after an hour");
}

#[test]
fn a_newer_schema_is_refused_and_not_a_byte_of_it_is_touched() {
    let gate = AtGate::new();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    drop(device);
    let path = gate.folder.path().join("journal.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
             VALUES (99, 'of_the_future', '2030-01-01T00:00:00Z', '1')",
        )
        .unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let refused = gate.try_open();
    assert!(matches!(
        refused,
        Err(DeviceError::Open(OpenError::Newer { found: 99, .. }))
    ));
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Writes over the middle of every page but the first few, as a dying card does.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let pages = bytes.len() / 4096;
    for page in (pages * 2 / 3)..(pages * 2 / 3 + 2) {
        bytes[page * 4096..][..64].fill(0xA5);
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_journal_is_kept_aside_and_what_can_be_read_of_it_goes_on() {
    let mut gate = AtGate::new();
    gate.tickets = (0..60)
        .map(|n| gate.venue.ticket(&format!("T{n}")))
        .collect();
    let device = gate.ready();
    for ticket in 0..60 {
        assert!(device.scan(&gate.g2(ticket)).opens);
    }
    let before = exported(&device);
    drop(device);
    damage(&gate.folder.path().join("journal.db"));
    let device = gate.open();
    let salvage = device.salvage().expect("the damage was noticed").clone();
    assert!(salvage.kept_aside.exists());
    let after = exported(&device);
    assert_eq!(after.len() as u64, salvage.records);
    assert!(
        after.len() >= 20,
        "only {} of 60 records were read",
        after.len()
    );
    assert!(
        after.iter().all(|record| before.contains(record)),
        "under their own names"
    );
    let first = gate
        .tickets
        .iter()
        .position(|t| Some(&t.ticket_id) == after[0].ticket_id.as_ref());
    gate.platform.pass_ms(60_000);
    let again = device.scan(&gate.g2(first.unwrap()));
    assert_eq!(
        reason(&again.verdict),
        Some(Reason::AlreadyUsed),
        "and nobody enters twice"
    );
    let newest = exported(&device).pop().unwrap();
    assert_ne!(
        newest.log_id, before[0].log_id,
        "new records go to a new log"
    );
}

#[test]
fn a_file_that_is_no_database_at_all_is_kept_aside_too() {
    let gate = AtGate::new();
    drop(gate.ready());
    fs::write(
        gate.folder.path().join("journal.db"),
        b"this was a journal once".repeat(500),
    )
    .unwrap();
    let device = gate.open();
    assert_eq!(device.salvage().unwrap().records, 0);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn a_copied_folder_on_another_machine_starts_a_new_log() {
    let gate = AtGate::new();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    drop(device);
    *gate.platform.machine.lock().unwrap() = "another machine".into();
    let device = gate.open();
    device.scan(&gate.g2(1));
    let records = exported(&device);
    assert_ne!(records[0].log_id, records[1].log_id);
    assert_eq!((records[0].sequence, records[1].sequence), (1, 1));
}

#[test]
fn an_exit_opens_for_every_reading_and_counts_a_repeat_once() {
    let mut gate = AtGate::new();
    gate.venue.gates[0].direction = stile_core::ticket::Direction::Out;
    let device = gate.ready();
    let code = gate.g2(0);
    assert!(device.scan(&code).opens);
    gate.platform.pass_ms(1_000);
    let again = device.scan(&code);
    assert!(again.opens && again.repeat);
    assert_eq!(exported(&device).len(), 1);
    assert!(
        device.scan(b"9f86d081884c7d659a2feaa0c55ad015").opens,
        "unlisted, and let out"
    );
    assert!(!device.scan(b"6901234567892").opens, "no code at all");
}

#[test]
fn an_old_manifest_shown_again_settles_no_dispute() {
    let gate = AtGate::new();
    let device = gate.ready();
    // The server's time jumps back by an hour and a half, to when the held manifest was signed.
    let sent = gate.platform.boot_ms.load(Ordering::SeqCst);
    let past = EpochSeconds(NINE - 5_400).millis();
    device.hear_server(past, sent).unwrap();
    device.lists_answered(&gate.lists(1)).unwrap();
    let clock = device.status().unwrap().live.clock;
    assert_eq!(
        (clock.trust, clock.now),
        (Trust::Disputed, EpochSeconds(NINE).millis())
    );
}

#[test]
fn other_settings_under_the_version_held_are_refused() {
    let mut gate = AtGate::new();
    let device = gate.ready();
    gate.venue.policy.formats.pop();
    let wanted = device.lists_answered(&gate.lists(1)).unwrap();
    assert!(matches!(
        wanted.refused.as_slice(),
        [ListsError::Contradicts(_)]
    ));
}
