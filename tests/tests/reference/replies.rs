//! Answers of every size that matters to the runtime's reader.

use anyhow::{Context, Result};
use nri_host_tests::host::Host;
use nri_host_tests::reference::Options;
use nri_plugin_api::api::{ContainerAdjustment, CreateContainerResponse};
use protobuf::{Message, MessageField};
use serde_json::json;

use crate::stage::{Stage, create_container, creating};

/// Sizes of encoded responses. The library reads through a buffer of 4096 bytes,
/// into which header, envelope and response fit up to 4083 bytes. The last is
/// the most that the host accepts of a component.
const SIZES: [usize; 15] = [
    20,
    2000,
    4080,
    4081,
    4082,
    4083,
    4084,
    4085,
    4086,
    4087,
    4088,
    4096,
    65_536,
    1_000_000,
    4 * 1024 * 1024 - 1024,
];

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_every_size_arrive_whole() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let mut builder = Host::builder().socket(stage.runtime.socket());
    let mut plugins = Vec::new();
    for (index, bytes) in (10..).zip(SIZES) {
        let name = format!("size{bytes}");
        plugins.push(format!("{index}-{name}"));
        // Each answers for one container, since they set the same annotation.
        let large = json!({ "do": "large", "bytes": bytes, "for": { "container_name": name } });
        builder = builder.component(creating(&name, index, &large));
    }
    let _host = builder.start()?;
    let plugins: Vec<&str> = plugins.iter().map(String::as_str).collect();
    stage.runtime.wait_connected(&plugins);

    for bytes in SIZES {
        let response = stage
            .runtime
            .call(&create_container("web", &format!("size{bytes}")))?;
        let adjust = response.adjust.into_option().context("an adjustment")?;
        // The library adds empty messages of its own; only ours is measured.
        let sent = CreateContainerResponse {
            adjust: MessageField::some(ContainerAdjustment {
                annotations: adjust.annotations,
                ..ContainerAdjustment::default()
            }),
            ..CreateContainerResponse::default()
        };
        assert_eq!(sent.compute_size(), bytes as u64);
    }
    let empty = stage.runtime.call(&create_container("web", "no-size"))?;
    assert!(empty.adjust.annotations.is_empty(), "{:?}", empty.adjust);
    let lost: Vec<_> = stage
        .runtime
        .events()
        .into_iter()
        .filter(|e| e.name == "closed")
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
    Ok(())
}
