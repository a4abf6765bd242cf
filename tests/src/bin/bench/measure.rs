//! Single measurements.

use std::time::Duration;

use anyhow::Result;
use nri_host_tests::pods;
use nri_host_tests::reference::{Event, Options, Pace, Reference};
use nri_plugin_api::api::{CreateContainerRequest, SynchronizeRequest};
use protobuf::MessageField;

use crate::contestant::{Contestant, Running};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// CreateContainer of a container of common size.
    Calls(Pace),
    /// Handing over a whole state.
    Synchronize { pods: usize, containers: usize },
}

/// What one turn gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) p50: Duration,
    /// The same as `p50` where a turn does its work once.
    pub(crate) p90: Duration,
}

/// Lets `count` plugins of a contestant do the work once, in new processes.
pub(crate) fn turn(contestant: Contestant, count: u8, work: Work) -> Result<Sample> {
    let dir = tempfile::tempdir()?;
    let runtime = Reference::new(&dir.path().join("nri.sock"))?;
    if let Work::Synchronize { pods, containers } = work {
        runtime.set_state(&state(pods, containers))?;
    }
    // A node with so large a state has longer timeouts.
    runtime.listen(&Options {
        request_timeout: Duration::from_secs(20),
        ..Options::default()
    })?;
    let running = contestant.start(count, runtime.socket())?;
    let connected = wait_connected(&runtime, &running);
    match work {
        Work::Calls(pace) => {
            let latency = runtime.bench(&create_container(), pace)?;
            Ok(Sample {
                p50: latency.p50,
                p90: latency.p90,
            })
        }
        Work::Synchronize { .. } => {
            let took = synchronizing_time(&runtime.events(), &connected);
            Ok(Sample {
                p50: took,
                p90: took,
            })
        }
    }
}

/// Memory of `count` plugins after a while of work, in KiB.
pub(crate) fn memory(contestant: Contestant, count: u8) -> Result<u64> {
    let dir = tempfile::tempdir()?;
    let runtime = Reference::start(&dir.path().join("nri.sock"), &Options::default())?;
    let running = contestant.start(count, runtime.socket())?;
    wait_connected(&runtime, &running);
    let pace = Pace {
        warmup: 0,
        calls: 500,
        pause: Duration::ZERO,
    };
    runtime.bench(&create_container(), pace)?;
    running.pss_kib()
}

/// How often the threads of `count` connected plugins of a contestant leave the processor in a
/// minute without calls: each time was a wake-up before.
pub(crate) fn idle_wakeups(contestant: Contestant, count: u8) -> Result<u64> {
    let dir = tempfile::tempdir()?;
    let runtime = Reference::start(&dir.path().join("nri.sock"), &Options::default())?;
    let running = contestant.start(count, runtime.socket())?;
    wait_connected(&runtime, &running);
    // What a start leaves to be done is done by then.
    std::thread::sleep(Duration::from_secs(5));
    let before = running.context_switches()?;
    std::thread::sleep(Duration::from_secs(60));
    Ok(running.context_switches()? - before)
}

/// Restarts the runtime, which is away for a while, under a host with `count`
/// device injectors; returns how long each time it took from the listening
/// runtime to all of them synchronized.
pub(crate) fn reconnecting(count: u8, away: Duration, times: usize) -> Result<Vec<Duration>> {
    let dir = tempfile::tempdir()?;
    let socket = dir.path().join("nri.sock");
    let mut runtime = Reference::start(&socket, &Options::default())?;
    let running = Contestant::Injectors.start(count, &socket)?;
    wait_connected(&runtime, &running);
    let mut taken = Vec::new();
    for _ in 0..times {
        runtime.kill();
        std::thread::sleep(away);
        runtime = Reference::new(&socket)?;
        let listening = runtime.listen(&Options::default())?;
        let last = wait_connected(&runtime, &running)
            .into_iter()
            .map(|event| event.at)
            .max();
        taken.push(last.unwrap_or_default().saturating_sub(listening));
    }
    Ok(taken)
}

fn wait_connected(runtime: &Reference, running: &Running) -> Vec<Event> {
    let names: Vec<&str> = running.plugins.iter().map(String::as_str).collect();
    runtime.wait_connected(&names)
}

/// From the start of the first Synchronize to the end of the last.
fn synchronizing_time(events: &[Event], connected: &[Event]) -> Duration {
    let begin = events
        .iter()
        .find(|event| event.name == "synchronizing")
        .map(|event| event.at);
    let end = connected.iter().map(|event| event.at).max();
    end.unwrap_or_default()
        .saturating_sub(begin.unwrap_or_default())
}

fn create_container() -> CreateContainerRequest {
    let pod = pods::pod("bench").build();
    let container = pods::container(&pod, "main").build();
    CreateContainerRequest {
        pod: MessageField::some(pod),
        container: MessageField::some(container),
        ..CreateContainerRequest::default()
    }
}

fn state(pods: usize, containers: usize) -> SynchronizeRequest {
    let pods: Vec<_> = (0..pods)
        .map(|n| pods::pod(&format!("pod{n}")).build())
        .collect();
    let of_pod = |n: usize| {
        pods::container(&pods[n % pods.len()], &format!("container{n}"))
            .running()
            .build()
    };
    SynchronizeRequest {
        containers: (0..containers).map(of_pod).collect(),
        pods,
        ..SynchronizeRequest::default()
    }
}
