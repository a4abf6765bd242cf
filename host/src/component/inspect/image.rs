//! An ELF file as the dynamic loader sees it: headers, segments, the dynamic table.
//!
//! The dynamic loader trusts all of this, so whatever would lead it outside the file is refused
//! here. The section table is of no concern to it, and of none here, but for one thing: linkers
//! write it last, so its absence shows a file that was cut off.

use object::elf::{self, FileHeader64, ProgramHeader64};
use object::pod::{self, Pod};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, read::StringTable};

use super::error::ElfError;
use super::tables;

pub(super) const LE: LittleEndian = LittleEndian;

pub(super) type Header = FileHeader64<LittleEndian>;
pub(super) type Segment = ProgramHeader64<LittleEndian>;

/// The machine that this host was built for.
#[cfg(target_arch = "x86_64")]
const MACHINE: (elf::Machine, &str) = (elf::EM_X86_64, "x86-64");
#[cfg(target_arch = "aarch64")]
const MACHINE: (elf::Machine, &str) = (elf::EM_AARCH64, "aarch64");

/// The largest pages that aarch64 has, in bytes; x86-64 has smaller ones.
const MAX_PAGE_SIZE: u64 = 64 << 10;

/// A shared library whose headers are sound.
#[derive(Clone, Copy)]
pub(super) struct Image<'data> {
    pub(super) bytes: &'data [u8],
    pub(super) header: &'data Header,
    pub(super) segments: &'data [Segment],
    dynamic: &'data [elf::Dyn64<LittleEndian>],
}

impl<'data> Image<'data> {
    pub(super) fn parse(bytes: &'data [u8]) -> Result<Self, ElfError> {
        let header = file_header(bytes)?;
        let segments = segments(bytes, header)?;
        check_sections(bytes, header)?;
        for segment in segments {
            let what = match segment.p_type(LE) {
                elf::PT_LOAD => "a loadable segment",
                elf::PT_DYNAMIC => "the dynamic table",
                elf::PT_NOTE => "the notes",
                elf::PT_TLS => "the thread-local data",
                _ => continue,
            };
            let (offset, size) = segment.file_range(LE);
            check_end(bytes, what, offset, size)?;
        }
        check_loads(segments)?;
        check_relro(segments)?;
        let image = Self {
            bytes,
            header,
            segments,
            dynamic: dynamic(bytes, segments)?,
        };
        tables::check(&image)?;
        Ok(image)
    }

    /// The value of a tag of the dynamic table.
    pub(super) fn tag(&self, tag: elf::DynamicTag) -> Option<u64> {
        self.tags(tag).next()
    }

    /// The values of a tag that may occur more than once.
    pub(super) fn tags(&self, tag: elf::DynamicTag) -> impl Iterator<Item = u64> {
        let entries = self
            .dynamic
            .iter()
            .filter(move |entry| entry.tag(LE) == tag);
        entries.map(|entry| entry.val(LE))
    }

    /// What the file holds from an address of the loaded library to the end of its segment.
    pub(super) fn at(&self, address: u64) -> Option<&'data [u8]> {
        self.segments
            .iter()
            .filter(|segment| segment.p_type(LE) == elf::PT_LOAD)
            .find_map(|segment| {
                let skip = usize::try_from(address.checked_sub(segment.p_vaddr(LE))?).ok()?;
                segment.data(LE, self.bytes).ok()?.get(skip..)
            })
            .filter(|rest| !rest.is_empty())
    }

    /// Whether code can be at this address.
    pub(super) fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| {
            let skip = address.checked_sub(segment.p_vaddr(LE));
            segment.p_type(LE) == elf::PT_LOAD
                && segment.p_flags(LE).contains(elf::PF_X)
                && skip.is_some_and(|skip| skip < segment.p_filesz(LE))
        })
    }

    /// A struct of the file at an address of the loaded library.
    pub(super) fn read<T: Pod>(&self, address: u64) -> Option<&'data T> {
        Some(pod::from_bytes(self.at(address)?).ok()?.0)
    }

    /// The strings of the dynamic table.
    pub(super) fn strings(&self) -> Strings<'data> {
        let table = self
            .tag(elf::DT_STRTAB)
            .and_then(|address| self.at(address));
        let size = self.tag(elf::DT_STRSZ).unwrap_or(0);
        let table = table.unwrap_or_default();
        let end = size.min(table.len() as u64);
        Strings(StringTable::new(table, 0, end))
    }
}

/// The string table of the dynamic symbols.
#[derive(Clone, Copy)]
pub(super) struct Strings<'data>(StringTable<'data>);

impl<'data> Strings<'data> {
    pub(super) fn bytes(&self, offset: u64) -> Option<&'data [u8]> {
        self.0.get(u32::try_from(offset).ok()?).ok()
    }

    /// For people: what is not UTF-8 is replaced.
    pub(super) fn text(&self, offset: u64) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes(offset)?).into_owned())
    }
}

fn file_header(bytes: &[u8]) -> Result<&Header, ElfError> {
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(ElfError::NotElf);
    }
    check_end(bytes, "the file header", 0, size_of::<Header>() as u64)?;
    let (header, _) = pod::from_bytes::<Header>(bytes).map_err(|()| ElfError::Damaged {
        what: "its header cannot be read",
    })?;
    if header.is_class_32() {
        return Err(ElfError::WrongClass);
    }
    let machine = header.e_machine(LE);
    if !header.is_little_endian() || machine != MACHINE.0 {
        return Err(ElfError::WrongMachine {
            found: machine_name(header),
            expected: MACHINE.1,
        });
    }
    if !header.is_supported() {
        return Err(ElfError::Damaged {
            what: "its header is of an unknown kind",
        });
    }
    let found = match header.e_type(LE) {
        elf::ET_DYN => return Ok(header),
        elf::ET_EXEC => "a program",
        elf::ET_REL => "an object file",
        elf::ET_CORE => "a core dump",
        _ => "something unknown",
    };
    Err(ElfError::NotSharedLibrary { found })
}

