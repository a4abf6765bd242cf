//! Manual pages.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;

use crate::commands;

/// What nri-host(1) says behind its commands.
const FILES_AND_STATUSES: &str = include_str!("nri-host.roff");

/// Writes `nri-host.1` and a page for each command, such as `nri-host-run.1`, to a folder, which
/// is made.
pub(crate) fn write(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut command = commands::for_people().disable_help_subcommand(true);
    command.build();
    write_page(&command, FILES_AND_STATUSES, dir)?;
    for subcommand in command.get_subcommands() {
        write_page(subcommand, ".SH SEE ALSO\n\\fBnri\\-host\\fR(1)\n", dir)?;
    }
    Ok(())
}

fn write_page(command: &Command, rest: &str, dir: &Path) -> Result<()> {
    let man = Man::new(command.clone());
    // Written here as clap_mangen drops the empty date, and takes the next argument for it.
    let name = command.get_display_name().unwrap_or("nri-host");
    let version = env!("CARGO_PKG_VERSION");
    let title = format!(".TH {name} 1 \"\" \"nri-host {version}\" \"nri-host\"\n");
    let mut page = title.into_bytes();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend_from_slice(rest.as_bytes());
    let file = dir.join(man.get_filename());
    fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))
}
