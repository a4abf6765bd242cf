//! What every endpoint is made of: a question to the supervisor, and an answer to whoever asked.

use std::time::SystemTime;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tracing_appender::non_blocking::ErrorCounter;

use super::log::LogLines;
use crate::supervisor::Question;

/// What whoever asked gets.
pub(super) type Answer = Response<Full<Bytes>>;

/// Where questions to the supervisor go.
pub(super) type Questions = mpsc::Sender<Question>;

/// What answers are made of.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The supervisor.
    pub questions: Questions,
    /// What was logged.
    pub log: LogLines,
    /// Lines of the log that nobody took in time.
    pub dropped_lines: ErrorCounter,
    /// When the process started.
    pub started: SystemTime,
}

/// Asks the supervisor. `None`: it is stopping.
pub(super) async fn ask<T>(
    questions: &Questions,
    question: impl FnOnce(oneshot::Sender<T>) -> Question,
) -> Option<T> {
    let (to, answer) = oneshot::channel();
    questions.send(question(to)).await.ok()?;
    answer.await.ok()
}

/// All is well, and this is what was asked for.
pub(super) fn json(answer: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(answer).expect("its keys are strings");
    let mut response = Response::new(Full::from(body));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// All is well, in one line for a person.
pub(super) fn text(text: &str) -> Answer {
    let mut response = Response::new(Full::from(format!("{text}\n")));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// No, in a line for a person.
pub(super) fn refuse(status: StatusCode, text: &str) -> Answer {
    let mut response = self::text(text);
    *response.status_mut() = status;
    response
}

/// The supervisor takes no questions any more.
pub(super) fn stopping() -> Answer {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "nri-host is stopping")
}
