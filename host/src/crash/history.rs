//! The crashes of each component, kept in the state folder, and who stays out for them.
//!
//! Two files: the one that a dying process appends its record to, opened beforehand, and the one
//! with all crashes so far, replaced as a whole. Who is in quarantine follows from the crashes alone.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use nix::libc;
use thiserror::Error;

use super::record::{Crash, seconds};
use crate::component::quarantine::Quarantine;
use crate::config::QuarantineConfig;
use crate::state;

/// Where a dying process writes, in the state folder.
const LAST: &str = "last-crash.jsonl";
/// Where all crashes are kept, in the state folder.
const ALL: &str = "crashes.jsonl";
/// Most that is read of a file, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Most crashes that are kept of a component: as many as may be asked for to put it into quarantine.
const MAX_KEPT: usize = 100;
/// Most components whose crashes are kept.
const MAX_COMPONENTS: usize = 100;

/// Why crashes cannot be kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// They could not be read, so they are not written either.
    #[error("there is no usable state folder")]
    NoFolder,
    /// A file or folder cannot be used.
    #[error("{doing} {}", .path.display())]
    File {
        /// What cannot be done to it.
        doing: &'static str,
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HistoryError {
    let path = path.to_owned();
    move |source| HistoryError::File {
        doing,
        path,
        source,
    }
}

/// A component that crashed the host too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOut {
    /// How long from now.
    pub time: Duration,
    /// How often it crashed.
    pub crashes: usize,
    /// The last time.
    pub last: Crash,
}

/// See the module.
#[derive(Debug, Default)]
pub struct History {
    folder: Option<PathBuf>,
    crashes: Vec<Crash>,
    /// The file of the process before, until what it holds is stored with the others.
    unstored: Option<File>,
}

/// A history that was just read.
#[derive(Debug)]
pub(crate) struct Opened {
    /// All of it.
    pub(crate) history: History,
    /// How the last process ended, if by a crash.
    pub(super) news: Vec<Crash>,
    /// For the record of this process.
    pub(super) record: File,
    /// Files hold what is not a record.
    pub(super) damaged: bool,
    /// The news could not be stored; they are read again next time.
    pub(super) unsaved: Option<HistoryError>,
}

impl History {
    /// Reads the crashes so far, and makes room for the record of this process.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made, or its files cannot be read and written. Damaged ones can.
    pub(crate) fn open(state_dir: &Path) -> Result<Opened, HistoryError> {
        state::make_folder(state_dir).map_err(failed("cannot make", state_dir))?;
        let (last, all) = (state_dir.join(LAST), state_dir.join(ALL));
        let mut record = open_private(&last).map_err(failed("cannot open", &last))?;
        let (news, new_damaged) = read_all(&mut record).map_err(failed("cannot read", &last))?;
        let (mut crashes, old_damaged) = match open_for_reading(&all) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), false),
            file => file
                .and_then(|mut file| read_all(&mut file))
                .map_err(failed("cannot read", &all))?,
        };
        crashes.extend(
            news.iter()
                .filter(|crash| !crash.component.is_empty())
                .cloned(),
        );
        let mut history = Self {
            folder: Some(state_dir.to_owned()),
            crashes,
            unstored: None,
        };
        let damaged = new_damaged || old_damaged;
        let unsaved = match damaged || !news.is_empty() {
            true => {
                let copy = record.try_clone().map_err(failed("cannot open", &last))?;
                history.unstored = Some(copy);
                history.store().err()
            }
            false => None,
        };
        Ok(Opened {
            history,
            news,
            record,
            damaged,
            unsaved,
        })
    }

    /// Adds a crash, or what counts as one.
    ///
    /// # Errors
    ///
    /// When it cannot be stored; it is known to this process then, and forgotten with it.
    pub fn add(&mut self, crash: Crash) -> Result<(), HistoryError> {
        self.crashes.push(crash);
        self.store()
    }

    /// Forgets the crashes of a component. Returns whether there were any.
    ///
    /// # Errors
    ///
    /// When that cannot be stored: the next process will know them again.
    pub fn forget(&mut self, component: &str) -> Result<bool, HistoryError> {
        let before = self.crashes.len();
        self.crashes.retain(|crash| crash.component != component);
        let any = self.crashes.len() != before;
        // What was never stored need not be taken back.
        if any && self.folder.is_some() {
            self.store()?;
        }
        Ok(any)
    }

    /// Whether there is anything to hold against a component.
    pub fn knows(&self, component: &str) -> bool {
        self.crashes
            .iter()
            .any(|crash| crash.component == component)
    }

    /// Whether a component stays out now. Crashes with another library or configuration do not
    /// count.
    pub fn kept_out(
        &self,
        component: &str,
        fingerprint: &str,
        rule: QuarantineConfig,
        now: SystemTime,
    ) -> Option<KeptOut> {
        let now = seconds(now);
        let counted: Vec<&Crash> = self
            .crashes
            .iter()
            .filter(|crash| crash.component == component && crash.fingerprint == fingerprint)
            .collect();
        // What a clock that was wrong has put into the future happened just now.
        let times = counted.iter().map(|crash| crash.time.min(now));
        Some(KeptOut {
            time: quarantine_left(times, rule, now)?,
            crashes: counted.len(),
            last: (*counted.last()?).clone(),
        })
    }

    fn store(&mut self) -> Result<(), HistoryError> {
        self.keep_newest();
        let folder = self.folder.as_ref().ok_or(HistoryError::NoFolder)?;
        let all = folder.join(ALL);
        write_all(&all, &self.crashes).map_err(failed("cannot write", &all))?;
        if let Some(record) = &self.unstored {
            let emptied = record.set_len(0);
            emptied.map_err(failed("cannot empty", &folder.join(LAST)))?;
        }
        self.unstored = None;
        Ok(())
    }

    fn keep_newest(&mut self) {
        let mut kept = BTreeMap::<String, usize>::new();
        self.crashes.reverse();
        self.crashes.retain(|crash| {
            if !kept.contains_key(&crash.component) && kept.len() == MAX_COMPONENTS {
                return false;
            }
            let count = kept.entry(crash.component.clone()).or_default();
            *count += 1;
            *count <= MAX_KEPT
        });
        self.crashes.reverse();
    }
}

/// What is left at `now` of the quarantine that crashes at these times lead to, all in seconds since
/// 1970.
fn quarantine_left(
    times: impl Iterator<Item = u64>,
    rule: QuarantineConfig,
    now: u64,
) -> Option<Duration> {
    let quarantine = Quarantine::new(rule);
    let end_if_over_by = |at: Instant| {
        if let Some(term) = quarantine.term().filter(|term| term.until <= at) {
            quarantine.end_if_over(term.until);
        }
    };
    // Only differences matter.
    let mut times = times.peekable();
    let (first, start) = (*times.peek()?, Instant::now());
    let instant = |time: u64| start + Duration::from_secs(time.saturating_sub(first));
    for at in times.map(instant) {
        end_if_over_by(at);
        quarantine.failed(at);
    }
    let now = instant(now);
    end_if_over_by(now);
    Some(quarantine.term()?.until - now)
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

/// Follows no link, and waits for nobody: the file may have been replaced by a pipe.
fn open_for_reading(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

fn read_all(file: &mut File) -> io::Result<(Vec<Crash>, bool)> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(Crash::read_all(&bytes))
}

fn write_all(path: &Path, crashes: &[Crash]) -> io::Result<()> {
    let mut text = Vec::new();
    for crash in crashes {
        serde_json::to_writer(&mut text, crash)?;
        text.push(b'\n');
    }
    state::replace(path, &text)
}

#[cfg(test)]
mod tests;
