//! Lists as a gate gets them: signed, complete, and with the digest that their manifest says.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use proptest::prelude::*;
use serde_json::json;
use stile_core::codes::{Format, OpaqueShape, opaque};
use stile_core::key_manifest::{KeyManifest, KeyRing};
use stile_core::keys::{RootVerifyingKey, root_fingerprint};
use stile_core::policy::Policy;
use stile_core::protocol::{ListEnd, ListHead, ListManifest, ListPage, Settings};
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::{CancelCause, Standing, Ticket, TicketStatus};
use stile_core::time::ServiceDay;
use stile_core::whitelist::{ListDigest, decode, hex};
use stile_sync_server::ServerError;
use stile_sync_server::import::{OpaqueCode, TicketLine};

use super::bed::{Bed, NOW, TODAY, TestDevice, ticket};

/// A list, read and checked as a gate does.
struct Read {
    manifest: ListManifest,
    settings: Settings,
    tickets: Vec<Ticket>,
}

async fn lines(bed: &Bed, device: &TestDevice, day: &str) -> Result<Vec<Vec<u8>>, ServerError> {
    let day = ServiceDay::new(day).unwrap();
    let mut list = bed.server.whitelist(&device.device, &day).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = list.chunks.recv().await {
        bytes.extend(chunk?);
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    Ok(lines.map(<[u8]>::to_vec).collect())
}

/// Reads the day's list and checks everything that a gate would.
async fn read(bed: &Bed, device: &TestDevice, root: &RootVerifyingKey, day: &str) -> Read {
    let lines = lines(bed, device, day).await.unwrap();
    let (head, rest) = lines.split_first().unwrap();
    let (end, pages) = rest.split_last().unwrap();
    let head: ListHead = serde_json::from_slice(head).unwrap();
    let manifest = open(&head.manifest, &head.key_manifest, root);
    let settings_digest = hex(&sha2::Digest::finalize(sha2::Digest::chain_update(
        <sha2::Sha256 as sha2::Digest>::new(),
        &head.settings,
    ))
    .into());
    assert_eq!(settings_digest, manifest.settings_digest);
    let (mut digest, mut tickets) = (ListDigest::default(), Vec::new());
    for page in pages {
        let page: ListPage = serde_json::from_slice(page).unwrap();
        for row in page.rows {
            let row = BASE64.decode(row.as_bytes()).unwrap();
            let ticket = decode(&row).unwrap();
            digest.add(ticket.number, &row);
            tickets.push(ticket);
        }
    }
    let end: ListEnd = serde_json::from_slice(end).unwrap();
    assert_eq!(
        (end.end, manifest.count),
        (tickets.len() as u64, tickets.len() as u64)
    );
    assert_eq!(hex(&digest.finish()), manifest.digest);
    assert!(tickets.is_sorted_by_key(|ticket| ticket.number));
    let settings = serde_json::from_str(&head.settings).unwrap();
    Read {
        manifest,
        settings,
        tickets,
    }
}

/// Root, key manifest, list key, manifest.
fn open(manifest: &Signed, key_manifest: &Signed, root: &RootVerifyingKey) -> ListManifest {
    let ring = KeyRing::new(&KeyManifest::open(key_manifest, root).unwrap());
    let key = ring.list_key(manifest.kid).unwrap();
    let payload = manifest.verify(&Domain::WHITELIST, &key.key).unwrap();
    let manifest: ListManifest = serde_json::from_slice(&payload).unwrap();
    assert!(key.is_valid_at(manifest.issued_at.seconds()));
    manifest
}

async fn bed() -> (Bed, TestDevice, RootVerifyingKey, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let bed = Bed::in_folder(folder.path()).await;
    let pinned = bed.invite().await.root_fingerprint;
    let (_, answer) = bed.enrol(9).await;
    let root = RootVerifyingKey::from_base64(&answer.root_public_key).unwrap();
    assert_eq!(root_fingerprint(&root), pinned);
    let device = bed.device(1).await;
    (bed, device, root, folder)
}

#[tokio::test]
async fn a_gate_can_check_a_list_from_the_pinned_root_to_the_last_row() {
    let (bed, device, root, _folder) = bed().await;
    bed.put_many_tickets(1_203).await;
    let full = TicketLine {
        admits: 4,
        zones: vec!["hall-a".parse().unwrap(), "hall-b".parse().unwrap()],
        label: "A-12-5".into(),
        category: "学生".into(),
        attention: "学生证\n请核对".into(),
        source: "wechat".into(),
        age_group: "adult".into(),
        admit_from: Some(stile_core::time::EpochSeconds(1_790_816_400)),
        ..ticket("full", "s2")
    };
    bed.put_tickets(vec![full]).await;
    let list = read(&bed, &device, &root, TODAY).await;
    assert_eq!(list.tickets.len(), 1_204);
    let full = list
        .tickets
        .iter()
        .find(|t| t.ticket_id.as_str() == "full")
        .unwrap();
    assert_eq!(
        (full.admits, full.zones.len(), full.label.as_str()),
        (4, 2, "A-12-5")
    );
    assert_eq!(
        (full.category.as_str(), full.attention.as_str()),
        ("学生", "学生证\n请核对")
    );
    assert_eq!(full.admit_from.map(|at| at.0), Some(1_790_816_400));
    assert_eq!(
        full.last_four.map(|digits| digits.to_string()).as_deref(),
        Some("5678")
    );
    assert_eq!(full.holder_mask, "**伟");
    assert_eq!(list.settings.policy, Policy::default());
    let sessions: Vec<_> = list
        .settings
        .sessions
        .iter()
        .map(|session| session.session_id.as_str())
        .collect();
    assert_eq!(sessions, ["s1", "s2"]);
    assert_eq!(list.settings.gates.len(), 2);
    let manifest = &list.manifest;
    assert_eq!(
        (manifest.venue_id.as_str(), manifest.service_day.as_str()),
        ("museum-01", TODAY)
    );
    // 09:30 − 6 h to 16:00 + 1 h, and good for a day at least.
    assert_eq!(
        (manifest.day_from.0, manifest.day_until.0),
        (1_790_796_600, 1_790_845_200)
    );
    assert_eq!(manifest.not_after.0, NOW.seconds().0 + 86_400);
    assert_eq!((manifest.issued_at, manifest.generation), (NOW, 0));
}

#[tokio::test]
async fn a_gate_is_told_of_the_days_that_it_should_hold() {
    let (bed, device, root, _folder) = bed().await;
    bed.put_many_tickets(3).await;
    let days = |lists: &stile_core::protocol::Lists| {
        let open = |manifest: &Signed| open(manifest, &lists.key_manifest, &root);
        lists.manifests.iter().map(open).collect::<Vec<_>>()
    };
    let first = bed.server.lists(&device.device).await.unwrap();
    let manifests = days(&first);
    let names: Vec<_> = manifests
        .iter()
        .map(|m| m.service_day.to_string())
        .collect();
    assert_eq!(names, [TODAY, "2026-10-02"]);
    assert_eq!(manifests[0].count, 3);
    // What has not changed is answered in the same bytes, so that `304` can be.
    bed.clock.move_by(60_000);
    assert_eq!(bed.server.lists(&device.device).await.unwrap(), first);
    bed.clock.move_by(15 * 60_000);
    let signed_anew = days(&bed.server.lists(&device.device).await.unwrap());
    assert_eq!(signed_anew[0].issued_at, NOW.plus(16 * 60_000));
    let same = |m: &ListManifest| (m.version, m.digest.clone(), m.settings_digest.clone());
    assert_eq!(same(&signed_anew[0]), same(&manifests[0]));
    // Days later the list is gone, and the personal data with it.
    bed.clock.move_by(4 * 86_400_000);
    assert_eq!(
        bed.server
            .lists(&device.device)
            .await
            .unwrap()
            .manifests
            .len(),
        1
    );
    assert!(matches!(
        lines(&bed, &device, TODAY).await,
        Err(ServerError::NotFound(_))
    ));
    let never = lines(&bed, &device, "2030-01-01").await;
    assert!(matches!(never, Err(ServerError::NotFound(_))));
}

#[tokio::test]
async fn a_list_carries_the_secrets_of_the_formats_that_the_venue_takes_and_no_others() {
    let (bed, device, root, _folder) = bed().await;
    bed.put_many_tickets(300).await;
    let has = |list: &Read| {
        let ticket = &list.tickets[0];
        (ticket.ticket_key.is_some(), ticket.rotation_key.is_some())
    };
    assert_eq!(has(&read(&bed, &device, &root, TODAY).await), (true, true));
    for (formats, expected) in [
        (vec![Format::G2], (false, false)),
        (vec![Format::V1, Format::G2], (true, false)),
        (vec![Format::G3], (false, true)),
    ] {
        let policy = Policy {
            formats,
            ..Policy::default()
        };
        bed.server.set_policy(&bed.venue, policy).await.unwrap();
        assert_eq!(has(&read(&bed, &device, &root, TODAY).await), expected);
    }
    let shared = serde_json::from_value(json!({ "formats": ["v1"], "v1_key": "shared" })).unwrap();
    bed.server.set_policy(&bed.venue, shared).await.unwrap();
    assert_eq!(
        has(&read(&bed, &device, &root, TODAY).await),
        (false, false)
    );
}

#[tokio::test]
async fn an_opaque_code_stands_in_the_list_as_its_hash_and_must_fit_the_venues_shapes() {
    let (bed, device, root, _folder) = bed().await;
    let of = |id: &str, code: &str| TicketLine {
        code: OpaqueCode::new(code),
        ..ticket(id, "s1")
    };
    let faults = bed.put_tickets(vec![of("a", "MUS-0123456789abcdef")]).await;
    assert_eq!(
        (faults[0].0, faults[0].1.field),
        (1, "code"),
        "no shape is declared yet"
    );
    let shape = OpaqueShape::new("MUS-", "0123456789abcdef", [20, 20]).unwrap();
    let policy = Policy {
        formats: vec![Format::Opaque],
        opaque_shapes: vec![shape],
        ..Policy::default()
    };
    bed.server.set_policy(&bed.venue, policy).await.unwrap();
    let lines = vec![
        of("a", "MUS-0123456789abcdef"),
        of("b", "MUS-0123456789ABCDEF"),
        of("c", " MUS-0123456789abcde"),
    ];
    let faults = bed.put_tickets(lines).await;
    assert_eq!(
        faults.iter().map(|fault| fault.0).collect::<Vec<_>>(),
        [2, 3]
    );
    let list = read(&bed, &device, &root, TODAY).await;
    assert_eq!(list.tickets.len(), 1);
    let hash = opaque::hash(&bed.venue, "MUS-0123456789abcdef");
    assert_eq!(list.tickets[0].opaque_hashes, [hash]);
}

#[tokio::test]
async fn a_moved_ticket_is_a_tombstone_whose_new_session_travels_beside_it() {
    let (bed, device, root, _folder) = bed().await;
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    bed.put_tickets(vec![ticket("a", "s3")]).await;
    let today = read(&bed, &device, &root, TODAY).await;
    let Standing::Moved {
        session_id,
        service_day,
        ..
    } = &today.tickets[0].standing
    else {
        panic!("it was moved");
    };
    assert_eq!(
        (session_id.as_str(), service_day.as_str()),
        ("s3", "2026-10-02")
    );
    assert!(
        today
            .settings
            .sessions
            .iter()
            .any(|session| session.session_id == *session_id)
    );
    let tomorrow = read(&bed, &device, &root, "2026-10-02").await;
    assert_eq!(tomorrow.tickets[0].standing, Standing::Live);
}

#[tokio::test]
async fn a_list_that_is_read_while_it_changes_is_of_one_version() {
    let (bed, device, root, _folder) = bed().await;
    let (bed, device) = (std::sync::Arc::new(bed), std::sync::Arc::new(device));
    bed.put_many_tickets(2_000).await;
    let changing = {
        let bed = bed.clone();
        tokio::spawn(async move {
            for admits in 2..40 {
                let tickets = (0..50).map(|n| TicketLine {
                    admits,
                    ..ticket(&format!("t{}", n * 40), "s1")
                });
                bed.put_tickets(tickets.collect()).await;
            }
        })
    };
    while !changing.is_finished() {
        // Reading checks digest, count and signatures.
        let list = read(&bed, &device, &root, TODAY).await;
        let changed: Vec<u8> = list
            .tickets
            .iter()
            .map(|ticket| ticket.admits)
            .filter(|admits| *admits > 1)
            .collect();
        assert!(
            changed.iter().all(|admits| *admits == changed[0]),
            "half a change is seen"
        );
    }
    changing.await.unwrap();
}

/// One change of the venue's data.
#[derive(Debug, Clone)]
enum Step {
    Put {
        first: u8,
        count: u8,
        session: u8,
        admits: u8,
    },
    Cancel(u8),
    MoveSession {
        session: u8,
        day: u8,
    },
    Gate(u8),
    Formats(u8),
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), 1_u8..30, 0_u8..4, 1_u8..4).prop_map(
            |(first, count, session, admits)| Step::Put { first, count, session, admits }
        ),
        2 => any::<u8>().prop_map(Step::Cancel),
        1 => (0_u8..4, 1_u8..4).prop_map(|(session, day)| Step::MoveSession { session, day }),
        1 => any::<u8>().prop_map(Step::Gate),
        1 => (0_u8..3).prop_map(Step::Formats),
        3 => Just(Step::Look),
    ]
}

