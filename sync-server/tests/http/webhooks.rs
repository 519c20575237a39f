//! Webhooks, as those who receive them and those who manage them see them.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use stile_sync_server::config::{Limits, Webhooks};
use tokio::task::JoinHandle;

use crate::site::{Gatekeeper, Site, refusal};
use crate::webhook_receiver::{Answer, Sent, WebhookReceiver};

/// As a server delivers, but that it tries again at once and gives up soon.
fn settings() -> Webhooks {
    Webhooks {
        allow: vec!["127.0.0.0/8".parse().unwrap()],
        look_every: Duration::from_millis(5),
        retry_base: Duration::from_millis(1),
        retry_cap: Duration::from_millis(5),
        ..Webhooks::default()
    }
}

struct Stage {
    site: Site,
    device: Gatekeeper,
    tickets: Vec<Value>,
    receiver: WebhookReceiver,
    delivering: Option<JoinHandle<()>>,
}

impl Stage {
    /// A site where nothing is delivered yet.
    async fn set() -> Self {
        let limits = Limits {
            webhooks: settings(),
            ..Limits::default()
        };
        let site = Site::start_with(limits).await;
        site.furnish().await;
        let device = site.enrol(1).await;
        let tickets = site.some_tickets(250).await;
        let receiver = WebhookReceiver::start().await;
        Self {
            site,
            device,
            tickets,
            receiver,
            delivering: None,
        }
    }

    /// A webhook to the receiver: its id and its secret.
    async fn webhook(&self, members: Value) -> (i64, String) {
        let mut new = json!({
            "name": "back office", "url": self.receiver.url(), "insecure_http": true,
            "carries": ["check_ins"],
        });
        let members = members.as_object().unwrap().clone();
        new.as_object_mut().unwrap().extend(members);
        let made: Value = self.site.done("POST", "/v1/webhooks", new).await;
        let secret = made["secret"].as_str().unwrap().to_owned();
        (made["webhook_id"].as_i64().unwrap(), secret)
    }

    /// A server begins to deliver, in place of the one before.
    fn deliver(&mut self, settings: Webhooks) {
        if let Some(before) = self.delivering.take() {
            before.abort();
        }
        let delivering = self.site.server.clone().deliver_webhooks(settings);
        self.delivering = Some(tokio::spawn(async move {
            delivering.await.unwrap();
        }));
    }

    async fn check_ins(&mut self, tickets: std::ops::Range<usize>) {
        let admitted: Vec<Value> = tickets
            .map(|n| self.device.admits(&self.site, &self.tickets[n]))
            .collect();
        self.site.upload(&self.device, &admitted).await;
    }

    async fn shown(&self) -> Value {
        let listed: Value = self.site.done("GET", "/v1/webhooks", Value::Null).await;
        listed["webhooks"][0].clone()
    }

    /// The webhook as it is shown, once that is so.
    async fn shows(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let ask = async || Some(self.shown().await).filter(&is_so);
        self.site.awaited(ask).await
    }

    async fn test(&self, id: i64) -> Value {
        let path = format!("/v1/webhooks/{id}/test");
        self.site.done("POST", &path, Value::Null).await
    }
}

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("T{n}")).collect()
}

fn tickets(sent: &[Sent]) -> Vec<String> {
    sent.iter().flat_map(Sent::tickets).collect()
}

