//! Records of crashes, one line of JSON each, as they are read back.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Most that is kept of one text of a record, in bytes.
const MAX_TEXT: usize = 512;

/// One crash of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Crash {
    /// When, in seconds since 1970.
    pub time: u64,
    /// `INDEX-NAME` of the component; empty if it was none, or is not known.
    pub component: String,
    /// See [`super::Identity::fingerprint`].
    pub fingerprint: String,
    /// What it was asked to do.
    pub step: String,
    /// Namespace of the pod that this was about.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// Name of the thread.
    pub thread: String,
    /// What happened.
    pub cause: String,
}

impl Crash {
    /// The crashes in a file, and whether there are lines that are none.
    ///
    /// Whoever can write the file is trusted no more than a component: texts are cut, and made safe
    /// to be shown.
    pub(super) fn read_all(bytes: &[u8]) -> (Vec<Self>, bool) {
        let mut damaged = false;
        let crashes = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .filter_map(|line| {
                let read = serde_json::from_slice::<Self>(line)
                    .ok()
                    .filter(|crash| !crash.step.is_empty() && !crash.cause.is_empty());
                damaged |= read.is_none();
                read.map(Self::tame)
            })
            .collect();
        (crashes, damaged)
    }

    fn tame(mut self) -> Self {
        for text in [
            &mut self.component,
            &mut self.fingerprint,
            &mut self.step,
            &mut self.namespace,
            &mut self.pod,
            &mut self.container,
            &mut self.thread,
            &mut self.cause,
        ] {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            *text = text.replace(char::is_control, "?");
        }
        self
    }
}

/// Seconds since 1970, as in a record.
pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// What was under way, about which pod and container, and what happened.
impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.step)?;
        match (self.pod.as_str(), self.container.as_str()) {
            ("", "") => {}
            (pod, "") => write!(f, " for pod {}/{pod}", self.namespace)?,
            (pod, container) => {
                write!(
                    f,
                    " for container {container} of pod {}/{pod}",
                    self.namespace
                )?;
            }
        }
        write!(f, ": {}", self.cause)
    }
}
