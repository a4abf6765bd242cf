//! Streams of events as runtimes really send them: out of order, twice, in part, about things that
//! nobody has seen before.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Plugin, Profile, event_bit};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use nri_plugin_api::api::{Container, ContainerState, PodSandbox};
use protobuf::EnumOrUnknown;
use serde_json::json;

use crate::callbacks::{CALLBACKS, Callback};
use crate::record::Record;
use crate::scene::{SUBJECT, Scene};

/// What a pod may ask the device injector for.
const DEVICE: &str = "/dev/fuse";

/// The components that nodes run, beside one that keeps a record.
struct Node {
    runtime: FakeRuntime,
    host: Host,
    record: Record,
    _folder: tempfile::TempDir,
}

impl Node {
    const PLUGINS: [&str; 3] = ["10-injector", "50-recorder", "90-logger"];

    async fn start(runtime: nri_host_tests::fake_runtime::Builder) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let record = Record::new(folder.path());
        let mut runtime = runtime.build()?;
        runtime.listen()?;
        let injector = Component::new("injector", 10, "libnri_device_injector.so")
            .config(json!({ "allow_devices": [DEVICE] }));
        let logger = Component::new("logger", 90, "libnri_logger.so");
        let host = Host::builder()
            .socket(runtime.socket())
            .component(injector)
            .component(Component::faulty(
                "recorder",
                50,
                json!({ "record": record.path() }),
            ))
            .component(logger)
            .start()?;
        runtime.plugins(&Self::PLUGINS).await?;
        Ok(Self {
            runtime,
            host,
            record,
            _folder: folder,
        })
    }

    async fn plugins(&self) -> Result<Vec<Plugin>> {
        self.runtime.plugins(&Self::PLUGINS).await
    }

    /// Every component is on its first connection and has failed in nothing.
    async fn nobody_minded(&self) -> Result<()> {
        for name in ["injector", "recorder", "logger"] {
            let component = self.host.wait_state(name, State::Active).await?;
            assert_eq!(
                (component.count("failures"), component.count("sessions")),
                (Some(0), Some(1)),
                "{component:?}"
            );
        }
        Ok(())
    }
}

fn named(method: &str) -> &'static Callback {
    let mut callbacks = CALLBACKS.iter();
    callbacks
        .find(|callback| callback.method == method)
        .unwrap()
}

fn wants(plugin: &Plugin, callback: &Callback) -> bool {
    plugin.mask() & event_bit(callback.event) != 0
}

/// All orders of so few things.
fn permutations<T: Copy>(things: &[T]) -> Vec<Vec<T>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for first in 0..things.len() {
        let mut rest = things.to_vec();
        let chosen = rest.remove(first);
        for mut order in permutations(&rest) {
            order.insert(0, chosen);
            orders.push(order);
        }
    }
    orders
}

#[tokio::test]
async fn the_events_of_a_container_may_come_in_any_order() -> Result<()> {
    let node = Node::start(FakeRuntime::builder(Profile::newest())).await?;
    let pod = pods::pod("web").build();
    let life = [
        "CreateContainer",
        "PostCreateContainer",
        "StartContainer",
        "StopContainer",
        "RemoveContainer",
    ];
    let orders = permutations(&life);
    for order in &orders {
        let container = pods::container(&pod, "server").build();
        for plugin in node.plugins().await? {
            let wanted = order.iter().map(|method| named(method));
            for callback in wanted.filter(|callback| wants(&plugin, callback)) {
                callback.tell(&plugin, &pod, &container).await?;
            }
        }
    }
    let seen = life.map(|method| node.record.calls_of(method).len());
    assert_eq!(seen, [orders.len(); 5]);
    node.nobody_minded().await
}

#[tokio::test]
async fn every_event_may_come_twice_and_about_what_was_never_seen() -> Result<()> {
    let node = Node::start(FakeRuntime::builder(Profile::newest())).await?;
    for callback in CALLBACKS.iter().rev() {
        let pod = pods::pod("unseen").build();
        let container = pods::container(&pod, "server").build();
        for plugin in node.plugins().await? {
            if !wants(&plugin, callback) {
                continue;
            }
            for _ in 0..2 {
                callback.tell(&plugin, &pod, &container).await?;
            }
        }
        assert_eq!(node.record.calls_of(callback.method).len(), 2);
    }
    node.nobody_minded().await
}

#[tokio::test]
async fn pods_and_containers_that_are_missing_or_hold_nothing_but_an_id_are_served() -> Result<()> {
    let node = Node::start(FakeRuntime::builder(Profile::newest())).await?;
    let pod = PodSandbox {
        id: "p".to_owned(),
        ..Default::default()
    };
    let container = Container {
        id: "c".to_owned(),
        ..Default::default()
    };
    for plugin in node.plugins().await? {
        for callback in &CALLBACKS {
            if !wants(&plugin, callback) {
                continue;
            }
            callback.tell(&plugin, &pod, &container).await?;
            let reply = plugin.call_raw(callback.method, Vec::new()).await?;
            assert_eq!(reply.message, [0_u8; 0], "{}", callback.method);
        }
    }
    node.nobody_minded().await
}

#[tokio::test]
async fn a_state_with_orphans_duplicates_and_unknown_states_is_taken_as_it_is() -> Result<()> {
    let (web, db) = (pods::pod("web").build(), pods::pod("db").build());
    let orphan = pods::container(&pods::pod("gone").build(), "server").build();
    let mut odd = pods::container(&web, "odd").build();
    odd.state = EnumOrUnknown::from_i32(77);
    let mut unknown = pods::container(&db, "unknown").build();
    unknown.state = EnumOrUnknown::new(ContainerState::CONTAINER_UNKNOWN);
    let state = (vec![web.clone(), db, web], vec![orphan, odd, unknown]);
    let builder = FakeRuntime::builder(Profile::newest()).state(state.0, state.1);
    let node = Node::start(builder).await?;
    let synchronized = node.record.calls_of("Synchronize");
    assert_eq!(synchronized.len(), 1);
    let counts = (synchronized[0].pods, synchronized[0].containers);
    assert_eq!(counts, (Some(3), Some(3)));
    node.nobody_minded().await
}

#[tokio::test]
async fn a_container_whose_name_is_empty_is_known_by_its_label() -> Result<()> {
    let node = Node::start(FakeRuntime::builder(Profile::newest())).await?;
    let key = "devices.noderesource.dev/container.server";
    let pod = pods::pod("web")
        .annotation(key, &format!("- path: {DEVICE}\n"))
        .build();
    let mut container = pods::container(&pod, "server").build();
    assert!(
        container
            .labels
            .contains_key("io.kubernetes.container.name")
    );
    container.name = String::new();
    let injector = node.runtime.plugin("10-injector").await?;
    let reply = injector.create_container(&pod, &container).await?;
    let devices = &reply.message.adjust.linux.devices;
    let paths: Vec<_> = devices.iter().map(|device| device.path.as_str()).collect();
    assert_eq!(paths, [DEVICE]);
    node.nobody_minded().await
}

#[tokio::test]
async fn a_message_about_a_container_without_a_name_names_it_by_its_label() -> Result<()> {
    let on = json!({ "CreateContainer": { "do": "reject" } });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({ "on": on }))).await?;
    let mut container = scene.container.clone();
    container.name = String::new();
    let error = scene
        .plugin
        .create_container(&scene.pod, &container)
        .await
        .unwrap_err();
    let (_, text) = error.status().unwrap();
    assert!(
        text.contains("container server of pod shop/web-0"),
        "{text}"
    );
    Ok(())
}
