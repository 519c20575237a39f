//! The log as lines and as CSV: the same as the JSON pages, from a cursor to the end, harmless in
//! spreadsheets, and no burden on others while its taker is slow.

use csv::{Reader, StringRecord};
use reqwest::{Response, StatusCode};
use rusqlite::Connection;
use serde_json::{Value, json};
use stile_sync_server::store::Scope;

use crate::site::{Gatekeeper, OTHER_VENUE, Site, key_for, read, refusal};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";

async fn get(site: &Site, path: &str, accept: &str) -> Response {
    let request = site.admin("GET", path).header("accept", accept);
    request.send().await.unwrap()
}

/// The records of all JSON pages, and the cursor behind them.
async fn pages(site: &Site, path: &str) -> (Vec<Value>, String) {
    let (mut records, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("{path}?limit=101{after}");
        let mut page: Value = site.done("GET", &path, Value::Null).await;
        records.append(page["records"].as_array_mut().unwrap());
        let cursor = page["cursor"].as_str().unwrap().to_owned();
        if page["more"] == false {
            return (records, cursor);
        }
        after = format!("&after={cursor}");
    }
}

fn lines(text: &str) -> (Vec<Value>, Value) {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let end = lines.pop().unwrap();
    (lines, end)
}

/// Each row of a CSV by the names of its head.
fn rows(text: &str) -> Vec<Value> {
    let mut reader = Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let rows = reader.records().map(Result::unwrap);
    let named = |row: StringRecord| {
        let cells = head.iter().zip(&row);
        let cells = cells.map(|(name, cell)| (name.to_owned(), json!(cell)));
        Value::Object(cells.collect())
    };
    rows.map(named).collect()
}

/// A refusal of the device, with members of its own.
fn refuses(gate: &mut Gatekeeper, site: &Site, members: &Value) -> Value {
    let mut record = gate.admits(site, &Value::Null);
    let refused = json!({"verdict": "refuse", "reason": "malformed", "persons": 0});
    for members in [&refused, members] {
        let members = members.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(members);
    }
    record
}

