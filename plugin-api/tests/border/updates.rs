//! Updates outside a request, and what comes of them.

use std::sync::{Mutex, PoisonError};

use nri_plugin_api::testing::{Harness, Outcome, json};
use nri_plugin_api::{
    Component, ContainerUpdate, Error, Host, Resources, UpdateError, UpdateResult, Updates,
};

fn updates(container: &str) -> Updates {
    let mut updates = Updates::new();
    updates
        .add(ContainerUpdate::new(container, Resources::new().cpus("1")))
        .expect("one update is no conflict");
    updates
}

/// Sends an update when it is created, and logs what comes of it.
struct Sender;

#[nri_plugin_api::component(id = "com.example.sender", no_export)]
impl Component for Sender {
    type Config = nri_plugin_api::NoConfig;

    fn create(_: Self::Config, host: Host) -> Result<Self, Error> {
        let id = host.update_containers(updates("c"))?;
        tracing::info!(?id, "queued");
        Ok(Self)
    }

    fn update_result(&mut self, result: &UpdateResult) {
        match result.error() {
            Some("panic") => panic!("as asked"),
            Some(error) => tracing::info!("error {error}"),
            None => {
                let failed = result.failed().iter().map(|update| &update.container_id);
                tracing::info!("failed {:?}", failed.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn updates_outside_a_request_are_queued_until_the_instance_ends() {
    static KEPT: Mutex<Option<Host>> = Mutex::new(None);
    struct Keeper;
    #[nri_plugin_api::component(id = "com.example.keeper", no_export)]
    impl Component for Keeper {
        type Config = nri_plugin_api::NoConfig;
        fn create(_: Self::Config, host: Host) -> Result<Self, Error> {
            *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
            Ok(Self)
        }
    }

    let mut harness = Harness::<Keeper>::create(json!({})).unwrap();
    let host = KEPT.lock().unwrap().take().unwrap();
    let mut updates = Updates::new();
    updates
        .add(ContainerUpdate::new("c", Resources::new().cpus("1")))
        .unwrap();
    let id = host.update_containers(updates.clone()).unwrap();
    let queued = harness.take_updates();
    assert_eq!(queued[0].0, id);
    assert_eq!(queued[0].1.update, updates.messages());
    drop(harness);
    assert_eq!(host.update_containers(updates), Err(UpdateError::Ended));
}

#[test]
fn a_result_is_told_with_what_the_runtime_could_not_update_or_with_the_error() {
    let mut harness = Harness::<Sender>::create(json!({})).unwrap();
    let [(id, request)] = &harness.take_updates()[..] else {
        panic!("expected one update");
    };
    assert_eq!(request.update, updates("c").messages());
    for (result, logged) in [
        (Ok(&[][..]), "failed []"),
        (Ok(&["c"][..]), r#"failed ["c"]"#),
        (Err("no such container"), "error no such container"),
    ] {
        assert_eq!(harness.update_result(*id, result), Outcome::Answer(()));
        assert_eq!(harness.logs().last().unwrap().message, logged);
    }
}

#[test]
fn a_panic_over_a_result_kills_the_instance() {
    let mut harness = Harness::<Sender>::create(json!({})).unwrap();
    let (id, _) = harness.take_updates()[0];
    let outcome = harness.update_result(id, Err("panic"));
    assert!(matches!(outcome, Outcome::Panicked(text) if text.ends_with("as asked")));
    assert_eq!(harness.update_result(id, Ok(&[])), Outcome::Dead);
}
