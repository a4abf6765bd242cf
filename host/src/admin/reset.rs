//! `POST /reset`: a component gets another chance.

use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Questions, ask, json, refuse, stopping};
use crate::supervisor::Question;

/// Largest request that is read, in bytes.
const MAX_REQUEST: usize = 4 << 10;

/// What is sent to `/reset`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ResetRequest {
    /// The component's name, alone or with its index before it.
    pub(super) component: String,
}

pub(super) async fn respond(body: Incoming, questions: &Questions) -> Answer {
    let body = match Limited::new(body, MAX_REQUEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let ResetRequest { component } = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let question = |to| Question::Reset {
        name: component,
        to,
    };
    match ask(questions, question).await {
        Some(Ok(resets)) => json(&resets),
        Some(Err(error)) => refuse(StatusCode::NOT_FOUND, &error.to_string()),
        None => stopping(),
    }
}
