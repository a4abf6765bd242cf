//! Something that one instance can have at a time, as a device or a port would be.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use nri_plugin_api::Error;

/// A file that is there as long as an instance has it.
#[derive(Debug)]
pub(crate) struct Alone(PathBuf);

impl Alone {
    pub(crate) fn take(path: PathBuf) -> Result<Self, Error> {
        match File::create_new(&path) {
            Ok(_) => Ok(Self(path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::try_later("another instance has it"))
            }
            Err(error) => Err(Error::from(error).context("taking the file")),
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::error!(%error, "cannot give the file back");
        }
    }
}
