//! A device presents itself to its server: the enrolment text's token and its own key, again and
//! again while an operator is to confirm the digits that it shows.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use stile_core::device::{Candidate, Identity};
use stile_core::outbox::HttpAnswer;
use stile_core::platform::Platform;
use stile_core::protocol::{
    Code, EnrolAnswer, EnrolRequest, EnrolWaiting, EnrolmentDigits, EnrolmentText, Problem,
};
use stile_core::time::EpochMillis;
use tokio::time::sleep;

use super::CommandError;
use super::enrol::say;
use crate::client::{Client, ClientError, complaint};
use crate::tui::block;

/// Pauses before the enrolment is sent again when no answer came: the server knows the same key
/// again, so that a lost answer loses no token.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// How often a device that waits asks, in seconds, unless the server says another: soon enough for
/// the person before it.
const ASKS_S: u64 = 2;
/// The longest pause that it takes the server's word for, in seconds: somebody stands there.
const MOST_PAUSE_S: u64 = 30;
/// Asked for this much longer than the text is good, in milliseconds, while the server does not
/// answer: it may have been confirmed with the last second.
const GRACE_MS: i64 = 60_000;

/// Enrols a device by its text, and tells a person what to do where somebody is to confirm it.
pub async fn present(
    text: &EnrolmentText,
    name: &str,
    model: &str,
    platform: &Arc<dyn Platform>,
) -> Result<Identity, CommandError> {
    // A board with a clock of 1970 still knows the time of the text.
    let (clock, floor) = (Arc::clone(platform), text.time.millis());
    let client = Client::new(
        &text.server,
        text.ca_pin.as_deref(),
        Arc::new(move || clock.moment().wall.max(floor)),
        Arc::clone(platform),
    )?;
    let candidate = Candidate::new(text.clone(), platform.as_ref());
    let request = candidate.request(name, model);
    let asking = Asking {
        client: &client,
        request: &request,
        server: &text.server,
        platform,
    };
    let first = asking.first().await?;
    let answer = match waiting(&first.answer) {
        None => first.answer,
        Some(waiting) => {
            let digits = candidate.digits().ok_or_else(|| {
                CommandError::Failed("the enrolment text's root fingerprint is none".to_owned())
            })?;
            show(digits, &waiting);
            asking.until_settled(first, waiting).await?
        }
    };
    let answer = read(&answer, &text.server)?;
    let mut identity = candidate.accept(answer)?;
    identity.name = name.to_owned();
    Ok(identity)
}

/// An answer with the server's time, if it said that.
struct Answered {
    answer: HttpAnswer,
    server_time: Option<EpochMillis>,
}

struct Asking<'a> {
    client: &'a Client,
    request: &'a EnrolRequest,
    server: &'a str,
    platform: &'a Arc<dyn Platform>,
}

impl Asking<'_> {
    async fn once(&self) -> Result<Answered, ClientError> {
        let answer = self.client.enrol(self.request).await?;
        let server_time = answer.server_time;
        Ok(Answered {
            answer: answer.read().await?,
            server_time,
        })
    }

    async fn first(&self) -> Result<Answered, CommandError> {
        let mut pauses = RETRY_PAUSES.into_iter();
        loop {
            match (self.once().await, pauses.next()) {
                (Ok(answered), _) => return Ok(answered),
                (Err(ClientError::Transport(_)), Some(pause)) => sleep(pause).await,
                (Err(error), _) => {
                    return Err(CommandError::Failed(format!(
                        "{error}; is {} right, and reachable from here?",
                        self.server
                    )));
                }
            }
        }
    }

    /// Asks until the server says something else than that it waits. While it says nothing, the
    /// text's own end is the bound.
    async fn until_settled(
        &self,
        mut answered: Answered,
        mut last: EnrolWaiting,
    ) -> Result<HttpAnswer, CommandError> {
        let mut ends_at = self.ends_at(&answered, &last);
        loop {
            let pause = answered.answer.retry_after_s.unwrap_or(ASKS_S);
            sleep(Duration::from_secs(pause.clamp(1, MOST_PAUSE_S))).await;
            match self.once().await {
                Ok(next) => answered = next,
                Err(error) if self.platform.moment().boot_ms > ends_at => {
                    return Err(CommandError::Failed(format!(
                        "{error}, and the enrolment text is over; make a new one at the server"
                    )));
                }
                // It comes again, and the digits stay the same.
                Err(_) => {
                    answered.answer.retry_after_s = None;
                    continue;
                }
            }
            match waiting(&answered.answer) {
                Some(waiting) => {
                    last = waiting;
                    ends_at = self.ends_at(&answered, &last);
                }
                None if is_later(&answered.answer) && self.platform.moment().boot_ms <= ends_at => {
                }
                None => return Ok(answered.answer),
            }
        }
    }

    /// When the waiting is over at the latest, by the clock of this machine that never jumps.
    fn ends_at(&self, answered: &Answered, waiting: &EnrolWaiting) -> i64 {
        let end = waiting.expires_at.millis();
        let left_ms = answered
            .server_time
            .map_or(0, |now| end.0.saturating_sub(now.0));
        let now = self.platform.moment().boot_ms;
        now.saturating_add(left_ms.max(0)).saturating_add(GRACE_MS)
    }
}

fn waiting(answer: &HttpAnswer) -> Option<EnrolWaiting> {
    match answer.status {
        202 => serde_json::from_slice(&answer.body).ok(),
        _ => None,
    }
}

/// Whether our server, or what stands before it, cannot answer just now.
fn is_later(answer: &HttpAnswer) -> bool {
    matches!(answer.status, 429 | 502 | 503 | 504)
}

/// The digits, large where a screen takes it, and what is to be done with them.
fn show(digits: EnrolmentDigits, waiting: &EnrolWaiting) {
    let shown = digits.to_string();
    say("This device waits for an operator. Its digits:");
    say("");
    if io::stdout().is_terminal()
        && let Some((left, right)) = shown.split_once(' ')
    {
        let halves = [left, right].map(|half| block::digits(half, 1).lines());
        for (left, right) in halves[0].iter().zip(&halves[1]) {
            say(&format!("  {left}      {right}"));
        }
        say("");
    }
    say(&format!("    {shown}"));
    say("");
    say("Whoever invited it types them at the server:");
    say(&format!(
        "    stile-server device confirm {} {shown}",
        waiting.enrolment_id
    ));
    say("Nothing more is to be done here; it goes on by itself.");
    let _ = io::stdout().flush();
}

fn read(answer: &HttpAnswer, server: &str) -> Result<EnrolAnswer, CommandError> {
    if let (200 | 201, Ok(good)) = (answer.status, serde_json::from_slice(&answer.body)) {
        return Ok(good);
    }
    let problem = serde_json::from_slice::<Problem>(&answer.body).ok();
    Err(CommandError::Failed(match problem {
        Some(problem) if problem.code == Code::EnrolmentRefused => format!(
            "{}; make a new enrolment text at the server and use it within ten minutes",
            problem.detail
        ),
        Some(_) => format!("the server refuses: {}", complaint(answer)),
        None => format!(
            "{server} is no Stile server, or something stands between (a sign-in page, a proxy): \
             it answered {}",
            answer.status
        ),
    }))
}
