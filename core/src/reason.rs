//! Why a gate refuses: the stable names that code, API, log and screens share, and the
//! sentences that a guard or a visitor reads. The order of the reasons is the order of the rows
//! in which the verdict tries them.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:tt, $row:literal, $waivable:literal, $en:literal, $zh:literal;)*) => {
        /// One row of the verdict's table.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
        )]
        pub enum Reason {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Reason {
            /// Every reason, in the order of the rows.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The stable name, as in records and the API.
            pub fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }

            /// The row of the verdict's table, 1 to 22.
            pub fn row(self) -> u8 {
                match self { $(Reason::$variant => $row,)* }
            }

            /// Whether a supervisor may waive it, unless the venue says less. `not_listed` can be
            /// waived for a verified G2 code only.
            pub fn can_be_overridden(self) -> bool {
                match self { $(Reason::$variant => $waivable,)* }
            }

            /// One sentence for the person at the gate.
            pub fn sentence(self, language: Language) -> &'static str {
                match (self, language) {
                    $((Reason::$variant, Language::En) => $en,
                      (Reason::$variant, Language::ZhCn) => $zh,)*
                }
            }
        }
    };
}

reasons! {
    /// Not one of the shapes of a code.
    Malformed = "malformed", 1, false,
        "This is not a ticket code.", "这不是门票码。";
    /// The venue does not take this format.
    FormatNotAccepted = "format_not_accepted", 2, false,
        "This kind of code is not accepted here.", "本馆不接受这种码。";
    /// The key that the code names is unknown, revoked, or was not valid when it was issued.
    UnknownKey = "unknown_key", 3, false,
        "The code is signed with a key this gate does not know.", "此码的签名密钥未知。";
    /// The signature or the rotating tag is wrong.
    BadSignature = "bad_signature", 4, false,
        "The code is forged or damaged.", "此码是伪造的或已损坏。";
    /// A genuine code of a sister venue.
    WrongVenue = "wrong_venue", 5, false,
        "This ticket is for another venue.", "这是其他场馆的门票。";
    /// No trusted time, and the venue wants it.
    ClockUntrusted = "clock_untrusted", 6, true,
        "The gate does not know the time. Call staff.", "闸机时间不可信，请联系工作人员。";
    /// The code's own window has not begun.
    CodeNotYetValid = "code_not_yet_valid", 7, true,
        "The code is not valid yet.", "此码尚未生效。";
    /// The code's own window is over.
    CodeExpired = "code_expired", 7, true,
        "The code has expired. Open the ticket again for a fresh one.", "此码已过期，请重新打开门票刷新。";
    /// The code can be verified by the server alone, and nobody can be asked.
    UnverifiableOffline = "unverifiable_offline", 8, false,
        "The code cannot be checked without the network.", "网络中断，无法核验此码。";
    /// The ticket is in no list that the gate holds.
    NotListed = "not_listed", 9, false,
        "This ticket is not in the list.", "名单中没有这张票。";
    /// The gate has no list of today, or it is too old.
    WhitelistStale = "whitelist_stale", 10, true,
        "The gate's ticket list is missing or too old. Call staff.", "闸机名单缺失或过旧，请联系工作人员。";
    /// The ticket was issued anew; this code is of an earlier issue.
    Superseded = "superseded", 11, true,
        "The ticket was issued again; show the newer one.", "此票已重新出票，请出示新票。";
    /// The ticket is stolen, disputed or banned.
    Blocked = "blocked", 12, false,
        "This ticket is blocked. Call staff.", "此票已被冻结，请联系工作人员。";
    /// The ticket or its session is cancelled.
    Cancelled = "cancelled", 13, true,
        "This ticket was cancelled.", "此票已取消。";
    /// The ticket is still unpaid or waiting.
    NotConfirmed = "not_confirmed", 14, true,
        "The booking is not confirmed yet.", "预约尚未确认。";
    /// The ticket is for another day.
    WrongDay = "wrong_day", 15, true,
        "This ticket is for another day.", "此票不是今天的。";
    /// The ticket does not open this gate's zones.
    WrongGate = "wrong_gate", 16, true,
        "This ticket is not for this entrance.", "此票不能从这个入口进入。";
    /// Admission has not begun.
    TooEarly = "too_early", 17, true,
        "Too early.", "未到入场时间。";
    /// Admission is over.
    TooLate = "too_late", 17, true,
        "Too late; admission is over.", "已过入场时间。";
    /// The code's digits and the list's differ.
    IdentityMismatch = "identity_mismatch", 18, true,
        "The code and the booking name different people.", "码与预约人信息不符。";
    /// The ticket carries an attention mark, and nobody is at this gate to look.
    SeeStaff = "see_staff", 19, true,
        "Please go to the staffed entrance.", "请走人工通道。";
    /// Fewer admissions remain than persons ask.
    AlreadyUsed = "already_used", 20, true,
        "This ticket has been used.", "此票已使用。";
    /// The venue wants a claim, and neither server nor hub can be asked.
    Isolated = "isolated", 21, true,
        "The gate is cut off and may not decide alone. Call staff.", "闸机离线且不允许单独放行，请联系工作人员。";
    /// The record could not be made durable.
    StoreUnavailable = "store_unavailable", 22, false,
        "The gate cannot store check-ins. Call staff.", "闸机无法保存记录，请联系工作人员。";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The languages of the gate's sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    /// Chinese as written in China.
    #[serde(rename = "zh-CN")]
    ZhCn,
    /// English.
    #[serde(rename = "en")]
    En,
}
