//! What Prometheus is shown: the day in numbers, whatever state the server is in, and what alerts
//! are made of.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use stile_core::time::EpochSeconds;
use stile_sync_server::last_backup::LastBackup;
use stile_sync_server::metrics::Watch;
use stile_sync_server::random::SystemRandom;
use stile_sync_server::tls::{Names, Own, Served};

use crate::program::Program;
use crate::site::{Site, client, read};

/// What is shown of a site that speaks TLS.
async fn shown(site: &Site) -> String {
    let folder = tempfile::tempdir().unwrap();
    let own = Own::in_folder(folder.path(), None);
    let names = Names::new(&["museum.lan"], &[]).unwrap();
    let now = EpochSeconds(1_790_820_000);
    own.make(&names, now, &SystemRandom).unwrap();
    let tls = Served::open(own.files()).unwrap();
    let watch = Watch::new(site.server.clone(), &site.data(), Some(tls));
    watch.text().await.unwrap()
}

/// The value of a line.
fn value(text: &str, series: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("{series} is not in {text}"));
    line.parse().unwrap()
}

/// A site with a gate that has asked for its lists and uploaded records.
async fn busy() -> Site {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(2).await;
    let mut gate = site.enrol(1).await;
    let lists = site
        .request("GET", "/v1/gate/lists")
        .bearer_auth(gate.bearer());
    let _: Value = read(lists.send().await.unwrap()).await;
    let unknown = json!({"ticket_id": "T9", "ticket_number": null, "service_day": null});
    let records = [&tickets[0], &tickets[1], &unknown].map(|ticket| gate.admits(&site, ticket));
    // Sent twice, as a gate does that lost the answer.
    for _ in 0..2 {
        let upload = site
            .request("POST", "/v1/gate/records")
            .bearer_auth(gate.bearer())
            .json(&gate.batch(&records));
        let _: Value = read(upload.send().await.unwrap()).await;
    }
    let heard = async || {
        shown(&site)
            .await
            .contains(r#"state="heard"} 1"#)
            .then_some(())
    };
    // It is noted aside.
    site.awaited(heard).await;
    site.server.run_retention(true).await.unwrap();
    site
}

#[tokio::test]
async fn a_days_work_is_shown_in_numbers() {
    let site = busy().await;
    LastBackup {
        at: 1_790_820_000,
        file: "/mnt/copy".into(),
    }
    .note(&site.data())
    .unwrap();
    site.admin("GET", "/v1/tickets/T-13800005678")
        .send()
        .await
        .unwrap();
    site.admin("13800005678", "/13800005678")
        .send()
        .await
        .unwrap();
    let text = shown(&site).await;
    for (series, expected) in [
        (
            r#"stile_records_total{venue="museum",result="accepted"}"#,
            2.0,
        ),
        (
            r#"stile_records_total{venue="museum",result="replayed"}"#,
            2.0,
        ),
        (
            r#"stile_records_total{venue="museum",result="quarantined"}"#,
            2.0,
        ),
        (r#"stile_quarantined_records{venue="museum"}"#, 1.0),
        (r#"stile_quarantined_records{venue="gallery"}"#, 0.0),
        (r#"stile_conflicts_open{venue="museum"}"#, 0.0),
        (r#"stile_devices{venue="museum",state="silent"}"#, 0.0),
        (r#"stile_devices{venue="museum",state="never"}"#, 0.0),
        (r#"stile_device_silent_seconds{venue="museum"}"#, 0.0),
        (r#"stile_sessions_admitting{venue="museum"}"#, 1.0),
        (r#"stile_sessions_admitting{venue="gallery"}"#, 0.0),
        (r#"stile_list_tickets{venue="museum"}"#, 2.0),
        ("stile_ready", 1.0),
        ("stile_generation_timestamp_seconds", 0.0),
        ("stile_backup_timestamp_seconds", 1_790_820_000.0),
        (r#"stile_retention_held{job="phones"}"#, 0.0),
        (
            r#"stile_http_request_duration_seconds_count{route="/v1/gate/records",method="POST",status="2xx"}"#,
            2.0,
        ),
        (
            r#"stile_http_request_duration_seconds_count{route="/v1/tickets/{ticket_id}",method="GET",status="4xx"}"#,
            1.0,
        ),
        (
            r#"stile_http_request_duration_seconds_count{route="none",method="other",status="4xx"}"#,
            1.0,
        ),
    ] {
        assert_eq!(value(&text, series), expected, "{series}");
    }
    for series in [
        "stile_storage_free_bytes",
        r#"stile_database_bytes{file="main"}"#,
        r#"stile_list_version{venue="museum"}"#,
        r#"stile_list_signed_timestamp_seconds{venue="museum"}"#,
        "stile_certificate_expiry_timestamp_seconds",
    ] {
        assert!(value(&text, series) > 0.0, "{series}");
    }
    for kept in ["13800005678", "T-1", "T0", &site.admin] {
        assert!(!text.contains(kept), "{kept} is in {text}");
    }
}

#[tokio::test]
async fn a_ticket_that_was_used_twice_and_a_record_that_did_not_come_are_counted() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(1).await;
    let mut gate = site.enrol(1).await;
    let [first, _lost, third] = [(); 3].map(|()| gate.admits(&site, &tickets[0]));
    site.upload(&gate, &[first, third]).await;
    let text = shown(&site).await;
    assert_eq!(value(&text, r#"stile_conflicts_open{venue="museum"}"#), 1.0);
    assert_eq!(
        value(&text, r#"stile_records_missing{venue="museum"}"#),
        1.0
    );
}

#[tokio::test]
async fn a_server_that_cannot_store_still_shows_that_it_cannot() {
    let site = busy().await;
    site.server.close().await;
    let text = shown(&site).await;
    assert_eq!(value(&text, "stile_ready"), 0.0);
    assert!(value(&text, "stile_storage_free_bytes") > 0.0);
    assert!(text.contains("stile_records_total"));
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("stile_"))
        .collect()
}

#[tokio::test]
async fn every_alert_is_about_what_is_shown_and_stands_in_the_runbook() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rules = fs::read_to_string(root.join("packaging/prometheus/stile.rules.yml")).unwrap();
    let runbook = fs::read_to_string(root.join("docs/operations.md")).unwrap();
    let text = shown(&busy().await).await;
    let series = text.lines().filter(|line| !line.starts_with('#'));
    let shown: BTreeSet<&str> = series
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    let mut alerts = BTreeSet::new();
    for rule in rules.split("- alert: ").skip(1) {
        let (alert, rest) = rule.split_once('\n').unwrap();
        let about = names(rest);
        assert!(!about.is_empty(), "{alert} is about nothing");
        for name in about {
            assert!(shown.contains(name), "{alert}: {name} is not shown");
        }
        let anchor = format!("runbook: docs/operations.md#{}\n", alert.to_lowercase());
        assert!(rest.contains(&anchor), "{alert} names another runbook");
        for said in ["severity: ", "summary: "] {
            assert!(rest.contains(said), "{alert} has no {said}");
        }
        assert!(alerts.insert(alert.to_owned()), "{alert} is there twice");
    }
    let headings = runbook
        .lines()
        .filter_map(|line| line.strip_prefix("### Stile"));
    let headings: BTreeSet<String> = headings.map(|name| format!("Stile{name}")).collect();
    assert_eq!(alerts, headings);
    let documented = names(&runbook);
    for name in shown {
        let base = ["_bucket", "_count", "_sum"];
        let name = base
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        assert!(documented.contains(name), "{name} is not documented");
    }
}

#[tokio::test]
async fn the_port_of_gates_has_no_metrics() {
    let site = Site::start().await;
    let answer = site.admin("GET", "/metrics").send().await.unwrap();
    assert_eq!(answer.status(), reqwest::StatusCode::NOT_FOUND);
}

#[test]
fn metrics_are_shown_where_it_was_said_and_to_others_only_on_somebodys_word() {
    let program = Program::new();
    program.add_venue();
    let open = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--metrics-listen",
        "0.0.0.0:0",
    ];
    let said = program.refused(&open);
    assert!(said.contains("--metrics-open"), "{said}");
    let file = program.data().join("log");
    for flags in [
        &["--metrics-listen", "127.0.0.1:0"][..],
        &["--metrics-listen", "0.0.0.0:0", "--metrics-open"],
    ] {
        let stderr = Stdio::from(fs::File::create(&file).unwrap());
        let serving = program.serve_logging(flags, "info", stderr);
        let log = fs::read_to_string(&file).unwrap();
        let (_, address) = log.split_once("metrics are shown address=").unwrap();
        let (_, port) = address.lines().next().unwrap().rsplit_once(':').unwrap();
        let url = format!("http://127.0.0.1:{port}/metrics");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let text = runtime.block_on(async {
            let answer = client().get(url).send().await.unwrap();
            let media_type = answer.headers()["content-type"]
                .to_str()
                .unwrap()
                .to_owned();
            assert!(media_type.starts_with("text/plain"), "{media_type}");
            answer.text().await.unwrap()
        });
        assert_eq!(value(&text, "stile_ready"), 1.0);
        drop(serving);
    }
}
