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
            TEST => format!("{venue}: this is a test message and can be ignored."),
            other => format!("{venue}: {other}"),
        },
    }
}
