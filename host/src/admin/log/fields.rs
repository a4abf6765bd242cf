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
    message: String,
    others: String,
}

impl Fields {
    /// The message, and the other fields behind it.
    pub(super) fn into_text(self) -> String {
        match self.message.as_str() {
            "" => self.others.trim_start().to_owned(),
            _ => self.message + &self.others,
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            COMPONENT => self.component = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing into a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.others, " {name}={value:?}"),
        };
    }
}