#[tokio::test]
async fn lines_and_csv_of_many_records_are_what_the_json_pages_are() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(900).await;
    let mut gate = site.enrol(1).await;
    let mut records: Vec<_> = tickets.iter().map(|one| gate.admits(&site, one)).collect();
    // A ticket again: a conflict with a loser, and refusals among the check-ins.
    records.push(gate.admits(&site, &tickets[7]));
    records.extend((0..400).map(|_| refuses(&mut gate, &site, &json!({}))));
    records.push(gate.admits(&site, &tickets[8]));
    for batch in records.chunks(500) {
        site.upload(&gate, batch).await;
    }
    for (path, count) in [("/v1/records", 1_302), ("/v1/check-ins", 902)] {
        let (records, cursor) = pages(&site, path).await;
        assert_eq!(records.len(), count);

        let (as_lines, end) = lines(&get(&site, path, NDJSON).await.text().await.unwrap());
        assert_eq!(as_lines, records);
        assert_eq!(
            (&end["cursor"], &end["more"]),
            (&json!(cursor), &json!(false))
        );
        assert_eq!(end["sessions"][0]["session_id"], "now");

        let response = get(&site, path, CSV).await;
        let headers = response.headers().clone();
        assert_eq!(
            headers["content-type"],
            "text/csv; charset=utf-8; header=present"
        );
        assert_eq!(headers["stile-cursor"], cursor);
        assert_eq!(headers["stile-more"], "false");
        let as_rows = rows(&response.text().await.unwrap());
        assert_eq!(as_rows.len(), count);
        for (row, entry) in as_rows.iter().zip(&records) {
            let whole: Value = serde_json::from_str(row["record"].as_str().unwrap()).unwrap();
            assert_eq!(whole, entry["record"]);
            let said = |value: &Value| match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            for name in ["received_at", "standing"] {
                assert_eq!(row[name], said(&entry[name]), "{name}");
            }
            for name in [
                "id",
                "at",
                "kind",
                "ticket_id",
                "reason",
                "persons",
                "session_id",
            ] {
                assert_eq!(row[name], said(&entry["record"][name]), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_limit_holds_for_lines_and_csv_and_the_cursor_goes_on_behind_it() {
    let site = Site::start().await;
    site.furnish().await;
    let mut gate = site.enrol(1).await;
    let records: Vec<_> = (0..5)
        .map(|_| refuses(&mut gate, &site, &json!({})))
        .collect();
    site.upload(&gate, &records).await;
    let path = "/v1/records?limit=3";
    let (three, end) = lines(&get(&site, path, NDJSON).await.text().await.unwrap());
    assert_eq!((three.len(), &end["more"]), (3, &json!(true)));
    let response = get(&site, path, CSV).await;
    let headers = response.headers().clone();
    assert_eq!(headers["stile-cursor"], end["cursor"].as_str().unwrap());
    assert_eq!(headers["stile-more"], "true");
    assert_eq!(rows(&response.text().await.unwrap()).len(), 3);
    for form in [NDJSON, CSV] {
        let path = format!("/v1/records?after={}", end["cursor"].as_str().unwrap());
        let text = get(&site, &path, form).await.text().await.unwrap();
        let (first, last) = (&records[3]["id"], &records[4]["id"]);
        for (id, is_there) in [(first, true), (last, true), (&records[2]["id"], false)] {
            assert_eq!(text.contains(id.as_str().unwrap()), is_there, "{form}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stop_reading_block_nobody_and_hold_no_moment_of_the_database() {
    let site = Site::start().await;
    site.furnish().await;
    let mut gate = site.enrol(1).await;
    // More than the buffers of a connection take.
    let long = json!({"note": "x".repeat(3_400)});
    let count = 2_000;
    for _ in 0..count / 500 {
        let records: Vec<_> = (0..500).map(|_| refuses(&mut gate, &site, &long)).collect();
        site.upload(&gate, &records).await;
    }
    // More than there are connections to read with.
    let mut stalled = Vec::new();
    for form in [NDJSON, CSV].into_iter().cycle().take(20) {
        let mut response = get(&site, "/v1/records", form).await;
        let begun = response.chunk().await.unwrap().unwrap();
        stalled.push((response, begun));
    }
    let later = refuses(&mut gate, &site, &json!({}));
    site.upload(&gate, std::slice::from_ref(&later)).await;
    let (seen, end) = pages(&site, "/v1/records").await;
    assert_eq!(seen.len(), count + 1);
    let database = Connection::open(site.data().join("server.db")).unwrap();
    let is_held: i64 = database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        is_held, 0,
        "somebody reads, and the log of writes cannot be emptied"
    );

    // The one that goes on gets what there was when it began, and goes on behind that.
    let (mut response, begun) = stalled.remove(0);
    let mut text = begun.to_vec();
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.extend(chunk);
    }
    let (records, last) = lines(&String::from_utf8(text).unwrap());
    assert_eq!(records, seen[..count]);
    let path = format!("/v1/records?after={}", last["cursor"].as_str().unwrap());
    let news: Value = site.done("GET", &path, Value::Null).await;
    assert_eq!(news["records"].as_array().unwrap().len(), 1);
    assert_eq!(news["records"][0]["record"], later);
    assert_eq!(news["cursor"], *end);
}

#[tokio::test]
async fn situation_22_no_cell_of_a_csv_begins_as_a_formula() {
    let site = Site::start().await;
    site.furnish().await;
    let mut gate = site.enrol(1).await;
    let texts = [
        "=1+1",
        "+86",
        "-2",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "＝1",
        "a,\"b\"\r\nc",
        "成人",
    ];
    let records = texts.map(|text| refuses(&mut gate, &site, &json!({"source": text})));
    site.upload(&gate, &records).await;
    let text = get(&site, "/v1/records", CSV).await.text().await.unwrap();
    let rows = rows(&text);
    let cells: Vec<_> = rows
        .iter()
        .map(|row| row["source"].as_str().unwrap())
        .collect();
    assert_eq!(
        cells,
        [
            "'=1+1",
            "'+86",
            "'-2",
            "'@SUM(A1)",
            "'\tx",
            "'\rx",
            "'＝1",
            "a,\"b\"\r\nc",
            "成人"
        ]
    );
    for row in &rows {
        for (name, cell) in row.as_object().unwrap() {
            let first = cell.as_str().unwrap().chars().next();
            assert!(
                !first.is_some_and(|sign| "=+-@\t\r".contains(sign)),
                "{name}: {cell}"
            );
        }
    }
}

#[tokio::test]
async fn check_ins_come_in_the_columns_of_checkin_logs() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = "ticket_id,order_number,session_id,source,age_group\n\
                   R-1,O-1,now,web,adult\nR-2,O-2,now,=cmd,child\nR-3,O-3,now,,\n";
    let _: Value = read(site.import("text/csv", tickets).send().await.unwrap()).await;
    let mut gate = site.enrol(1).await;
    let mut records = Vec::new();
    // 2026-10-01T09:59:59.007+08:00
    for (ticket, at, decision_us, says) in [
        ("R-1", 1_790_819_999_007_i64, 4_499, json!({})),
        ("R-2", 1_790_820_000_000, 4_500, json!({"ticket_id": null})),
        (
            "R-3",
            -1,
            0,
            json!({"source": "kiosk", "age_group": "senior"}),
        ),
        ("R-1", i64::MAX, 499, json!({})),
    ] {
        let known: Value = site
            .done("GET", &format!("/v1/tickets/{ticket}"), Value::Null)
            .await;
        let mut record = gate.admits(&site, &known);
        record["at"] = json!(at);
        record["decision_us"] = json!(decision_us);
        let says = says.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(says);
        records.push(record);
    }
    // What takes a check-in back is no row, and what was taken back stays one.
    let undo = json!({"kind": "undo", "refers_to": records[2]["id"], "why": "wrong person",
                      "verdict": null});
    records.push(refuses(&mut gate, &site, &undo));
    records.insert(1, refuses(&mut gate, &site, &json!({})));
    site.upload(&gate, &records).await;
    let response = get(&site, "/v1/check-ins?layout=checkin_logs", CSV).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        response.text().await.unwrap(),
        "reservation_id,venue_code,scan_time,duration_ms,age_group,source\r\n\
         R-1,museum,2026-10-01T09:59:59.007+08:00,4,adult,web\r\n\
         R-2,museum,2026-10-01T10:00:00.000+08:00,5,child,'=cmd\r\n\
         R-3,museum,1970-01-01T07:59:59.999+08:00,0,senior,kiosk\r\n\
         R-1,museum,,0,adult,web\r\n"
    );
}

#[tokio::test]
async fn no_record_that_was_accepted_stands_in_the_way_of_the_others() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(3).await;
    let mut gate = site.enrol(1).await;
    let deep = "[".repeat(500) + &"]".repeat(500);
    let mut records: Vec<String> = Vec::new();
    for (ticket, odd) in tickets.iter().zip([
        r#""decision_us":"soon","source":7,"age_group":null"#.to_owned(),
        format!(r#""huge":1e999,"deep":{deep},"via":{deep}"#),
        r#""source":"\ud800","source":"twice","mode":[1],"persons":1"#.to_owned(),
    ]) {
        let mut record = gate.admits(&site, ticket);
        for name in ["decision_us", "via", "persons"] {
            record.as_object_mut().unwrap().remove(name);
        }
        let record = record.to_string();
        records.push(format!("{},{odd}}}", record.strip_suffix('}').unwrap()));
    }
    let list = format!(
        r#"{{"device_id":{},"records":[{}]}}"#,
        json!(gate.answer.device_id),
        records.join(",")
    );
    let batch = gate.sign(&serde_json::value::RawValue::from_string(list).unwrap());
    let upload = site
        .request("POST", "/v1/gate/records")
        .bearer_auth(gate.bearer());
    let answer: Value = read(upload.json(&batch).send().await.unwrap()).await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 3, "{answer}");
    assert!(!answer.to_string().contains("quarantined"));

    // The values of a record's members in a list are no record.
    let list = gate.batch(&[json!([])]);
    let upload = site
        .request("POST", "/v1/gate/records")
        .bearer_auth(gate.bearer());
    let (status, _, problem) = refusal(upload.json(&list).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("no JSON object"),
        "{problem}"
    );

    for query in ["", "?layout=checkin_logs", "?gate_id=north&session_id=now"] {
        let response = get(&site, &format!("/v1/check-ins{query}"), CSV).await;
        let rows = rows(&response.text().await.unwrap());
        assert_eq!(rows.len(), 3, "{query}");
    }
    let response = get(&site, "/v1/check-ins?layout=checkin_logs", CSV).await;
    let rows = rows(&response.text().await.unwrap());
    for (row, id) in rows.iter().zip(["T0", "T1", "T2"]) {
        assert_eq!(
            (&row["reservation_id"], &row["duration_ms"]),
            (&json!(id), &json!(""))
        );
    }
}

#[tokio::test]
async fn a_layout_goes_with_csv_and_with_what_it_is_of() {
    let site = Site::start().await;
    let contradicts = (StatusCode::UNPROCESSABLE_ENTITY, "unprocessable");
    let unknown = (StatusCode::BAD_REQUEST, "invalid_parameter");
    for (path, accept, told) in [
        (
            "/v1/check-ins?layout=checkin_logs",
            "application/json",
            contradicts,
        ),
        ("/v1/check-ins?layout=log", NDJSON, contradicts),
        ("/v1/records?layout=checkin_logs", CSV, contradicts),
        ("/v1/check-ins?layout=nonsense", CSV, unknown),
    ] {
        let (status, code, problem) = refusal(get(&site, path, accept).await).await;
        assert_eq!((status, &*code), told, "{path}");
        assert!(
            problem["detail"].as_str().unwrap().contains("layout"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn another_venues_key_gets_an_empty_log_in_every_form() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(1).await;
    let mut gate = site.enrol(1).await;
    let record = gate.admits(&site, &tickets[0]);
    site.upload(&gate, &[record]).await;
    let stranger = key_for(&site.server, &[OTHER_VENUE], &[Scope::RecordsRead]).await;
    let ask = async |path: &str, form: &str| {
        let request = site.request("GET", path).bearer_auth(&stranger);
        request.header("accept", form).send().await.unwrap()
    };
    for path in ["/v1/records", "/v1/check-ins"] {
        let page: Value = read(ask(path, "application/json").await).await;
        assert_eq!(page["records"], json!([]));
        assert_eq!(
            lines(&ask(path, NDJSON).await.text().await.unwrap())
                .0
                .len(),
            0
        );
        assert_eq!(rows(&ask(path, CSV).await.text().await.unwrap()).len(), 0);
        let (_, cursor) = pages(&site, path).await;
        for form in ["application/json", NDJSON, CSV] {
            let theirs = ask(&format!("{path}?after={cursor}"), form).await;
            assert_eq!(refusal(theirs).await.1, "invalid_cursor");
        }
    }
}

#[tokio::test]
async fn lines_and_csv_wait_as_well() {
    let site = Site::start().await;
    site.furnish().await;
    let mut gate = site.enrol(1).await;
    let record = refuses(&mut gate, &site, &json!({}));
    let path = "/v1/records?wait=25";
    let (as_lines, as_rows, ()) = tokio::join!(
        get(&site, path, NDJSON),
        get(&site, path, CSV),
        site.upload(&gate, std::slice::from_ref(&record)),
    );
    let (as_lines, _) = lines(&as_lines.text().await.unwrap());
    assert_eq!(as_lines[0]["record"], record);
    assert_eq!(
        json!(rows(&as_rows.text().await.unwrap())[0]["id"]),
        record["id"]
    );
}

#[tokio::test]
async fn a_compressed_log_is_the_same_and_comes_in_pieces_as_well() {
    let site = Site::start().await;
    site.furnish().await;
    let mut gate = site.enrol(1).await;
    for _ in 0..8 {
        let records: Vec<_> = (0..500)
            .map(|_| refuses(&mut gate, &site, &json!({})))
            .collect();
        site.upload(&gate, &records).await;
    }
    let plain = get(&site, "/v1/records", NDJSON).await;
    assert!(!plain.headers().contains_key("content-encoding"));
    let plain = plain.bytes().await.unwrap();
    for encoding in ["gzip", "zstd"] {
        let request = site
            .admin("GET", "/v1/records")
            .header("accept", NDJSON)
            .header("accept-encoding", encoding);
        let mut answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-encoding"], encoding);
        assert!(!answer.headers().contains_key("content-length"));
        let (mut compressed, mut pieces) = (Vec::new(), 0);
        while let Some(piece) = answer.chunk().await.unwrap() {
            compressed.extend_from_slice(&piece);
            pieces += 1;
        }
        assert!(pieces > 1, "{encoding}");
        assert!(compressed.len() < plain.len() / 2, "{encoding}");
        let decoded = match encoding {
            "zstd" => zstd::decode_all(&compressed[..]).unwrap(),
            _ => {
                let mut decoded = Vec::new();
                let mut decoder = flate2::read::GzDecoder::new(&compressed[..]);
                std::io::Read::read_to_end(&mut decoder, &mut decoded).unwrap();
                decoded
            }
        };
        assert!(decoded == plain, "{encoding}");
    }
}
