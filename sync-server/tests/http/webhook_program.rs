//! Webhooks of the program: by command, and over a kill.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::Program;
use crate::webhook_receiver::{Answer, WebhookReceiver};

// Programs are waited for while the receiver answers them.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_goes_on_where_it_was_with_the_same_message_and_says_no_secret() {
    let program = Program::new();
    program.add_venue();
    let receiver = WebhookReceiver::start().await;
    let url = receiver.url();
    let run = |args: Vec<String>| {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        program.run(&args)
    };
    let add = [
        "webhook",
        "add",
        &url,
        "--name",
        "office",
        "--carries",
        "conflicts,sessions,check_ins",
    ];
    let secret = run([&add[..], &["--insecure-http"]]
        .concat()
        .iter()
        .map(|arg| (*arg).to_owned())
        .collect());
    let listed: Value = serde_json::from_str(&program.run(&["webhook", "list"])).unwrap();
    let id = listed["webhook_id"].to_string();
    let refused = program.refused(&["webhook", "test", &id]);
    assert!(refused.contains("--webhook-allow"), "{refused}");
    let allow = ["--webhook-allow", "127.0.0.0/8"];
    program.run(&[&["webhook", "test", &id][..], &allow].concat());
    assert!(receiver.sent()[0].is_signed_with(&secret));

    let key = program.add_key("admin");
    let logs = program.data().join("log");
    let serve = || {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&logs);
        program.serve_logging(&allow, "trace", Stdio::from(log.unwrap()))
    };
    let serving = serve();
    let ask = async |address: &str, method: &str, path: &str, body: Value| -> Value {
        let request = crate::site::client()
            .request(method.parse().unwrap(), format!("http://{address}{path}"))
            .bearer_auth(&key)
            .json(&body);
        crate::site::read(request.send().await.unwrap()).await
    };
    // A session that nothing is waited for is final at once, whoever looks.
    let past = json!({"starts_at": 1_790_820_000, "ends_at": 1_790_827_200});
    receiver.answers([Answer::Silence]);
    ask(&serving.address, "PUT", "/v1/sessions/one", past.clone()).await;
    drop(serving);
    let serving = serve();
    let first = receiver.has(2).await;
    serving.signal("KILL");
    assert!(!serving.ended());
    let serving = serve();
    let sent = receiver.has(3).await;
    assert_eq!(first[1].json()["data"]["session_id"], "one");
    assert_eq!((&sent[1].id, &sent[1].body), (&sent[2].id, &sent[2].body));
    assert!(sent.iter().all(|one| one.is_signed_with(&secret)));
    drop(serving);
    let log = std::fs::read_to_string(&logs).unwrap();
    assert!(!log.contains(&secret) && !log.contains("TOKEN-IN-URL"));
}
