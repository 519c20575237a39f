//! v1 codes that a booking system signs with a shared secret: the server alone verifies them, and
//! nobody ever sees secret or phones.

use std::fs;

use serde_json::{Value, json};
use stile_core::codes::v1::mint;
use stile_core::keys::TicketKey;
use stile_core::protocol::VerifyAnswer;
use stile_core::time::EpochSeconds;

use crate::site::{Gatekeeper, Site, VENUE, read, refusal};

/// The known answer: key = bytes 00..1f, holder 13812345678.
const GENUINE: &str = "1234567890-1790000400-7nL2KaEaNxd5sMTG1Kg4Dvuh7D1ibyBSFDDlZuLYqtA";
const PHONE: &str = "13812345678";

async fn import(site: &Site, phone: &str) {
    let file = format!("ticket_id,order_number,session_id,phone\n1234567890,O1,now,{phone}\n");
    let report: Value = read(site.import("text/csv", file).send().await.unwrap()).await;
    assert_eq!(report["accepted"], 1, "{report}");
}

async fn is_genuine(site: &Site, gate: &Gatekeeper, code: &str) -> bool {
    let request = site
        .request("POST", "/v1/gate/codes/verify")
        .bearer_auth(gate.bearer())
        .json(&json!({ "code": code }));
    let answer: VerifyAnswer = read(request.send().await.unwrap()).await;
    answer.genuine
}

async fn shared(site: &Site) -> Gatekeeper {
    site.furnish().await;
    let secret: Vec<u8> = (0..32).collect();
    let venue = VENUE.parse().unwrap();
    site.server
        .import_shared_secret(&venue, &secret)
        .await
        .unwrap();
    site.enrol(1).await
}

#[tokio::test]
async fn the_known_answer_is_genuine_for_the_holders_phone_and_for_no_other() {
    let site = Site::start().await;
    let gate = shared(&site).await;
    let policy: Value = site.done("GET", "/v1/policy", Value::Null).await;
    assert_eq!(policy["v1_key"], "shared");
    assert!(
        !is_genuine(&site, &gate, GENUINE).await,
        "the ticket is not here"
    );
    // Written as people write numbers.
    import(&site, "\"138-1234 5678\"").await;
    assert!(is_genuine(&site, &gate, GENUINE).await);
    assert!(is_genuine(&site, &gate, &format!("{GENUINE}\r\n")).await);
    let forged = GENUINE.replace("1790000400", "1790000401");
    for other in [&*forged, "", "x", &GENUINE[..60]] {
        assert!(!is_genuine(&site, &gate, other).await, "{other}");
    }
    import(&site, "13912345678").await;
    assert!(!is_genuine(&site, &gate, GENUINE).await);
    import(&site, "138****5678").await;
    assert!(
        !is_genuine(&site, &gate, GENUINE).await,
        "a masked phone verifies nothing"
    );
}

#[tokio::test]
async fn a_chinese_mobile_number_may_have_its_country_code_in_the_file_or_in_the_code() {
    let site = Site::start().await;
    let gate = shared(&site).await;
    let key: Vec<u8> = (0..32).collect();
    let key = TicketKey::from_bytes(&key.try_into().unwrap());
    let signed_over = |phone: &str| {
        let id = "1234567890".parse().unwrap();
        mint(&key, &id, phone, EpochSeconds(1_790_000_400)).unwrap()
    };
    assert_eq!(signed_over(PHONE), GENUINE);
    for in_file in [PHONE, "+86 138-1234-5678", "008613812345678"] {
        import(&site, in_file).await;
        for in_code in [PHONE, "8613812345678", "+8613812345678"] {
            let code = signed_over(in_code);
            assert!(is_genuine(&site, &gate, &code).await, "{in_file} {in_code}");
        }
        for other in ["13812345679", "85213812345678", "5678", ""] {
            let code = signed_over(other);
            assert!(!is_genuine(&site, &gate, &code).await, "{in_file} {other}");
        }
    }
}

#[tokio::test]
async fn phones_are_kept_sealed_and_only_where_codes_need_them() {
    let site = Site::start().await;
    site.furnish().await;
    import(&site, PHONE).await;
    let gate = {
        // Imported before there was a secret: nothing was kept to verify with.
        let secret: Vec<u8> = (0..32).collect();
        let venue = VENUE.parse().unwrap();
        site.server
            .import_shared_secret(&venue, &secret)
            .await
            .unwrap();
        site.enrol(1).await
    };
    assert!(!is_genuine(&site, &gate, GENUINE).await);
    import(&site, PHONE).await;
    assert!(is_genuine(&site, &gate, GENUINE).await);
    assert_eq!(
        site.server.run_retention(true).await.unwrap()[0].removed,
        0,
        "its day is not over"
    );
    let shown: Value = site
        .done("GET", "/v1/tickets/1234567890", Value::Null)
        .await;
    assert!(!shown.to_string().contains(PHONE));
    // Whatever lies on the disk, the number does not.
    let data = site.data();
    site.server.close().await;
    for file in fs::read_dir(data).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        let holds = bytes
            .windows(PHONE.len())
            .any(|part| part == PHONE.as_bytes());
        assert!(!holds);
    }
}

#[tokio::test]
async fn a_secret_that_can_be_guessed_is_refused() {
    let site = Site::start().await;
    let venue = VENUE.parse().unwrap();
    for secret in [&b"short"[..], &[7; 257]] {
        let refused = site.server.import_shared_secret(&venue, secret).await;
        assert!(refused.unwrap_err().to_string().starts_with("secret: "));
    }
    let gate = {
        site.furnish().await;
        site.enrol(1).await
    };
    assert!(
        !is_genuine(&site, &gate, GENUINE).await,
        "the venue has no shared secret"
    );
    let long = json!({ "code": "x".repeat(257) });
    let request = site
        .request("POST", "/v1/gate/codes/verify")
        .bearer_auth(gate.bearer());
    refusal(request.json(&long).send().await.unwrap()).await;
}
