//! The ELF note by which a component says what it is.

use std::collections::BTreeMap;

use nri_plugin_api::abi::{self, flags};
use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, NoteIterator, ProgramHeader as _, SectionHeader as _};

use super::error::ElfError;
use super::image::{Image, LE};

/// What a component's note says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentNote {
    /// Reverse-DNS name, such as `com.acme.gpu`.
    pub id: String,
    /// The component's own version, free text.
    pub version: String,
    /// Major version of the border that it was built against.
    pub abi_major: u16,
    /// Minor version of the border that it was built against.
    pub abi_minor: u16,
    /// The lowest minor version of a host that it works with.
    pub min_host_minor: u16,
    /// See [`nri_plugin_api::abi::flags`].
    pub flags: u32,
}

/// All notes of a file that matter here.
pub(super) struct Notes<'data> {
    /// The content of each `NRIHOST` note, by its place in the file.
    ours: BTreeMap<usize, &'data [u8]>,
    /// The Go linker was here.
    pub(super) go: bool,
}

impl<'data> Notes<'data> {
    /// Looks through the segments; through the section table only if no segment has our note, as
    /// old versions of some tools leave it behind there when they move segments.
    pub(super) fn of(image: &Image<'data>) -> Self {
        let mut notes = Self {
            ours: BTreeMap::new(),
            go: false,
        };
        for segment in image.segments {
            if let Ok(Some(found)) = segment.notes(LE, image.bytes) {
                notes.take(found, image.bytes);
            }
        }
        if notes.ours.is_empty()
            && let Ok(sections) = image.header.section_headers(LE, image.bytes)
        {
            for section in sections {
                if let Ok(Some(found)) = section.notes(LE, image.bytes) {
                    notes.take(found, image.bytes);
                }
            }
        }
        notes
    }

    /// A note that cannot be read ends its segment, for this host as for any other reader.
    fn take(&mut self, notes: NoteIterator<'data, FileHeader64<LittleEndian>>, file: &[u8]) {
        for note in notes.map_while(Result::ok) {
            let kind = note.n_type(LE);
            if note.name_bytes() == abi::NOTE_NAME && kind.0 == abi::NOTE_TYPE {
                // Segments may overlap: what counts is where in the file a note is.
                let place = note
                    .desc()
                    .as_ptr()
                    .addr()
                    .wrapping_sub(file.as_ptr().addr());
                self.ours.insert(place, note.desc());
            }
            self.go |= note.name() == elf::ELF_NOTE_GO;
        }
    }

    /// The one note of a component.
    pub(super) fn component(&self) -> Result<ComponentNote, ElfError> {
        let mut ours = self.ours.values();
        match (ours.next(), self.ours.len()) {
            (Some(content), 1) => parse(content),
            (_, 0) => Err(ElfError::NoNote),
            (_, count) => Err(ElfError::SeveralNotes { count }),
        }
    }
}

fn parse(content: &[u8]) -> Result<ComponentNote, ElfError> {
    let bad = |what| ElfError::BadNote { what };
    let Some(fields) = Fields::split(content) else {
        return Err(bad("it is too short"));
    };
    let id = text(&fields.id).filter(|id| id.bytes().all(is_of_id));
    let version = text(&fields.version).filter(|version| !version.contains(char::is_control));
    Ok(ComponentNote {
        id: id.ok_or(bad("its id is no reverse-DNS name"))?.to_owned(),
        version: version.ok_or(bad("its version is no text"))?.to_owned(),
        abi_major: fields.abi_major,
        abi_minor: fields.abi_minor,
        min_host_minor: fields.min_host_minor,
        flags: fields.flags,
    })
}

/// What follows the name in an [`abi::Note`]. Newer ones may be longer.
struct Fields {
    abi_major: u16,
    abi_minor: u16,
    min_host_minor: u16,
    flags: u32,
    id: [u8; 64],
    version: [u8; 32],
}

impl Fields {
    fn split(mut content: &[u8]) -> Option<Self> {
        let content = &mut content;
        let abi_major = u16::from_le_bytes(take(content)?);
        let abi_minor = u16::from_le_bytes(take(content)?);
        let min_host_minor = u16::from_le_bytes(take(content)?);
        let _reserved: [u8; 2] = take(content)?;
        Some(Self {
            abi_major,
            abi_minor,
            min_host_minor,
            flags: u32::from_le_bytes(take(content)?),
            id: take(content)?,
            version: take(content)?,
        })
    }
}

fn take<const N: usize>(content: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = content.split_first_chunk()?;
    *content = tail;
    Some(*head)
}

/// Text that is ended by a NUL and not empty.
fn text(padded: &[u8]) -> Option<&str> {
    let len = padded.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&padded[..len]).ok()?;
    (!text.is_empty()).then_some(text)
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

/// Refuses what this host cannot work with.
pub(super) fn check(note: &ComponentNote) -> Result<(), ElfError> {
    if note.abi_major != abi::ABI_MAJOR {
        return Err(ElfError::WrongAbi {
            found: note.abi_major,
            expected: abi::ABI_MAJOR,
        });
    }
    if note.min_host_minor > abi::ABI_MINOR {
        return Err(ElfError::HostTooOld {
            major: abi::ABI_MAJOR,
            needed: note.min_host_minor,
            running: abi::ABI_MINOR,
        });
    }
    let known = flags::MAY_IGNORE | flags::PANIC_ABORT | flags::OWN_PROCESS;
    let unknown = note.flags & !known;
    if unknown != 0 {
        return Err(ElfError::UnknownFlags { unknown });
    }
    for (flag, why) in [
        (
            flags::PANIC_ABORT,
            "ends its process when it panics (it is built with panic=abort)",
        ),
        (
            flags::OWN_PROCESS,
            "asks to run apart from other components",
        ),
    ] {
        if note.flags & flag != 0 {
            return Err(ElfError::NeedsProcess { why });
        }
    }
    Ok(())
}
