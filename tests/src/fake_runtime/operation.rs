//! One call to all plugins, as a runtime makes it.

use std::sync::Arc;

use super::board::Board;
use super::call::{Call, CallError, Failure, Reply};
use super::plugin;

/// What came of a call to all plugins.
#[derive(Debug)]
pub struct Operation<R> {
    /// The plugins that were called, in order, and what each did.
    pub calls: Vec<(String, Result<Reply<R>, CallError>)>,
    /// Whether the last of them made the operation fail; later ones were not called.
    failed: bool,
}

impl<R> Operation<R> {
    /// Names of the plugins that were called, in order.
    pub fn called(&self) -> Vec<&str> {
        self.calls.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The good answers, by plugin.
    ///
    /// # Errors
    ///
    /// What made the operation fail.
    pub fn replies(self) -> Result<Vec<(String, Reply<R>)>, CallError> {
        let mut replies = Vec::with_capacity(self.calls.len());
        let last = self.calls.len();
        for (position, (name, result)) in self.calls.into_iter().enumerate() {
            match result {
                Ok(reply) => replies.push((name, reply)),
                Err(error) if self.failed && position + 1 == last => return Err(error),
                // Lost plugins count as if they had answered nothing.
                Err(_) => {}
            }
        }
        Ok(replies)
    }
}

pub(super) async fn run<C: Call>(board: &Arc<Board>, request: &C) -> Operation<C::Reply> {
    let _alone = board.operations.write().await;
    let sessions = board.state().active.clone();
    let mut operation = Operation {
        calls: Vec::new(),
        failed: false,
    };
    for session in sessions {
        if !session.subscribes_to(C::EVENT) {
            continue;
        }
        let result = plugin::call(board, &session, request, board.settings.request_timeout).await;
        if let Err(CallError { failure, .. }) = &result {
            operation.failed = !failure.is_fatal_to_the_plugin()
                || session
                    .subscription
                    .get()
                    .is_some_and(|subscription| subscription.fail_request)
                || C::EVENT == nri_plugin_api::api::Event::VALIDATE_CONTAINER_ADJUSTMENT
                    && !matches!(failure, Failure::NotSubscribed);
        }
        operation.calls.push((session.name().to_owned(), result));
        if operation.failed {
            break;
        }
    }
    operation
}
