//! The one image of all pods: the machine's static busybox.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use serde_json::json;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// The image's name. It serves as the sandbox's image too.
pub(super) const NAME: &str = "localhost/nri-host-tests/busybox:1";

const BUSYBOX: &str = "/bin/busybox";

/// Names that containers can call it by.
const APPLETS: [&str; 6] = ["cat", "env", "ls", "sh", "sleep", "stat"];

/// Why the image cannot be made here, if so.
pub(super) fn missing() -> Option<String> {
    let reason = match fs::read(BUSYBOX) {
        Err(error) => error.to_string(),
        Ok(bytes) => match has_loader(&bytes) {
            Err(error) => error.to_string(),
            Ok(true) => "not static".to_owned(),
            Ok(false) => return None,
        },
    };
    Some(format!(
        "{BUSYBOX}: {reason} (Debian: apt-get install busybox-static)"
    ))
}

/// Whether an executable asks for a loader, which the image does not have.
fn has_loader(bytes: &[u8]) -> object::Result<bool> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    Ok(segments
        .iter()
        .any(|segment| segment.p_type(endian) == PT_INTERP))
}

/// Writes the image as an archive in the form of `docker save`.
pub(super) fn write(path: &Path) -> Result<()> {
    let layer = layer()?;
    let config = json!({
        "os": "linux",
        "architecture": architecture(),
        "config": {
            // A sandbox runs until it is killed.
            "Entrypoint": ["/bin/sleep", "infinity"],
            "Env": ["PATH=/bin"],
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", hex_digest(&layer))] },
    })
    .to_string();
    let config_name = format!("{}.json", hex_digest(config.as_bytes()));
    let manifest = json!([{
        "Config": config_name,
        "RepoTags": [NAME],
        "Layers": ["layer.tar"],
    }]);
    let mut archive = Builder::new(File::create(path).context("creating the image's archive")?);
    append(&mut archive, &config_name, 0o644, config.as_bytes())?;
    append(&mut archive, "layer.tar", 0o644, &layer)?;
    append(
        &mut archive,
        "manifest.json",
        0o644,
        manifest.to_string().as_bytes(),
    )?;
    archive.finish()?;
    Ok(())
}

/// The root file system, as an archive.
fn layer() -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for folder in ["bin", "dev", "etc", "proc", "sys", "tmp"] {
        let mut header = header(EntryType::Directory, 0o755, 0);
        archive.append_data(&mut header, folder, &[][..])?;
    }
    let busybox = fs::read(BUSYBOX).with_context(|| format!("reading {BUSYBOX}"))?;
    append(&mut archive, "bin/busybox", 0o755, &busybox)?;
    for applet in APPLETS {
        let mut header = header(EntryType::Symlink, 0o777, 0);
        archive.append_link(&mut header, format!("bin/{applet}"), "busybox")?;
    }
    Ok(archive.into_inner()?)
}

fn append(archive: &mut Builder<impl Write>, name: &str, mode: u32, bytes: &[u8]) -> Result<()> {
    let mut header = header(EntryType::Regular, mode, bytes.len() as u64);
    Ok(archive.append_data(&mut header, name, bytes)?)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header
}

fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// This machine's architecture as images name it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
