//! From what is logged to one text.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};

/// The field that names the component that an event is about, by index and name.
pub(super) const COMPONENT: &str = "component";

/// What an event says.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The component that it is about, if it is about one.
    pub(super) component: Option<String>,
    /// The message, and the other fields behind it.
    pub(super) text: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            COMPONENT => self.component = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        // Writing into a string does not fail. The message is what comes first.
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            name => write!(self.text, "{name}={value:?}"),
        };
    }
}
