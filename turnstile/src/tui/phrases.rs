//! The fixed words of the screen, Chinese and English side by side. What a verdict says of a ticket
//! is put together in [`crate::words`]; this is what stands around it.

use stile_core::reason::{Language, Reason};

use super::acts::{Sort, TroubleSort};

/// Fixed words in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrase {
    zh_cn: &'static str,
    en: &'static str,
}

impl Phrase {
    /// In one language.
    pub fn text(self, language: Language) -> &'static str {
        match language {
            Language::ZhCn => self.zh_cn,
            Language::En => self.en,
        }
    }

    /// In both, as a sentence.
    pub fn sentence(self) -> crate::words::Sentence {
        crate::words::Sentence {
            zh_cn: self.zh_cn.into(),
            en: self.en.into(),
        }
    }
}

macro_rules! phrases {
    ($($name:ident = $zh_cn:literal, $en:literal;)*) => {
        $(pub(super) const $name: Phrase = Phrase { zh_cn: $zh_cn, en: $en };)*
    };
}

phrases! {
    // The bar.
    GATE = "闸口", "Gate";
    WAY_IN = "入口", "in";
    WAY_OUT = "出口", "out";
    ONLINE = "在线", "online";
    NO_ANSWER = "服务器无应答", "no answer";
    OFFLINE = "离线", "offline";
    LIST = "名单", "list";
    TICKETS = "张", "tickets";
    TICKET = "票", "ticket";
    NO_LIST = "没有今天的名单", "no list of today";
    LIST_AGE_MIN = "分钟前", "min old";
    WAITING = "待上传", "to send";
    QUARANTINED = "隔离", "set aside";
    STUCK = "滞留", "stuck";
    CONFLICTS = "冲突", "conflicts";
    NOBODY = "未登录", "nobody signed in";
    CLOCK_DISPUTED = "时间有争议", "time disputed";
    CLOCK_SERVER_SAYS = "时间有争议，服务器说", "time disputed, the server says";
    CLOCK_OWN = "本机时间", "own clock";
    CLOCK_UNKNOWN = "时间未知", "time unknown";
    CLOCK_AHEAD = "本机时钟快", "machine's clock ahead by";
    CLOCK_BEHIND = "本机时钟慢", "machine's clock behind by";
    SECONDS = "秒", "s";
    PRACTICE = "练习模式：闸机不开，不计入", "PRACTICE: the gate stays shut, nothing counts";
    PRACTICE_OPEN = "练习模式：不计入", "PRACTICE: nothing counts";
    FREE_PASSAGE = "自由通行：任何人可通过", "FREE PASSAGE: open for everybody";
    EMERGENCY = "紧急：闸机常开，不验票", "EMERGENCY: the gate stands open, no verdicts";
    REVOKED = "本机已注销：不能验票，请找管理员", "this device is revoked: call the administrator";
    KEYS_OVERDUE = "密钥清单过期，请联网", "keys overdue: connect the network";
    NO_SESSION = "当前没有场次", "no session now";
    NEXT_SESSION = "下一场", "next";

    // The ready screen.
    READY = "请扫码", "Ready to scan";
    READY_OPEN = "请直接通行，不用扫码", "People simply pass; no scanning needed";
    READY_PRACTICE = "请扫码（练习）", "Ready to scan (practice)";
    LAST_READING = "上次", "Last";
    NEXT_PERSONS = "下一次扫码放行人数：", "Persons at the next reading:";

    // Verdicts.
    AGAIN_NOTE = "刚刚扫过，闸机不再动作。", "Read just before; the gate does not move again.";
    COMPARE = "核对", "Compare";
    SEAT = "座位", "Seat";
    SESSION = "场次", "Session";
    PARTY = "人数", "Persons";
    PARTY_OF = "共", "of";
    REMAINING = "还可入", "left";
    ATTENTION = "请查看", "Check";
    WHAT_TO_DO = "处理", "Do";
    DO_FEWER = "减少人数（p）再扫。", "Choose fewer persons (p) and scan again.";
    WORKING = "正在处理…", "One moment…";

    // Keys.
    KEY_MORE = "再放一人", "one more person";
    KEY_PERSONS = "选择人数", "persons";
    KEY_MISMATCH = "人票不符", "does not match";
    KEY_UNDO = "撤销", "undo";
    KEY_OVERRIDE = "主管放行", "override";
    KEY_LOOK_UP = "查票", "look up";
    KEY_WALK_IN = "无票", "walk-in";
    KEY_SIGN_IN = "登录", "sign in";
    KEY_SIGN_OUT = "退出登录", "sign out";
    KEY_COUNTS = "交接", "counts";
    KEY_LAST = "记录", "last scans";
    KEY_TROUBLES = "问题", "problems";
    KEY_PRACTICE = "练习", "practice";
    KEY_FREE = "自由通行", "free passage";
    KEY_CLOCK = "校时", "clock";
    KEY_LANGUAGE = "English", "中文";
    KEY_QUIT = "关闸", "quit";
    KEY_BACK = "返回", "back";
    KEY_OK = "确定", "ok";
    KEY_NEXT_FIELD = "下一项", "next line";
    KEY_CHOOSE = "选择", "choose";
    KEY_YES = "是", "yes";
    KEY_NO = "否", "no";
    KEY_ADMIT = "放行", "admit";
    KEY_ORDER = "整单", "whole order";
    KEY_TICK = "勾选", "tick";
    KEY_ALL = "全选", "all";
    KEY_MORE_LINES = "翻行", "move";

    // Forms.
    TITLE_PERSONS = "放行几人", "How many persons";
    TITLE_UNDO = "撤销上一次放行", "Take back the last admission";
    TITLE_OVERRIDE = "主管放行", "Override the last refusal";
    TITLE_LOOK_UP = "查票", "Look a ticket up";
    TITLE_WALK_IN = "无票人员", "Persons without a ticket";
    TITLE_SIGN_IN = "登录", "Sign in";
    TITLE_FREE = "开始自由通行", "Begin free passage";
    TITLE_CLOCK = "主管校时", "Set the clock";
    FIELD_PERSONS = "人数", "Persons";
    FIELD_WHY = "原因", "Reason";
    FIELD_PIN = "主管PIN", "Supervisor's PIN";
    FIELD_OWN_PIN = "PIN", "PIN";
    FIELD_OPERATOR = "工号", "Operator";
    FIELD_SEARCH = "订单号或尾号", "Order or digits";
    FIELD_NAME = "姓名（可空）", "Name, if needed";
    FIELD_CATEGORY = "类别", "Category";
    FIELD_WAY = "方向", "Way";
    FIELD_TIME = "时间", "Time";
    HELP_PERSONS = "用于屏幕上的票；屏幕上没有票或没有余额时，用于下一次扫码。",
        "By the ticket on the screen; if there is none, or none is left, at the next reading.";
    HELP_LOOK_UP = "订单号末尾，或手机、证件的末四位；同号较多时再输入姓名（至少末字）。",
        "The end of the order number, or the last four digits of phone or document; a name, or its end, narrows it.";
    HELP_SIGN_IN = "输入工号和PIN，或扫描员工二维码。",
        "Type operator and PIN, or scan a staff QR.";
    HELP_WHY = "用 ↑ ↓ 选择，或直接输入。", "Choose with ↑ ↓, or type.";
    HELP_CHOICE = "用 ← → 选择。", "Choose with ← →.";
    HELP_TIME = "格式：2026-10-01 09:00", "Written as 2026-10-01 09:00";
    HELP_OVERRIDE = "将放行的拒绝：", "The refusal to be waived:";

    // Lists.
    TITLE_FOUND = "查到的票", "Tickets found";
    TITLE_ORDER = "订单", "Order";
    TITLE_LAST = "最近的扫码", "Last scans";
    TITLE_TROUBLES = "需要人处理的记录", "Records that want a person";
    TITLE_HAND_OVER = "交接", "Hand-over";
    NOTHING_FOUND = "没有查到。请核对，或换一种查法。", "Nothing found. Check it, or look another way.";
    MORE_FOUND = "还有更多，请输入更多字符或姓名。", "There are more: type more of it, or a name.";
    STATUS_PENDING = "未确认", "not confirmed";
    STATUS_BLOCKED = "已冻结", "blocked";
    STATUS_CANCELLED = "已取消", "cancelled";
    STATUS_MOVED = "已改期", "moved";
    STATUS_DELETED = "已删除", "deleted";
    NO_SCANS = "开机后还没有扫码。", "No scans since the start.";
    NO_TROUBLES = "没有需要处理的记录。", "No record wants a person.";
    ORDER_LINE = "将放行人数：", "Persons to be admitted:";
    MORE_OF_ORDER = "此单另有票未列出，请按姓名或尾号查（/）：",
        "Tickets of this order not shown here; look them up by name (/):";
    TROUBLES_HELP = "记录都在，没有丢失。请告诉系统管理员；服务器上用 stile-server quarantine list 查看。",
        "Nothing is lost. Tell the administrator, who sees them with stile-server quarantine list.";

    // Hand-over.
    SINCE = "登录时间", "Signed in since";
    COUNT_ADMITTED = "凭票放行（人）", "Admitted by ticket (persons)";
    COUNT_WALK_INS = "无票放行（人）", "Walk-ins (persons)";
    COUNT_REFUSED = "拒绝（次）", "Refused (readings)";
    COUNT_UNDONE = "撤销", "Undone";
    COUNT_OVERRIDES = "主管放行", "Overrides";
    SIGNED_OUT = "已退出登录。请记下交接数。", "Signed out. Note what is handed over.";

    // Questions.
    ASK_QUIT = "关闸并退出？闸机将保持关闭。", "Quit? The gate shuts and stays shut.";
    ASK_PRACTICE_ON = "开始练习？闸机不会开，所有记录不计入。",
        "Begin practice? The gate will not open, and nothing counts.";
    ASK_PRACTICE_OFF = "结束练习？之后的扫码都会计入。", "End practice? Readings count from then on.";
    ASK_SIGN_OUT = "退出登录？", "Sign out?";
    ASK_FREE_END = "结束自由通行？闸机将关闭。", "End free passage? The gate shuts.";
    ASK_FURTHER = "还有另一个原因，也要放行吗？", "A further reason stands. Waive it too?";

    // Notices.
    SAY_MISMATCH = "已撤销：人票不符。此次放行不再计入。", "Taken back: does not match. That admission counts no more.";
    SAY_UNDONE = "已撤销，此次放行不再计入。", "Taken back; that admission counts no more.";
    SAY_WALK_IN_UNDONE = "已撤销，这些无票人员不再计入。", "Taken back; those without a ticket count no more.";
    TAKEN_BACK = "已撤销", "UNDONE";
    SAY_PRACTICE_STAYS_SHUT = "练习中闸机不开；请先结束练习（t）。", "Practice opens for nobody; end it first (t).";
    SAY_PRACTICE_ENDED = "练习结束，之后的扫码都会计入。", "Practice has ended; readings count from now on.";
    SAY_FREE_ENDED = "自由通行结束，闸机恢复验票。", "Free passage has ended; tickets are asked for again.";
    SAY_CLOCK_SET = "时间已设置并记录。", "The clock is set, and that is on record.";
    SAY_NOTHING_LEFT = "此票没有余额。", "Nobody more may enter by this ticket.";
    SAY_NO_ADMISSION = "刚才没有放行，没有可操作的票。", "No admission just before, so nothing to act on.";
    SAY_TAKEN_BACK = "刚才的放行已撤销，请重新扫码。", "That admission is taken back; scan again.";
    SAY_NO_TICKET = "这是无票放行，没有票；再放人按 w，撤销按 u。",
        "They came without a ticket: w lets more in, u takes it back.";
    SAY_NO_REFUSAL = "刚才没有拒绝。请先扫码。", "No refusal just before. Scan first.";
    SAY_NOT_WAIVABLE = "这个拒绝不能由主管放行。", "This refusal cannot be waived.";
    SAY_TOO_SHORT = "至少四个字符。", "At least four characters.";
    SAY_NO_SUCH_NUMBER = "人数是 1 到 255。", "Persons are 1 to 255.";
    SAY_EMPTY = "请填写：", "Please fill in:";
    SAY_NO_SUCH_TIME = "时间写法不对，例如 2026-10-01 09:00。", "No such time; write 2026-10-01 09:00.";
    SAY_NO_SUCH_OPERATOR = "工号写法不对。", "An operator's id has no such characters.";
    SAY_TICK_ONE = "没有可放行的票。", "No ticket is ticked.";
    SAY_NEW_READING = "又有人扫码了，请重新操作。", "There was a new reading. Begin again.";
    SAY_WEDGE = "有扫码枪在向键盘输入。请用 --scanner 接入，勿当键盘使用。",
        "A scanner types as a keyboard here. Name it with --scanner instead.";
    SAY_NEXT_PERSONS = "下一次扫码按所选人数放行。", "The next reading admits that many persons.";

    TOO_SMALL = "窗口太小，需 80×24", "window too small: 80 by 24 wanted";
    IN = "进", "in";
    OUT = "出", "out";
}

