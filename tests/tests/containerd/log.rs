//! Files to which components write a JSON line for each thing that happens.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nri_host_tests::patience::PATIENCE;
use serde_json::Value;

/// Time between two looks at a file.
const POLL: Duration = Duration::from_millis(10);

/// A file that is written behind the requests, or beside them.
pub(crate) struct Log(pub(crate) PathBuf);

impl Log {
    /// Waits until there is an event for which `is_it` holds.
    pub(crate) async fn wait(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(&self.0)
                .with_context(|| format!("reading {}", self.0.display()))?;
            // The last line may be half written.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            for line in whole.lines() {
                if is_it(&serde_json::from_str(line)?) {
                    return Ok(());
                }
            }
            ensure!(
                Instant::now() < until,
                "waited in vain for {what} in\n{text}"
            );
            tokio::time::sleep(POLL).await;
        }
    }
}
