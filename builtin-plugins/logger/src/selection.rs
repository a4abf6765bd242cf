//! Whose events are written.

use std::collections::BTreeMap;

use glob::Pattern;
use nri_plugin_api::ConfigMistakes;
use nri_plugin_api::request::PodView;

use crate::patterns::{self, Patterns};

/// Chooses pods. The runtime waits for it: it decodes nothing.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    namespaces: Patterns,
    excluded: Patterns,
    /// The labels that a pod must have.
    labels: Vec<(String, Pattern)>,
}

impl Selection {
    /// Reads the settings of these names.
    pub(crate) fn read(
        namespaces: &[String],
        exclude_namespaces: &[String],
        labels: &BTreeMap<String, String>,
        mistakes: &mut ConfigMistakes,
    ) -> Self {
        if namespaces.is_empty() {
            let message = "names no namespace: leave it out to have all";
            mistakes.add("namespaces", message);
        }
        Self {
            namespaces: Patterns::read(namespaces, "namespaces", mistakes),
            excluded: Patterns::read(exclude_namespaces, "exclude_namespaces", mistakes),
            labels: labels
                .iter()
                .filter_map(|(key, value)| {
                    let value = patterns::glob(value, format!("labels.{key}"), mistakes)?;
                    Some((key.clone(), value))
                })
                .collect(),
        }
    }

    pub(crate) fn has(&self, pod: &PodView<'_>) -> bool {
        let labelled = |(key, value): &(String, Pattern)| {
            let label = pod.label(key);
            label.is_some_and(|label| value.matches(label))
        };
        self.namespaces.matches(pod.namespace())
            && !self.excluded.matches(pod.namespace())
            && self.labels.iter().all(labelled)
    }
}
