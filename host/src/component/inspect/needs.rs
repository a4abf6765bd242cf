//! What a library asks of the system it is loaded into.

use object::LittleEndian;
use object::elf::{self, DynamicFlags, DynamicFlags1, Vernaux, Verneed};
use object::read::elf::ProgramHeader as _;

use super::error::{ElfError, InspectWarning};
use super::glibc::GlibcVersion;
use super::image::{Image, LE};

/// Libraries that are part of every system with glibc.
const SYSTEM_LIBRARIES: [&str; 10] = [
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libresolv.so.2",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// Static thread-local storage below this is never a problem: Go libraries take 8 bytes.
const MODEST_STATIC_TLS: u64 = 64;

/// Without a word in the file, glibc takes the stack permissions that the ABI of the machine has
/// as its default.
const STACK_EXECUTABLE_BY_DEFAULT: bool = cfg!(target_arch = "x86_64");

/// A library that names more versions than this is damaged: glibc has about fifty.
const MAX_VERSIONS: usize = 4096;

/// Which libraries and which glibc a file needs.
pub(super) struct Needs {
    pub(super) needed: Vec<String>,
    pub(super) glibc: Option<GlibcVersion>,
}

/// Whether a library that is needed is part of every system with glibc.
pub(super) fn is_of_the_system(library: &str) -> bool {
    SYSTEM_LIBRARIES.contains(&library)
}

impl Needs {
    pub(super) fn of(image: &Image<'_>) -> Result<Self, ElfError> {
        let strings = image.strings();
        let needed = image
            .tags(elf::DT_NEEDED)
            .map(|offset| strings.text(offset))
            .collect::<Option<Vec<_>>>()
            .ok_or(ElfError::Damaged {
                what: "the names of its libraries are outside the file",
            })?;
        Ok(Self {
            needed,
            glibc: newest_glibc(image)?,
        })
    }

    /// Compares with what is there.
    pub(super) fn check(
        &self,
        running: Option<GlibcVersion>,
        warnings: &mut Vec<InspectWarning>,
    ) -> Result<(), ElfError> {
        for library in &self.needed {
            // musl's library has no version in its name; glibc's is libc.so.6.
            if library == "libc.so" || library.starts_with("libc.musl-") {
                return Err(ElfError::Musl {
                    library: library.clone(),
                });
            }
            if !is_of_the_system(library) {
                warnings.push(InspectWarning::NeedsLibrary {
                    library: library.clone(),
                });
            }
        }
        match (self.glibc, running) {
            (Some(needed), Some(running)) if needed > running => {
                Err(ElfError::GlibcTooOld { needed, running })
            }
            _ => Ok(()),
        }
    }
}

/// Refuses what would harm the process or could not work from a private copy.
pub(super) fn check_manners(
    image: &Image<'_>,
    warnings: &mut Vec<InspectWarning>,
) -> Result<(), ElfError> {
    let flags = DynamicFlags(image.tag(elf::DT_FLAGS).unwrap_or(0));
    let flags_1 = DynamicFlags1(image.tag(elf::DT_FLAGS_1).unwrap_or(0));
    if flags_1.contains(elf::DF_1_PIE) {
        return Err(ElfError::NotSharedLibrary { found: "a program" });
    }
    if wants_executable_stack(image) {
        return Err(ElfError::ExecutableStack);
    }
    if flags.contains(elf::DF_TEXTREL) || image.tag(elf::DT_TEXTREL).is_some() {
        return Err(ElfError::TextRelocations);
    }
    check_search_path(image, warnings)?;
    if flags.contains(elf::DF_STATIC_TLS) {
        let tls = image
            .segments
            .iter()
            .filter(|s| s.p_type(LE) == elf::PT_TLS);
        let bytes = tls
            .map(|segment| segment.p_memsz(LE))
            .fold(0, u64::saturating_add);
        if bytes > MODEST_STATIC_TLS {
            warnings.push(InspectWarning::StaticTls { bytes });
        }
    }
    Ok(())
}

fn wants_executable_stack(image: &Image<'_>) -> bool {
    image
        .segments
        .iter()
        .find(|segment| segment.p_type(LE) == elf::PT_GNU_STACK)
        .map_or(STACK_EXECUTABLE_BY_DEFAULT, |segment| {
            segment.p_flags(LE).contains(elf::PF_X)
        })
}

fn check_search_path(
    image: &Image<'_>,
    warnings: &mut Vec<InspectWarning>,
) -> Result<(), ElfError> {
    let strings = image.strings();
    let paths = image.tags(elf::DT_RPATH).chain(image.tags(elf::DT_RUNPATH));
    for path in paths.filter_map(|offset| strings.text(offset)) {
        if path.contains("$ORIGIN") || path.contains("${ORIGIN}") {
            return Err(ElfError::OriginPath { path });
        }
        warnings.push(InspectWarning::SearchPath { path });
    }
    Ok(())
}

/// The newest version of a glibc symbol that is needed for good. A weak one may be absent.
fn newest_glibc(image: &Image<'_>) -> Result<Option<GlibcVersion>, ElfError> {
    let Some(mut address) = image.tag(elf::DT_VERNEED) else {
        return Ok(None);
    };
    let strings = image.strings();
    let mut newest = None;
    let mut left = MAX_VERSIONS;
    loop {
        let need: &Verneed<LittleEndian> = image.read(address).ok_or(DAMAGED)?;
        let mut aux_address = address
            .checked_add(need.vn_aux.get(LE).into())
            .ok_or(DAMAGED)?;
        for _ in 0..need.vn_cnt.get(LE) {
            left = left.checked_sub(1).ok_or(DAMAGED)?;
            let aux: &Vernaux<LittleEndian> = image.read(aux_address).ok_or(DAMAGED)?;
            if !aux.vna_flags.get(LE).contains(elf::VER_FLG_WEAK) {
                let name = strings.text(aux.vna_name.get(LE).into()).ok_or(DAMAGED)?;
                newest = newest.max(GlibcVersion::of_symbol_version(&name));
            }
            aux_address = aux_address
                .checked_add(aux.vna_next.get(LE).into())
                .ok_or(DAMAGED)?;
        }
        match need.vn_next.get(LE) {
            0 => return Ok(newest),
            next => address = address.checked_add(next.into()).ok_or(DAMAGED)?,
        }
        left = left.checked_sub(1).ok_or(DAMAGED)?;
    }
}

const DAMAGED: ElfError = ElfError::Damaged {
    what: "its list of needed versions cannot be read",
};
