//! Hides what is likely to be a secret.

use std::collections::BTreeMap;

use nri_plugin_api::{ConfigMistakes, api};

use crate::patterns::Patterns;

/// Stands for a hidden value.
const HIDDEN: &str = "***";

/// Whose values are hidden.
#[derive(Clone, Debug)]
pub(crate) struct Redaction {
    /// Names of environment variables.
    env: Patterns,
    /// Keys of annotations.
    annotations: Patterns,
}

impl Redaction {
    /// Reads the settings `redact_env` and `redact_annotations`.
    pub(crate) fn read(
        env: &[String],
        annotations: &[String],
        mistakes: &mut ConfigMistakes,
    ) -> Self {
        Self {
            env: Patterns::read(env, "redact_env", mistakes),
            annotations: Patterns::read(annotations, "redact_annotations", mistakes),
        }
    }

    /// Hides the values of annotations.
    pub(crate) fn pod(&self, pod: Option<&mut api::PodSandbox>) {
        if let Some(pod) = pod {
            self.annotations(&mut pod.annotations);
        }
    }

    /// Hides the values of annotations, and those of variables, also of its hooks.
    pub(crate) fn container(&self, container: Option<&mut api::Container>) {
        let Some(container) = container else { return };
        self.annotations(&mut container.annotations);
        container
            .env
            .iter_mut()
            .for_each(|text| self.variable(text));
        self.hooks(container.hooks.as_mut());
    }

    /// Hides the values of annotations and variables that are set, and those of its hooks.
    pub(crate) fn adjustment(&self, adjustment: Option<&mut api::ContainerAdjustment>) {
        let Some(adjustment) = adjustment else { return };
        self.annotations(&mut adjustment.annotations);
        for variable in &mut adjustment.env {
            if self.env.matches_in_any_case(&variable.key) {
                HIDDEN.clone_into(&mut variable.value);
            }
        }
        self.hooks(adjustment.hooks.as_mut());
    }

    fn annotations(&self, annotations: &mut BTreeMap<String, String>) {
        if self.annotations.is_empty() {
            return;
        }
        for (key, value) in annotations {
            if self.annotations.matches_in_any_case(key) {
                HIDDEN.clone_into(value);
            }
        }
    }

    fn hooks(&self, hooks: Option<&mut api::Hooks>) {
        let Some(hooks) = hooks else { return };
        let stages = [
            &mut hooks.prestart,
            &mut hooks.create_runtime,
            &mut hooks.create_container,
            &mut hooks.start_container,
            &mut hooks.poststart,
            &mut hooks.poststop,
        ];
        for hook in stages.into_iter().flatten() {
            hook.env.iter_mut().for_each(|text| self.variable(text));
        }
    }

    /// `NAME=value` becomes `NAME=***`. A text without a name is hidden whole, whatever the patterns
    /// are, unless there is none.
    fn variable(&self, variable: &mut String) {
        let (name, name_len) = match variable.split_once('=') {
            Some((name, _)) => (name, name.len() + 1),
            None => ("", 0),
        };
        let hidden = match name {
            "" => !self.env.is_empty(),
            name => self.env.matches_in_any_case(name),
        };
        if hidden {
            variable.truncate(name_len);
            variable.push_str(HIDDEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::ConfigMistakes;

    use super::Redaction;

    fn hidden(patterns: &[&str], variable: &str) -> String {
        let patterns: Vec<String> = patterns.iter().copied().map(Into::into).collect();
        let mut mistakes = ConfigMistakes::new();
        let redaction = Redaction::read(&patterns, &[], &mut mistakes);
        mistakes.into_result().unwrap();
        let mut text = variable.to_owned();
        redaction.variable(&mut text);
        text
    }

    #[test]
    fn only_the_name_of_a_variable_is_kept() {
        for (before, after) in [
            ("PASSWORD=secret", "PASSWORD=***"),
            ("A=b=c", "A=***"),
            ("EMPTY=", "EMPTY=***"),
            ("secret", "***"),
            ("=secret", "=***"),
            ("", "***"),
        ] {
            assert_eq!(hidden(&["*"], before), after);
        }
    }

    #[test]
    fn patterns_choose_what_is_hidden() {
        let patterns = ["*password*", "TOKEN"];
        for (before, after) in [
            ("DB_PASSWORD=secret", "DB_PASSWORD=***"),
            ("db_password=secret", "db_password=***"),
            ("Token=secret", "Token=***"),
            ("TOKENS=3", "TOKENS=3"),
            ("PATH=/bin", "PATH=/bin"),
            ("secret", "***"),
        ] {
            assert_eq!(hidden(&patterns, before), after);
        }
        for shown in ["PASSWORD=x", "secret", ""] {
            assert_eq!(hidden(&[], shown), shown);
        }
    }
}
