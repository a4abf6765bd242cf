//! What a component answers when it does not answer with a result.

use std::error::Error as StdError;
use std::fmt;

/// A failure of a component, or a decision against a pod or container.
///
/// Every ordinary error converts into it, so `?` works on whatever a component calls. Such a failure
/// is judged by the component's `on_failure` setting in the host. A decision is made by
/// [`Error::reject`], and the host passes it on in any case:
///
/// ```
/// # use nri_plugin_api::Error;
/// fn checked(path: &str) -> Result<std::fs::Metadata, Error> {
///     if !path.starts_with("/dev/") {
///         return Err(Error::reject(format!("{path} is not a device")));
///     }
///     Ok(std::fs::metadata(path)?)
/// }
/// # assert!(checked("/etc").unwrap_err().is_rejection());
/// # assert!(!checked("/dev/absent").unwrap_err().is_rejection());
/// ```
///
/// Like other errors that everything converts into, it does not implement [`std::error::Error`]
/// itself. `Display` writes the whole chain of causes.
pub struct Error {
    kind: Kind,
    /// From the outermost to the innermost.
    context: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Rejected(String),
    Failed(Box<dyn StdError + Send + Sync>),
    TryLater(String),
    Config(Vec<ConfigMistake>),
}

/// A mistake in the configuration of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMistake {
    /// Where it is, such as `allow_devices[0].path`; empty for the configuration as a whole.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ConfigMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.key, self.message)
        }
    }
}

impl Error {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            context: Vec::new(),
        }
    }

    /// A decision: this pod or container must not go on. The text reaches the user who made it, cut
    /// to 1 KiB.
    ///
    /// It counts in the answers to `CreateContainer`, `UpdateContainer`, `RunPodSandbox`,
    /// `StartContainer` and `ValidateContainerAdjustment`. Nothing may keep a pod from stopping: in
    /// other answers the host only logs it. From [`Component::create`](crate::Component::create) it
    /// is a failure.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::new(Kind::Rejected(reason.into()))
    }

    /// A failure that is described by a text alone.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed(message.into().into()))
    }

    /// For [`Component::create`](crate::Component::create): something that will come is not there
    /// yet, or another instance has it. The host tries again later; where it has only made this
    /// instance to replace another one, after a change of the configuration, it destroys that one first.
    /// Elsewhere it is a failure.
    pub fn try_later(reason: impl Into<String>) -> Self {
        Self::new(Kind::TryLater(reason.into()))
    }

    /// For [`Component::create`](crate::Component::create): a mistake in the configuration. The
    /// host names file and line. For several at once see [`ConfigMistakes`].
    pub fn config(key: impl Into<String>, message: impl Into<String>) -> Self {
        let mistake = ConfigMistake {
            key: key.into(),
            message: message.into(),
        };
        Self::new(Kind::Config(vec![mistake]))
    }

    /// Says in what attempt the error came up. Kind and cause are kept.
    #[must_use]
    pub fn context(mut self, doing: impl Into<String>) -> Self {
        self.context.insert(0, doing.into());
        self
    }

    /// Whether this is a decision, not a failure.
    pub fn is_rejection(&self) -> bool {
        matches!(self.kind, Kind::Rejected(_))
    }

    /// The mistakes in the configuration, if the error is about it.
    pub fn config_mistakes(&self) -> &[ConfigMistake] {
        match &self.kind {
            Kind::Config(mistakes) => mistakes,
            _ => &[],
        }
    }

    /// The error behind a failure, if it is of this type.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        match &self.kind {
            Kind::Failed(source) => source.downcast_ref(),
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self::new(Kind::Failed(Box::new(error)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for doing in &self.context {
            write!(f, "{doing}: ")?;
        }
        match &self.kind {
            Kind::Rejected(text) | Kind::TryLater(text) => f.write_str(text),
            Kind::Failed(error) => write_chain(f, error.as_ref()),
            Kind::Config(mistakes) => {
                for (i, mistake) in mistakes.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "; " };
                    write!(f, "{separator}{mistake}")?;
                }
                Ok(())
            }
        }
    }
}

/// Writes an error and its causes, outermost first.
fn write_chain(f: &mut fmt::Formatter<'_>, error: &dyn StdError) -> fmt::Result {
    write!(f, "{error}")?;
    let mut source = error.source();
    while let Some(cause) = source {
        write!(f, ": {cause}")?;
        source = cause.source();
    }
    Ok(())
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("context", &self.context)
            .finish()
    }
}

/// Collects mistakes in a configuration, so that all are reported at once.
///
/// ```
/// # use nri_plugin_api::{ConfigMistakes, Error};
/// fn check(paths: &[&str]) -> Result<(), Error> {
///     let mut mistakes = ConfigMistakes::new();
///     for (i, path) in paths.iter().enumerate() {
///         if !path.starts_with('/') {
///             mistakes.add(format!("paths[{i}]"), "expected an absolute path");
///         }
///     }
///     mistakes.into_result()
/// }
/// let error = check(&["/a", "b", "c"]).unwrap_err();
/// assert_eq!(error.config_mistakes().len(), 2);
/// assert_eq!(error.config_mistakes()[0].key, "paths[1]");
/// ```
#[derive(Debug, Default)]
pub struct ConfigMistakes {
    mistakes: Vec<ConfigMistake>,
}

impl ConfigMistakes {
    /// No mistake yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a mistake, see [`ConfigMistake`] for the key.
    pub fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.mistakes.push(ConfigMistake {
            key: key.into(),
            message: message.into(),
        });
    }

    /// Whether there is no mistake so far.
    pub fn is_empty(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// Fails if there is a mistake.
    ///
    /// # Errors
    ///
    /// All mistakes together.
    pub fn into_result(self) -> Result<(), Error> {
        if self.mistakes.is_empty() {
            return Ok(());
        }
        Err(Error::new(Kind::Config(self.mistakes)))
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[derive(Debug, thiserror::Error)]
    #[error("reading the device list")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_failure_names_all_its_causes() {
        let error = Error::from(Outer(std::io::Error::other("disk on fire"))).context("starting");
        assert_eq!(
            error.to_string(),
            "starting: reading the device list: disk on fire"
        );
        assert!(error.downcast_ref::<Outer>().is_some());
    }

    #[test]
    fn context_keeps_a_rejection_a_rejection() {
        let error = Error::reject("not allowed").context("device /dev/kvm");
        assert!(error.is_rejection());
        assert_eq!(error.to_string(), "device /dev/kvm: not allowed");
    }
}
