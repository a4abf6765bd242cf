//! The symbols that a library offers to others.

use nri_plugin_api::abi::COMPONENT_SYMBOL;
use object::LittleEndian;
use object::elf::{self, FileHeader64, Sym64};
use object::pod;
use object::read::elf::{GnuHashTable, HashTable, Sym as _};

use super::error::{ElfError, InspectWarning};
use super::image::{Image, LE};

/// A component that exports one of these would hand out memory to other libraries.
const ALLOCATOR: [&str; 4] = ["malloc", "free", "calloc", "realloc"];

/// How many superfluous symbols a warning names.
const NAMED: usize = 3;

/// Makes sure that the descriptor is there, and nothing that harms.
pub(super) fn check(image: &Image<'_>, warnings: &mut Vec<InspectWarning>) -> Result<(), ElfError> {
    let descriptor = COMPONENT_SYMBOL
        .to_str()
        .expect("the name of the symbol is ASCII");
    let names = names(image)?;
    if let Some(symbol) = ALLOCATOR
        .into_iter()
        .find(|symbol| names.contains(&symbol.as_bytes()))
    {
        return Err(ElfError::ExportsAllocator { symbol });
    }
    if !names.contains(&descriptor.as_bytes()) {
        return Err(ElfError::NoDescriptor { symbol: descriptor });
    }
    let more: Vec<_> = names
        .iter()
        .filter(|name| **name != descriptor.as_bytes())
        .collect();
    if !more.is_empty() {
        warnings.push(InspectWarning::MoreExports {
            count: more.len(),
            some: more
                .iter()
                .take(NAMED)
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect(),
        });
    }
    Ok(())
}

/// The names of all symbols that are defined and visible.
fn names<'data>(image: &Image<'data>) -> Result<Vec<&'data [u8]>, ElfError> {
    let strings = image.strings();
    symbols(image)?
        .iter()
        .filter(|symbol| is_exported(symbol))
        .map(|symbol| strings.bytes(symbol.st_name(LE).into()))
        .collect::<Option<_>>()
        .ok_or(ElfError::Damaged {
            what: "the names of its symbols are outside the file",
        })
}

fn is_exported(symbol: &Sym64<LittleEndian>) -> bool {
    let visible = matches!(
        symbol.st_visibility(),
        elf::STV_DEFAULT | elf::STV_PROTECTED
    );
    visible && symbol.st_bind() != elf::STB_LOCAL && symbol.st_shndx(LE) != elf::SHN_UNDEF
}

/// The table of symbols. Its length is known from the hash table only, which is also the one by
/// which the dynamic loader looks things up.
fn symbols<'data>(image: &Image<'data>) -> Result<&'data [Sym64<LittleEndian>], ElfError> {
    let unreadable = ElfError::Damaged {
        what: "its hash table cannot be read",
    };
    let count = if let Some(address) = image.tag(elf::DT_GNU_HASH) {
        let table = image.at(address).unwrap_or_default();
        GnuHashTable::<FileHeader64<_>>::parse(LE, table)
            .map_err(|_| unreadable)?
            // None: there is nothing in it.
            .symbol_table_length(LE)
            .unwrap_or(0)
    } else if let Some(address) = image.tag(elf::DT_HASH) {
        let table = image.at(address).unwrap_or_default();
        HashTable::<FileHeader64<_>>::parse(LE, table)
            .map_err(|_| unreadable)?
            .symbol_table_length()
    } else {
        0
    };
    let table = image
        .tag(elf::DT_SYMTAB)
        .and_then(|address| image.at(address));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    match pod::slice_from_bytes(table.unwrap_or_default(), count) {
        Ok((symbols, _)) => Ok(symbols),
        Err(()) => Err(ElfError::Damaged {
            what: "its symbols are outside the file",
        }),
    }
}