#[tokio::test]
async fn check_ins_come_in_order_signed_and_in_pieces_however_often_the_receiver_fails() {
    let mut stage = Stage::set().await;
    stage.check_ins(0..2).await;
    let (id, secret) = stage.webhook(json!({})).await;
    stage.check_ins(2..250).await;
    let fails = [500, 429, 302, 404].map(Answer::Status);
    stage.receiver.answers(fails);
    stage.deliver(settings());
    let sent = stage.receiver.has(7).await;
    let shown = stage
        .shows(|webhook| webhook["delivered_at"].is_i64())
        .await;
    // What was there before the webhook is not its business.
    assert_eq!(tickets(&sent[4..]), names(2..250));
    assert!(sent.iter().all(|one| one.is_signed_with(&secret)));
    let ids: Vec<_> = sent.iter().map(|one| one.id.as_str()).collect();
    assert!(ids[..5].iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(ids[4] != ids[5] && ids[5] != ids[6], "{ids:?}");
    assert!(sent[..5].iter().all(|one| one.body == sent[0].body));
    let first = sent[0].json();
    assert_eq!(first["type"], "check_ins.added");
    assert_eq!(first["venue"], "museum");
    assert_eq!(first["id"], ids[0]);
    assert!(first["time"].is_i64());
    assert_eq!(first["data"]["records"].as_array().unwrap().len(), 100);
    assert_eq!(first["data"]["records"][0]["standing"], "winner");
    assert_eq!(shown["webhook_id"], id);
    assert_eq!(shown["failing"], Value::Null);
}

#[tokio::test]
async fn a_delivery_that_ends_half_way_goes_on_with_the_same_message() {
    let mut stage = Stage::set().await;
    stage.webhook(json!({})).await;
    stage.check_ins(0..3).await;
    stage.receiver.answers([Answer::Silence]);
    stage.deliver(settings());
    stage.receiver.has(1).await;
    // More comes meanwhile, and must not change what was begun.
    stage.check_ins(3..5).await;
    stage.deliver(settings());
    let sent = stage.receiver.has(3).await;
    assert_eq!((&sent[0].id, &sent[0].body), (&sent[1].id, &sent[1].body));
    assert_ne!(sent[1].id, sent[2].id);
    assert_eq!(tickets(&sent[1..]), names(0..5));
}

#[tokio::test]
async fn conflicts_and_final_sessions_are_told_after_the_check_ins_that_made_them() {
    let mut stage = Stage::set().await;
    let carries = json!({"carries": ["check_ins", "sessions", "conflicts", "sessions"]});
    stage.webhook(carries).await;
    stage.check_ins(0..1).await;
    stage.check_ins(0..1).await;
    let now = stage.site.server.now().seconds().0;
    let session = json!({"starts_at": now - 3600, "ends_at": now - 60});
    let put: Value = stage.site.done("PUT", "/v1/sessions/now", session).await;
    let device = stage.device.answer.device_id.clone();
    let out = format!("/v1/devices/{device}/out-of-use");
    let response = stage.site.admin("POST", &out).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    stage.site.server.finalize().await.unwrap();
    stage.deliver(settings());
    let sent = stage.receiver.has(3).await;
    assert_eq!(tickets(&sent[..1]), ["T0", "T0"]);
    let (conflict, last) = (sent[1].json(), sent[2].json());
    let day = &put["service_day"];
    assert_eq!(conflict["type"], "conflict.opened");
    assert_eq!(
        conflict["data"],
        json!({"ticket_id": "T0", "service_day": day, "checkpoint": "entry"})
    );
    assert_eq!(last["type"], "session.finalized");
    assert_eq!(last["data"]["session_id"], "now");
    assert_eq!(&last["data"]["service_day"], day);
}

#[tokio::test]
async fn alarms_are_told_when_they_open_and_when_they_are_over() {
    let mut stage = Stage::set().await;
    stage.webhook(json!({"carries": ["alarms"]})).await;
    stage
        .webhook(json!({"carries": ["alarms"], "template": "slack", "name": "群"}))
        .await;
    stage
        .webhook(json!({"carries": ["alarms"], "template": "slack", "language": "en"}))
        .await;
    let now = stage.site.server.now().seconds().0;
    let policy = json!({"formats": ["G2"], "alarms": {"tickets_due": "00:00"}});
    let _: Value = stage.site.done("PUT", "/v1/policy", policy).await;
    let session = json!({"starts_at": now + 86_400, "ends_at": now + 90_000});
    let put: Value = stage.site.done("PUT", "/v1/sessions/next", session).await;
    let day = put["service_day"].as_str().unwrap();
    // Nobody's other day is looked at.
    let path = format!("/v1/alarms?all=true&before={}", i64::MAX >> 10);
    stage.site.server.check_alarms().await.unwrap();
    let listed: Value = stage.site.done("GET", &path, Value::Null).await;
    let of_day = |alarm: &Value| (alarm["thing"] == day).then(|| alarm.clone());
    let alarm = listed["alarms"].as_array().unwrap().iter().find_map(of_day);
    let alarm = alarm.unwrap_or_else(|| panic!("{listed}"));
    let tickets = "ticket_id,order_number,session_id\nN1,O,next\n";
    let imported = stage.site.import("text/csv", tickets).send().await.unwrap();
    assert!(imported.status().is_success());
    stage.site.server.check_alarms().await.unwrap();
    stage.deliver(settings());
    let sent = stage.receiver.has(6).await;
    let plain = |kind: &str| {
        let mut all = sent.iter().map(Sent::json);
        all.find(|sent| sent["type"] == kind).unwrap()
    };
    let (opened, ended) = (plain("alarm.opened"), plain("alarm.ended"));
    assert_eq!(
        opened["data"],
        json!({"alarm_id": alarm["alarm_id"], "kind": "no_tickets_tomorrow", "thing": day,
               "service_day": day, "sessions": 1, "opened_at": alarm["opened_at"]})
    );
    assert_eq!(ended["data"]["alarm_id"], alarm["alarm_id"]);
    assert!(ended["data"]["ended_at"].is_i64());
    let all = sent.iter().map(Sent::json);
    let texts = all.filter_map(|sent| Some(sent["text"].as_str()?.to_owned()));
    let (chinese, english): (Vec<_>, Vec<_>) = texts.partition(|text| text.starts_with('【'));
    assert_eq!(
        chinese,
        [
            format!("【museum】告警：{day} 有 1 个场次，却一张票也没有。"),
            format!("【museum】告警已解除：{day} 有 1 个场次，却一张票也没有。")
        ]
    );
    assert_eq!(
        english,
        [
            format!("museum: ALARM: {day} has sessions (1), and not one ticket."),
            format!("museum: no longer so: {day} has sessions (1), and not one ticket.")
        ]
    );
}

#[tokio::test]
async fn events_that_a_webhook_does_not_carry_are_passed_over() {
    let mut stage = Stage::set().await;
    stage.webhook(json!({"carries": ["sessions"]})).await;
    stage.check_ins(0..1).await;
    stage.check_ins(0..1).await;
    stage.deliver(settings());
    let now = stage.site.server.now().seconds().0;
    let session = json!({"starts_at": now - 3600, "ends_at": now - 60});
    let _: Value = stage.site.done("PUT", "/v1/sessions/past", session).await;
    let device = stage.device.answer.device_id.clone();
    let out = format!("/v1/devices/{device}/out-of-use");
    stage.site.admin("POST", &out).send().await.unwrap();
    stage.site.server.finalize().await.unwrap();
    let sent = stage.receiver.has(1).await;
    assert_eq!(sent[0].json()["type"], "session.finalized");
}

#[tokio::test]
async fn what_is_wrong_is_shown_and_after_long_failing_it_is_paused_and_loses_nothing() {
    let mut stage = Stage::set().await;
    let (id, _) = stage.webhook(json!({})).await;
    stage.check_ins(0..1).await;
    stage.receiver.answers([Answer::Status(503)]);
    let waits = Webhooks {
        patience: Duration::ZERO,
        ..settings()
    };
    stage.deliver(waits);
    let shown = stage.shows(|webhook| webhook["paused_at"].is_i64()).await;
    assert_eq!(shown["failing"]["problem"], "it answers 503");
    assert_eq!(shown["failing"]["attempts"], 1);
    assert_eq!(shown["failing"]["next_at"], Value::Null);
    stage.check_ins(1..2).await;
    let path = format!("/v1/webhooks/{id}/resume");
    let resumed: Value = stage.site.done("POST", &path, Value::Null).await;
    assert_eq!(resumed["paused_at"], Value::Null);
    let sent = stage.receiver.has(3).await;
    assert_eq!(sent[0].id, sent[1].id);
    assert_eq!(tickets(&sent[1..]), names(0..2));
}

#[tokio::test]
async fn a_receiver_that_asks_for_time_is_given_it() {
    let mut stage = Stage::set().await;
    let (id, _) = stage.webhook(json!({})).await;
    stage.check_ins(0..1).await;
    let asked = Answer::With(429, "retry-after", "3600".into());
    stage.receiver.answers([asked]);
    stage.deliver(settings());
    let shown = stage.shows(|webhook| webhook["failing"].is_object()).await;
    let failing = &shown["failing"];
    let wait = failing["next_at"].as_i64().unwrap() - failing["at"].as_i64().unwrap();
    assert_eq!(wait, 3_600_000);
    // A person need not wait.
    let path = format!("/v1/webhooks/{id}/resume");
    let _: Value = stage.site.done("POST", &path, Value::Null).await;
    assert_eq!(tickets(&stage.receiver.has(2).await[1..]), names(0..1));
}

#[tokio::test]
async fn nobody_is_followed_to_another_place() {
    let stage = Stage::set().await;
    let elsewhere = WebhookReceiver::start().await;
    let (id, _) = stage.webhook(json!({})).await;
    for status in [301, 302, 303, 307, 308] {
        let to = Answer::With(status, "location", elsewhere.url());
        stage.receiver.answers([to]);
        let tested = stage.test(id).await;
        assert_eq!(tested["delivered"], false);
        let problem = tested["problem"].as_str().unwrap();
        assert!(problem.contains("another place"), "{problem}");
    }
    assert_eq!(elsewhere.sent().len(), 0);
}

#[tokio::test]
async fn addresses_beside_the_server_are_refused_by_number_and_by_name_unless_they_are_allowed() {
    let site = Site::start().await;
    let receiver = WebhookReceiver::start().await;
    let allowed = Webhooks {
        allow: vec!["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()],
        ..settings()
    };
    let venue = crate::site::VENUE.parse().unwrap();
    for host in ["127.0.0.1", "localhost", "0x7f.1", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/hook", receiver.port);
        let new =
            json!({"name": host, "url": url, "carries": ["check_ins"], "insecure_http": true});
        let made: Value = site.done("POST", "/v1/webhooks", new).await;
        let path = format!("/v1/webhooks/{}/test", made["webhook_id"]);
        let before = receiver.sent().len();
        let tested: Value = site.done("POST", &path, Value::Null).await;
        let problem = tested["problem"].as_str().unwrap();
        assert!(problem.contains("--webhook-allow"), "{host}: {problem}");
        assert_eq!(receiver.sent().len(), before, "{host}");
        let id = serde_json::from_value(made["webhook_id"].clone()).unwrap();
        let tested = site
            .server
            .test_webhook(&venue, id, &allowed)
            .await
            .unwrap();
        assert!(tested.delivered, "{host}: {tested:?}");
        assert_eq!(receiver.sent().len(), before + 1, "{host}");
    }
}

#[tokio::test]
async fn answers_that_do_not_come_or_do_not_end_are_given_up() {
    let stage = Stage::set().await;
    let (plain, _) = stage.webhook(json!({})).await;
    let (robot, _) = stage.webhook(json!({"template": "wecom"})).await;
    let impatient = Webhooks {
        request_time: Duration::from_millis(200),
        ..settings()
    };
    let venue = crate::site::VENUE.parse().unwrap();
    let test = async |id, answer| {
        stage.receiver.answers([answer]);
        let id = stile_core::protocol::WebhookId(id);
        let tested = stage.site.server.test_webhook(&venue, id, &impatient);
        tested.await.unwrap()
    };
    let late = test(plain, Answer::Silence).await;
    assert_eq!(late.problem.unwrap(), "it took too long to answer");
    // A program's answer is in its status; of a robot's, no more is read than one can have.
    assert!(test(plain, Answer::Endless).await.delivered);
    let endless = test(robot, Answer::Endless).await;
    assert!(endless.problem.unwrap().contains("no errcode"));
}

#[tokio::test]
async fn chat_robots_get_a_sentence_without_anybody_in_it_and_are_heard_when_they_refuse() {
    let stage = Stage::set().await;
    let zh = "【museum】这是一条测试消息，可以忽略。";
    let en = "museum: this is a test message and can be ignored.";
    let wecom = |text: &str| json!({"msgtype": "text", "text": {"content": text}});
    for (template, language, took, refused, body) in [
        (
            "wecom",
            "zh-CN",
            r#"{"errcode":0}"#,
            r#"{"errcode":45009}"#,
            wecom(zh),
        ),
        (
            "dingtalk",
            "zh-CN",
            r#"{"errcode":0}"#,
            r#"{"errcode":310000}"#,
            wecom(zh),
        ),
        (
            "feishu",
            "en",
            r#"{"code":0}"#,
            r#"{"code":19024}"#,
            json!({"msg_type": "text", "content": {"text": en}}),
        ),
        ("slack", "en", "ok", "", json!({"text": en})),
    ] {
        let members = json!({"template": template, "language": language});
        let (id, _) = stage.webhook(members).await;
        stage.receiver.answers([Answer::Body(took)]);
        assert_eq!(
            stage.test(id).await,
            json!({"delivered": true}),
            "{template}"
        );
        assert_eq!(
            stage.receiver.sent().last().unwrap().json(),
            body,
            "{template}"
        );
        if !refused.is_empty() {
            stage.receiver.answers([Answer::Body(refused)]);
            let tested = stage.test(id).await;
            let problem = tested["problem"].as_str().unwrap();
            assert!(problem.contains("refuses it with"), "{template}: {problem}");
        }
    }
}

#[tokio::test]
async fn a_conflict_in_a_chat_group_names_no_ticket() {
    let mut stage = Stage::set().await;
    let members = json!({"template": "dingtalk", "carries": ["check_ins", "conflicts"]});
    stage.webhook(members).await;
    stage
        .receiver
        .answers([r#"{"errcode":0}"#; 2].map(Answer::Body));
    stage.check_ins(0..1).await;
    stage.check_ins(0..1).await;
    stage.deliver(settings());
    let sent = stage.receiver.has(2).await;
    let text = |sent: &Sent| sent.json()["text"]["content"].as_str().unwrap().to_owned();
    assert_eq!(text(&sent[0]), "【museum】新增 2 条检票记录。");
    let day = stage.tickets[0]["service_day"].as_str().unwrap();
    assert_eq!(
        text(&sent[1]),
        format!(
            "【museum】{day} 检票点 entry 有一张票的入场人数超出票面人数，请在冲突列表中核实。"
        )
    );
}

#[tokio::test]
async fn a_webhook_is_made_only_as_it_can_work_and_is_removed_for_good() {
    let mut stage = Stage::set().await;
    for (members, said) in [
        (json!({"url": "http://example.org/"}), "insecure_http"),
        (
            json!({"url": "ftp://example.org/", "insecure_http": true}),
            "https://",
        ),
        (json!({"url": "example.org"}), "no URL"),
        (
            json!({"url": "https://me:secret@example.org/"}),
            "user name",
        ),
        (json!({"carries": []}), "at least one"),
    ] {
        let mut new = json!({"name": "x", "url": "https://example.org/", "carries": ["sessions"]});
        new.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        let request = stage.site.admin("POST", "/v1/webhooks").json(&new);
        let (status, _, problem) = refusal(request.send().await.unwrap()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{new}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{detail}");
    }
    let (id, secret) = stage.webhook(json!({})).await;
    let listed: Value = stage.site.done("GET", "/v1/webhooks", Value::Null).await;
    let text = listed.to_string();
    assert!(
        !text.contains(&secret) && !text.contains("TOKEN-IN-URL"),
        "{text}"
    );
    let origin = format!("http://127.0.0.1:{}", stage.receiver.port);
    assert_eq!(listed["webhooks"][0]["origin"], origin);
    let path = format!("/v1/webhooks/{id}");
    let gone = async |stage: &Stage| {
        stage
            .site
            .admin("DELETE", &path)
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(gone(&stage).await, StatusCode::NO_CONTENT);
    assert_eq!(gone(&stage).await, StatusCode::NOT_FOUND);
    let audit: Value = stage.site.done("GET", "/v1/audit", Value::Null).await;
    let acts = audit["acts"].as_array().unwrap();
    let last: Vec<_> = acts.iter().rev().take(3).map(|act| &act["act"]).collect();
    assert_eq!(last, ["webhook.remove", "webhook.remove", "webhook.make"]);
    assert!(!audit.to_string().contains(&secret));
    // Another one gets what comes, and the removed one nothing.
    stage.webhook(json!({})).await;
    stage.check_ins(0..1).await;
    stage.deliver(settings());
    assert_eq!(tickets(&stage.receiver.has(1).await), names(0..1));
    stage
        .shows(|webhook| webhook["delivered_at"].is_i64())
        .await;
    assert_eq!(stage.receiver.sent().len(), 1);
}

#[tokio::test]
async fn a_message_has_the_trace_of_the_request_that_brought_what_it_tells() {
    let mut stage = Stage::set().await;
    stage
        .webhook(json!({ "carries": ["check_ins", "conflicts"] }))
        .await;
    let mut other = stage.site.enrol(2).await;
    let traces = [
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "0af7651916cd43dd8448eb211c80319c",
    ];
    let record = |device: &mut Gatekeeper, stage: &Stage, n: usize| {
        device.admits(&stage.site, &stage.tickets[n])
    };
    let upload = async |stage: &Stage, device: &Gatekeeper, trace: &str, records: &[Value]| {
        let request = stage.site.request("POST", "/v1/gate/records");
        let request = request
            .bearer_auth(device.bearer())
            .header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"))
            .json(&device.batch(records));
        assert!(request.send().await.unwrap().status().is_success());
    };
    let mut device = stage.site.enrol(3).await;
    let records = [
        record(&mut device, &stage, 0),
        record(&mut device, &stage, 1),
    ];
    upload(&stage, &device, traces[0], &records).await;
    stage.receiver.answers([Answer::Status(500)]);
    stage.deliver(settings());
    let sent = stage.receiver.has(2).await;
    let of = |one: &Sent| {
        one.traceparent
            .split('-')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for one in &sent {
        let parts = of(one);
        assert_eq!(parts[..2], ["00", traces[0]]);
        assert_eq!(parts[2].len(), 16);
        assert_ne!(parts[2], "00f067aa0ba902b7", "the server's own part of it");
    }
    stage.shows(|shown| shown["delivered_at"].is_i64()).await;

    // Two requests in one message: a trace of its own. A conflict has that of the upload that
    // made it.
    stage.delivering.take().unwrap().abort();
    let first = [record(&mut device, &stage, 2)];
    upload(&stage, &device, traces[0], &first).await;
    let second = [record(&mut other, &stage, 2)];
    upload(&stage, &other, traces[1], &second).await;
    stage.deliver(settings());
    let sent = stage.receiver.has(4).await;
    assert_eq!(tickets(&sent[2..3]), ["T2", "T2"]);
    let own = of(&sent[2]);
    assert!(
        own[1].len() == 32 && !traces.contains(&own[1].as_str()),
        "{own:?}"
    );
    assert_eq!(sent[3].json()["type"], "conflict.opened");
    assert_eq!(of(&sent[3])[1], traces[1]);
}
