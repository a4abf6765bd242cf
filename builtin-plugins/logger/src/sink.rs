//! Where records go.

use std::fmt::Debug;

use nri_plugin_api::HealthProblem;

/// Takes records. What cannot be written is the sink's affair: the writer goes on.
pub(crate) trait Sink: Debug + Send {
    /// Writes a record, which has no line break at its end. It may be kept until [`Sink::flush`].
    fn write(&mut self, record: &[u8]);

    fn flush(&mut self);

    /// Where records go, for people.
    fn place(&self) -> String;

    /// What is done with records there, for people.
    fn fate(&self) -> &'static str {
        "written to"
    }

    /// How many records could not be written so far.
    fn lost(&self) -> u64;

    /// What is not as it should be now.
    fn problems(&self) -> Vec<HealthProblem>;
}

/// The log of the host.
#[derive(Debug)]
pub(crate) struct HostLog;

impl HostLog {
    /// The host cuts longer lines off, in bytes.
    pub(crate) const MAX_LINE: usize = 8 << 10;
}

impl Sink for HostLog {
    fn write(&mut self, record: &[u8]) {
        tracing::info!("{}", String::from_utf8_lossy(record));
    }

    fn flush(&mut self) {}

    fn place(&self) -> String {
        "the host's log".to_owned()
    }

    /// The host leaves out what is below its level, or comes too fast.
    fn fate(&self) -> &'static str {
        "handed to"
    }

    fn lost(&self) -> u64 {
        0
    }

    fn problems(&self) -> Vec<HealthProblem> {
        // A level of the host above this one is the only thing that is known here.
        if tracing::enabled!(tracing::Level::INFO) {
            return Vec::new();
        }
        vec![HealthProblem::new(
            "the host's log leaves out what has level \"info\"",
        )]
    }
}
