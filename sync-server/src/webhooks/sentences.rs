//! What happened, as one sentence for a chat group. Nothing personal stands in it, and no ticket's
//! id: a group has members whom no one of the venue knows.

use serde_json::Value;
use stile_core::protocol::WebhookLanguage;

use super::message::{CHECK_INS, TEST};

/// The sentence for a message of this type.
pub(super) fn sentence(language: WebhookLanguage, venue: &str, kind: &str, data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let (day, session, checkpoint) = (text("service_day"), text("session_id"), text("checkpoint"));
    let records = data["records"].as_array().map_or(0, Vec::len);
    match language {
        WebhookLanguage::ZhCn => match kind {
            CHECK_INS => format!("【{venue}】新增 {records} 条检票记录。"),
            "session.finalized" => {
                format!("【{venue}】{day} 场次 {session} 的检票记录已全部到齐，未到人数可以确认。")
            }
            "conflict.opened" => format!(
                "【{venue}】{day} 检票点 {checkpoint} 有一张票的入场人数超出票面人数，请在冲突列表中核实。"
            ),
            "conflict.cleared" => {
                format!("【{venue}】{day} 检票点 {checkpoint} 的一处冲突已消除。")
            }
            "alarm.opened" => format!("【{venue}】告警：{}", chinese(data)),
            "alarm.ended" => format!("【{venue}】告警已解除：{}", chinese(data)),
            TEST => format!("【{venue}】这是一条测试消息，可以忽略。"),
            other => format!("【{venue}】{other}"),
        },
        WebhookLanguage::En => match kind {
            CHECK_INS => format!("{venue}: {records} new check-in records."),
            "session.finalized" => format!(
                "{venue}: every record of session {session} on {day} is here; who did not come is \
                 known now."
            ),
            "conflict.opened" => format!(
                "{venue}: on {day}, at {checkpoint}, a ticket was admitted for more persons than it \
                 has; see the conflicts."
            ),
            "conflict.cleared" => {
                format!("{venue}: a conflict of {day} at {checkpoint} is cleared.")
            }
            "alarm.opened" => format!("{venue}: ALARM: {}", english(data)),
            "alarm.ended" => format!("{venue}: no longer so: {}", english(data)),
            TEST => format!("{venue}: this is a test message and can be ignored."),
            other => format!("{venue}: {other}"),
        },
    }
}

/// What an alarm says, in Chinese.
fn chinese(data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let count = |name: &str| data[name].as_u64().unwrap_or_default();
    let day = text("service_day");
    let place = match (text("session_id"), text("zone")) {
        (session, "") => format!("场次 {session}"),
        (session, zone) => format!("场次 {session} 的展区 {zone}"),
    };
    let (capacity, inside) = (count("capacity"), count("inside"));
    match text("kind") {
        "capacity_80" => format!("{place} 在场人数已达容量的 80%（{inside}/{capacity} 人）。"),
        "capacity_100" => format!("{place} 在场人数已达到容量（{inside}/{capacity} 人）。"),
        "no_tickets_tomorrow" if count("sessions") == 0 => {
            format!("{day} 没有任何场次，而上周同一天是开放的。")
        }
        "no_tickets_tomorrow" => {
            format!("{day} 有 {} 个场次，却一张票也没有。", count("sessions"))
        }
        "feed_silent" => "预约系统已有很长时间没有发来门票。".to_owned(),
        "reconciliation_differs" => {
            format!("{day} 与预约系统对账，有 {} 张票不一致。", count("differ"))
        }
        "reconciliation_overdue" => "预约系统没有按时对账。".to_owned(),
        other => other.to_owned(),
    }
}

/// The same in English.
fn english(data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let count = |name: &str| data[name].as_u64().unwrap_or_default();
    let day = text("service_day");
    let place = match (text("session_id"), text("zone")) {
        (session, "") => format!("session {session}"),
        (session, zone) => format!("zone {zone} in session {session}"),
    };
    let (capacity, inside) = (count("capacity"), count("inside"));
    match text("kind") {
        "capacity_80" => {
            format!("{place} is filled to 80 % ({inside} of {capacity} persons inside).")
        }
        "capacity_100" => format!("{place} is full ({inside} of {capacity} persons inside)."),
        "no_tickets_tomorrow" if count("sessions") == 0 => {
            format!("{day} has no session at all, and the same day last week had.")
        }
        "no_tickets_tomorrow" => {
            format!(
                "{day} has sessions ({}), and not one ticket.",
                count("sessions")
            )
        }
        "feed_silent" => {
            "nothing has come from the booking system for longer than it may.".to_owned()
        }
        "reconciliation_differs" => {
            format!(
                "{} tickets of {day} differ from the booking system's.",
                count("differ")
            )
        }
        "reconciliation_overdue" => {
            "the booking system has not stated its set for longer than it may.".to_owned()
        }
        other => other.to_owned(),
    }
}
