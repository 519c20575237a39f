//! What the screen of a gate says, in English, for what the cases name.

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The words by which a guard is told a thing under its name in the cases.
pub fn words_for(name: &str, value: &Value, zone: &TimeZone) -> Result<String> {
    let text = || value.as_str().with_context(|| format!("{name}: {value}"));
    Ok(match name {
        "attention" => format!("Check: {}", text()?),
        "cause" => match text()? {
            "visitor" => "Cancelled: by the visitor.".to_owned(),
            "operator" => "Cancelled: by the venue.".to_owned(),
            "refunded" => "Cancelled: refunded.".to_owned(),
            "expired" => "Cancelled: not paid in time.".to_owned(),
            "session_cancelled" => "This session is cancelled.".to_owned(),
            other => bail!("no words are known for the cause {other}"),
        },
        "service_day" => {
            let day: Date = text()?.parse()?;
            format!("This ticket is for {}", day.strftime("%-d %B"))
        }
        "session" => format!("Session: {}", text()?),
        "at" => {
            let at = value.as_i64().context("a time is a number")?;
            let at = Timestamp::from_second(at)?.to_zoned_datetime(zone.clone());
            format!("Used at {}", at.strftime("%H:%M"))
        }
        "gate" => format!(" at {}.", text()?),
        "remaining" => format!("Only {value} more may enter."),
        other => bail!("no words are known for {other}"),
    })
}
