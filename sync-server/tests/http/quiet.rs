//! What the log says of a day: each line of a request by the request's id, and of nobody a name, a
//! phone, a document, a token or a code.

use std::fs;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use stile_core::keys::DeviceSigningKey;
use stile_core::protocol::{EnrolRequest, Enrolment, EnrolmentText};
use stile_core::time::EpochMillis;
use uuid::Uuid;

use crate::program::Program;
use crate::site::{Gatekeeper, client, read};

/// What visitors and staff are called by, and what must not be in a log for other reasons.
const PERSONAL: &[&str] = &[
    "李晓明",
    "Li Xiaoming",
    "13800005678",
    "110101199003070000",
    "E12345678",
    "VIP-TICKET",
    "OPAQUE1234567",
    "246810",
];

/// A back end and a gate on their way through a day.
struct Day {
    address: String,
    key: String,
    client: Client,
    /// What this day made that nobody else may see.
    secrets: Vec<String>,
}

impl Day {
    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.client.request(method.parse().unwrap(), url)
    }

    fn admin(&self, method: &str, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&self.key)
    }

    async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let request = self.admin(method, path).json(&body);
        read(request.send().await.unwrap()).await
    }

    async fn is_furnished(&self) {
        let now = now().0 / 1000;
        let session = json!({"starts_at": now - 3600, "ends_at": now + 3600});
        self.done("PUT", "/v1/sessions/now", session).await;
        self.done("PUT", "/v1/gates/north", json!({})).await;
        let operator = json!({"name": "李晓明", "role": "guard", "pin": "246810"});
        self.done("PUT", "/v1/operators/li", operator).await;
        let lines = "ticket_id,order_number,session_id,holder_name,phone,document\n\
                     VIP-TICKET,O-1,now,李晓明,13800005678,E12345678\n\
                     13800005678!,O-2,now,Li Xiaoming,13800005678,110101199003070000\n";
        let import = self.admin("POST", "/v1/tickets").body(lines);
        let import = import.header("content-type", "text/csv; charset=utf-8");
        let _: Value = read(import.send().await.unwrap()).await;
    }

    async fn enrols_a_gate(&mut self) -> Gatekeeper {
        let invited = self.done(
            "POST",
            "/v1/enrolments",
            json!({"gates": ["north"], "confirm": false}),
        );
        let invited: Enrolment = serde_json::from_value(invited.await).unwrap();
        let text: EnrolmentText = invited.text.parse().unwrap();
        self.secrets.push(text.token.clone());
        let key = DeviceSigningKey::from_seed(&[5; 32]);
        let request = EnrolRequest {
            token: text.token,
            name: "李晓明".to_owned(),
            model: String::new(),
            public_key: key.verifying_key().to_base64(),
        };
        let enrol = self.request("POST", "/v1/gate/enrol").json(&request);
        let gate = Gatekeeper {
            key,
            answer: read(enrol.send().await.unwrap()).await,
            log: Uuid::from_bytes([5; 16]),
            made: 0,
        };
        self.secrets.push(gate.bearer().to_owned());
        gate
    }

    /// A ticket's code, an admission by it, and another one that the server sets aside.
    async fn admits(&mut self, gate: &mut Gatekeeper) {
        let minted = self.done(
            "POST",
            "/v1/codes",
            json!({"codes": [{"ticket_id": "VIP-TICKET", "format": "G2"}]}),
        );
        let minted = minted.await;
        let code = minted["codes"][0]["code"].as_str().unwrap().to_owned();
        self.secrets.push(code);
        let records = ["VIP-TICKET", "110101199003070000"].map(|ticket| {
            let ticket = json!({"ticket_id": ticket, "ticket_number": null, "service_day": null});
            gate.admits_at(now(), &ticket)
        });
        let upload = self.request("POST", "/v1/gate/records");
        let upload = upload
            .bearer_auth(gate.bearer())
            .json(&gate.batch(&records));
        let _: Value = read(upload.send().await.unwrap()).await;
    }

    /// What is refused, by clients that put into each place what does not belong there.
    async fn goes_wrong(&self, gate: &Gatekeeper) {
        let verify = json!({"code": "OPAQUE1234567"});
        let wrong = [
            self.admin("GET", "/v1/tickets/13800005678"),
            self.admin("GET", "/v1/tickets/VIP-TICKET/13800005678"),
            self.admin("GET", "/v1/records?after=13800005678&E12345678=1"),
            self.admin("13800005678", "/v1/gates"),
            self.admin("PUT", "/v1/policy")
                .json(&json!({"13800005678": 1})),
            self.admin("PUT", "/v1/operators/li")
                .json(&json!({"name": "Li Xiaoming", "pin": "246810", "role": "246810"})),
            self.admin("GET", "/v1/gates")
                .header("x-request-id", "13800005678")
                .header("traceparent", "00-13800005678-E12345678-01")
                .header("user-agent", "E12345678"),
            self.request("GET", "/v1/gates").bearer_auth("13800005678"),
            self.request("POST", "/v1/gate/codes/verify")
                .bearer_auth(gate.bearer())
                .json(&verify),
            self.request("POST", "/v1/gate/enrol").json(&json!({
                "token": "E12345678", "name": "李晓明", "model": "",
                "public_key": gate.key.verifying_key().to_base64(),
            })),
        ];
        for request in wrong {
            request.send().await.unwrap();
        }
    }
}

