//! Completions for shells.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap_complete::{Shell, generate_to};

use crate::commands;

/// Writes `nri-host.bash`, `_nri-host` (zsh) and `nri-host.fish` to a folder, which is made.
pub(crate) fn write(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut commands::for_people(), "nri-host", dir)
            .with_context(|| format!("cannot write completions for {shell}"))?;
    }
    Ok(())
}