/// What a guard most often takes an admission back for.
pub(super) const UNDO_REASONS: &[Phrase] = &[
    Phrase {
        zh_cn: "误扫",
        en: "scanned by mistake",
    },
    Phrase {
        zh_cn: "游客未入场",
        en: "visitor did not enter",
    },
    Phrase {
        zh_cn: "人数有误",
        en: "wrong number of persons",
    },
];

/// What a supervisor most often lets somebody in for.
pub(super) const OVERRIDE_REASONS: &[Phrase] = &[
    Phrase {
        zh_cn: "已核实本人",
        en: "person checked",
    },
    Phrase {
        zh_cn: "馆方原因",
        en: "the venue's own fault",
    },
    Phrase {
        zh_cn: "特殊照顾",
        en: "special care",
    },
];

/// What a gate is most often opened for everybody for.
pub(super) const FREE_REASONS: &[Phrase] = &[
    Phrase {
        zh_cn: "紧急疏散",
        en: "emergency",
    },
    Phrase {
        zh_cn: "散场",
        en: "end of a session",
    },
    Phrase {
        zh_cn: "闸机故障",
        en: "fault of the turnstile",
    },
];

/// What a clock is most often set for.
pub(super) const CLOCK_REASONS: &[Phrase] = &[
    Phrase {
        zh_cn: "断电后时钟有误",
        en: "wrong after a power cut",
    },
    Phrase {
        zh_cn: "与手表核对",
        en: "compared with a watch",
    },
];

