//! `POST /reload`: what the files say by now is brought about.

use hyper::StatusCode;

use super::answer::{Answer, Questions, ask, json, refuse, stopping};
use crate::supervisor::{Question, ReloadError};

pub(super) async fn respond(questions: &Questions) -> Answer {
    match ask(questions, |to| Question::Reload(Some(to))).await {
        Some(Ok(report)) => json(&report),
        Some(Err(error)) => {
            let status = match error {
                ReloadError::Config { .. } => StatusCode::UNPROCESSABLE_ENTITY,
                ReloadError::Reading { .. } | ReloadError::NoThread(_) => {
                    StatusCode::INTERNAL_SERVER_ERROR
                }
            };
            refuse(status, &error.to_string())
        }
        None => stopping(),
    }
}
