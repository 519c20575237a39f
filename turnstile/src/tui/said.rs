//! Why an act was not carried out, in the guard's words.

use stile_core::device::{ClockError, LookUpError, OperatorError, SetAside, SignedIn, WalkInError};
use stile_core::journal::SyncStatus;
use stile_core::record::Denied;

use super::acts::{Trouble, TroubleSort};
use super::desk::name_of;
use crate::words::{Sentence, Words};

fn both(zh_cn: impl Into<String>, en: impl Into<String>) -> Sentence {
    Sentence {
        zh_cn: zh_cn.into(),
        en: en.into(),
    }
}

/// Somebody has signed in.
pub(super) fn signed_in(signed_in: &SignedIn) -> Sentence {
    let name = name_of(signed_in);
    both(format!("已登录：{name}"), format!("Signed in: {name}"))
}

/// The disk, mostly.
pub(super) fn storage(error: &dyn std::error::Error) -> Sentence {
    both(
        format!("没有保存，未执行：{error}"),
        format!("Not done, as it could not be kept: {error}"),
    )
}

/// Why nobody signed in, or nobody is a supervisor.
pub(super) fn operator_error(error: &OperatorError) -> Sentence {
    let zh_cn = match error {
        OperatorError::Unknown(id) => format!("没有工号{id}。请核对，或等待名单更新。"),
        OperatorError::Nobody(_) => "名单里没有这类人员，或还没有名单。".into(),
        OperatorError::WrongPin { tries_left } => format!("PIN错误，还可试{tries_left}次。"),
        OperatorError::LockedOut { seconds } => format!("PIN错误次数过多，请等{seconds}秒。"),
        OperatorError::WrongBadge => "这不是本馆的员工二维码。".into(),
        OperatorError::NotSignedIn => "没有人登录。".into(),
        OperatorError::UnusablePin { operator, .. } => {
            format!("{operator}的PIN无法核验，请联系管理员。")
        }
        OperatorError::Journal(error) => return storage(error),
    };
    both(zh_cn, sentence_of(error))
}

/// Why an undo or override was not carried out.
pub(super) fn denied(denied: Denied) -> Sentence {
    let (zh_cn, en) = match denied {
        Denied::NothingThere => (
            "没有可操作的记录，请重新扫码。",
            "Nothing to act on; scan again.",
        ),
        Denied::AlreadyUndone => ("已经撤销过了。", "It is taken back already."),
        Denied::TooLate => ("时间太久，不能再操作。", "Too long ago."),
        Denied::NoReason => ("请说明原因。", "Give a reason."),
        Denied::WrongPin => ("PIN错误，不是主管的PIN。", "Wrong PIN: no supervisor's."),
        Denied::LockedOut => (
            "PIN错误次数过多，请稍后再试。",
            "Too many wrong PINs; wait.",
        ),
        Denied::NotWaivable => ("这个拒绝不能由主管放行。", "This refusal cannot be waived."),
        Denied::FurtherReason => ("还有另一个原因。", "A further reason stands."),
    };
    both(zh_cn, en)
}

/// Why nothing is looked up.
pub(super) fn look_up_error(error: &LookUpError) -> Sentence {
    let zh_cn = match error {
        LookUpError::TooShort => "至少输入订单号末四个字符或四位数字。",
        LookUpError::Unattended => "这是无人值守的闸口，只有人工闸口可以查票。",
        LookUpError::List(error) => return storage(error),
        LookUpError::Journal(error) => return storage(error),
    };
    both(zh_cn, sentence_of(error))
}

/// Why persons without a ticket are not let through.
pub(super) fn walk_in_error(error: &WalkInError) -> Sentence {
    match error {
        WalkInError::Nobody => both("至少一人。", "At least one person."),
        WalkInError::Category { asked, known } => both(
            format!("本馆没有类别“{asked}”；有：{known}。"),
            sentence_of(error),
        ),
        WalkInError::Journal(error) => storage(error),
    }
}

/// Why the clock stays as it is.
pub(crate) fn clock_error(error: &ClockError, words: &Words) -> Sentence {
    match error {
        ClockError::Operator(error) => operator_error(error),
        ClockError::NoReason => denied(Denied::NoReason),
        ClockError::BelowSigned(at) => {
            let at = words.date_and_minute(*at);
            both(
                format!("不能早于{at}：那时已有签名的名单。"),
                format!("It cannot be earlier than {at}, when a list in use was signed."),
            )
        }
        ClockError::FarOverSigned(latest) => {
            let latest = words.date_and_minute(*latest);
            both(
                format!("不能晚于{latest}：比最新的签名名单晚一年以上。"),
                format!("It cannot be later than {latest}, a year after the newest signed list."),
            )
        }
        ClockError::Journal(error) => storage(error),
    }
}

/// A record that the server did not take as it is.
pub(super) fn set_aside(one: SetAside) -> Trouble {
    Trouble {
        sort: match one.status {
            SyncStatus::Stuck => TroubleSort::Stuck,
            _ => TroubleSort::Quarantined,
        },
        at: one.at,
        kind: one.kind,
        of: match one.ticket_id {
            Some(ticket_id) => ticket_id.to_string(),
            None => one.record_id.to_string(),
        },
    }
}

/// An error or event as a sentence.
pub(super) fn sentence_of(of: &dyn std::fmt::Display) -> String {
    let text = of.to_string();
    let mut characters = text.chars();
    let first = characters
        .next()
        .map(|first| first.to_uppercase().to_string());
    let end = if text.ends_with(['.', '。', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{}{}{end}", first.unwrap_or_default(), characters.as_str())
}
