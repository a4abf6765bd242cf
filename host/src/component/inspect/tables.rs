//! The tables that the dynamic loader finds through the dynamic table, and follows without a look.

use object::LittleEndian;
use object::elf::{self, DynamicTag, Rela64, Relr64, Sym64};

use super::error::ElfError;
use super::image::Image;

const RELA: u64 = size_of::<Rela64<LittleEndian>>() as u64;
const RELR: u64 = size_of::<Relr64<LittleEndian>>() as u64;
const SYMBOL: u64 = size_of::<Sym64<LittleEndian>>() as u64;
const POINTER: u64 = 8;

const NAMES: &str = "its names are outside the file";
const SYMBOLS: &str = "its symbols are outside the file";
const HASHES: &str = "its hash table is outside the file";
const VERSIONS: &str = "its symbol versions are outside the file";
const RELOCATIONS: &str = "its relocations are outside the file";
const CONSTRUCTORS: &str = "its constructors are outside the file";
const DESTRUCTORS: &str = "its destructors are outside the file";

/// A table with an entry for its size in bytes: the two tags, the size of one element, and what is
/// said when it is not where it should be.
const SIZED: [(DynamicTag, DynamicTag, u64, &str); 6] = [
    (elf::DT_STRTAB, elf::DT_STRSZ, 1, NAMES),
    (elf::DT_RELA, elf::DT_RELASZ, RELA, RELOCATIONS),
    (elf::DT_RELR, elf::DT_RELRSZ, RELR, RELOCATIONS),
    (elf::DT_JMPREL, elf::DT_PLTRELSZ, RELA, RELOCATIONS),
    (
        elf::DT_INIT_ARRAY,
        elf::DT_INIT_ARRAYSZ,
        POINTER,
        CONSTRUCTORS,
    ),
    (
        elf::DT_FINI_ARRAY,
        elf::DT_FINI_ARRAYSZ,
        POINTER,
        DESTRUCTORS,
    ),
];

/// Tables that end by themselves.
const UNSIZED: [(DynamicTag, &str); 6] = [
    (elf::DT_SYMTAB, SYMBOLS),
    (elf::DT_HASH, HASHES),
    (elf::DT_GNU_HASH, HASHES),
    (elf::DT_VERSYM, VERSIONS),
    (elf::DT_VERNEED, VERSIONS),
    (elf::DT_VERDEF, VERSIONS),
];

/// What glibc asserts, ending the process if it is not so.
const CONSTANTS: [(DynamicTag, u64); 4] = [
    (elf::DT_SYMENT, SYMBOL),
    (elf::DT_RELAENT, RELA),
    (elf::DT_RELRENT, RELR),
    (elf::DT_PLTREL, elf::DT_RELA.0.unsigned_abs()),
];

/// Makes sure that all of them are in the file and made as this machine wants them.
pub(super) fn check(image: &Image<'_>) -> Result<(), ElfError> {
    let require = |fine: bool, what| match fine {
        true => Ok(()),
        false => Err(ElfError::Damaged { what }),
    };
    for (start, size, element, what) in SIZED {
        let Some(address) = image.tag(start) else {
            continue;
        };
        let fine = image.tag(size).is_some_and(|size| {
            let inside = image
                .at(address)
                .is_some_and(|rest| rest.len() as u64 >= size);
            // An empty table may have any address.
            size % element == 0 && (inside || size == 0)
        });
        require(fine, what)?;
    }
    for (start, what) in UNSIZED {
        let address = image.tag(start);
        require(
            address.is_none_or(|address| image.at(address).is_some()),
            what,
        )?;
    }
    for (tag, what) in [(elf::DT_INIT, CONSTRUCTORS), (elf::DT_FINI, DESTRUCTORS)] {
        require(
            image.tag(tag).is_none_or(|address| image.is_code(address)),
            what,
        )?;
    }
    for (tag, expected) in CONSTANTS {
        let found = image.tag(tag);
        let what = "its tables are not made for this machine";
        require(found.is_none_or(|found| found == expected), what)?;
    }
    Ok(())
}
