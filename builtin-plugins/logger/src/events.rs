//! The names of events in the settings.

use nri_plugin_api::{Method, MethodSet};

/// What the groups choose from: all but `ValidateContainerAdjustment`.
///
/// Whoever subscribes to it has a say in whether containers are created: a failure there refuses the
/// container, whatever `on_failure` is, since what was not checked has not passed. A logger must not
/// be able to do that by mere default. Besides, the runtime makes a second call for each creation.
/// Who wants it all the same names it.
const GROUPED: MethodSet = MethodSet::ALL.without(Method::ValidateContainerAdjustment);

/// Why a name is none of an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EventError {
    #[error("expected the name of an event")]
    Empty,
    #[error(
        "{name:?} is no event: expected \"all\", \"pod\", \"container\" or one of {}",
        names()
    )]
    Unknown {
        /// As it is written.
        name: String,
    },
}

fn names() -> String {
    let names: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
    names.join(", ")
}

/// Reads a name, a group, or several separated by commas. Case does not matter.
pub(crate) fn parse(text: &str) -> Result<MethodSet, EventError> {
    let mut methods = Vec::new();
    for name in text.split(',') {
        methods.extend(named(name.trim())?);
    }
    Ok(methods.into_iter().collect())
}

fn named(name: &str) -> Result<Vec<Method>, EventError> {
    if name.is_empty() {
        return Err(EventError::Empty);
    }
    let with = |part: &str| {
        let grouped = GROUPED.iter();
        grouped
            .filter(|method| method.name().contains(part))
            .collect()
    };
    Ok(match name.to_ascii_lowercase().as_str() {
        "all" => GROUPED.iter().collect(),
        "pod" | "podsandbox" => with("Pod"),
        "container" => with("Container"),
        _ => {
            let mut known = Method::ALL.iter().copied();
            let method = known.find(|method| method.name().eq_ignore_ascii_case(name));
            let unknown = || EventError::Unknown {
                name: name.to_owned(),
            };
            vec![method.ok_or_else(unknown)?]
        }
    })
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::{Method, MethodSet};

    use super::{EventError, parse};

    #[test]
    fn groups_are_found_by_what_the_names_contain() {
        let all = parse("all").unwrap();
        assert!(all.contains(Method::Synchronize));
        assert_eq!(all.iter().count(), 14);
        let pod = MethodSet::of(&[
            Method::RunPodSandbox,
            Method::UpdatePodSandbox,
            Method::PostUpdatePodSandbox,
            Method::StopPodSandbox,
            Method::RemovePodSandbox,
        ]);
        assert_eq!(parse("pod"), Ok(pod));
        assert_eq!(parse("PodSandbox"), Ok(pod));
        let container = parse("container").unwrap();
        assert!(container.contains(Method::CreateContainer));
        assert!(!container.contains(Method::Synchronize));
        assert_eq!(container.iter().count(), 8);
    }

    /// A failure in `ValidateContainerAdjustment` refuses the container: that risk is taken by name
    /// or not at all.
    #[test]
    fn no_group_lets_a_logger_refuse_containers() {
        for group in ["all", "pod", "podsandbox", "container", "all,pod,container"] {
            let methods = parse(group).unwrap();
            assert!(
                !methods.contains(Method::ValidateContainerAdjustment),
                "{group}"
            );
        }
        assert_eq!(
            parse("all, validatecontaineradjustment"),
            Ok(MethodSet::ALL)
        );
    }

    #[test]
    fn names_can_be_listed_in_any_case() {
        let both = MethodSet::of(&[Method::CreateContainer, Method::Synchronize]);
        assert_eq!(parse("createcontainer, SYNCHRONIZE"), Ok(both));
    }

    #[test]
    fn unknown_and_empty_names_are_refused() {
        for text in ["", " ", "pod,", ",pod"] {
            assert_eq!(parse(text), Err(EventError::Empty), "{text:?}");
        }
        let error = parse("pod,CreateContainers").unwrap_err().to_string();
        assert!(error.contains("CreateContainers"), "{error}");
        assert!(error.contains("RunPodSandbox"), "{error}");
    }
}
