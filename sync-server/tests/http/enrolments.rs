//! A device that waits for an operator: what it hears, what the operator sees, and what ends it.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use stile_core::keys::DeviceSigningKey;
use stile_core::protocol::{
    EnrolRequest, EnrolWaiting, Enrolment, EnrolmentDigits, EnrolmentState, EnrolmentText,
    EnrolmentView, Enrolments,
};

use crate::site::{Site, read, refusal};

async fn site() -> Site {
    let site = Site::start().await;
    site.furnish().await;
    site
}

async fn invite(site: &Site) -> (Enrolment, EnrolmentText) {
    let invited: Enrolment = site
        .done("POST", "/v1/enrolments", json!({"gates": ["north"]}))
        .await;
    let text = invited.text.parse().unwrap();
    (invited, text)
}

fn key(seed: u8) -> DeviceSigningKey {
    DeviceSigningKey::from_seed(&[seed; 32])
}

/// A device of this key shows the text.
async fn present(site: &Site, text: &EnrolmentText, seed: u8) -> Response {
    let request = EnrolRequest {
        token: text.token.clone(),
        name: format!("device {seed}"),
        model: "test".to_owned(),
        public_key: key(seed).verifying_key().to_base64(),
    };
    let request = site.request("POST", "/v1/gate/enrol").json(&request);
    request.send().await.unwrap()
}

/// What stands on that device.
fn digits(text: &EnrolmentText, seed: u8) -> EnrolmentDigits {
    let key = key(seed).verifying_key();
    EnrolmentDigits::derive(&text.token, &text.root_fingerprint, &key).unwrap()
}

/// What a refusal says for people.
fn said((_, _, problem): &(StatusCode, String, Value)) -> &str {
    problem["detail"].as_str().unwrap()
}

async fn confirm(site: &Site, invited: &Enrolment, digits: impl Into<String>) -> Response {
    let path = format!("/v1/enrolments/{}/confirm", invited.enrolment_id);
    let request = site.admin("POST", &path);
    let request = request.json(&json!({ "digits": digits.into() }));
    request.send().await.unwrap()
}

async fn open(site: &Site) -> Vec<EnrolmentView> {
    let answer: Enrolments = site.done("GET", "/v1/enrolments", Value::Null).await;
    answer.enrolments
}

#[tokio::test]
async fn a_device_waits_until_an_operator_gives_the_digits_that_it_shows() {
    let site = site().await;
    let (invited, text) = invite(&site).await;
    assert_eq!(open(&site).await[0].state, EnrolmentState::Open);
    let early = confirm(&site, &invited, digits(&text, 1)).await;
    assert_eq!(refusal(early).await.0, StatusCode::CONFLICT);

    for _ in 0..2 {
        let answer = present(&site, &text, 1).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        assert_eq!(answer.headers()["retry-after"], "2");
        let waiting: EnrolWaiting = read(answer).await;
        assert_eq!(waiting.enrolment_id, invited.enrolment_id);
        assert_eq!(waiting.expires_at, invited.expires_at);
    }
    let seen = &open(&site).await[0];
    assert_eq!(seen.state, EnrolmentState::Waiting);
    assert_eq!(seen.device.as_ref().unwrap().name, "device 1");
    let listed = site.admin("GET", "/v1/enrolments").send().await.unwrap();
    let listed = listed.text().await.unwrap();
    let shown = String::from(digits(&text, 1));
    assert!(!listed.contains(&shown), "the digits are the device's");

    let confirmed: EnrolmentView = read(confirm(&site, &invited, digits(&text, 1)).await).await;
    assert_eq!(confirmed.state, EnrolmentState::Confirmed);
    assert!(confirmed.expires_at >= invited.expires_at);
    let enrolled: Value = read(present(&site, &text, 1).await).await;
    let again: Value = read(present(&site, &text, 1).await).await;
    assert_eq!(enrolled, again, "a lost answer is asked for again");
    // Said twice, and taken back too late: it stays enrolled.
    let twice: EnrolmentView = read(confirm(&site, &invited, digits(&text, 1)).await).await;
    assert_eq!(twice.state, EnrolmentState::Enrolled);
    let path = format!("/v1/enrolments/{}/refuse", invited.enrolment_id);
    let late = site.admin("POST", &path).send().await.unwrap();
    assert_eq!(refusal(late).await.0, StatusCode::NOT_FOUND);
    assert_eq!(open(&site).await, []);

    let audit: Value = site.done("GET", "/v1/audit", Value::Null).await;
    let acts = audit["acts"].as_array().unwrap();
    let of_it = |act: &str| {
        let id = invited.enrolment_id.as_str();
        let mut acts = acts.iter();
        acts.any(|row| row["act"] == act && row["thing"] == id && row["result"] == "done")
    };
    assert!(of_it("device.invite") && of_it("device.confirm"), "{audit}");
}

