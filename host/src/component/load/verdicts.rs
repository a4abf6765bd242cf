//! Which libraries did well in a throw-away process, kept over restarts.
//!
//! Only good verdicts are kept: another may have been the machine's fault. They hold for one version
//! of the host and of glibc.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use super::super::inspect::Digest;
use super::running_glibc;
use crate::lock::lock;
use crate::state;

/// The file below the state folder: a line that says what the verdicts hold for, then a digest a
/// line, the oldest first.
const FILE: &str = "probed-libraries";
/// Most libraries that are remembered.
const MAX_ENTRIES: usize = 256;
/// The most that is read of the file.
const MAX_LEN: usize = 64 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Verdicts {
    state_dir: PathBuf,
    path: PathBuf,
    valid_for: String,
    writing: Mutex<()>,
    warned: AtomicBool,
}

impl Verdicts {
    pub(super) fn new(state_dir: &Path) -> Self {
        let glibc = running_glibc().map_or_else(|| "unknown".to_owned(), |it| it.to_string());
        Self::valid_for(
            state_dir,
            format!("nri-host {} glibc {glibc}", env!("CARGO_PKG_VERSION")),
        )
    }

    fn valid_for(state_dir: &Path, valid_for: String) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            path: state_dir.join(FILE),
            valid_for,
            writing: Mutex::new(()),
            warned: AtomicBool::new(false),
        }
    }

    /// Whether the library did well before.
    pub(super) fn is_good(&self, digest: Digest) -> bool {
        self.read().contains(&digest.to_string())
    }

    /// The library did well. If that cannot be written down, it will be tried again.
    pub(super) fn remember(&self, digest: Digest) {
        let _one_at_a_time = lock(&self.writing);
        let mut digests = self.read();
        digests.push(digest.to_string());
        let surplus = digests.len().saturating_sub(MAX_ENTRIES);
        let written = self.write(&digests[surplus..]);
        if let Err(error) = written
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                path = %self.path.display(), %error,
                "it cannot be kept which libraries can be loaded: each start tries them out again"
            );
        }
    }

    /// The digests of the file; none of a file that is not just as it is written.
    fn read(&self) -> Vec<String> {
        match self.read_file() {
            Ok(text) => self.parse(&text).unwrap_or_else(|| {
                tracing::debug!(path = %self.path.display(), "is of another version, or broken");
                Vec::new()
            }),
            Err(error) => {
                tracing::debug!(path = %self.path.display(), %error, "cannot be read");
                Vec::new()
            }
        }
    }

    fn read_file(&self) -> io::Result<String> {
        let file = OpenOptions::new()
            .read(true)
            // Whatever lies there must not hold anything up.
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("is no regular file"));
        }
        let mut text = String::new();
        let more = u64::try_from(MAX_LEN + 1).expect("a small constant");
        file.take(more).read_to_string(&mut text)?;
        Ok(text)
    }

    fn parse(&self, text: &str) -> Option<Vec<String>> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let sound = text.len() <= MAX_LEN && lines.next()? == self.valid_for;
        let digests: Vec<String> = lines.map(str::to_owned).collect();
        let all_digests = digests.iter().all(|line| is_digest(line));
        (sound && all_digests && digests.len() <= MAX_ENTRIES).then_some(digests)
    }

    fn write(&self, digests: &[String]) -> io::Result<()> {
        let mut text = self.valid_for.clone() + "\n";
        for digest in digests {
            text.push_str(digest);
            text.push('\n');
        }
        state::make_folder(&self.state_dir)?;
        state::replace(&self.path, text.as_bytes())
    }
}

fn is_digest(line: &str) -> bool {
    line.len() == 64
        && line
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use tempfile::TempDir;

    use super::*;

    struct Place(TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        /// As after a restart.
        fn verdicts(&self) -> Verdicts {
            Verdicts::new(&self.0.path().join("state"))
        }

        fn file(&self) -> PathBuf {
            self.0.path().join("state").join(FILE)
        }
    }

    fn digest(number: usize) -> Digest {
        Digest::of(&number.to_le_bytes())
    }

    #[test]
    fn what_did_well_is_remembered_over_restarts_and_nothing_else() {
        let place = Place::new();
        assert!(!place.verdicts().is_good(digest(1)));
        place.verdicts().remember(digest(1));
        place.verdicts().remember(digest(2));
        let verdicts = place.verdicts();
        assert!(verdicts.is_good(digest(1)) && verdicts.is_good(digest(2)));
        assert!(!verdicts.is_good(digest(3)));
    }

    #[test]
    fn verdicts_of_another_host_or_glibc_do_not_count() {
        let place = Place::new();
        let state = place.0.path().join("state");
        let other = Verdicts::valid_for(&state, "nri-host 0.0.9 glibc 2.17".to_owned());
        other.remember(digest(1));
        assert!(other.is_good(digest(1)));
        assert!(!place.verdicts().is_good(digest(1)));
        place.verdicts().remember(digest(2));
        assert!(!other.is_good(digest(1)));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let place = Place::new();
        let verdicts = place.verdicts();
        for number in 0..=MAX_ENTRIES {
            verdicts.remember(digest(number));
        }
        assert!(!verdicts.is_good(digest(0)));
        assert!(verdicts.is_good(digest(1)) && verdicts.is_good(digest(MAX_ENTRIES)));
        assert!(fs::metadata(place.file()).unwrap().len() <= MAX_LEN as u64);
    }

    #[test]
    fn a_broken_file_counts_as_none_and_is_replaced() {
        let place = Place::new();
        place.verdicts().remember(digest(1));
        let sound = fs::read_to_string(place.file()).unwrap();
        let many = (0..=MAX_ENTRIES).map(|number| format!("{}\n", digest(number)));
        let header = sound.lines().next().unwrap();
        for broken in [
            String::new(),
            sound.trim_end().to_owned(),
            format!("{sound}deadbeef\n"),
            format!("{sound}\n"),
            sound.to_uppercase(),
            sound.replacen(header, "", 1),
            format!("{header}\n{}{}\n", many.collect::<String>(), digest(1)),
            format!("{sound}{}\n", "0".repeat(MAX_LEN)),
        ] {
            fs::write(place.file(), &broken).unwrap();
            assert!(!place.verdicts().is_good(digest(1)), "{broken:?}");
            place.verdicts().remember(digest(2));
            assert!(place.verdicts().is_good(digest(2)), "{broken:?}");
        }
    }

    #[test]
    fn only_a_regular_file_is_read() {
        let place = Place::new();
        place.verdicts().remember(digest(1));
        let elsewhere = place.0.path().join("elsewhere");
        fs::rename(place.file(), &elsewhere).unwrap();
        symlink(&elsewhere, place.file()).unwrap();
        assert!(!place.verdicts().is_good(digest(1)));
        fs::remove_file(place.file()).unwrap();
        mkfifo(&place.file(), Mode::S_IRWXU).unwrap();
        assert!(!place.verdicts().is_good(digest(1)));
        place.verdicts().remember(digest(1));
        assert!(place.verdicts().is_good(digest(1)));
    }

    #[test]
    fn the_folder_is_made_for_its_owner_alone_and_nothing_unfinished_stays_in_it() {
        let place = Place::new();
        place.verdicts().remember(digest(1));
        let folder = place.0.path().join("state");
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_written_costs_the_memory_and_nothing_else() {
        let place = Place::new();
        fs::write(place.0.path().join("state"), "is a file").unwrap();
        let verdicts = place.verdicts();
        verdicts.remember(digest(1));
        assert!(!verdicts.is_good(digest(1)));
        assert!(verdicts.warned.load(Ordering::Relaxed));
    }
}
