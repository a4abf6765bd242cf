//! Control groups for a machine alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

const MOUNTED: &str = "/sys/fs/cgroup";

/// Its arguments are folders, `--`, and a program with its arguments, which it becomes. Folders of
/// hierarchies that take nobody in, as cpuset does until it is set up, are left out.
const JOIN_AND_RUN: &str = r#"
while [ "$1" != -- ]; do
    echo $$ >"$1/cgroup.procs" 2>/dev/null || :
    shift
done
shift
exec "$@"
"#;

/// A group in each hierarchy. Without them two machines would share groups, as each systemd takes
/// the group in which it finds itself for the root.
#[derive(Debug)]
pub(super) struct ControlGroups {
    folders: Vec<PathBuf>,
}

impl ControlGroups {
    /// Makes them.
    ///
    /// # Errors
    ///
    /// When that is not possible.
    pub(super) fn new(name: &str) -> Result<Self> {
        let mut hierarchies = vec![PathBuf::from(MOUNTED)];
        for entry in Path::new(MOUNTED).read_dir()? {
            hierarchies.push(entry?.path());
        }
        // Of the second version there is one only, at the top; those of the first are below.
        if hierarchies[0].join("cgroup.procs").exists() {
            hierarchies.truncate(1);
        }
        let mut groups = Self { folders: vec![] };
        for hierarchy in hierarchies {
            // Names of two controllers may lead to the same hierarchy.
            if hierarchy.is_symlink() || !hierarchy.join("cgroup.procs").exists() {
                continue;
            }
            let folder = hierarchy.join(name);
            fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
            groups.folders.push(folder);
        }
        Ok(groups)
    }

    /// A program that will run in them.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", JOIN_AND_RUN, "sh"])
            .args(&self.folders)
            .args(["--", program]);
        command
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Nobody is left in them.
            let _ = remove(folder);
        }
    }
}

/// Removes a group with all below it.
fn remove(group: &Path) -> io::Result<()> {
    for entry in group.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}
