//! Updates that runtimes apply as they come, in the form that every one of them survives: those
//! outside a request, and those in the answer to Synchronize. The others are merged with those of
//! other plugins first, which completes them.
//!
//! Runtimes have crashed of updates without resources, and of resources without their cpu or memory
//! message. So what reaches them has all of it or is not there at all.

use nri_plugin_api::api;
use protobuf::MessageField;
use thiserror::Error;

use super::fields::Malformed;
use super::shape::Shape;
use super::ttrpc::encode;

/// Largest request that is taken, in bytes. In normal form it has at most twice as many, which an
/// empty socket takes at once.
pub const MAX_UPDATE: usize = 64 << 10;

/// Why a message never reaches a runtime.
#[derive(Debug, Error)]
pub enum Unfit {
    /// It has more than [`MAX_UPDATE`] bytes.
    #[error("it has {0} bytes, more than {MAX_UPDATE}")]
    TooLarge(usize),
    /// It is not the message that it should be.
    #[error("it cannot be read")]
    Unreadable(#[from] Unreadable),
    /// A part of it is about no container.
    #[error("{list}[{index}] names no container")]
    NoContainer {
        /// `update` or `evict`.
        list: &'static str,
        /// Place in the list, from 0.
        index: usize,
    },
}

/// Why bytes are not the message that they should be.
#[derive(Debug, Error)]
pub enum Unreadable {
    /// They are no message of this shape.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The decoder does not take them.
    #[error(transparent)]
    Undecodable(#[from] protobuf::Error),
}

/// Brings an encoded `UpdateContainersRequest` into normal form: each update that changes something
/// has resources with their cpu and memory messages, the others are left out. `None` when there is
/// nothing left to ask for. Fields that this crate does not know are kept.
///
/// # Errors
///
/// When a runtime could make nothing of it.
pub fn normal_form(request: &[u8]) -> Result<Option<Vec<u8>>, Unfit> {
    if request.len() > MAX_UPDATE {
        return Err(Unfit::TooLarge(request.len()));
    }
    let mut request: api::UpdateContainersRequest = read("UpdateContainersRequest", request)?;
    normalize(&mut request.update)?;
    let evicted = request.evict.iter().map(|eviction| &eviction.container_id);
    all_named("evict", evicted)?;
    let is_empty = request == api::UpdateContainersRequest::default();
    Ok((!is_empty).then(|| encode(&request)))
}

/// Brings the updates in an encoded `SynchronizeResponse` into the same form.
///
/// # Errors
///
/// When a runtime could make nothing of it.
pub fn normal_synchronization(response: &[u8]) -> Result<Vec<u8>, Unfit> {
    let mut response: api::SynchronizeResponse = read("SynchronizeResponse", response)?;
    normalize(&mut response.update)?;
    Ok(encode(&response))
}

/// The ids of the containers that an encoded `UpdateContainersResponse` names as failed.
///
/// # Errors
///
/// When it cannot be read.
pub fn failed_containers(response: &[u8]) -> Result<Vec<String>, Unreadable> {
    let response: api::UpdateContainersResponse = read("UpdateContainersResponse", response)?;
    let failed = response.failed.into_iter();
    Ok(failed.map(|update| update.container_id).collect())
}

/// The decoder alone would take messages that are cut off.
fn read<M: protobuf::Message>(name: &str, message: &[u8]) -> Result<M, Unreadable> {
    let shape = Shape::of(name).expect("the protocol has this message");
    shape.check(message)?;
    Ok(M::parse_from_bytes(message)?)
}

fn normalize(updates: &mut Vec<api::ContainerUpdate>) -> Result<(), Unfit> {
    all_named("update", updates.iter().map(|update| &update.container_id))?;
    updates.iter_mut().for_each(complete);
    updates.retain(changes_something);
    Ok(())
}

fn all_named<'a>(
    list: &'static str,
    mut containers: impl Iterator<Item = &'a String>,
) -> Result<(), Unfit> {
    match containers.position(String::is_empty) {
        Some(index) => Err(Unfit::NoContainer { list, index }),
        None => Ok(()),
    }
}

/// Adds the messages that must be there.
fn complete(update: &mut api::ContainerUpdate) {
    let linux = update.linux.mut_or_insert_default();
    let resources = linux.resources.mut_or_insert_default();
    resources.memory.mut_or_insert_default();
    resources.cpu.mut_or_insert_default();
}

/// Whether a complete update sets anything.
fn changes_something(update: &api::ContainerUpdate) -> bool {
    let mut nothing = api::ContainerUpdate {
        container_id: update.container_id.clone(),
        linux: MessageField::none(),
        ignore_failure: update.ignore_failure,
        ..Default::default()
    };
    complete(&mut nothing);
    *update != nothing
}

#[cfg(test)]
mod tests {
    use proptest::option::of as maybe;
    use proptest::prelude::*;
    use protobuf::Message as _;