/// A sort of verdict in a word of everyday size.
pub(super) fn sort(sort: Sort) -> Phrase {
    match sort {
        Sort::Admit => Phrase {
            zh_cn: "放行",
            en: "ADMIT",
        },
        Sort::Refuse => Phrase {
            zh_cn: "止步",
            en: "STOP",
        },
        Sort::Used => Phrase {
            zh_cn: "已用",
            en: "USED",
        },
        Sort::Repeat => Phrase {
            zh_cn: "已放行",
            en: "AGAIN",
        },
    }
}

/// Why a record wants a person, in a word.
pub(super) fn trouble(sort: TroubleSort) -> Phrase {
    match sort {
        TroubleSort::Conflict => CONFLICTS,
        TroubleSort::Quarantined => QUARANTINED,
        TroubleSort::Stuck => STUCK,
    }
}

/// A reason as it is counted: its name in English, a short word in Chinese.
pub(super) fn reason(name: &str, language: Language) -> &str {
    let mut all = Reason::ALL.iter();
    match (all.find(|reason| reason.name() == name), language) {
        (Some(reason), Language::ZhCn) => short_word(*reason),
        _ => name,
    }
}

fn short_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Malformed => "不是门票码",
        Reason::FormatNotAccepted => "不接受的码",
        Reason::UnknownKey => "密钥未知",
        Reason::BadSignature => "伪造或损坏",
        Reason::WrongVenue => "其他场馆",
        Reason::ClockUntrusted => "时间不可信",
        Reason::CodeNotYetValid => "码未生效",
        Reason::CodeExpired => "码已过期",
        Reason::UnverifiableOffline => "断网无法核验",
        Reason::NotListed => "不在名单",
        Reason::WhitelistStale => "名单过旧",
        Reason::Superseded => "已重新出票",
        Reason::Blocked => "已冻结",
        Reason::Cancelled => "已取消",
        Reason::NotConfirmed => "未确认",
        Reason::WrongDay => "日期不符",
        Reason::WrongGate => "入口不符",
        Reason::TooEarly => "未到时间",
        Reason::TooLate => "已过时间",
        Reason::IdentityMismatch => "人票不符",
        Reason::SeeStaff => "人工通道",
        Reason::AlreadyUsed => "已使用",
        Reason::Isolated => "离线不放行",
        Reason::StoreUnavailable => "无法保存",
    }
}

