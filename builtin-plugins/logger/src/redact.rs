//! Hides what is likely to be a secret.

use nri_plugin_api::api;

/// Stands for a hidden value.
const HIDDEN: &str = "***";

/// Hides the values of a container's environment variables, and those of its hooks.
pub(crate) fn container(container: &mut api::Container) {
    container.env.iter_mut().for_each(variable);
    hooks(container.hooks.as_mut());
}

/// Hides the values of the variables that an adjustment sets, and those of its hooks.
pub(crate) fn adjustment(adjustment: &mut api::ContainerAdjustment) {
    for variable in &mut adjustment.env {
        HIDDEN.clone_into(&mut variable.value);
    }
    hooks(adjustment.hooks.as_mut());
}

fn hooks(hooks: Option<&mut api::Hooks>) {
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
        hook.env.iter_mut().for_each(variable);
    }
}

/// `NAME=value` becomes `NAME=***`. A text without a name is hidden whole.
fn variable(variable: &mut String) {
    let name_len = variable.find('=').map_or(0, |at| at + 1);
    variable.truncate(name_len);
    variable.push_str(HIDDEN);
}

#[cfg(test)]
mod tests {
    use super::variable;

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
            let mut text = before.to_owned();
            variable(&mut text);
            assert_eq!(text, after);
        }
    }
}
