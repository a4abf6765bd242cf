//! Pods and containers to test with.

use crate::api;

/// A running pod in the namespace `default`, with these annotations.
pub fn pod<'a>(
    name: &str,
    annotations: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> api::PodSandbox {
    let annotations = annotations
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    api::PodSandbox {
        id: format!("{name}-id"),
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        namespace: "default".to_owned(),
        annotations,
        ..Default::default()
    }
}

/// A container of the pod that is not created yet.
pub fn container(pod: &api::PodSandbox, name: &str) -> api::Container {
    api::Container {
        id: format!("{}-{name}-id", pod.name),
        pod_sandbox_id: pod.id.clone(),
        name: name.to_owned(),
        args: vec!["/bin/true".to_owned()],
        env: vec!["PATH=/usr/bin:/bin".to_owned()],
        ..Default::default()
    }
}
