//! How an event becomes one line of text.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};

/// Collects fields as `message name=value name=value`.
#[derive(Debug, Default)]
pub(super) struct Line {
    message: String,
    fields: String,
}

impl Line {
    /// The name of the field that holds the text of an event.
    const MESSAGE: &'static str = "message";

    fn push(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if field.name() == Self::MESSAGE {
            write!(self.message, "{value}")
        } else {
            let separator = if self.fields.is_empty() { "" } else { " " };
            write!(self.fields, "{separator}{}={value}", field.name())
        }
        .expect("writing to a String does not fail");
    }

    /// Only the fields.
    pub(super) fn fields(&self) -> &str {
        &self.fields
    }

    /// Appends message and fields.
    pub(super) fn write_to(&self, text: &mut String) {
        text.push_str(&self.message);
        if !self.message.is_empty() && !self.fields.is_empty() {
            text.push(' ');
        }
        text.push_str(&self.fields);
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == Self::MESSAGE {
            self.push(field, format_args!("{value}"));
        } else {
            self.push(field, format_args!("{value:?}"));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.push(field, format_args!("{value}"));
        let mut source = value.source();
        while let Some(cause) = source {
            write!(self.fields, ": {cause}").expect("writing to a String does not fail");
            source = cause.source();
        }
    }
}
