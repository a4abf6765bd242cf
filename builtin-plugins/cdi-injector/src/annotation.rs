//! The annotation that asks for devices.

use nri_plugin_api::CreateContainer;
use nri_plugin_api::annotations::Annotation;
use nri_plugin_api::cdi::DeviceName;
use serde_saphyr::{Options, UserMessageFormatter};

use crate::problems::Problems;

/// The key, as in the sample plugins of the NRI project.
pub(crate) const KEY: &str = "cdi-devices.noderesource.dev";
/// What it was called before.
pub(crate) const DEPRECATED_KEY: &str = "cdi-devices.nri.io";

/// How many devices a container may ask for.
const MAX_ENTRIES: usize = 256;

/// The longest value, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The annotation that counts for the container.
pub(crate) fn find<'a>(request: &CreateContainer<'a>) -> Option<Annotation<'a>> {
    request.effective_annotation_with_deprecated(KEY, DEPRECATED_KEY)
}

/// The names that it lists.
pub(crate) fn names(annotation: Annotation<'_>, problems: &mut Problems) -> Vec<DeviceName> {
    let key = annotation.key;
    let texts = match parse(annotation.value) {
        Ok(texts) => texts,
        Err(what) => {
            problems.add(format_args!("{key}: {what}"));
            return Vec::new();
        }
    };
    let mut names: Vec<DeviceName> = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        match text.parse() {
            // Asked for twice is asked for.
            Ok(name) if names.contains(&name) => {}
            Ok(name) => names.push(name),
            Err(error) => problems.add(format_args!("{key}: entry {}: {error}", i + 1)),
        }
    }
    names
}

/// Reads a list of texts in YAML; nothing is an empty list.
fn parse(value: &str) -> Result<Vec<String>, String> {
    if value.len() > MAX_BYTES {
        return Err(format!("is longer than {MAX_BYTES} bytes"));
    }
    let names: Option<Vec<String>> = serde_saphyr::from_str_with_options(value, options())
        .map_err(|error| {
            let what = error.render_with_formatter(&UserMessageFormatter);
            format!("expected a list of names in YAML: {what}")
        })?;
    let names = names.unwrap_or_default();
    match names.len() > MAX_ENTRIES {
        true => Err(format!("has more than {MAX_ENTRIES} entries")),
        false => Ok(names),
    }
}

fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_depth: 4,
        max_nodes: 2 * MAX_ENTRIES,
        max_aliases: 0,
        max_documents: 1,
    };
    serde_saphyr::options! {
        budget: budget,
        with_snippet: false,
    }
}
