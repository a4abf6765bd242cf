//! The runtime restarts again and again under eight components.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Plugin, Profile, SocketFile};
use nri_host_tests::host::{Component, Host, Resources, State, Status};
use nri_host_tests::pods;
use serde_json::json;

const NAMES: [&str; 8] = [
    "10-first",
    "20-second",
    "30-third",
    "40-fourth",
    "50-fifth",
    "60-sixth",
    "70-seventh",
    "80-eighth",
];

/// Restarts before anything is measured: allocators and caches fill up, and the lines of the log that
/// are kept of each component.
const WARM_UP: usize = 110;

/// What the memory may have grown by between the first and the last third of the restarts, in KiB.
/// A kilobyte that is left behind by each lost session is more than this after fifty restarts.
const NOISE_KIB: u64 = 200;

struct Storm {
    runtime: FakeRuntime,
    host: Host,
    plugins: Vec<Plugin>,
}

impl Storm {
    async fn begin() -> Result<Self> {
        let runtime = FakeRuntime::start(Profile::newest()).await?;
        let builder = Host::builder().socket(runtime.socket());
        let host = NAMES
            .iter()
            .zip((10..).step_by(10))
            .fold(builder, |builder, (name, index)| {
                builder.component(Component::faulty(&name[3..], index, json!({})))
            })
            .start()?;
        let plugins = runtime.plugins(&NAMES).await?;
        Ok(Self {
            runtime,
            host,
            plugins,
        })
    }

    /// Ends the runtime, starts it again, and waits until all are back, in their order.
    async fn restart(&mut self, file: SocketFile) -> Result<()> {
        self.runtime.kill(file).await?;
        let all_wait = |status: &Status| all_are(status, State::Waiting);
        self.host.wait_status("all waiting", all_wait).await?;
        let earlier = self.runtime.connections().len();
        self.runtime.listen()?;
        for plugin in &mut self.plugins {
            *plugin = self.runtime.reconnected(plugin).await?;
        }
        let connections = self.runtime.connections().into_iter().skip(earlier);
        let order: Vec<_> = connections.filter_map(|known| known.plugin).collect();
        assert_eq!(order, NAMES);
        Ok(())
    }

    /// Makes a call to all components, and waits until the host is at rest again.
    async fn rest(&self, before: Option<&Resources>) -> Result<Resources> {
        let pod = pods::pod("web").build();
        let container = pods::container(&pod, "server").build();
        let operation = self.runtime.create_container(&pod, &container).await;
        assert_eq!(operation.replies()?.len(), NAMES.len());
        let all_active = |status: &Status| all_are(status, State::Active);
        self.host.wait_status("all active", all_active).await?;
        let Some(before) = before else {
            return self.host.resources();
        };
        // The admin connection that was just used is closed by and by.
        self.host
            .wait_resources("as many descriptors and threads as before", |now| {
                now.descriptors <= before.descriptors && now.threads == before.threads
            })
            .await
    }
}

fn all_are(status: &Status, state: State) -> bool {
    status
        .components
        .iter()
        .all(|component| component.state == state)
}

fn median(part: &[u64]) -> u64 {
    let mut part = part.to_vec();
    part.sort_unstable();
    part[part.len() / 2]
}

#[expect(clippy::print_stdout, reason = "the figures are for people, too")]
async fn leaves_nothing_behind(restarts: usize) -> Result<()> {
    let mut storm = Storm::begin().await?;
    let mut warm: Option<Resources> = None;
    let mut memory = Vec::new();
    for restart in 0..WARM_UP + restarts {
        let file = if restart % 2 == 0 {
            SocketFile::Left
        } else {
            SocketFile::Removed
        };
        storm.restart(file).await?;
        let now = storm.rest(warm.as_ref()).await?;
        if restart >= WARM_UP {
            memory.push(now.anonymous_kib);
            warm.get_or_insert(now);
        }
    }
    let tenths: Vec<_> = memory.chunks(memory.len() / 10).map(median).collect();
    let warm = warm.expect("there were restarts after the warm-up");
    println!(
        "{restarts} restarts with {} components: {} descriptors and {} threads throughout; \
         anonymous memory, in KiB, by tenths of the restarts: {tenths:?}",
        NAMES.len(),
        warm.descriptors,
        warm.threads.len()
    );
    let third = memory.len() / 3;
    let first = median(&memory[..third]);
    let last = median(&memory[memory.len() - third..]);
    assert!(
        last <= first + NOISE_KIB,
        "memory grew from {first} to {last} KiB: {memory:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_hundred_restarts_lose_no_registration_and_leave_nothing_behind() -> Result<()> {
    leaves_nothing_behind(100).await
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn a_thousand_restarts_lose_no_registration_and_leave_nothing_behind() -> Result<()> {
    leaves_nothing_behind(1000).await
}
