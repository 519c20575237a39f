//! Reads what is left of a refused request's body, within bounds, before the refusal is sent.
//! A connection that is closed with unread bytes is reset, and a client that is still sending
//! would see that instead of the answer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

use super::App;

/// The layer: hands the body on, and takes it back if it was not read to its end.
pub async fn drain(State(app): State<App>, request: Request, next: Next) -> Response {
    let waits_for_leave = request.headers().contains_key(EXPECT);
    let (give_back, mut given_back) = oneshot::channel();
    let request = request.map(|body| {
        Body::new(Lent {
            body: Some(body),
            is_begun: false,
            give_back: Some(give_back),
        })
    });
    let response = next.run(request).await;
    let status = response.status();
    let was_refused = status.is_client_error() || status.is_server_error();
    // The body is here at once, or somebody is still reading it. One that stands still is left.
    if was_refused
        && status != StatusCode::REQUEST_TIMEOUT
        && let Ok((body, is_begun)) = given_back.try_recv()
        && (is_begun || !waits_for_leave)
    {
        let limits = app.limits();
        throw_away(body, limits.drain_bytes, limits.drain_time).await;
    }
    response
}

async fn throw_away(mut body: Body, bytes: usize, time: Duration) {
    let read = async {
        let mut left = bytes;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Whether time or body is over first does not matter.
    let _ = tokio::time::timeout(time, read).await;
}

/// A body that goes back to its owner when its reader drops it before its end.
struct Lent {
    body: Option<Body>,
    is_begun: bool,
    give_back: Option<oneshot::Sender<(Body, bool)>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_begun = true;
        let Some(body) = self.body.as_mut() else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.body = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Some(body) => body.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(body), Some(give_back)) = (self.body.take(), self.give_back.take())
            && !body.is_end_stream()
        {
            // Nobody waits for it when the request was answered well.
            let _ = give_back.send((body, self.is_begun));
        }
    }
}
