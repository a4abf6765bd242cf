//! Makes what is installed beside the programs, from the programs' own code, one file a kind.

mod commands;
mod completions;
mod man;
mod notices;
mod schema;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Makes what is installed beside the programs.
#[derive(Debug, Parser)]
#[command(name = "xtask", about)]
enum Task {
    /// Write the manual pages: nri-host(1), and one for each of its commands
    Man {
        /// The folder to write to
        dir: PathBuf,
    },
    /// Write the JSON schema of the configuration
    Schema {
        /// The file to write to
        file: PathBuf,
    },
    /// Write what the licences of others' crates ask to be handed on with programs
    Notices {
        /// The file to write to
        file: PathBuf,
        /// The crates of this workspace that the programs are made of
        #[arg(required = true)]
        crates: Vec<String>,
    },
    /// Write the completions for bash, zsh and fish
    Completions {
        /// The folder to write to
        dir: PathBuf,
    },
}

fn main() -> Result<()> {
    match Task::parse() {
        Task::Man { dir } => man::write(&dir),
        Task::Completions { dir } => completions::write(&dir),
        Task::Notices { file, crates } => notices::write(&file, &crates),
        Task::Schema { file } => schema::write(&file),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn every_command_that_people_see_has_a_page_and_completions() -> Result<()> {
        let dir = tempfile::tempdir()?;
        man::write(dir.path())?;
        completions::write(dir.path())?;

        let mut expected: BTreeSet<_> =
            ["nri-host.1", "nri-host.bash", "nri-host.fish", "_nri-host"]
                .map(str::to_owned)
                .into();
        let bash = fs::read_to_string(dir.path().join("nri-host.bash"))?;
        for command in nri_host::cli::command().get_subcommands() {
            let name = command.get_name();
            let seen = !command.is_hide_set();
            assert_eq!(bash.contains(&format!(",{name})")), seen, "{name}");
            if seen {
                expected.insert(format!("nri-host-{name}.1"));
            }
        }
        let written = fs::read_dir(dir.path())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<BTreeSet<_>>>()?;
        assert_eq!(written, expected);
        Ok(())
    }
}
