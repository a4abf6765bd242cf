//! Reads the text of a hook file, in both versions of its schema.
//!
//! `docs/components/hook-injector.md` has the fields. Nothing is looked up here: whether the
//! program of a hook is there is asked by [`crate::loader`].

mod document;
mod version_0;
mod version_1;

use crate::hook::Definition;
use document::{Document, Noted};

pub(crate) use document::Mistake;

/// Reads a hook file.
///
/// # Errors
///
/// All mistakes that were found, at least one, at most [`document::MAX_MISTAKES`].
pub(crate) fn parse(source: &str) -> Result<Definition, Vec<Mistake>> {
    let mut document = Document::new(source);
    let definition = read(&mut document);
    let mistakes = document.into_mistakes();
    definition.map_err(|Noted| mistakes)
}

fn read(document: &mut Document<'_>) -> Result<Definition, Noted> {
    let file = document.root()?;
    let version = document.optional::<String>(&file, "version", "a text")?;
    match version.as_deref() {
        Some("1.0.0") => version_1::read(document, &file),
        None | Some("" | "0.1.0") => version_0::read(document, &file),
        Some(other) => {
            let what = format_args!("{other:?} is unknown: there are \"1.0.0\" and \"0.1.0\"");
            Err(document.note_at(&file, "version", what))
        }
    }
}
