//! Asks server or hub before a visitor is let in: may this scan have the admission, and is this
//! code of the shared key genuine. On a thread and a connection of its own, so that no upload
//! stands before a question; an answer that comes too late is none.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use stile_core::device::{Asker, Device};
use stile_core::platform::Platform;
use stile_core::protocol::{ClaimAnswer, ClaimRequest, VerifyAnswer, VerifyRequest};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::client::{Answer, Client, ClientError};
use crate::sync_loop::{SyncError, client_of, runtime};
use crate::threads;

/// A question, and where its answer goes.
enum Question {
    Claim(ClaimRequest, SyncSender<Option<ClaimAnswer>>),
    Verify(VerifyRequest, SyncSender<Option<VerifyAnswer>>),
}

/// The server as a scan asks it.
#[derive(Debug)]
pub struct ServerAsker {
    questions: Sender<(Question, Instant)>,
}

impl ServerAsker {
    /// Starts the thread that asks. It ends when this is dropped.
    pub fn start(device: &Arc<Device>, platform: Arc<dyn Platform>) -> Result<Self, SyncError> {
        let client = client_of(device, platform)?;
        let bearer = device.identity().bearer().to_owned();
        let runtime = runtime()?;
        // One scan at a time asks, and waits no longer than its deadline.
        let (questions, mut waiting) = channel(1);
        threads::spawn_large("asker", move || {
            runtime.block_on(ask_all(&client, &bearer, &mut waiting));
            // A resolver that hangs must not keep the program from ending.
            runtime.shutdown_background();
        })?;
        Ok(Self { questions })
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(SyncSender<Option<T>>) -> Question,
        deadline_ms: u32,
    ) -> Option<T> {
        let wait = Duration::from_millis(u64::from(deadline_ms));
        let (sender, answer) = sync_channel(1);
        let until = Instant::now() + wait;
        // Full only while a question that nobody waits for any more is being given up.
        self.questions.try_send((question(sender), until)).ok()?;
        answer.recv_timeout(wait).ok().flatten()
    }
}

impl Asker for ServerAsker {
    fn claim(&self, request: &ClaimRequest, deadline_ms: u32) -> Option<ClaimAnswer> {
        self.ask(
            |answer| Question::Claim(request.clone(), answer),
            deadline_ms,
        )
        .filter(|answer| answer.scan_id == request.scan_id)
    }

    fn verify(&self, request: &VerifyRequest, deadline_ms: u32) -> Option<VerifyAnswer> {
        self.ask(
            |answer| Question::Verify(request.clone(), answer),
            deadline_ms,
        )
    }
}

async fn ask_all(client: &Client, bearer: &str, waiting: &mut Receiver<(Question, Instant)>) {
    while let Some((question, until)) = waiting.recv().await {
        let left = until.saturating_duration_since(Instant::now());
        match question {
            Question::Claim(request, answer) => {
                // Whoever asked may have given up.
                let _ = answer.send(read(client.claim(bearer, &request, left).await).await);
            }
            Question::Verify(request, answer) => {
                let _ = answer.send(read(client.verify(bearer, &request, left).await).await);
            }
        }
    }
}

/// A well-formed answer of ours, or none: what else comes back says nothing.
async fn read<T: DeserializeOwned>(answer: Result<Answer, ClientError>) -> Option<T> {
    let answer = answer.ok().filter(|answer| answer.status() == 200)?;
    serde_json::from_slice(&answer.read().await.ok()?.body).ok()
}