async fn apply(bed: &Bed, step: &Step) {
    match *step {
        Step::Put {
            first,
            count,
            session,
            admits,
        } => {
            let numbers = (0..count).map(|n| first.wrapping_add(n));
            let tickets = numbers.map(|n| TicketLine {
                admits,
                ..ticket(&format!("t{n}"), &format!("p{session}"))
            });
            bed.put_tickets(tickets.collect()).await;
        }
        Step::Cancel(n) => {
            let id = format!("t{n}").parse().unwrap();
            // Whether there is one does not matter here.
            let _ = bed
                .server
                .cancel_ticket(&bed.venue, &id, CancelCause::Visitor)
                .await;
        }
        Step::MoveSession { session, day } => {
            let (from, until) = (
                format!("2026-10-0{day} 10:00"),
                format!("2026-10-0{day} 12:00"),
            );
            bed.put_session(&format!("p{session}"), &from, &until).await;
        }
        Step::Gate(n) => bed.put_gate(&format!("g{n}")).await,
        Step::Formats(n) => {
            let formats = [vec![Format::V1], vec![Format::G3], vec![Format::G2]];
            let policy = Policy {
                formats: formats[usize::from(n)].clone(),
                ..Policy::default()
            };
            bed.server.set_policy(&bed.venue, policy).await.unwrap();
        }
        Step::Look => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// The server's digest is kept bucket by bucket, from look to look; what a gate computes over
    /// all rows must agree each time, and a version must never come back with other content.
    #[test]
    fn the_digest_agrees_with_the_rows_after_any_changes(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (bed, device, root, _folder) = bed().await;
            for session in 0..4 {
                apply(&bed, &Step::MoveSession { session, day: 1 + session % 3 }).await;
            }
            let mut seen: BTreeMap<(String, u64), (String, String)> = BTreeMap::new();
            let mut newest: BTreeMap<String, u64> = BTreeMap::new();
            for step in steps.iter().chain([&Step::Look]) {
                apply(&bed, step).await;
                if !matches!(step, Step::Look) {
                    continue;
                }
                for day in [TODAY, "2026-10-02", "2026-10-03"] {
                    let manifest = read(&bed, &device, &root, day).await.manifest;
                    let content = (manifest.digest, manifest.settings_digest);
                    let known = seen
                        .entry((day.to_owned(), manifest.version))
                        .or_insert_with(|| content.clone());
                    assert_eq!(*known, content);
                    let newest = newest.entry(day.to_owned()).or_default();
                    assert!(manifest.version >= *newest);
                    *newest = manifest.version;
                }
            }
            let live = |ticket: &&Ticket| ticket.standing == Standing::Live;
            let mut lives = BTreeMap::new();
            for day in [TODAY, "2026-10-02", "2026-10-03"] {
                for ticket in read(&bed, &device, &root, day).await.tickets.iter().filter(live) {
                    assert_ne!(ticket.status, TicketStatus::Pending);
                    *lives.entry(ticket.number).or_insert(0) += 1;
                }
            }
            assert!(lives.values().all(|times| *times == 1), "a ticket is live in one list");
        });
    }
}
