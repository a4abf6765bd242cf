//! Version 1.0.0 of the schema: all conditions have to hold.

use nri_plugin_api::HookStage;

use crate::hook::{Condition, Definition, Hook, When};
use crate::pattern::Pattern;

use super::document::{Document, MAX_PATTERNS, Noted, Object, Text};

/// Reads a file.
pub(super) fn read<'a>(
    document: &mut Document<'a>,
    file: &Object<'a>,
) -> Result<Definition, Noted> {
    // Each part notes its own mistakes, so none stops the others from being read.
    let hook = read_hook(document, file);
    let when = read_when(document, file);
    let stages = read_stages(document, file, "stages");
    Ok(Definition {
        hook: hook?,
        when: when?,
        stages: stages?,
    })
}

fn read_hook<'a>(document: &mut Document<'a>, file: &Object<'a>) -> Result<Hook, Noted> {
    let Some(hook) = document.object(file, "hook")? else {
        return Err(document.note_at(file, "hook", "is missing"));
    };
    let path = document.optional::<String>(&hook, "path", "a text");
    let args = document.texts(&hook, "args");
    let env = document.texts(&hook, "env");
    let timeout = document.optional::<i64>(&hook, "timeout", "a whole number of seconds");
    let path = path?.filter(|path| !path.is_empty());
    Ok(Hook {
        path: path.ok_or_else(|| document.note_at(&hook, "path", "is missing"))?,
        args: without_places(args?.unwrap_or_default()),
        env: without_places(env?.unwrap_or_default()),
        timeout: timeout?,
    })
}

fn without_places(texts: Vec<Text<'_>>) -> Vec<String> {
    texts.into_iter().map(|text| text.text).collect()
}

/// Reads the stages, which there have to be, if only as an empty list.
pub(super) fn read_stages<'a>(
    document: &mut Document<'a>,
    file: &Object<'a>,
    name: &str,
) -> Result<Vec<HookStage>, Noted> {
    let Some(names) = document.texts(file, name)? else {
        return Err(document.note_at(file, name, "is missing"));
    };
    let stage = |Text { place, text }: Text<'a>| {
        HookStage::from_name(&text).ok_or_else(|| {
            document.note_value(place, name, format_args!("there is no stage {text:?}"))
        })
    };
    // All of them, so that all mistakes are told.
    let stages: Vec<_> = names.into_iter().map(stage).collect();
    stages.into_iter().collect()
}

fn read_when<'a>(document: &mut Document<'a>, file: &Object<'a>) -> Result<When, Noted> {
    let Some(when) = document.object(file, "when")? else {
        return Ok(When::all(Vec::new()));
    };
    let always = document.optional::<bool>(&when, "always", "true or false");
    let bind_mounts = document.optional::<bool>(&when, "hasBindMounts", "true or false");
    let annotations = read_annotations(document, &when);
    let commands = document.patterns(&when, "commands");
    // In the order in which they are asked.
    let conditions = [
        always?.map(Condition::Always),
        bind_mounts?.map(Condition::HasBindMounts),
        Some(annotations?)
            .filter(|pairs| !pairs.is_empty())
            .map(Condition::Annotations),
        Some(commands?)
            .filter(|patterns| !patterns.is_empty())
            .map(Condition::Commands),
    ];
    Ok(When::all(conditions.into_iter().flatten().collect()))
}

/// Patterns of keys with those of their values, none if there are no annotations.
fn read_annotations<'a>(
    document: &mut Document<'a>,
    when: &Object<'a>,
) -> Result<Vec<(Pattern, Pattern)>, Noted> {
    let Some(annotations) = document.object(when, "annotations")? else {
        return Ok(Vec::new());
    };
    if annotations.entries().count() > MAX_PATTERNS {
        let what = format_args!("more than {MAX_PATTERNS} patterns");
        return Err(document.note_at(when, "annotations", what));
    }
    let pair = |(key, value): (&str, _)| {
        let key = document.pattern(value, "when.annotations: key", key);
        let value = read_value(document, value);
        Ok((key?, value?))
    };
    // All of them, so that all mistakes are told.
    let pairs: Vec<_> = annotations.entries().map(pair).collect();
    pairs.into_iter().collect()
}

fn read_value<'a>(
    document: &mut Document<'a>,
    value: &'a serde_json::value::RawValue,
) -> Result<Pattern, Noted> {
    const FIELD: &str = "when.annotations: value";
    match serde_json::from_str::<Option<String>>(value.get()) {
        Ok(text) => document.pattern(value, FIELD, &text.unwrap_or_default()),
        Err(_) => Err(document.note_value(value, FIELD, "expected a text")),
    }
}
