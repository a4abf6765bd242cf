//! Asking the running daemon something.

use hyper::StatusCode;

use super::{CommonArgs, complain};
use crate::admin::client::AskError;
use crate::config::HostConfig;
use crate::exit::ExitReason;

/// Puts a question, and tells on standard error why there is no answer.
pub(super) fn ask<T>(
    common: &CommonArgs,
    question: impl AsyncFnOnce(&HostConfig) -> Result<T, AskError>,
) -> Result<T, ExitReason> {
    // A mistake elsewhere in the configuration must not hide what runs.
    let host = common
        .load()
        .config
        .map(|config| config.host)
        .unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            complain(&error);
            ExitReason::Failure
        })?;
    runtime.block_on(question(&host)).map_err(|error| {
        complain(&error);
        exit_reason(&error)
    })
}

fn exit_reason(error: &AskError) -> ExitReason {
    match error {
        AskError::Refused {
            status: StatusCode::NOT_FOUND,
            ..
        } => ExitReason::Usage,
        AskError::Refused {
            status: StatusCode::FORBIDDEN,
            ..
        } => ExitReason::Failure,
        _ => ExitReason::Unavailable,
    }
}