    use super::*;

    fn normal(request: &api::UpdateContainersRequest) -> Option<api::UpdateContainersRequest> {
        let encoded = normal_form(&request.write_to_bytes().unwrap()).unwrap()?;
        Some(api::UpdateContainersRequest::parse_from_bytes(&encoded).unwrap())
    }

    fn request(update: Vec<api::ContainerUpdate>) -> api::UpdateContainersRequest {
        api::UpdateContainersRequest {
            update,
            ..Default::default()
        }
    }

    fn update(container: &str) -> api::ContainerUpdate {
        api::ContainerUpdate {
            container_id: container.into(),
            ..Default::default()
        }
    }

    fn int64(value: i64) -> MessageField<api::OptionalInt64> {
        MessageField::some(api::OptionalInt64 {
            value,
            ..Default::default()
        })
    }

    #[test]
    fn an_update_of_one_resource_gets_its_cpu_and_memory_messages() {
        let mut pids = update("c");
        let resources = pids
            .linux
            .mut_or_insert_default()
            .resources
            .mut_or_insert_default();
        resources.pids.mut_or_insert_default().limit = 5;
        let normal = normal(&request(vec![pids])).unwrap();
        let resources = &normal.update[0].linux.resources;
        assert_eq!(resources.pids.limit, 5);
        assert!(resources.cpu.is_some() && resources.memory.is_some());
    }

    #[test]
    fn updates_that_change_nothing_are_left_out() {
        let mut hollow = update("hollow");
        complete(&mut hollow);
        let mut ignoring = update("ignoring");
        ignoring.ignore_failure = true;
        assert_eq!(
            normal(&request(vec![update("bare"), hollow, ignoring])),
            None
        );
        assert_eq!(normal(&request(Vec::new())), None);
    }

    #[test]
    fn setting_a_value_to_zero_is_a_change() {
        let mut zero = update("c");
        let resources = zero
            .linux
            .mut_or_insert_default()
            .resources
            .mut_or_insert_default();
        resources.cpu.mut_or_insert_default().quota = int64(0);
        assert!(normal(&request(vec![zero])).is_some());
    }

    #[test]
    fn evictions_pass_without_any_update() {
        let mut eviction = request(vec![update("bare")]);
        eviction.evict.push(api::ContainerEviction {
            container_id: "c".into(),
            reason: "noisy".into(),
            ..Default::default()
        });
        let normal = normal(&eviction).unwrap();
        assert_eq!((normal.update.len(), normal.evict), (0, eviction.evict));
    }

