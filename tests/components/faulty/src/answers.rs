//! Answers that hold something.

use nri_plugin_api::{Adjustment, ContainerUpdate, Error, Resources, Updates};

use crate::behaviour::{Action, Behaviour};

/// The answer to `CreateContainer`.
pub(crate) fn adjustment(behaviour: &Behaviour) -> Result<Adjustment, Error> {
    let mut adjustment = Adjustment::new();
    match behaviour.action {
        Action::Annotate => {
            let (key, value) = behaviour
                .text
                .split_once('=')
                .unwrap_or((&behaviour.text, ""));
            adjustment.set_annotation(key, value)?;
        }
        Action::Large => adjustment = adjustment_of_size(behaviour.bytes)?,
        _ => {}
    }
    Ok(adjustment)
}

/// An adjustment whose answer has exactly so many bytes.
fn adjustment_of_size(bytes: usize) -> Result<Adjustment, Error> {
    let mut adjustment = Adjustment::new();
    if bytes == 0 {
        return Ok(adjustment);
    }
    // Where a length grows by a byte some sizes are left out; a longer key reaches them.
    let key_and_value = (1..=4)
        .flat_map(|key| (bytes.saturating_sub(MAX_OVERHEAD)..bytes).map(move |value| (key, value)))
        .find(|(key, value)| response_size(*key, *value) == bytes);
    let Some((key, value)) = key_and_value else {
        return Err(Error::failed(format!("no answer has {bytes} bytes")));
    };
    adjustment.set_annotation("k".repeat(key), "v".repeat(value))?;
    Ok(adjustment)
}

/// More than what tags, lengths and the key add to the value.
const MAX_OVERHEAD: usize = 40;

/// The size of a response that sets one annotation, by the lengths of its key and value.
fn response_size(key: usize, value: usize) -> usize {
    let entry = field_size(key) + field_size(value);
    let adjustment = field_size(entry);
    field_size(adjustment)
}

/// The size of a field with a tag of one byte and this content.
fn field_size(content: usize) -> usize {
    let length_bytes = (1..)
        .find(|n| content >> (7 * n) == 0)
        .expect("lengths are finite");
    1 + length_bytes + content
}

/// The answer to a method that can update containers.
pub(crate) fn updates(behaviour: &Behaviour) -> Result<Updates, Error> {
    let mut updates = Updates::new();
    if behaviour.action == Action::Large {
        let update =
            ContainerUpdate::new("none", Resources::new().cpus("x".repeat(behaviour.bytes)));
        updates.add(update.ignore_failure())?;
    }
    Ok(updates)
}

#[cfg(test)]
mod tests {
    use super::adjustment_of_size;
    use nri_plugin_api::api::CreateContainerResponse;
    use nri_plugin_api::protobuf::{Message, MessageField};

    #[test]
    fn answers_have_the_size_that_was_asked_for() {
        // Between these sizes and the ones before, an outer length grows by a byte.
        let impossible = [130, 133, 16_387, 16_391];
        for bytes in (20..300)
            .chain(4080..4100)
            .chain(16_370..16_400)
            .chain([65_536, 4_193_280])
        {
            let Ok(adjustment) = adjustment_of_size(bytes) else {
                assert!(impossible.contains(&bytes), "{bytes}");
                continue;
            };
            let response = CreateContainerResponse {
                adjust: MessageField::some(adjustment.message().clone()),
                ..Default::default()
            };
            assert_eq!(response.compute_size(), bytes as u64);
        }
    }
}
