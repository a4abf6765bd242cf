//! Lazy requests read the same as a full decoder.

use std::collections::BTreeMap;

use nri_plugin_api::protobuf::{Message, MessageField};
use nri_plugin_api::request::{ContainerView, PodView, Request};
use nri_plugin_api::testing;
use nri_plugin_api::{
    CreateContainer, Malformed, RunPodSandbox, Synchronize, UpdateContainer, api,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[a-z./]{0,12}", ".{0,20}", 0..6)
}

prop_compose! {
    fn pods()(
        id in ".{0,10}", name in ".{0,10}", uid in ".{0,10}", namespace in ".{0,10}",
        labels in texts(), annotations in texts(), pid in any::<u32>(), ips in vec(".{0,5}", 0..3),
    ) -> api::PodSandbox {
        api::PodSandbox { id, name, uid, namespace, labels, annotations, pid, ips, ..Default::default() }
    }
}

prop_compose! {
    fn containers()(
        id in ".{0,10}", pod_sandbox_id in ".{0,10}", name in "[a-z]{0,3}", labels in texts(),
        annotations in texts(), env in vec(".{0,30}", 0..8), args in vec(".{0,8}", 0..4),
        created_at in any::<i64>(), exit_code in any::<i32>(),
    ) -> api::Container {
        api::Container {
            id, pod_sandbox_id, name, labels, annotations, env, args, created_at, exit_code,
            ..Default::default()
        }
    }
}

prop_compose! {
    fn requests()(pod in pods(), container in containers()) -> api::CreateContainerRequest {
        api::CreateContainerRequest {
            pod: MessageField::some(pod),
            container: MessageField::some(container),
            ..Default::default()
        }
    }
}

/// All entries of a map, as the later of two equal keys makes it.
fn map<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    entries
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn same_pod(view: PodView<'_>, pod: &api::PodSandbox) {
    assert_eq!(
        [
            view.id(),
            view.name(),
            view.uid(),
            view.namespace(),
            view.runtime_handler()
        ],
        [
            &pod.id,
            &pod.name,
            &pod.uid,
            &pod.namespace,
            &pod.runtime_handler
        ]
    );
    assert_eq!(map(view.labels()), pod.labels);
    assert_eq!(map(view.annotations()), pod.annotations);
    for (key, value) in &pod.annotations {
        assert_eq!(view.annotation(key), Some(value.as_str()));
    }
    assert_eq!(view.annotation("not/there!"), None);
    assert_eq!(view.decode().as_ref(), Ok(pod));
}

fn same_container(view: ContainerView<'_>, container: &api::Container) {
    assert_eq!(
        [view.id(), view.pod_id()],
        [&container.id, &container.pod_sandbox_id]
    );
    if !container.name.is_empty() {
        assert_eq!(view.name(), container.name);
    }
    assert_eq!(map(view.labels()), container.labels);
    assert_eq!(map(view.annotations()), container.annotations);
    for (key, value) in &container.labels {
        assert_eq!(view.label(key), Some(value.as_str()));
    }
    assert_eq!(view.decode().as_ref(), Ok(container));
}