fn machine_name(header: &Header) -> String {
    if header.is_big_endian() {
        return "with big-endian numbers".to_owned();
    }
    match header.e_machine(LE) {
        elf::EM_X86_64 => "x86-64".to_owned(),
        elf::EM_AARCH64 => "aarch64".to_owned(),
        elf::EM_386 => "x86".to_owned(),
        elf::EM_ARM => "arm".to_owned(),
        elf::EM_RISCV => "riscv".to_owned(),
        elf::EM_PPC64 => "ppc64".to_owned(),
        elf::EM_S390 => "s390".to_owned(),
        elf::EM_LOONGARCH => "loongarch".to_owned(),
        other => format!("number {}", other.0),
    }
}

fn segments<'data>(bytes: &'data [u8], header: &Header) -> Result<&'data [Segment], ElfError> {
    let count = u64::from(header.e_phnum(LE));
    let size = count * size_of::<Segment>() as u64;
    check_end(bytes, "the program header table", header.e_phoff(LE), size)?;
    let segments = header
        .program_headers(LE, bytes)
        .map_err(|_| ElfError::Damaged {
            what: "its program headers cannot be read",
        })?;
    if segments.is_empty() {
        return Err(ElfError::Damaged {
            what: "it has no program headers",
        });
    }
    Ok(segments)
}

fn check_sections(bytes: &[u8], header: &Header) -> Result<(), ElfError> {
    let size = u64::from(header.e_shnum(LE)) * u64::from(header.e_shentsize(LE));
    check_end(bytes, "the section header table", header.e_shoff(LE), size)
}

fn check_end(bytes: &[u8], what: &'static str, offset: u64, size: u64) -> Result<(), ElfError> {
    let len = bytes.len() as u64;
    match offset.checked_add(size) {
        Some(end) if end <= len => Ok(()),
        end => Err(ElfError::Truncated {
            what,
            end: end.unwrap_or(u64::MAX),
            len,
        }),
    }
}

/// The loader reserves memory from the first segment to the last and maps each over it: they must
/// be in order and apart.
fn check_loads(segments: &[Segment]) -> Result<(), ElfError> {
    let damaged = |what| Err(ElfError::Damaged { what });
    let mut end_of_last = None;
    for segment in segments.iter().filter(|s| s.p_type(LE) == elf::PT_LOAD) {
        let (start, size) = (segment.p_vaddr(LE), segment.p_memsz(LE));
        if segment.p_filesz(LE) > size {
            return damaged("a segment is larger in the file than in memory");
        }
        let Some(end) = start.checked_add(size) else {
            return damaged("a segment ends beyond all addresses");
        };
        if end_of_last.is_some_and(|last| start < last) {
            return damaged("its segments overlap or are out of order");
        }
        end_of_last = Some(end);
    }
    match end_of_last {
        Some(_) => Ok(()),
        None => damaged("it has no loadable segment"),
    }
}

/// The loader takes the right to write away from these pages once all is relocated, whosever they
/// are.
fn check_relro(segments: &[Segment]) -> Result<(), ElfError> {
    for relro in segments
        .iter()
        .filter(|s| s.p_type(LE) == elf::PT_GNU_RELRO)
    {
        let inside = segments.iter().any(|load| {
            let Some(skip) = relro.p_vaddr(LE).checked_sub(load.p_vaddr(LE)) else {
                return false;
            };
            // Some linkers round its end up to a page.
            let room = load
                .p_memsz(LE)
                .saturating_add(load.p_align(LE).min(MAX_PAGE_SIZE));
            let end = skip.checked_add(relro.p_memsz(LE));
            load.p_type(LE) == elf::PT_LOAD && end.is_some_and(|end| end <= room)
        });
        if !inside {
            return Err(ElfError::Damaged {
                what: "what it protects from writing is not its own",
            });
        }
    }
    Ok(())
}

/// The dynamic table up to its end, which must be marked: the loader looks for nothing else.
fn dynamic<'data>(
    bytes: &'data [u8],
    segments: &[Segment],
) -> Result<&'data [elf::Dyn64<LittleEndian>], ElfError> {
    let damaged = |what| ElfError::Damaged { what };
    let mut tables = segments.iter().filter(|s| s.p_type(LE) == elf::PT_DYNAMIC);
    let (Some(segment), None) = (tables.next(), tables.next()) else {
        return Err(damaged("it has not exactly one dynamic table"));
    };
    let mapped = segments.iter().any(|load| {
        let skip = segment.p_vaddr(LE).checked_sub(load.p_vaddr(LE));
        load.p_type(LE) == elf::PT_LOAD
            && skip.is_some_and(|skip| {
                skip.checked_add(segment.p_filesz(LE))
                    .is_some_and(|end| end <= load.p_filesz(LE))
                    && load.p_offset(LE).checked_add(skip) == Some(segment.p_offset(LE))
            })
    });
    if !mapped {
        return Err(damaged("its dynamic table is not in a loadable segment"));
    }
    let entries = segment
        .dynamic(LE, bytes)
        .ok()
        .flatten()
        .ok_or(damaged("its dynamic table cannot be read"))?;
    let end = entries
        .iter()
        .position(|entry| entry.tag(LE) == elf::DT_NULL)
        .ok_or(damaged("its dynamic table has no end"))?;
    Ok(&entries[..end])
}
