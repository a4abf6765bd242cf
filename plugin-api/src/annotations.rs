//! Which annotation of a pod counts for a container.
//!
//! Users address a container, a pod, or write the bare key. For key `K` and container `C` the first
//! of these that is present counts, even if its value is empty: an empty value for one container
//! opts it out of what is written for the pod.
//!
//! 1. `K/container.C`
//! 2. `K/pod`
//! 3. `K`
//!
//! Only annotations of the pod are looked at; those of containers are made by the runtime.
//! Kubernetes allows 63 characters after the slash, so a container whose name has more than 53
//! cannot be addressed by the first form.

use crate::wire::checked_text;

/// An annotation that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The full key, as the user wrote it: for messages.
    pub key: &'a str,
    /// The value.
    pub value: &'a str,
}

/// How well an annotation's key fits: lower is better.
fn specificity(annotation_key: &[u8], container: &str, key: &str) -> Option<u8> {
    match annotation_key.strip_prefix(key.as_bytes())? {
        b"" => Some(2),
        b"/pod" => Some(1),
        scope => {
            let name = scope.strip_prefix(b"/container.")?;
            (name == container.as_bytes()).then_some(0)
        }
    }
}

/// Looks up what counts for a container under one key.
///
/// ```
/// # use nri_plugin_api::annotations;
/// let annotations = [
///     ("devices.example.com", "all"),
///     ("devices.example.com/container.web", ""),
/// ];
/// let find = |container| annotations::lookup(annotations, container, "devices.example.com");
/// assert_eq!(find("web").map(|a| a.value), Some(""));
/// assert_eq!(find("db").map(|a| a.value), Some("all"));
/// ```
pub fn lookup<'a>(
    pod_annotations: impl IntoIterator<Item = (&'a str, &'a str)>,
    container: &str,
    key: &str,
) -> Option<Annotation<'a>> {
    let annotations = pod_annotations.into_iter();
    lookup_in(annotations, container, key, None).map(|(key, value)| Annotation { key, value })
}

/// Looks up what counts for a container under a key that once had another name.
///
/// The more specific form counts before the newer name: `K/container.C`, `O/container.C`, `K/pod`,
/// `O/pod`, `K`, `O`, where `O` is the deprecated key.
pub fn lookup_with_deprecated<'a>(
    pod_annotations: impl IntoIterator<Item = (&'a str, &'a str)>,
    container: &str,
    key: &str,
    deprecated: &str,
) -> Option<Annotation<'a>> {
    let annotations = pod_annotations.into_iter();
    lookup_in(annotations, container, key, Some(deprecated))
        .map(|(key, value)| Annotation { key, value })
}

/// The same for annotations that are known to be UTF-8, but were not turned into text yet.
pub(crate) fn lookup_raw<'a>(
    annotations: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    container: &str,
    key: &str,
    deprecated: Option<&str>,
) -> Option<Annotation<'a>> {
    let (key, value) = lookup_in(annotations, container, key, deprecated)?;
    Some(Annotation {
        key: checked_text(key),
        value: checked_text(value),
    })
}

/// The annotation with the lowest rank. Of equal ones the last: it is the one that a map keeps.
fn lookup_in<T: AsRef<[u8]>>(
    annotations: impl Iterator<Item = (T, T)>,
    container: &str,
    key: &str,
    deprecated: Option<&str>,
) -> Option<(T, T)> {
    let rank = |found: &[u8]| {
        let current = specificity(found, container, key).map(|rank| (rank, 0));
        let old = || Some((specificity(found, container, deprecated?)?, 1));
        current.or_else(old)
    };
    let mut best = None;
    for (key, value) in annotations {
        if let Some(rank) = rank(key.as_ref())
            && best.as_ref().is_none_or(|(lowest, _)| rank <= *lowest)
        {
            best = Some((rank, (key, value)));
        }
    }
    best.map(|(_, annotation)| annotation)
}

#[cfg(test)]
mod tests {
    use super::{lookup, lookup_with_deprecated};

    const KEY: &str = "devices.noderesource.dev";
    const OLD: &str = "devices.nri.io";

    fn found(keys: &[&'static str], container: &str) -> Option<&'static str> {
        let annotations = keys.iter().map(|key| (*key, ""));
        lookup_with_deprecated(annotations, container, KEY, OLD).map(|a| a.key)
    }

    #[test]
    fn specificity_beats_age() {
        let mut keys = vec![
            "devices.noderesource.dev/container.c0",
            "devices.nri.io/container.c0",
            "devices.noderesource.dev/pod",
            "devices.nri.io/pod",
            "devices.noderesource.dev",
            "devices.nri.io",
        ];
        while let Some(first) = keys.first().copied() {
            assert_eq!(found(&keys, "c0"), Some(first));
            let mut reversed = keys.clone();
            reversed.reverse();
            assert_eq!(found(&reversed, "c0"), Some(first), "order must not matter");
            keys.remove(0);
        }
        assert_eq!(found(&keys, "c0"), None);
    }

    #[test]
    fn a_present_but_empty_value_stops_the_search() {
        let annotations = [("k/container.c0", ""), ("k", "something")];
        assert_eq!(lookup(annotations, "c0", "k").map(|a| a.value), Some(""));
    }

    #[test]
    fn other_containers_and_longer_keys_do_not_count() {
        let keys = [
            "devices.noderesource.dev/container.c1",
            "devices.noderesource.dev.more",
        ];
        assert_eq!(found(&keys, "c0"), None);
        assert_eq!(found(&["devices.noderesource.dev/c0"], "c0"), None);
    }

    #[test]
    fn a_deprecated_key_is_only_looked_up_when_it_is_named() {
        assert_eq!(lookup([("devices.nri.io", "x")], "c0", KEY), None);
    }
}