fn now() -> EpochMillis {
    use stile_sync_server::clock::{Clock, SystemClock};
    SystemClock.now()
}

/// The log of a day, and the secrets that were used on it.
fn log_of_a_day(format: &str, level: &str) -> (String, Vec<String>) {
    let program = Program::new();
    program.add_venue();
    let key = program.add_key("admin");
    let file = program.data().join("log");
    let stderr = fs::File::create(&file).unwrap();
    let serving = program.serve_logging(&["--log-format", format], level, stderr.into());
    let mut day = Day {
        address: serving.address.clone(),
        secrets: vec![key.clone()],
        key,
        client: client(),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        day.is_furnished().await;
        let mut gate = day.enrols_a_gate().await;
        day.admits(&mut gate).await;
        day.goes_wrong(&gate).await;
    });
    drop(day.client);
    serving.signal("TERM");
    assert!(serving.ended());
    (fs::read_to_string(&file).unwrap(), day.secrets)
}

#[test]
fn situation_23_a_days_log_names_nobody_and_holds_no_secret() {
    for (format, level) in [("plain", "info"), ("json", "debug")] {
        let (log, secrets) = log_of_a_day(format, level);
        for said in [
            "/v1/gate/records",
            "records were set aside",
            "/v1/tickets/{ticket_id}",
            "unauthorized",
            "enrolment_refused",
        ] {
            assert!(log.contains(said), "{said} is not in {log}");
        }
        let personal = PERSONAL.iter().map(|text| (*text).to_owned());
        for kept in personal.chain(secrets) {
            assert!(!log.contains(&kept), "{kept} is in {log}");
        }
    }
}

#[test]
fn each_line_that_is_logged_for_a_request_has_its_id_and_its_trace() {
    for level in ["info", "warn"] {
        let (log, _) = log_of_a_day("json", level);
        let lines = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_requests = |line: &Value| line["span"]["name"] == "request";
        let mut count = 0;
        for line in lines.filter(of_requests) {
            let (id, trace) = (&line["span"]["request_id"], &line["span"]["trace"]);
            assert_eq!(id.as_str().unwrap().len(), 32, "{line}");
            assert_eq!(trace.as_str().unwrap().len(), 32, "{line}");
            count += 1;
        }
        // At least the line of what was set aside, which is a warning.
        assert!(count >= if level == "info" { 15 } else { 1 }, "{log}");
        assert!(level == "warn" || log.contains(r#""message":"answered""#));
    }
}

#[tokio::test]
async fn an_answer_has_the_id_that_its_request_came_with_or_a_new_one() {
    let site = crate::site::Site::start().await;
    let sent = "0190b5a4-7c1e-7d3a-9f00-3c2b1a0d9e8f";
    let get = |path: &str, id: &str| site.request("GET", path).header("x-request-id", id).send();
    for path in ["/healthz", "/v1/gates", "/nowhere"] {
        let answer = get(path, sent).await.unwrap();
        assert_eq!(answer.headers()["x-request-id"], sent, "{path}");
        let answer = get(path, "13800005678").await.unwrap();
        let made = answer.headers()["x-request-id"].to_str().unwrap();
        assert_eq!(made.len(), 32, "{path}");
    }
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let request = site
        .request("GET", "/v1/gates")
        .header("traceparent", parent);
    let answer = request.send().await.unwrap().text().await.unwrap();
    let problem: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(problem["trace"], trace);
}
