//! From the configuration to an instance.

use serde_path_to_error::{Path, Segment};

use super::HostFunctions;
use super::barrier::{Panicked, guarded};
use crate::abi::Status;
use crate::component::Component;
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::logging;

/// Makes a component and answers token 0 if that fails.
pub(super) fn create<T: Component>(host: &Host, config: &[u8]) -> Result<T, Status> {
    let failure = match guarded(host, || make::<T>(host, config)) {
        Ok(Ok(component)) => return Ok(component),
        // A component's error may run code of its own when it is written or dropped.
        Ok(Err(error)) => guarded(host, move || Failure::new(&error))
            .unwrap_or_else(|Panicked(message)| Failure::failed(message)),
        Err(Panicked(message)) => Failure::failed(message),
    };
    failure.report(host.functions());
    Err(failure.status)
}

fn make<T: Component>(host: &Host, config: &[u8]) -> Result<T, Error> {
    let config = parse_config(config)?;
    T::create(config, host.clone())
}

/// Reads the configuration; what is wrong with it is told by key.
pub(super) fn parse_config<C: serde::de::DeserializeOwned>(config: &[u8]) -> Result<C, Error> {
    let mut json = serde_json::Deserializer::from_slice(config);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let key = key_of(error.path());
        Error::config(key, describe(error.inner()))
    })
}

/// The key as the header wants it: `allow_devices[0].path`.
fn key_of(path: &Path) -> String {
    let mut key = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => key.push_str(&format!("[{index}]")),
            Segment::Map { key: name } | Segment::Enum { variant: name } => {
                if !key.is_empty() {
                    key.push('.');
                }
                key.push_str(name);
            }
            Segment::Unknown => {}
        }
    }
    key
}

/// The text of a JSON error, without the place in a JSON text that no user has seen.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// What the host is told about a failed `create`.
struct Failure {
    status: Status,
    text: String,
    mistakes: Vec<crate::ConfigMistake>,
}

impl Failure {
    fn new(error: &Error) -> Self {
        let status = match error.kind() {
            Kind::TryLater(_) => Status::TRY_LATER,
            Kind::Rejected(_) | Kind::Failed(_) | Kind::Config(_) => Status::FAILED,
        };
        let mistakes = error.config_mistakes().to_vec();
        Self {
            status,
            text: error.to_string(),
            mistakes,
        }
    }

    fn failed(text: String) -> Self {
        Self {
            status: Status::FAILED,
            text,
            mistakes: Vec::new(),
        }
    }

    fn report(&self, host: &HostFunctions) {
        for mistake in &self.mistakes {
            host.report_config_error(&mistake.key, &mistake.message);
        }
        host.reply(0, self.status, self.text.as_bytes());
    }
}

/// Ends an instance, or what there was of it.
pub(super) fn end(host: &Host) {
    logging::stop(host);
    host.end();
}
