//! Frames as runtimes send them, and as they should not.

use anyhow::Result;
use nri_host_tests::fake_runtime::mux::rule::{MAX_BODY, MESSAGE_HEADER, READ_BUFFER};
use nri_host_tests::fake_runtime::mux::{Cut, Direction, End, frame};
use nri_host_tests::fake_runtime::{Failure, FakeRuntime, Profile};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::scene::{SUBJECT, Scene};

/// Largest answer that a component may give: what is left of a message beside its envelope.
const MAX_ANSWER: usize = MAX_BODY - 1024;

/// A component whose answer to CreateContainer has exactly so many bytes.
fn answering(bytes: usize) -> Component {
    let on = json!({ "CreateContainer": { "do": "large", "bytes": bytes } });
    Component::faulty(
        SUBJECT,
        10,
        json!({ "methods": ["CreateContainer"], "on": on }),
    )
}

async fn undisturbed() -> Result<Scene> {
    Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await
}

#[tokio::test]
async fn answers_of_every_size_arrive_in_frames_that_the_reference_survives() -> Result<()> {
    let edge = READ_BUFFER - MESSAGE_HEADER;
    for size in [
        0,
        20,
        edge - 30,
        edge - 5,
        edge - 4,
        edge - 3,
        edge - 2,
        65_536,
        MAX_ANSWER,
    ] {
        let scene = Scene::new(answering(size)).await?;
        let before = scene.plugin.record().bytes_read;
        let reply = scene.plugin.call_raw("CreateContainer", Vec::new()).await?;
        assert_eq!(reply.message.len(), size);
        assert!(scene.plugin.record().bytes_read >= before + size);
        assert_eq!(scene.runtime.take_complaints(), []);
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_above_the_limit_is_a_failure_of_the_component() -> Result<()> {
    let scene = Scene::new(answering(MAX_BODY)).await?;
    let reply = scene.plugin.call_raw("CreateContainer", Vec::new()).await?;
    assert_eq!(reply.message, [0_u8; 0]);
    scene
        .host
        .wait_component(SUBJECT, "failed once", |c| c.count("failures") == Some(1))
        .await?;
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn requests_cut_at_every_offset_are_read() -> Result<()> {
    let scene = undisturbed().await?;
    let small = pods::pod("p").build();
    for offset in 0..200 {
        scene.plugin.set_cut(Cut::At(offset));
        scene.plugin.run_pod(&small).await?;
    }
    for cut in [
        Cut::HeaderApart,
        Cut::Every(1),
        Cut::Every(9),
        Cut::Trickle(1),
        Cut::Trickle(7),
    ] {
        scene.plugin.set_cut(cut);
        scene.create_container().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_handshake_cut_into_single_bytes_succeeds() -> Result<()> {
    for cut in [Cut::Every(1), Cut::Trickle(1)] {
        let builder = FakeRuntime::builder(Profile::newest()).cut(cut);
        let scene = Scene::with(builder, Component::faulty(SUBJECT, 10, json!({}))).await?;
        scene.create_container().await?;
    }
    Ok(())
}

#[tokio::test]
async fn unknown_streams_and_empty_frames_are_ignored() -> Result<()> {
    let scene = undisturbed().await?;
    for noise in [
        frame(0, b"?"),
        frame(3, b"??"),
        frame(u32::MAX, &[0; 300]),
        frame(1, b""),
        frame(2, b""),
    ] {
        scene.plugin.send_raw(noise);
        scene.create_container().await?;
    }
    Ok(())
}

#[tokio::test]
async fn messages_of_an_unknown_type_are_ignored() -> Result<()> {
    let scene = undisturbed().await?;
    for stream in [1, 2] {
        for kind in [0, 3, 0x7F, 0xFF] {
            let message = [&[0, 0, 0, 2, 0, 0, 0, 99, kind, 0][..], b"??"].concat();
            scene.plugin.send_raw(frame(stream, &message));
            scene.create_container().await?;
        }
    }
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn a_flood_of_answers_that_nobody_waits_for_holds_up_no_request() -> Result<()> {
    let scene = undisturbed().await?;
    let before = scene.host.resources()?;
    let answer = [&[0, 0, 0x40, 0, 0, 0, 0, 99, 2, 0][..], &[0; 0x4000]].concat();
    let flood = frame(2, &answer).repeat(100);
    for _ in 0..20 {
        scene.plugin.send_raw(flood.clone());
        scene.create_container().await?;
    }
    let grown = scene
        .host
        .resources()?
        .rss_kib
        .saturating_sub(before.rss_kib);
    assert!(
        grown < 8192,
        "32 MiB of answers were kept: {grown} KiB more"
    );
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_ignored() -> Result<()> {
    let scene = undisturbed().await?;
    let empty_response = [0, 0, 0, 0, 0, 0, 0, 99, 2, 0];
    scene.plugin.send_raw(frame(2, &empty_response));
    scene.create_container().await?;
    Ok(())
}

#[tokio::test]
async fn a_claim_that_no_frame_makes_ends_the_session_and_nothing_else() -> Result<()> {
    let scene = undisturbed().await?;
    let before = scene.host.resources()?;
    scene
        .plugin
        .send_raw([1_u32.to_be_bytes(), u32::MAX.to_be_bytes()].concat());
    assert_eq!(scene.plugin.ended().await?, End::ClosedByPeer);
    let again = scene.runtime.reconnected(&scene.plugin).await?;
    again.create_container(&scene.pod, &scene.container).await?;
    let grown = scene
        .host
        .resources()?
        .rss_kib
        .saturating_sub(before.rss_kib);
    assert!(grown < 4096, "the claim was believed: {grown} KiB more");
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn a_request_above_the_limit_is_skipped_and_the_next_one_served() -> Result<()> {
    let scene = undisturbed().await?;
    let length = u32::try_from(MAX_BODY + 1)?;
    let header = [&length.to_be_bytes()[..], &[0, 0, 0x10, 0x01, 1, 0]].concat();
    let body = vec![0; MAX_BODY + 1];
    scene
        .plugin
        .send_raw([frame(1, &header), frame(1, &body)].concat());
    scene.create_container().await?;
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_shuts_one_direction_is_connected_to_anew() -> Result<()> {
    let scene = undisturbed().await?;
    scene.plugin.half_close();
    assert_eq!(scene.plugin.ended().await?, End::ClosedByPeer);
    scene.runtime.reconnected(&scene.plugin).await?;
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn a_runtime_that_does_not_read_holds_up_its_own_connection_only() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let large = json!({ "CreateContainer": { "do": "large", "bytes": MAX_ANSWER } });
    let subject = Component::faulty(SUBJECT, 10, json!({ "on": large }));
    let host = Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .component(Component::faulty("bystander", 90, json!({})))
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let bystander = runtime.plugin("90-bystander").await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    plugin.set_reading(false);
    let stuck = plugin.create_container(&pod, &container);
    let others = async {
        for _ in 0..5 {
            bystander.create_container(&pod, &container).await?;
        }
        anyhow::Ok(())
    };
    let (answer, others) = tokio::join!(stuck, others);
    others?;
    assert!(matches!(answer.unwrap_err().failure, Failure::Timeout));
    runtime.reconnected(&plugin).await?;
    host.wait_state(SUBJECT, State::Active).await?;
    Ok(())
}

#[tokio::test]
async fn each_message_of_the_host_takes_two_frames_at_most() -> Result<()> {
    let scene = undisturbed().await?;
    let count = |scene: &Scene| {
        let record = scene.plugin.record();
        record
            .frames
            .iter()
            .filter(|frame| frame.direction == Direction::Read)
            .count()
    };
    // RegisterPlugin, and the answers to Configure and Synchronize.
    assert_eq!(count(&scene), 3);
    scene.create_container().await?;
    assert_eq!(count(&scene), 4);
    Ok(())
}
