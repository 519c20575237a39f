//! Events of the gate as a guard reads them. What the bar shows all the time is not told again.

use super::said::sentence_of;
use crate::event::{Event, Weight};
use crate::words::Sentence;

/// The sentence for an event, if it is one for the guard.
pub fn told(event: &Event) -> Option<Sentence> {
    let zh_cn = match event {
        Event::Offline { .. } | Event::ClockWarning { .. } | Event::ClockTrust { .. } => {
            return None;
        }
        Event::RelayFailed { what } => format!("闸机没有按指令动作，请看门：{what}"),
        Event::StorageTrouble { what } => format!("存储故障，请联系管理员：{what}"),
        Event::Unauthorised { what } => format!("服务器不接受本机，记录都在：{what}"),
        Event::Revoked { .. } => {
            "本机已被注销，名单和密钥已删除，不再验票放行；未上传的记录仍会上传。请告诉管理员。"
                .into()
        }
        Event::Forgotten => {
            "服务器恢复过备份，不认识本机：照常验票，记录在服务器等待处理。请告诉管理员。".into()
        }
        Event::UploadTrouble { what } => format!("记录暂时传不上去，都在本机：{what}"),
        Event::ListRefused { why } => format!("新名单未采用，继续用现有名单：{why}"),
        Event::CodeOverlong { scanner } => format!("{scanner}：读到过长的内容，已丢弃。"),
        Event::ScannersTooMany { scanner, most } => {
            format!("{scanner}：已连{most}个扫码枪，多出的被拒绝，请查看是谁在连。")
        }
        Event::JournalSalvaged { records, .. } => {
            format!("本机记录文件曾损坏，已救出{records}条，请告诉管理员。")
        }
        Event::JournalWentBack { lacking } => {
            format!(
                "服务器有{lacking}条本机没有的进出记录，已取回：本机曾被还原，或有另一台用了同样的数据。请告诉管理员。"
            )
        }
        Event::ListsDropped { lists } => format!("{lists}份名单损坏，已删除，联网后重取。"),
        Event::JournalGone => "本机记录文件不见了，联网前不知道谁已入场。请马上告诉管理员。".into(),
        Event::FolderCopied => "本机数据来自另一台机器，已另起新日志，请告诉管理员。".into(),
        Event::CodeBroken { scanner } => format!("{scanner}：读到残缺的内容，已丢弃，请再扫。"),
        Event::ScannerLost { scanner, .. } => format!("扫码枪断开：{scanner}。接上后自动恢复。"),
        Event::ScannerBack { scanner } => format!("扫码枪已恢复：{scanner}"),
        Event::RelayLost { what } => format!("继电器断开，闸机不会开：{what}"),
        Event::RelayBack => "继电器已恢复，闸机关闭。".into(),
        Event::InputLost { input, .. } => format!("输入信号断开：{input}"),
        Event::InputBack { input } => format!("输入信号已恢复：{input}"),
        Event::FeedbackFailed { device, .. } => format!("提示设备故障：{device}。闸机照常工作。"),
        Event::FeedbackBack { device } => format!("提示设备已恢复：{device}"),
        Event::OpeningsCancelled { openings } => format!("还未开的{openings}次闸已取消。"),
        Event::HeldOpen => "闸机常开。".into(),
        Event::EmergencyOn => "紧急输入：闸机已打开。".into(),
        Event::EmergencyOff => "紧急输入解除，闸机恢复验票。".into(),
        other if other.weight() == Weight::Normal => return None,
        other => other.to_string(),
    };
    Some(Sentence {
        zh_cn,
        en: sentence_of(event),
    })
}
