//! Writes down what reached the component.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

/// One line of the record.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Entry<'a> {
    /// The name of the instance.
    pub(crate) instance: &'a str,
    /// `CreateContainer` and so on; `create` and `destroy` for the instance itself.
    pub(crate) method: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) pod: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) container: &'a str,
    /// For `Synchronize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pods: Option<usize>,
    /// For `Synchronize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<usize>,
    /// For `update_containers`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) status: &'a str,
    /// For `update_result`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) error: &'a str,
    /// For `update_result`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) failed: &'a [&'a str],
}

/// The file that lines are appended to, if there is one.
#[derive(Debug)]
pub(crate) struct Record {
    file: Option<File>,
}

impl Record {
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self {
            file: path.map(open).transpose()?,
        })
    }

    /// Appends a line, with one write: several instances may share the file.
    pub(crate) fn write(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}