    #[test]
    fn the_updates_of_a_synchronization_are_completed_or_left_out() {
        let mut pinned = update("c");
        let linux = pinned.linux.mut_or_insert_default();
        let resources = linux.resources.mut_or_insert_default();
        resources.cpu.mut_or_insert_default().cpus = "0".into();
        let response = |update| {
            let response = api::SynchronizeResponse {
                update,
                ..Default::default()
            };
            response.write_to_bytes().unwrap()
        };
        let normal = normal_synchronization(&response(vec![update("bare"), pinned])).unwrap();
        let normal = api::SynchronizeResponse::parse_from_bytes(&normal).unwrap();
        let [pinned] = &normal.update[..] else {
            panic!("{normal:?}");
        };
        assert!(pinned.linux.resources.memory.is_some());
        let refused = normal_synchronization(&response(vec![update("")]));
        assert!(matches!(refused, Err(Unfit::NoContainer { index: 0, .. })));
    }

    #[test]
    fn what_no_runtime_could_use_is_refused() {
        let unnamed = request(vec![update("c"), update("")])
            .write_to_bytes()
            .unwrap();
        let refused = normal_form(&unnamed).unwrap_err();
        assert_eq!(refused.to_string(), "update[1] names no container");
        assert!(matches!(normal_form(&[0x0a, 5]), Err(Unfit::Unreadable(_))));
        let large = vec![0; MAX_UPDATE + 1];
        assert!(matches!(normal_form(&large), Err(Unfit::TooLarge(_))));
    }

    #[test]
    fn fields_of_the_future_are_kept() {
        // Field 100 of the update, a number.
        let future = [0x0a, 6, 0x0a, 1, b'c', 0xa0, 0x06, 7];
        let normal = normal_form(&future).unwrap().unwrap();
        assert!(
            normal.windows(3).any(|w| w == [0xa0, 0x06, 7]),
            "{normal:?}"
        );
    }

    prop_compose! {
        fn any_update()(
            id in "[a-f0-9]{1,64}",
            ignore_failure: bool,
            limit in maybe(any::<i64>()),
            shares in maybe(any::<u64>()),
            cpus in maybe("[0-9,-]{0,8}"),
            has_memory: bool,
            unified in proptest::collection::btree_map("[a-z.]{1,8}", "[0-9]{0,8}", 0..3),
            pids in maybe(any::<i64>()),
        ) -> api::ContainerUpdate {
            let mut update = update(&id);
            update.ignore_failure = ignore_failure;
            let mut resources = api::LinuxResources {
                unified: unified.into_iter().collect(),
                ..Default::default()
            };
            if has_memory || limit.is_some() {
                resources.memory.mut_or_insert_default().limit = limit.map_or_else(MessageField::none, int64);
            }
            if let Some(value) = shares {
                let shares = api::OptionalUInt64 { value, ..Default::default() };
                resources.cpu.mut_or_insert_default().shares = MessageField::some(shares);
            }
            if let Some(cpus) = cpus {
                resources.cpu.mut_or_insert_default().cpus = cpus;
            }
            if let Some(limit) = pids {
                resources.pids.mut_or_insert_default().limit = limit;
            }
            if resources != api::LinuxResources::default() {
                update.linux.mut_or_insert_default().resources = MessageField::some(resources);
            }
            update
        }
    }

    proptest! {
        #[test]
        fn the_normal_form_is_its_own_and_keeps_all_that_is_set(
            updates in proptest::collection::vec(any_update(), 0..5),
        ) {
            let mut kept = updates.clone();
            kept.iter_mut().for_each(complete);
            let nothing = |container: &api::ContainerUpdate| {
                let resources = &container.linux.resources;
                *resources.cpu == Default::default()
                    && *resources.memory == Default::default()
                    && resources.unified.is_empty()
                    && resources.pids.is_none()
            };
            kept.retain(|update| !nothing(update));
            let normal_of = normal(&request(updates));
            prop_assert_eq!(normal_of.as_ref().map_or(&[][..], |n| &n.update[..]), &kept[..]);
            if let Some(normal_of) = normal_of {
                prop_assert_eq!(normal(&normal_of), Some(normal_of));
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            if let Ok(Some(normal)) = normal_form(&bytes) {
                prop_assert!(normal.len() <= 2 * bytes.len() + 16);
            }
        }
    }
}
