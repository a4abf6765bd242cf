//! What a child tells about its job.

use std::fs::File;
use std::io::{self, Write as _};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Says that component code is about to run. What follows is the result, as JSON.
const BEGUN: u8 = b'>';

/// How far a child came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report<T> {
    /// It ended before any component code ran: that says nothing about the component.
    NotBegun,
    /// Component code did not come back.
    Begun,
    /// It did, and this is the result.
    Done(T),
}

impl<T: DeserializeOwned> Report<T> {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let [BEGUN, result @ ..] = bytes else {
            return Self::NotBegun;
        };
        serde_json::from_slice(result).map_or(Self::Begun, Self::Done)
    }
}

/// The child's end.
#[derive(Debug)]
pub(super) struct Reporter(File);

impl Reporter {
    pub(super) fn new(file: File) -> Self {
        Self(file)
    }

    /// From now on component code runs.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.0.write_all(&[BEGUN])
    }

    /// Component code has come back.
    pub(super) fn finish<T: Serialize>(mut self, result: &T) -> io::Result<()> {
        self.0.write_all(&serde_json::to_vec(result)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Probed = Report<Result<(), String>>;

    #[test]
    fn only_a_whole_result_is_one() {
        for (bytes, expected) in [
            (&b""[..], Probed::NotBegun),
            (b"{\"Ok\":null}", Probed::NotBegun),
            (b">", Probed::Begun),
            (b">{\"Ok\":nul", Probed::Begun),
            (b">{\"Ok\":null}", Probed::Done(Ok(()))),
            (b">{\"Err\":\"no\"}", Probed::Done(Err("no".into()))),
            (b">{\"Ok\":null}x", Probed::Begun),
        ] {
            assert_eq!(Probed::parse(bytes), expected);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut file = tempfile::tempfile().unwrap();
        let mut reporter = Reporter::new(file.try_clone().unwrap());
        reporter.begin().unwrap();
        reporter.finish(&Err::<(), _>("broken")).unwrap();
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut file).unwrap();
        io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        assert_eq!(
            Probed::parse(&bytes),
            Probed::Done(Err("broken".to_owned()))
        );
    }
}
