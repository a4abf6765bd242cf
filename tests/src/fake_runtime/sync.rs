//! How the state is cut into the messages of Synchronize.

use nri_plugin_api::api::{Container, PodSandbox, SynchronizeRequest};
use protobuf::Message;
use ttrpc::Request;

use super::mux::rule::MAX_BODY;
use super::rpc;

/// Fewest objects that the reference puts in a message that is split.
const MIN_OBJECTS: usize = 8;

/// How to cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Split {
    /// Only what does not fit one message, by the arithmetic of the reference.
    #[default]
    WhenNeeded,
    /// Chunks of so many pods and containers; the last one takes what is left.
    Chunks(Vec<(usize, usize)>),
    /// So many empty messages first: what a known fault of the reference comes down to.
    EmptyFirst(usize),
}

/// What is wrong with a state that cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The messages that carry the state, `more` set on all but the last.
pub(super) fn messages(
    split: &Split,
    may_split: bool,
    pods: &[PodSandbox],
    containers: &[Container],
) -> Result<Vec<SynchronizeRequest>, TooLarge> {
    let mut messages = match split {
        Split::WhenNeeded => return when_needed(may_split, pods, containers),
        Split::Chunks(sizes) => chunks(sizes, pods, containers),
        Split::EmptyFirst(count) => {
            let mut messages = vec![SynchronizeRequest::new(); *count];
            messages.push(message(pods, containers));
            messages
        }
    };
    let last = messages.len() - 1;
    for message in &mut messages[..last] {
        message.more = true;
    }
    if messages.iter().all(fits) {
        Ok(messages)
    } else {
        Err(TooLarge)
    }
}

fn chunks(
    sizes: &[(usize, usize)],
    mut pods: &[PodSandbox],
    mut containers: &[Container],
) -> Vec<SynchronizeRequest> {
    let mut messages = Vec::with_capacity(sizes.len() + 1);
    for &(pod_count, container_count) in sizes {
        let (some_pods, other_pods) = pods.split_at(pod_count.min(pods.len()));
        let (some_containers, others) = containers.split_at(container_count.min(containers.len()));
        messages.push(message(some_pods, some_containers));
        (pods, containers) = (other_pods, others);
    }
    messages.push(message(pods, containers));
    messages
}

/// The loop of the reference: shrink both counts by how much the message was too large, and keep
/// them for the messages that follow.
fn when_needed(
    may_split: bool,
    mut pods: &[PodSandbox],
    mut containers: &[Container],
) -> Result<Vec<SynchronizeRequest>, TooLarge> {
    let mut messages = Vec::new();
    let (mut pod_count, mut container_count) = (pods.len(), containers.len());
    loop {
        let mut next = message(&pods[..pod_count], &containers[..container_count]);
        next.more = pod_count < pods.len() || container_count < containers.len();
        if fits(&next) {
            let last = !next.more;
            messages.push(next);
            if last {
                return Ok(messages);
            }
            pods = &pods[pod_count..];
            containers = &containers[container_count..];
            pod_count = pod_count.min(pods.len());
            container_count = container_count.min(containers.len());
        } else if !may_split || pod_count + container_count <= MIN_OBJECTS {
            return Err(TooLarge);
        } else {
            let size = encoded_size(&next);
            pod_count = shrink(pod_count, size, pods.len());
            container_count = shrink(container_count, size, containers.len());
        }
    }
}

/// A smaller count for a message of `size` bytes. Unlike the reference, whose loop then never
/// ends, what is unsent never gets a count of 0.
fn shrink(count: usize, size: usize, unsent: usize) -> usize {
    // At most 0.9 of what it was, even if the message was hardly too large.
    let by_size = count * MAX_BODY / size;
    by_size.min(count * 9 / 10).max(unsent.min(1))
}

fn message(pods: &[PodSandbox], containers: &[Container]) -> SynchronizeRequest {
    SynchronizeRequest {
        pods: pods.to_vec(),
        containers: containers.to_vec(),
        ..SynchronizeRequest::default()
    }
}

fn fits(message: &SynchronizeRequest) -> bool {
    encoded_size(message) <= MAX_BODY
}

/// Size of the ttrpc request that carries the message, which is what the limit is for.
fn encoded_size(message: &SynchronizeRequest) -> usize {
    let envelope = Request {
        service: rpc::PLUGIN.to_owned(),
        method: "Synchronize".to_owned(),
        timeout_nano: i64::MAX,
        ..Request::default()
    };
    // The payload's own tag and length.
    const PAYLOAD_FIELD: u64 = 6;
    let size = envelope.compute_size() + message.compute_size() + PAYLOAD_FIELD;
    usize::try_from(size).expect("a message in memory has a size in memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pods;

    fn objects(
        pod_count: usize,
        container_count: usize,
        bytes: usize,
    ) -> (Vec<PodSandbox>, Vec<Container>) {
        let padding = "x".repeat(bytes);
        let pod = pods::pod("p").annotation("padding", &padding).build();
        let container = pods::container(&pod, "c")
            .annotation("padding", &padding)
            .build();
        (vec![pod; pod_count], vec![container; container_count])
    }

    fn sizes(messages: &[SynchronizeRequest]) -> Vec<(usize, usize, bool)> {
        messages
            .iter()
            .map(|message| (message.pods.len(), message.containers.len(), message.more))
            .collect()
    }

    #[test]
    fn a_small_state_takes_one_message() {
        let (pods, containers) = objects(3, 5, 100);
        let messages = messages(&Split::WhenNeeded, true, &pods, &containers).unwrap();
        assert_eq!(sizes(&messages), [(3, 5, false)]);
        assert_eq!(
            sizes(&super::messages(&Split::WhenNeeded, true, &[], &[]).unwrap()),
            [(0, 0, false)]
        );
    }

    #[test]
    fn a_large_state_is_split_so_that_each_message_fits_and_nothing_is_lost() {
        for (pod_count, container_count) in [(100, 900), (1000, 0), (1, 999), (500, 1)] {
            let (pods, containers) = objects(pod_count, container_count, 10_000);
            let messages = messages(&Split::WhenNeeded, true, &pods, &containers).unwrap();
            assert!(messages.len() > 1 && messages.iter().all(fits));
            let sent = sizes(&messages)
                .iter()
                .fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
            assert_eq!(sent, (pod_count, container_count));
            let (last, others) = messages.split_last().unwrap();
            assert!(!last.more && others.iter().all(|message| message.more));
        }
    }

    #[test]
    fn a_large_state_cannot_be_sent_where_splitting_is_unknown_or_objects_are_too_large() {
        let (pods, containers) = objects(100, 900, 10_000);
        assert_eq!(
            messages(&Split::WhenNeeded, false, &pods, &containers),
            Err(TooLarge)
        );
        let (pods, containers) = objects(2, 2, 3 << 20);
        assert_eq!(
            messages(&Split::WhenNeeded, true, &pods, &containers),
            Err(TooLarge)
        );
    }

    #[test]
    fn chunks_are_cut_as_told() {
        let (pods, containers) = objects(2, 9, 10);
        let three = Split::Chunks(vec![(1, 3), (5, 3)]);
        let messages = messages(&three, true, &pods, &containers).unwrap();
        assert_eq!(
            sizes(&messages),
            [(1, 3, true), (1, 3, true), (0, 3, false)]
        );
        let empty = super::messages(&Split::EmptyFirst(2), true, &pods, &containers).unwrap();
        assert_eq!(sizes(&empty), [(0, 0, true), (0, 0, true), (2, 9, false)]);
    }
}
