//! Images of one layer, in the form of `docker save`.

use std::fmt;
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

/// The name of the image that pods use unless they say otherwise, the machine's static busybox. It
/// serves as the sandbox's image too.
pub(super) const NAME: &str = "localhost/nri-host-tests/busybox:1";

const BUSYBOX: &str = "/bin/busybox";

/// Names that containers can call it by.
const APPLETS: [&str; 8] = ["cat", "chmod", "cp", "env", "ls", "sh", "sleep", "stat"];

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

/// An image to be imported.
pub struct Image {
    name: String,
    entrypoint: Vec<String>,
    path: String,
    layer: Builder<Vec<u8>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Image {
    /// The static busybox of this machine.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn busybox(name: &str) -> Result<Self> {
        let mut layer = Builder::new(Vec::new());
        for folder in ["bin", "dev", "etc", "proc", "sys", "tmp"] {
            let mut header = header(EntryType::Directory, 0o755, 0);
            layer.append_data(&mut header, folder, &[][..])?;
        }
        let busybox = fs::read(BUSYBOX).with_context(|| format!("reading {BUSYBOX}"))?;
        append(&mut layer, "bin/busybox", 0o755, &busybox)?;
        for applet in APPLETS {
            let mut header = header(EntryType::Symlink, 0o777, 0);
            layer.append_link(&mut header, format!("bin/{applet}"), "busybox")?;
        }
        Ok(Self {
            name: name.to_owned(),
            // A sandbox runs until it is killed.
            entrypoint: vec!["/bin/sleep".to_owned(), "infinity".to_owned()],
            path: "/bin".to_owned(),
            layer,
        })
    }

    /// A root folder as it is, with its program and the variable `PATH`.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn of_folder(
        name: &str,
        folder: &Path,
        entrypoint: Vec<String>,
        path: String,
    ) -> Result<Self> {
        let mut layer = Builder::new(Vec::new());
        layer.follow_symlinks(false);
        // containerd knows no sparse files.
        layer.sparse(false);
        layer
            .append_dir_all("", folder)
            .with_context(|| format!("reading {}", folder.display()))?;
        Ok(Self {
            name: name.to_owned(),
            entrypoint,
            path,
            layer,
        })
    }

    /// Puts a file into it, at a path that has no `/` at its beginning.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn with_file(mut self, path: &str, file: &Path) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
        append(&mut self.layer, path, 0o644, &bytes)?;
        Ok(self)
    }

    /// Writes it as an archive.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        let layer = self.layer.into_inner()?;
        let config = json!({
            "os": "linux",
            "architecture": architecture(),
            "config": { "Entrypoint": self.entrypoint, "Env": [format!("PATH={}", self.path)] },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", hex_digest(&layer))] },
        })
        .to_string();
        let config_name = format!("{}.json", hex_digest(config.as_bytes()));
        let manifest = json!([{
            "Config": config_name,
            "RepoTags": [self.name],
            "Layers": ["layer.tar"],
        }])
        .to_string();
        let mut archive = Builder::new(File::create(path).context("creating the image's archive")?);
        append(&mut archive, &config_name, 0o644, config.as_bytes())?;
        append(&mut archive, "layer.tar", 0o644, &layer)?;
        append(&mut archive, "manifest.json", 0o644, manifest.as_bytes())?;
        archive.finish()?;
        Ok(())
    }
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