/// What a guard does about a refusal.
pub(super) fn what_to_do(reason: Reason) -> Phrase {
    let (zh_cn, en) = match reason {
        Reason::Malformed => (
            "请游客打开门票二维码再扫。",
            "Ask for the ticket's QR and scan again.",
        ),
        Reason::FormatNotAccepted => ("按姓名或订单号查票（/）。", "Look the ticket up (/)."),
        Reason::UnknownKey | Reason::BadSignature => (
            "不要放行。查票（/）核对本人，或叫主管。",
            "Do not admit. Look it up (/), or call the supervisor.",
        ),
        Reason::WrongVenue => (
            "请游客去票上的场馆。",
            "Send the visitor to the venue on the ticket.",
        ),
        Reason::ClockUntrusted => (
            "叫主管校时（c）。",
            "Call the supervisor to set the clock (c).",
        ),
        Reason::CodeNotYetValid => ("请游客稍后再扫。", "Ask to come back a little later."),
        Reason::CodeExpired => (
            "请游客刷新二维码再扫。",
            "Ask to refresh the QR and scan again.",
        ),
        Reason::UnverifiableOffline => {
            ("查票（/）核对本人。", "Look the ticket up (/) and compare.")
        }
        Reason::NotListed => (
            "核对日期和场馆；查票（/）。",
            "Check day and venue; look it up (/).",
        ),
        Reason::WhitelistStale => (
            "检查网络；叫主管（o）。",
            "Check the network; call the supervisor (o).",
        ),
        Reason::Superseded => ("请游客出示最新的票。", "Ask for the newest ticket."),
        Reason::Blocked => ("不要放行，叫主管。", "Do not admit. Call the supervisor."),
        Reason::Cancelled => (
            "请游客去服务台；主管可放行（o）。",
            "Send to the desk; a supervisor may override (o).",
        ),
        Reason::NotConfirmed => ("请游客完成付款再来。", "Ask to finish the booking first."),
        Reason::WrongDay => ("告诉游客正确的日期。", "Tell the visitor the right day."),
        Reason::WrongGate => (
            "请游客去票上的入口。",
            "Send the visitor to the right entrance.",
        ),
        Reason::TooEarly => ("请游客到时再来。", "Ask to come back in time."),
        Reason::TooLate => ("主管可放行（o）。", "A supervisor may override (o)."),
        Reason::IdentityMismatch => (
            "核对证件；主管可放行（o）。",
            "Check papers; a supervisor may override (o).",
        ),
        Reason::SeeStaff => ("请游客走人工通道。", "Send to the staffed entrance."),
        Reason::AlreadyUsed => (
            "核对本人；主管可放行（o）。",
            "Compare the person; a supervisor may override (o).",
        ),
        Reason::Isolated => (
            "检查网络；叫主管（o）。",
            "Check the network; call the supervisor (o).",
        ),
        Reason::StoreUnavailable => (
            "不要放行。立即联系系统管理员。",
            "Do not admit. Call the administrator now.",
        ),
    };
    Phrase { zh_cn, en }
}
