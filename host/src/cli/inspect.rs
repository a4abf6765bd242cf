//! `nri-host inspect`

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use nri_plugin_api::abi::flags;
use serde::Serialize;

use super::output::print;
use crate::chain;
use crate::component::inspect::{Inspected, inspect as inspect_file};
use crate::exit::ExitReason;

/// Arguments of `inspect`.
#[derive(Clone, Debug, Args)]
pub(super) struct InspectArgs {
    /// The libraries to look at
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON: an array with one object for each file
    #[arg(long)]
    json: bool,
}

/// Says what files are, and whether this host would load them.
pub(super) fn inspect(args: &InspectArgs, out: &mut dyn Write) -> ExitReason {
    let reports: Vec<_> = args.files.iter().map(|file| Report::on(file)).collect();
    let text = if args.json {
        serde_json::to_string_pretty(&reports).expect("its keys are strings") + "\n"
    } else {
        let blocks: Vec<_> = reports.iter().map(Report::to_string).collect();
        blocks.join("\n")
    };
    let all_accepted = reports
        .iter()
        .all(|report| matches!(report.verdict, Verdict::Accepted(_)));
    match print(&text, out) {
        ExitReason::Done if !all_accepted => ExitReason::BadFile,
        reason => reason,
    }
}

/// What is known about one file.
#[derive(Serialize)]
struct Report {
    path: PathBuf,
    #[serde(flatten)]
    verdict: Verdict,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Verdict {
    Accepted(Facts),
    Refused { refused: String },
}

#[derive(Serialize)]
struct Facts {
    id: String,
    version: String,
    abi: String,
    min_host_abi: String,
    flags: Vec<&'static str>,
    /// The oldest glibc that will do.
    glibc: Option<String>,
    libraries: Vec<String>,
    size: usize,
    sha256: String,
    warnings: Vec<String>,
}

impl Report {
    fn on(file: &Path) -> Self {
        match inspect_file(file) {
            Ok(inspected) => Self {
                path: inspected.path.clone(),
                verdict: Verdict::Accepted(Facts::of(&inspected)),
            },
            Err(error) => Self {
                path: file.to_owned(),
                verdict: Verdict::Refused {
                    refused: chain(&error),
                },
            },
        }
    }
}

impl Facts {
    fn of(inspected: &Inspected) -> Self {
        let note = &inspected.note;
        Self {
            id: note.id.clone(),
            version: note.version.clone(),
            abi: format!("{}.{}", note.abi_major, note.abi_minor),
            min_host_abi: format!("{}.{}", note.abi_major, note.min_host_minor),
            flags: flag_names(note.flags, inspected.go_runtime),
            glibc: inspected.glibc.map(|version| version.to_string()),
            libraries: inspected.needed.clone(),
            size: inspected.bytes.len(),
            sha256: inspected.digest.to_string(),
            warnings: inspected.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

fn flag_names(flags: u32, go_runtime: bool) -> Vec<&'static str> {
    let mut names = Vec::new();
    if go_runtime {
        names.push("go-runtime");
    }
    if flags & flags::ONE_INSTANCE != 0 {
        names.push("one-instance");
    }
    names
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = match &self.verdict {
            Verdict::Accepted(facts) => facts,
            Verdict::Refused { refused } => {
                return writeln!(f, "{}\n  refused     {refused}", self.path.display());
            }
        };
        let or_none = |list: String| {
            if list.is_empty() {
                "none".to_owned()
            } else {
                list
            }
        };
        writeln!(f, "{}", self.path.display())?;
        writeln!(f, "  component   {} {}", facts.id, facts.version)?;
        writeln!(
            f,
            "  ABI         {} (host {} or newer)",
            facts.abi, facts.min_host_abi
        )?;
        writeln!(f, "  flags       {}", or_none(facts.flags.join(", ")))?;
        match &facts.glibc {
            Some(version) => writeln!(f, "  glibc       {version} or newer")?,
            None => writeln!(f, "  glibc       any")?,
        }
        writeln!(f, "  libraries   {}", or_none(facts.libraries.join(", ")))?;
        writeln!(f, "  size        {} bytes", facts.size)?;
        writeln!(f, "  sha256      {}", facts.sha256)?;
        for warning in &facts.warnings {
            writeln!(f, "  warning     {warning}")?;
        }
        Ok(())
    }
}
