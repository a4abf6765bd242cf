//! `nrih.config-error/1`: takes the mistakes in `[component.config]` that `create` finds.

use std::ffi::c_void;
use std::fmt;

use nri_plugin_api::abi::ConfigErrorInterface;
use serde::{Deserialize, Serialize};

use super::Context;
use super::functions::{bytes, context};
use crate::component::health::one_line;
use crate::component::policy::cut;
use crate::lock::lock;

/// Most mistakes that are kept of one `create`.
const MAX_CONFIG_ERRORS: usize = 100;

/// One mistake in `[component.config]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigError {
    /// Path of the key.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

/// As `config.KEY: MESSAGE`, on one line.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.key.is_empty() { "" } else { "." };
        let message = one_line(self.message.as_bytes());
        write!(f, "config{dot}{}: {message}", self.key.escape_debug())
    }
}

pub(super) static INTERFACE: ConfigErrorInterface = ConfigErrorInterface {
    struct_size: 16,
    reserved: 0,
    report: Some(report_config_error),
};

unsafe extern "C" fn report_config_error(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    message: *const u8,
    message_len: usize,
) {
    // SAFETY: the header binds the component to pass the ctx of its table and readable strings.
    let (context, key, message) = unsafe {
        (
            context(ctx),
            bytes(key, key_len),
            bytes(message, message_len),
        )
    };
    if let (Some(context), Some(key), Some(message)) = (context, key, message) {
        let mut state = lock(&context.state);
        if state.creating && state.config_errors.len() < MAX_CONFIG_ERRORS {
            state.config_errors.push(ConfigError {
                key: cut(&String::from_utf8_lossy(key)).to_owned(),
                message: cut(&String::from_utf8_lossy(message)).to_owned(),
            });
        }
    }
}

impl Context {
    /// The mistakes in the configuration that `create` reported, which has returned.
    pub fn take_config_errors(&self) -> Vec<ConfigError> {
        let mut state = lock(&self.state);
        state.creating = false;
        std::mem::take(&mut state.config_errors)
    }
}
