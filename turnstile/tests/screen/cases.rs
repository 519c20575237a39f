//! Every screen by name: what leads to it, and the words that must be wholly on it.

use stile_core::device::Network;
use stile_core::reason::Reason;
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;
use stile_turnstile::event::Weight;
use stile_turnstile::tui::acts::{Answer, ClockWord, Event, Key};

use crate::bed::*;

type InBothLanguages = [&'static [&'static str]; 2];
pub type Case = (&'static str, fn(&mut Hands), InBothLanguages);

/// Every screen by name, with words in both languages that must be wholly on it.
pub fn screens() -> Vec<Case> {
    vec![
        (
            "ready",
            |_| (),
            [
                &[
                    "闸口 东门 East (入口)",
                    "上午场 Morning 08:30-10:00",
                    "09:00:12",
                    "在线",
                    "12480 张, 3 分钟前",
                    "待上传 3",
                    "冲突 0",
                    "请扫码",
                    "林 Lin",
                ],
                &[
                    "Gate 东门 East (in)",
                    "online",
                    "Ready to scan",
                    "to send 3",
                    "12480 tickets, 3 min old",
                ],
            ],
        ),
        (
            "ready-troubled",
            |hands| {
                hands.state(|state| {
                    state.network = Network::Offline;
                    state.operator = None;
                    state.practice = true;
                    state.list_issued_at = Some(EpochMillis(NOW.0 - 7_200_000));
                    (
                        state.unsent,
                        state.conflicts,
                        state.quarantined,
                        state.stuck,
                    ) = (128, 1, 2, 3);
                    state.keys_overdue = true;
                    state.sessions[0].admits_now = false;
                })
            },
            [
                &[
                    "离线",
                    "练习模式",
                    "120 分钟前",
                    "待上传 128",
                    "冲突 1",
                    "隔离 2",
                    "滞留 3",
                    "未登录",
                    "密钥清单过期，请联网",
                    "下一场 上午场",
                ],
                &[
                    "offline",
                    "PRACTICE",
                    "keys overdue: connect the network",
                    "120 min old",
                    "conflicts 1",
                    "set aside 2",
                    "stuck 3",
                    "nobody signed in",
                ],
            ],
        ),
        (
            "revoked",
            |hands| {
                hands.state(|state| {
                    state.revoked = true;
                    state.list_issued_at = None;
                    state.sessions.clear();
                })
            },
            [
                &["本机已注销：不能验票，请找管理员", "没有今天的名单"],
                &[
                    "this device is revoked: call the administrator",
                    "no list of today",
                ],
            ],
        ),
        (
            "no-list",
            |hands| {
                hands.state(|state| {
                    state.list_issued_at = None;
                    state.sessions.clear();
                    state.clock = ClockWord::Disputed(Some(EpochMillis(NOW.0 + 604_800_000)));
                    state.direction = Direction::Out;
                    state.free_passage = true;
                    state.wall_off_ms = Some(-61_000);
                })
            },
            [
                &[
                    "没有今天的名单",
                    "当前没有场次",
                    "时间有争议，服务器说 2026-10-08 09:00",
                    "出口",
                    "自由通行：任何人可通过",
                ],
                &[
                    "no list of today",
                    "no session now",
                    "time disputed, the server says 2026-10-08 09:00",
                    "FREE PASSAGE: open for everybody",
                ],
            ],
        ),
        (
            "admitted",
            |hands| hands.see(admitted()),
            [
                &[
                    "请通行。",
                    "核对: *小明 0678",
                    "座位: A-12-5",
                    "场次: 上午场 Morning",
                    "人票不符",
                ],
                &[
                    "Please pass.",
                    "Compare: *小明 0678",
                    "Seat: A-12-5",
                    "does not match",
                ],
            ],
        ),
        (
            "party",
            |hands| hands.see(party()),
            [
                &[
                    "请通行，还可入3人。",
                    "人数: 1 共 4, 还可入 3",
                    "请查看: 学生票，查学生证",
                    "再放一人",
                ],
                &[
                    "3 more may enter",
                    "Persons: 1 of 4, left 3",
                    "Check: 学生票，查学生证",
                    "one more person",
                ],
            ],
        ),
        (
            "refused",
            |hands| hands.see(too_early()),
            [
                &[
                    "未到入场时间，13:00开始入场。",
                    "处理: 请游客到时再来。",
                    "[too_early]",
                    "主管放行",
                ],
                &[
                    "Too early; admission begins at 13:00.",
                    "Do: Ask to come back in time.",
                    "override",
                ],
            ],
        ),
        (
            "used",
            |hands| hands.see(used()),
            [
                &[
                    "此票已于08:45在arm-1使用。还可入1人。",
                    "人数: 4, 还可入 1",
                    "[already_used]",
                ],
                &[
                    "Used at 08:45 at arm-1. Only 1 more may enter.",
                    "Persons: 4, left 1",
                ],
            ],
        ),
        (
            "repeat",
            |hands| {
                hands.see(admitted());
                hands.see(repeat());
            },
            [
                &["刚刚扫过，闸机不再动作。", "*小明 0678"],
                &[
                    "Read just before; the gate does not move again.",
                    "*小明 0678",
                ],
            ],
        ),
        (
            "after-a-verdict",
            |hands| {
                hands.see(used());
                hands.pass(20);
            },
            [
                &[
                    "请扫码",
                    "上次 09:00:12",
                    "已用",
                    "此票已于08:45在arm-1使用。",
                ],
                &[
                    "Ready to scan",
                    "Last 09:00:12",
                    "USED",
                    "Used at 08:45 at arm-1.",
                ],
            ],
        ),
        (
            "persons",
            |hands| {
                hands.see(party());
                hands.type_in("p");
                hands.press(&[Key::Right]);
            },
            [
                &["放行几人", "< 2 >", "请通行，还可入3人。"],
                &["How many persons", "< 2 >", "3 more may enter"],
            ],
        ),
        (
            "persons-next",
            |hands| {
                hands.type_in("p");
                hands.press(&[Key::Right, Key::Enter]);
                hands.answer(Answer::Done(both("好", "Good")));
            },
            [
                &["下一次扫码放行人数： 2"],
                &["Persons at the next reading: 2"],
            ],
        ),
        (
            "undo",
            |hands| {
                hands.see(admitted());
                hands.pass(20);
                hands.type_in("u");
            },
            [
                &["撤销上一次放行", "> 误扫", "游客未入场", "人数有误"],
                &[
                    "Take back the last admission",
                    "> scanned by mistake",
                    "visitor did not enter",
                ],
            ],
        ),
        (
            "override",
            |hands| {
                hands.see(too_early());
                hands.pass(20);
                hands.type_in("o");
                hands.press(&[Key::Down, Key::Enter]);
                hands.type_in("135790");
            },
            [
                &[
                    "将放行的拒绝： 未到入场时间，13:00开始入场。",
                    "> 馆方原因",
                    "主管PIN",
                    "******_",
                ],
                &[
                    "The refusal to be waived: Too early",
                    "> the venue's own fault",
                    "Supervisor's PIN",
                    "******_",
                ],
            ],
        ),
        (
            "further",
            |hands| {
                hands.see(too_early());
                hands.type_in("o");
                hands.press(&[Key::Enter]);
                hands.type_in("1357");
                hands.enter();
                let sentence = refused(Reason::IdentityMismatch, None).sentence;
                hands.answer(Answer::Further(Reason::IdentityMismatch, sentence));
                hands.pass(20);
            },
            [
                &[
                    "码与预约人信息不符。",
                    "[identity_mismatch]",
                    "还有另一个原因，也要放行吗？",
                ],
                &[
                    "The code and the booking name different people.",
                    "A further reason stands. Waive it too?",
                ],
            ],
        ),
        (
            "look-up",
            |hands| {
                hands.type_in("/067");
                hands.press(&[Key::Enter]);
                hands.type_in("张小明");
                hands.enter();
            },
            [
                &[
                    "查票",
                    "张小明_",
                    "订单号末尾，或手机、证件的末四位",
                    "至少四个字符。",
                ],
                &[
                    "Look a ticket up",
                    "The end of the order number",
                    "At least four characters.",
                ],
            ],
        ),
        (
            "scan-while-typing",
            |hands| {
                hands.type_in("/");
                hands.type_in("0678");
                hands.see(used());
            },
            [
                &["⊘ 已用", "*小明 0678  此票已于08:45在arm-1使用。", "0678_"],
                &["⊘ USED", "Used at 08:45 at arm-1.", "0678_"],
            ],
        ),
        (
            "found",
            |hands| {
                look_up(hands);
            },
            [
                &[
                    "查到的票",
                    "*小明",
                    "M*** T***",
                    "A-12-7",
                    "共 4, 还可入 3",
                    "将放行人数： 1",
                    "已取消",
                    "整单",
                ],
                &[
                    "Tickets found",
                    "of 4, left 3",
                    "Persons to be admitted: 1",
                    "whole order",
                ],
            ],
        ),
        (
            "order",
            |hands| {
                look_up(hands);
                hands.type_in("b");
                hands.answer(order_rows(0));
                hands.press(&[Key::Down, Key::Left]);
            },
            [
                &[
                    "订单 O-20261001-77",
                    "[x] *小明",
                    "[ ] M*** T***",
                    "将放行人数： 3",
                    "勾选",
                ],
                &[
                    "Order O-20261001-77",
                    "[x] *小明",
                    "Persons to be admitted: 3",
                    "tick",
                ],
            ],
        ),
        (
            "walk-in",
            |hands| {
                hands.type_in("w");
                hands.press(&[Key::Right, Key::Enter, Key::Right]);
            },
            [
                &["无票人员", "< 来宾 >", "< 2 >", "< 进 >"],
                &["Persons without a ticket", "< guest >", "< 2 >", "< in >"],
            ],
        ),
        (
            "sign-in",
            |hands| {
                hands.state(|state| state.operator = None);
                hands.type_in("s");
                hands.type_in("lin");
            },
            [
                &["登录", "lin_", "输入工号和PIN，或扫描员工二维码。"],
                &[
                    "Sign in",
                    "lin_",
                    "Type operator and PIN, or scan a staff QR.",
                ],
            ],
        ),
        (
            "hand-over",
            |hands| {
                hands.type_in("h");
                hands.answer(Answer::HandOver(Box::new(counts())));
            },
            [
                &[
                    "林 Lin",
                    "2026-10-01 08:30:00",
                    "412",
                    "已使用",
                    "凭票放行（人）",
                    "退出登录",
                ],
                &[
                    "Admitted by ticket (persons)",
                    "Refused (readings)",
                    "28",
                    "sign out",
                ],
            ],
        ),
        (
            "last-scans",
            |hands| {
                for shown in [admitted(), used(), too_early(), repeat()] {
                    hands.see(shown);
                }
                hands.pass(20);
                hands.type_in("r");
            },
            [
                &["最近的扫码", "✓ 放行", "⊘ 已用", "✗ 止步", "= 已放行"],
                &["Last scans", "✓ ADMIT", "⊘ USED", "✗ STOP", "= AGAIN"],
            ],
        ),
        (
            "problems",
            |hands| {
                hands.type_in("k");
                hands.answer(Answer::Troubles(troubles()));
            },
            [
                &[
                    "需要人处理的记录",
                    "冲突",
                    "隔离",
                    "滞留",
                    "T-20261001-0007",
                    "记录都在，没有丢失。",
                ],
                &[
                    "Records that want a person",
                    "set aside",
                    "T-20261001-0312",
                    "Nothing is lost.",
                ],
            ],
        ),
        (
            "free-passage",
            |hands| {
                hands.type_in("f");
            },
            [
                &["开始自由通行", "> 紧急疏散", "闸机故障"],
                &["Begin free passage", "> emergency"],
            ],
        ),
        (
            "clock",
            |hands| {
                hands.type_in("c");
            },
            [
                &["主管校时", "2026-10-01 09:00_", "断电后时钟有误", "主管PIN"],
                &[
                    "Set the clock",
                    "2026-10-01 09:00_",
                    "wrong after a power cut",
                ],
            ],
        ),
        (
            "practice",
            |hands| {
                hands.type_in("t");
            },
            [
                &["开始练习？闸机不会开，所有记录不计入。"],
                &["Begin practice? The gate will not open, and nothing counts."],
            ],
        ),
        (
            "alarm",
            |hands| {
                hands.0.on(Event::Told(
                    Weight::Alarm,
                    both(
                        "闸机没有打开：继电器没有反应。",
                        "The gate did not open: the relay does not answer.",
                    ),
                ));
            },
            [
                &["闸机没有打开：继电器没有反应。"],
                &["The gate did not open: the relay does not answer."],
            ],
        ),
        (
            "quit",
            |hands| {
                hands.type_in("q");
            },
            [
                &["关闸并退出？闸机将保持关闭。", "是", "否"],
                &["Quit? The gate shuts and stays shut.", "yes", "no"],
            ],
        ),
    ]
}

fn look_up(hands: &mut Hands) {
    hands.type_in("/");
    hands.type_in("O-20261001-77");
    hands.press(&[Key::Enter, Key::Enter]);
    hands.answer(Answer::Found {
        rows: rows(),
        more: false,
    });
}
