//! Waiting for something that a test expects.

use std::future::Future;
use std::time::Duration;

use anyhow::Context;
use tokio::time::timeout;

/// Upper bound of any wait: far more than anything takes, so that only a failing test spends it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for `future`, and says what was waited for if it does not come.
///
/// # Errors
///
/// When [`PATIENCE`] is at its end.
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> anyhow::Result<T> {
    patiently_for(PATIENCE, what, future).await
}

/// As [`patiently`], for what takes seconds on a fast machine.
///
/// # Errors
///
/// When `limit` is at its end.
pub async fn patiently_for<T>(
    limit: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> anyhow::Result<T> {
    timeout(limit, future)
        .await
        .with_context(|| format!("{what}: nothing for {limit:?}"))
}
