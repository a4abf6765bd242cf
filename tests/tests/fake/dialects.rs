//! The versions of NRI: every event arrives once, whatever way it is told.

use anyhow::Result;
use nri_host_tests::fake_runtime::{EVENTS_0_3, FakeRuntime, Profile, event_bit};
use nri_host_tests::host::{Component, Host};
use nri_host_tests::pods;
use nri_plugin_api::api::{Event, StateChangeEvent};
use protobuf::{EnumOrUnknown, Message, MessageField};
use serde_json::json;
use ttrpc::Code;

use crate::callbacks::CALLBACKS;
use crate::record::Record;
use crate::scene::{SUBJECT, Scene};

#[tokio::test]
async fn every_event_of_every_version_reaches_the_component_once() -> Result<()> {
    for profile in Profile::all() {
        let folder = tempfile::tempdir()?;
        let record = Record::new(folder.path());
        let valid = profile.valid_events;
        let subject = Component::faulty(SUBJECT, 10, json!({ "record": record.path() }));
        let scene = Scene::with(FakeRuntime::builder(profile.clone()), subject).await?;
        assert_eq!(scene.plugin.mask(), valid, "{}", profile.nri);
        let mut told = vec!["Synchronize"];
        for callback in &CALLBACKS {
            if valid & event_bit(callback.event) != 0 {
                callback
                    .tell(&scene.plugin, &scene.pod, &scene.container)
                    .await?;
                told.push(callback.method);
            }
        }
        assert_eq!(record.methods(), told, "NRI {}", profile.nri);
        let events = record
            .lines()
            .into_iter()
            .filter(|line| !line.pod.is_empty());
        let events: Vec<_> = events.collect();
        assert_eq!(events.len(), told.len() - 1);
        for event in events {
            assert_eq!(event.pod, scene.pod.name);
            let about_container = CALLBACKS.iter().find(|known| known.method == event.method);
            let container = if about_container.unwrap().has_container {
                "server"
            } else {
                ""
            };
            assert_eq!(event.container, container, "{}", event.method);
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_status_tells_the_runtime_and_its_version() -> Result<()> {
    for profile in Profile::all() {
        let runtime = FakeRuntime::start(profile.clone()).await?;
        let subject = Component::faulty(SUBJECT, 10, json!({}));
        let host = Host::builder()
            .socket(runtime.socket())
            .component(subject)
            .start()?;
        runtime.plugin("10-subject").await?;
        let status = host
            .wait_status("ready", |status| status.runtime.name.is_some())
            .await?;
        assert_eq!(status.runtime.name.as_deref(), Some(profile.runtime_name));
        assert_eq!(
            status.runtime.version.as_deref(),
            Some(profile.runtime_version)
        );
        if profile.sends_version {
            assert_eq!(status.runtime.nri_version.as_deref(), Some(profile.nri));
        }
        // Seen through the command as well.
        assert_eq!(
            host.status().await?.runtime.name.as_deref(),
            Some(profile.runtime_name)
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_mask_is_what_the_component_handles_and_never_everything_by_accident() -> Result<()> {
    let create = event_bit(Event::CREATE_CONTAINER);
    let update_pod = event_bit(Event::UPDATE_POD_SANDBOX);
    for (profile, methods, expected) in [
        (Profile::newest(), json!(["CreateContainer"]), Some(create)),
        (
            Profile::newest(),
            json!(["CreateContainer", "UpdatePodSandbox"]),
            Some(create | update_pod),
        ),
        (
            Profile::nri_0_8(),
            json!(["CreateContainer", "UpdatePodSandbox"]),
            Some(create),
        ),
        // Nothing, or nothing that the runtime knows: some harmless event, since 0 means all.
        (Profile::nri_0_8(), json!(["UpdatePodSandbox"]), None),
        (Profile::newest(), json!([]), None),
        (Profile::newest(), json!(["Synchronize"]), None),
    ] {
        let runtime = FakeRuntime::start(profile.clone()).await?;
        let subject = Component::faulty(SUBJECT, 10, json!({ "methods": methods }));
        let _host = Host::builder()
            .socket(runtime.socket())
            .component(subject)
            .start()?;
        let mask = runtime.plugin("10-subject").await?.mask();
        match expected {
            Some(expected) => assert_eq!(mask, expected, "{methods}"),
            None => {
                assert_eq!(mask.count_ones(), 1, "{methods}: {mask:#x}");
                assert_ne!(mask & EVENTS_0_3, 0, "{methods}: {mask:#x}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn events_that_the_component_does_not_handle_are_answered_without_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let config = json!({ "methods": ["CreateContainer"], "record": record.path() });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, config)).await?;
    for callback in CALLBACKS
        .iter()
        .filter(|known| known.event != Event::CREATE_CONTAINER)
    {
        let reply = scene.plugin.call_raw(callback.method, Vec::new()).await?;
        assert_eq!(reply.message, [0_u8; 0], "{}", callback.method);
    }
    assert_eq!(record.methods(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn unknown_methods_and_services_are_unimplemented() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    for method in ["CheckpointContainer", "configure", ""] {
        let error = scene
            .plugin
            .call_raw(method, vec![1, 2, 3])
            .await
            .unwrap_err();
        assert_eq!(
            error.status().map(|status| status.0),
            Some(Code::UNIMPLEMENTED),
            "{error:?}"
        );
    }
    scene.create_container().await?;
    Ok(())
}

#[tokio::test]
async fn an_unknown_state_change_is_answered_and_ignored() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let subject = Component::faulty(SUBJECT, 10, json!({ "record": record.path() }));
    let scene = Scene::with(FakeRuntime::builder(Profile::nri_0_8()), subject).await?;
    let before = record.methods();
    for number in [0, 15, 16, 99, i32::MAX, -1] {
        let change = StateChangeEvent {
            event: EnumOrUnknown::from_i32(number),
            pod: MessageField::some(scene.pod.clone()),
            container: MessageField::some(scene.container.clone()),
            ..Default::default()
        };
        let reply = scene
            .plugin
            .call_raw("StateChange", change.write_to_bytes()?)
            .await?;
        assert_eq!(reply.message, [0_u8; 0], "event {number}");
    }
    assert_eq!(record.methods(), before);
    Ok(())
}

#[tokio::test]
async fn requests_that_are_no_protobuf_are_an_error_and_not_the_component_s_affair() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    for method in ["StateChange", "Synchronize"] {
        let answer = scene.plugin.call_raw(method, vec![0xFF; 40]).await;
        let error = answer.unwrap_err();
        assert!(error.status().is_some(), "{method}: {error:?}");
        assert!(scene.plugin.is_connected());
    }
    scene.create_container().await?;
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn fields_that_the_host_does_not_know_go_through_it() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    let pod = pods::pod("new").build();
    let mut request = nri_plugin_api::api::RunPodSandboxRequest {
        pod: MessageField::some(pod),
        ..Default::default()
    }
    .write_to_bytes()?;
    // Field 1000, a varint.
    request.extend([0xC0, 0x3E, 0x2A]);
    let reply = scene.plugin.call_raw("RunPodSandbox", request).await?;
    assert_eq!(reply.message, [0_u8; 0]);
    Ok(())
}