#[tokio::test]
async fn five_wrong_digits_end_an_invitation_and_the_right_ones_come_too_late() {
    let site = site().await;
    let (invited, text) = invite(&site).await;
    present(&site, &text, 1).await;
    // What another key would show is as wrong as any other.
    for (seed, left) in [
        (2, "tries left: 4"),
        (3, "left: 3"),
        (4, "left: 2"),
        (5, "left: 1"),
    ] {
        let wrong = refusal(confirm(&site, &invited, digits(&text, seed)).await).await;
        assert_eq!(wrong.0, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(said(&wrong).contains(left), "{}", wrong.2);
    }
    assert_eq!(open(&site).await[0].wrong_digits, 4);
    let last = refusal(confirm(&site, &invited, digits(&text, 6)).await).await;
    assert!(said(&last).contains("the invitation is over"), "{}", last.2);
    let right = confirm(&site, &invited, digits(&text, 1)).await;
    assert_eq!(refusal(right).await.0, StatusCode::CONFLICT);
    let told = refusal(present(&site, &text, 1).await).await;
    assert_eq!(told.1, "enrolment_refused");
    assert!(said(&told).contains("wrong digits"), "{}", told.2);
    assert_eq!(open(&site).await, []);
}

#[tokio::test]
async fn what_are_no_six_digits_counts_as_no_try() {
    let site = site().await;
    let (invited, text) = invite(&site).await;
    present(&site, &text, 1).await;
    for text in ["", "12345", "1234567", "abcdef"] {
        let refused = confirm(&site, &invited, text).await;
        assert!(refused.status().is_client_error());
    }
    assert_eq!(open(&site).await[0].wrong_digits, 0);
    let spaced = digits(&text, 1).to_string();
    assert!(spaced.contains(' '));
    assert_eq!(
        confirm(&site, &invited, spaced).await.status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_second_device_with_the_same_text_hears_it_and_the_operator_sees_it() {
    let site = site().await;
    let (invited, text) = invite(&site).await;
    present(&site, &text, 1).await;
    let second = refusal(present(&site, &text, 2).await).await;
    assert_eq!(second.1, "enrolment_refused");
    assert!(said(&second).contains("another device"), "{}", second.2);
    assert!(open(&site).await[0].other_device_at.is_some());
    // It has no say, and its digits are not those that are wanted.
    let its = confirm(&site, &invited, digits(&text, 2)).await;
    assert_eq!(its.status(), StatusCode::UNPROCESSABLE_ENTITY);
    read::<Value>(confirm(&site, &invited, digits(&text, 1)).await).await;
    read::<Value>(present(&site, &text, 1).await).await;
    // Also where nobody was to confirm, and after the fact.
    let seen = &open(&site).await[0];
    assert_eq!(seen.state, EnrolmentState::Enrolled);
    assert!(seen.other_device_at.is_some());
}

#[tokio::test]
async fn a_device_that_is_refused_hears_it_before_and_after_it_was_confirmed() {
    let site = site().await;
    for is_confirmed in [false, true] {
        let (invited, text) = invite(&site).await;
        present(&site, &text, 1).await;
        if is_confirmed {
            read::<Value>(confirm(&site, &invited, digits(&text, 1)).await).await;
        }
        let path = format!("/v1/enrolments/{}/refuse", invited.enrolment_id);
        let refused = site.admin("POST", &path).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::NO_CONTENT);
        let told = refusal(present(&site, &text, 1).await).await;
        assert!(said(&told).contains("operator has refused"), "{}", told.2);
        assert_eq!(open(&site).await, []);
    }
}

#[tokio::test]
async fn a_venue_has_room_for_so_many_open_invitations() {
    let site = site().await;
    let mut first = None;
    for _ in 0..64 {
        let (invited, _) = invite(&site).await;
        first.get_or_insert(invited);
    }
    let request = site.admin("POST", "/v1/enrolments");
    let request = request.json(&json!({"gates": ["north"]}));
    let full = refusal(request.send().await.unwrap()).await;
    assert_eq!(full.0, StatusCode::CONFLICT);
    assert!(
        said(&full).contains("64 invitations are open"),
        "{}",
        full.2
    );
    let path = format!("/v1/enrolments/{}/refuse", first.unwrap().enrolment_id);
    site.admin("POST", &path).send().await.unwrap();
    invite(&site).await;
}

#[tokio::test]
async fn an_invitation_that_never_was_is_neither_confirmed_nor_refused() {
    let site = site().await;
    for path in ["aaaaaaaa/confirm", "aaaaaaaa/refuse"] {
        let request = site.admin("POST", &format!("/v1/enrolments/{path}"));
        let answer = request.json(&json!({"digits": "123456"})).send().await;
        assert_eq!(refusal(answer.unwrap()).await.0, StatusCode::NOT_FOUND);
    }
}
