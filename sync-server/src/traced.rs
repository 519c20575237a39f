//! The trace of the request in whose course something is done, so that what comes of it, also much
//! later, can say so. How it travels in headers is `http/trace.rs`'s and the webhooks' own.

use std::future::Future;

tokio::task_local! {
    static CURRENT: Option<TraceId>;
}

/// The id of a trace, by W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub [u8; 16]);

/// That of the request in whose course this is done, if it is done in the course of one.
pub fn current() -> Option<TraceId> {
    CURRENT.try_with(|trace| *trace).ok().flatten()
}

/// Does something in the course of a request.
pub(crate) async fn surround<T>(trace: Option<TraceId>, work: impl Future<Output = T>) -> T {
    CURRENT.scope(trace, work).await
}

/// The same on this thread, for work that was handed over to it.
pub(crate) fn surround_here<T>(trace: Option<TraceId>, work: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(trace, work)
}
