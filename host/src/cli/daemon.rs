//! Asking the running daemon something.

use hyper::StatusCode;
use tokio::runtime::Runtime;

use super::{CommonArgs, complain};
use crate::admin::client::AskError;
use crate::config::HostConfig;
use crate::exit::ExitReason;

/// The daemon of a configuration, which may be there or not.
pub(super) struct Daemon {
    host: HostConfig,
    runtime: Runtime,
}

impl Daemon {
    /// Says on standard error why nobody can be asked.
    pub(super) fn of(common: &CommonArgs) -> Result<Self, ExitReason> {
        // A mistake elsewhere in the configuration must not hide what runs.
        let (_, effective) = common.load_effective();
        let host = effective.config.host;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| {
                complain(&error);
                ExitReason::Failure
            })?;
        Ok(Self { host, runtime })
    }

    /// Puts a question.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&HostConfig) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        self.runtime.block_on(question(&self.host))
    }
}

/// Puts one question, and tells on standard error why there is no answer.
pub(super) fn ask<T>(
    common: &CommonArgs,
    question: impl AsyncFnOnce(&HostConfig) -> Result<T, AskError>,
) -> Result<T, ExitReason> {
    let daemon = Daemon::of(common)?;
    daemon.ask(question).map_err(|error| give_up(&error))
}

/// Tells on standard error why there is no answer.
pub(super) fn give_up(error: &AskError) -> ExitReason {
    complain(error);
    exit_reason(error)
}

/// What a command ends with that gets no answer.
pub(super) fn exit_reason(error: &AskError) -> ExitReason {
    match error {
        AskError::Refused {
            status: StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST,
            ..
        } => ExitReason::Usage,
        AskError::Refused {
            status: StatusCode::FORBIDDEN | StatusCode::INTERNAL_SERVER_ERROR,
            ..
        } => ExitReason::Failure,
        AskError::Refused {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            ..
        } => ExitReason::BadConfig,
        _ => ExitReason::Unavailable,
    }
}