/// Whatever the bytes are: nothing panics, and what a full decoder reads is read the same.
fn agree_on(bytes: &[u8]) {
    let lazy = CreateContainer::parse(bytes);
    let full = api::CreateContainerRequest::parse_from_bytes(bytes);
    match (lazy, full) {
        (Ok(request), Ok(message)) => {
            same_pod(request.pod_view(), message.pod.get_or_default());
            same_container(request.container_view(), message.container.get_or_default());
            assert_eq!(request.message(), Ok(&message));
        }
        (Ok(request), Err(_)) => {
            // The mistake is in a part that no accessor reads.
            assert_eq!(request.message(), Err(Malformed::Message));
            let _ = (
                request.container_name(),
                request.pod_annotation("a"),
                request.pod(),
            );
        }
        // The full decoder lets a nested message end early, at the border of a field.
        (Err(Malformed::Truncated), Ok(_)) => {}
        (Err(lazy), Ok(_)) => panic!("only the lazy reader finds a mistake: {lazy}"),
        (Err(_), Err(_)) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn well_formed_requests_read_the_same(request in requests()) {
        let bytes = request.write_to_bytes().unwrap();
        let lazy = CreateContainer::parse(&bytes).unwrap();
        same_pod(lazy.pod_view(), &request.pod);
        same_container(lazy.container_view(), &request.container);
        prop_assert_eq!(lazy.pod(), Ok(&*request.pod));
        prop_assert_eq!(lazy.container(), Ok(&*request.container));
        prop_assert_eq!(lazy.message(), Ok(&request));
    }

    #[test]
    fn damaged_requests_are_never_misread(
        request in requests(),
        damages in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = request.write_to_bytes().unwrap();
        for (at, byte) in damages {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        agree_on(&bytes);
    }

    #[test]
    fn cut_requests_are_never_misread(request in requests(), at in any::<prop::sample::Index>()) {
        let bytes = request.write_to_bytes().unwrap();
        agree_on(&bytes[..at.index(bytes.len())]);
    }

    #[test]
    fn random_bytes_are_never_misread(bytes in vec(any::<u8>(), 0..64)) {
        agree_on(&bytes);
    }

    #[test]
    fn whole_states_read_the_same(pods in vec(pods(), 0..4), containers in vec(containers(), 0..4)) {
        let message = api::SynchronizeRequest { pods, containers, ..Default::default() };
        let bytes = message.write_to_bytes().unwrap();
        let request = Synchronize::parse(&bytes).unwrap();
        prop_assert_eq!(request.pods().count(), message.pods.len());
        prop_assert_eq!(request.containers().count(), message.containers.len());
        request.pods().zip(&message.pods).for_each(|(view, pod)| same_pod(view, pod));
        let containers = request.containers().zip(&message.containers);
        containers.for_each(|(view, container)| same_container(view, container));
    }
}

#[test]
fn chunks_of_a_state_that_are_joined_as_bytes_are_one_state() {
    let pod = testing::pod("a", []);
    let chunk = |pods: &[api::PodSandbox], containers: &[api::Container], more| {
        let (pods, containers) = (pods.to_vec(), containers.to_vec());
        api::SynchronizeRequest {
            pods,
            containers,
            more,
            ..Default::default()
        }
        .write_to_bytes()
        .unwrap()
    };
    let mut bytes = chunk(
        std::slice::from_ref(&pod),
        &[testing::container(&pod, "x")],
        true,
    );
    bytes.extend(chunk(&[testing::pod("b", [])], &[], true));
    bytes.extend(chunk(&[], &[testing::container(&pod, "y")], false));
    let request = Synchronize::parse(&bytes).unwrap();
    assert_eq!(
        request.pods().map(|pod| pod.name()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(
        request.containers().map(|c| c.name()).collect::<Vec<_>>(),
        ["x", "y"]
    );
}

#[test]
fn a_container_without_a_name_has_the_one_in_its_label() {
    let mut container = testing::container(&testing::pod("p", []), "");
    let label = "io.kubernetes.container.name";
    let request = |container: &api::Container| {
        let container = MessageField::some(container.clone());
        api::CreateContainerRequest {
            container,
            ..Default::default()
        }
        .write_to_bytes()
        .unwrap()
    };
    assert_eq!(
        CreateContainer::parse(&request(&container))
            .unwrap()
            .container_name(),
        ""
    );
    container
        .labels
        .insert(label.to_owned(), "from-label".to_owned());
    let bytes = request(&container);
    assert_eq!(
        CreateContainer::parse(&bytes).unwrap().container_name(),
        "from-label"
    );
    container.name = "from-field".to_owned();
    let bytes = request(&container);
    assert_eq!(
        CreateContainer::parse(&bytes).unwrap().container_name(),
        "from-field"
    );
}

#[test]
fn an_empty_request_has_an_empty_pod() {
    let request = RunPodSandbox::parse(&[]).unwrap();
    assert_eq!(request.pod_name(), "");
    assert_eq!(request.pod(), Ok(&api::PodSandbox::default()));
}

#[test]
fn of_a_part_that_comes_twice_the_last_one_counts_for_all_readers() {
    let request = |pod: &str, resources: api::LinuxResources| {
        api::UpdateContainerRequest {
            pod: MessageField::some(testing::pod(pod, [])),
            linux_resources: MessageField::some(resources),
            ..Default::default()
        }
        .write_to_bytes()
        .unwrap()
    };
    let (mut first, mut last) = (api::LinuxResources::new(), api::LinuxResources::new());
    first.cpu.mut_or_insert_default().cpus = "0".to_owned();
    last.memory.mut_or_insert_default();
    let bytes = [request("first", first), request("last", last)].concat();
    let request = UpdateContainer::parse(&bytes).unwrap();
    let message = request.message().unwrap();
    same_pod(request.pod_view(), &message.pod);
    assert_eq!(
        request.linux_resources().as_ref(),
        Ok(&*message.linux_resources)
    );
    assert_eq!(request.pod_name(), "last");
}

#[test]
fn fields_of_newer_protocols_are_passed_over() {
    let mut bytes = api::RunPodSandboxRequest {
        pod: MessageField::some(testing::pod("p", [])),
        ..Default::default()
    }
    .write_to_bytes()
    .unwrap();
    // Field 100: a number, a text, a fixed32, a fixed64, and a group that holds a number.
    bytes.extend([
        0xa0, 0x06, 0x07, 0xa2, 0x06, 0x01, b'x', 0xa5, 0x06, 1, 2, 3, 4,
    ]);
    bytes.extend([
        0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8, 0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06,
    ]);
    let request = Request::<api::RunPodSandboxRequest>::parse(&bytes).unwrap();
    assert_eq!(request.pod_name(), "p");
    assert_eq!(request.message().unwrap().pod.name, "p");
}
