//! Events of the gate as a guard reads them. What the bar shows all the time is not told again.

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
        Event::UploadTrouble { what } => format!("记录暂时传不上去，都在本机：{what}"),
        Event::ListRefused { why } => format!("新名单未采用，继续用现有名单：{why}"),
        Event::CodeOverlong { scanner } => format!("{scanner}：读到过长的内容，已丢弃。"),
        Event::JournalSalvaged { records, .. } => {
            format!("本机记录文件曾损坏，已救出{records}条，请告诉管理员。")
        }
        other if other.weight() == Weight::Normal => return None,
        other => other.to_string(),
    };
    Some(Sentence {
        zh_cn,
        en: event.to_string(),
    })
}
