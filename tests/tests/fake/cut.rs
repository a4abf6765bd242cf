//! A handshake that breaks off or stands still anywhere is tried again, and leaves nothing behind.

use anyhow::Result;
use nri_host_tests::fake_runtime::mux::{Limits, PLUGIN_SERVICE};
use nri_host_tests::fake_runtime::{FakeRuntime, Fault, Plugin, Profile, RegisterReply, Step};
use nri_host_tests::host::{Component, Host, Resources, State};
use serde_json::json;

/// Steps at which the plugin is not active yet.
const HANDSHAKE: [Step; 4] = [
    Step::Read,
    Step::Register,
    Step::Configure,
    Step::Synchronize,
];

fn subject(index: u8) -> Component {
    Component::faulty("subject", index, json!({ "methods": ["CreateContainer"] }))
}

/// Components whose names have the same length, so that their handshakes have the same bytes. There
/// are so many of them that none meets many faults, and has to wait for long.
struct Crowd {
    runtime: FakeRuntime,
    host: Host,
    plugins: Vec<Plugin>,
}

impl Crowd {
    const SIZE: usize = 50;

    async fn gather() -> Result<Self> {
        let runtime = FakeRuntime::start(Profile::newest()).await?;
        let mut host = Host::builder().socket(runtime.socket());
        for index in 0..u8::try_from(Self::SIZE)? {
            host = host.component(subject(index));
        }
        let host = host.start()?;
        let mut plugins = Vec::new();
        for index in 0..Self::SIZE {
            plugins.push(runtime.plugin(&format!("{index:02}-subject")).await?);
        }
        Ok(Self {
            runtime,
            host,
            plugins,
        })
    }

    /// Lets each fault happen to a connection, and checks that all come through by another one each,
    /// with as many descriptors and threads as before.
    async fn survives(&mut self, faults: &[Fault]) -> Result<()> {
        let before = self.rest().await?;
        for faults in faults.chunks(Self::SIZE) {
            let earlier = self.runtime.connections().len();
            for fault in faults {
                self.runtime.inject(fault.clone());
            }
            self.runtime.restart().await?;
            for plugin in &mut self.plugins {
                *plugin = self.runtime.reconnected(plugin).await?;
            }
            assert_eq!(
                self.runtime.connections().len() - earlier,
                Self::SIZE + faults.len()
            );
        }
        self.rest().await?;
        self.host
            .wait_resources("as many descriptors and threads as before", |now| {
                now.descriptors <= before.descriptors && now.threads == before.threads
            })
            .await?;
        Ok(())
    }

    /// What the host has in use once all are active.
    async fn rest(&self) -> Result<Resources> {
        self.host
            .wait_status("all active", |status| {
                let mut components = status.components.iter();
                components.all(|component| component.state == State::Active)
            })
            .await?;
        self.host.settled().await
    }
}

#[tokio::test]
async fn a_connection_closed_before_any_step_is_tried_again() -> Result<()> {
    let closed = HANDSHAKE.into_iter().map(Fault::Close);
    let half_closed = HANDSHAKE.into_iter().map(Fault::HalfClose);
    let faults: Vec<_> = closed
        .chain(half_closed)
        // Before this the plugin has become active; half-closed, it would count as that.
        .chain([Fault::Close(Step::Activate)])
        .collect();
    Crowd::gather().await?.survives(&faults).await
}

#[tokio::test]
async fn a_connection_cut_off_at_any_byte_of_the_handshake_is_tried_again() -> Result<()> {
    let mut crowd = Crowd::gather().await?;
    let whole = crowd.plugins[0].record();
    let written = (1..=whole.bytes_written).map(|bytes| Limits {
        written: Some(bytes),
        read: None,
    });
    // The last byte of the last answer makes the plugin active.
    let read = (1..whole.bytes_read).map(|bytes| Limits {
        written: None,
        read: Some(bytes),
    });
    let faults: Vec<_> = written.chain(read).map(Fault::CutOff).collect();
    crowd.survives(&faults).await
}

/// A host that gives up soon, and the runtime that makes it do so.
struct Standstill {
    runtime: FakeRuntime,
    host: Host,
    plugin: Plugin,
    before: Resources,
}

impl Standstill {
    async fn new() -> Result<Self> {
        let mut runtime = FakeRuntime::builder(Profile::newest())
            .register_reply(RegisterReply::First)
            .build()?;
        runtime.listen()?;
        let host = Host::builder()
            .socket(runtime.socket())
            .set_runtime("handshake_timeout", "1s")
            .component(subject(10))
            .start()?;
        let plugin = runtime.plugin("10-subject").await?;
        let before = host.settled().await?;
        Ok(Self {
            runtime,
            host,
            plugin,
            before,
        })
    }

    /// Lets the handshake stand still, and waits until it is shown that `awaited` does not come.
    async fn stop_at(&mut self, fault: Fault, awaited: &str) -> Result<()> {
        let given_up = format!("{awaited} within 1s");
        let earlier = self.host.log().matches(&given_up).count();
        self.runtime.inject(fault);
        self.runtime.restart().await?;
        self.host
            .wait_component("subject", &format!("without {awaited:?}"), |subject| {
                let reason = subject.reason.as_deref().unwrap_or_default();
                reason.contains(awaited)
            })
            .await?;
        self.host.logged_times(&given_up, earlier + 1).await
    }

    /// Has the runtime restarted, and waits for the component, which has no more in use than ever.
    async fn recover(&mut self) -> Result<()> {
        let earlier = self.runtime.connections().len();
        self.runtime.release();
        self.runtime.restart().await?;
        self.plugin = self.runtime.reconnected(&self.plugin).await?;
        assert!(self.plugin.connection() > earlier);
        let before = &self.before;
        self.host
            .wait_resources("as many descriptors and threads as before", |now| {
                now.descriptors <= before.descriptors && now.threads == before.threads
            })
            .await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_handshake_that_stands_still_is_given_up_naming_what_did_not_come() -> Result<()> {
    let mut standstill = Standstill::new().await?;
    for (step, awaited) in HANDSHAKE.into_iter().zip([
        "no answer to the registration",
        "no answer to the registration",
        "no Configure",
        "no Synchronize",
    ]) {
        standstill.stop_at(Fault::Hold(step), awaited).await?;
        standstill.recover().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_handshake_that_stands_still_within_a_frame_is_given_up() -> Result<()> {
    // The frame never ends: whatever follows is taken for its payload.
    let endless = [PLUGIN_SERVICE.to_be_bytes(), (1_u32 << 22).to_be_bytes()].concat();
    let mut standstill = Standstill::new().await?;
    for (step, awaited) in HANDSHAKE.into_iter().zip([
        "no answer to the registration",
        "no answer to the registration",
        // The answer to the registration may be behind the frame.
        "",
        "no Synchronize",
    ]) {
        let fault = Fault::Send(step, endless.clone());
        standstill.stop_at(fault, awaited).await?;
        standstill.recover().await?;
    }
    Ok(())
}
