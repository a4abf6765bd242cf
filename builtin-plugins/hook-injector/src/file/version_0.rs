//! Version 0.1.0 of the schema, deprecated: one condition is enough.

use crate::hook::{Condition, Definition, Hook, When};

use super::document::{Document, Noted, Object};
use super::version_1::read_stages;

/// Reads a file.
pub(super) fn read<'a>(
    document: &mut Document<'a>,
    file: &Object<'a>,
) -> Result<Definition, Noted> {
    // Each part notes its own mistakes, so none stops the others from being read.
    let hook = read_hook(document, file);
    let stages = one_of(document, file, "stages", "stage")
        .and_then(|name| read_stages(document, file, name));
    let when = read_when(document, file);
    Ok(Definition {
        hook: hook?,
        when: when?,
        stages: stages?,
    })
}

/// The spelling that a field has in this file, which must not have both.
fn one_of<'a, 'n>(
    document: &mut Document<'a>,
    file: &Object<'a>,
    name: &'n str,
    synonym: &'n str,
) -> Result<&'n str, Noted> {
    if !file.has(synonym) {
        return Ok(name);
    }
    if file.has(name) {
        let what = format_args!("means the same as {name}, which is there as well");
        return Err(document.note_at(file, synonym, what));
    }
    Ok(synonym)
}

fn read_hook<'a>(document: &mut Document<'a>, file: &Object<'a>) -> Result<Hook, Noted> {
    let path = document.optional::<String>(file, "hook", "a text");
    let arguments = document.texts(file, "arguments");
    let path = path?.filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| document.note_at(file, "hook", "is missing"))?;
    let mut args = Vec::new();
    if let Some(arguments) = arguments? {
        args.push(path.clone());
        args.extend(arguments.into_iter().map(|argument| argument.text));
    }
    Ok(Hook {
        path,
        args,
        env: Vec::new(),
        timeout: None,
    })
}

fn read_when<'a>(document: &mut Document<'a>, file: &Object<'a>) -> Result<When, Noted> {
    let bind_mounts = document.optional::<bool>(file, "hasbindmounts", "true or false");
    let annotations = read_annotations(document, file);
    let commands =
        one_of(document, file, "cmds", "cmd").and_then(|name| document.patterns(file, name));
    // In the order in which they are asked.
    let conditions = [
        bind_mounts?.map(Condition::HasBindMounts),
        annotations?,
        Some(commands?)
            .filter(|patterns| !patterns.is_empty())
            .map(Condition::Commands),
    ];
    Ok(When::any(conditions.into_iter().flatten().collect()))
}

/// The entries are alternatives of one pattern for the values of all annotations. An empty list is
/// an empty pattern, which fits every value.
fn read_annotations<'a>(
    document: &mut Document<'a>,
    file: &Object<'a>,
) -> Result<Option<Condition>, Noted> {
    let name = one_of(document, file, "annotations", "annotation")?;
    let (Some(values), Some(place)) = (document.texts(file, name)?, file.get(name)) else {
        return Ok(None);
    };
    let values: Vec<_> = values.into_iter().map(|value| value.text).collect();
    let key = document.pattern(place, name, "")?;
    let value = document.pattern(place, name, &values.join("|"))?;
    Ok(Some(Condition::Annotations(vec![(key, value)])))
}
