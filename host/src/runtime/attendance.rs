//! Which creations of containers a component was not there for.
//!
//! Nobody tells of them, so they are found at the next synchronization: containers that were not in
//! the last one, and whose CreateContainer did not come since. Containers that are gone again by then
//! are not seen.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;
use std::time::SystemTime;

use super::fields::{Fields, Value, bytes_field, bytes_fields};
use crate::lock::lock;

/// Containers that are remembered of one component. Nodes have some hundred at a time.
const MAX_KNOWN: usize = 4096;

/// What one component knows of containers, over all its sessions and instances.
#[derive(Debug, Default)]
pub struct Attendance {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// When the component was last surely there, in nanoseconds since 1970; `None` before the first
    /// synchronization.
    there: Option<i64>,
    /// Digests of ids, oldest first.
    known: VecDeque<u64>,
    /// Some were forgotten.
    forgot: bool,
    missed: u64,
}

/// The containers of a synchronization under way.
#[derive(Debug, Default)]
pub struct Listed(Vec<Container>);

#[derive(Debug)]
struct Container {
    id: u64,
    /// In nanoseconds since 1970; 0 from runtimes that do not say (containerd before 2.3).
    created_at: i64,
}

impl Listed {
    /// Takes in a chunk of the synchronization, as far as it can be read.
    pub fn add(&mut self, chunk: &[u8]) {
        const CONTAINERS: u32 = 2;
        self.0
            .extend(bytes_fields(chunk, CONTAINERS).map(Container::read));
    }
}

impl Container {
    fn read(message: &[u8]) -> Self {
        const ID: u32 = 1;
        const CREATED_AT: u32 = 14;
        let (mut id, mut created_at) = (&[][..], 0);
        for field in Fields::of(message).map_while(Result::ok) {
            match (field.number, field.value) {
                (ID, Value::Bytes(bytes)) => id = bytes,
                (CREATED_AT, Value::Varint(number)) => created_at = number.cast_signed(),
                _ => {}
            }
        }
        Self {
            id: digest(id),
            created_at,
        }
    }
}

impl Attendance {
    /// Containers so far that were created while the component had no session.
    pub fn missed(&self) -> u64 {
        lock(&self.inner).missed
    }

    /// The component is told of the creation of a container. `request`: an encoded
    /// `CreateContainerRequest`.
    pub fn told(&self, request: &[u8]) {
        const CONTAINER: u32 = 2;
        const ID: u32 = 1;
        let container = bytes_field(request, CONTAINER).unwrap_or_default();
        let id = digest(bytes_field(container, ID).unwrap_or_default());
        lock(&self.inner).told(id, now());
    }

    /// The component was synchronized with these containers.
    pub fn synchronized(&self, listed: &Listed) {
        lock(&self.inner).synchronized(listed, now());
    }
}

impl Inner {
    fn told(&mut self, id: u64, now: i64) {
        self.there = self.there.map(|there| there.max(now));
        self.remember(id);
    }

    fn synchronized(&mut self, listed: &Listed, now: i64) {
        if let Some(there) = self.there {
            let known: HashSet<u64> = self.known.iter().copied().collect();
            let is_missed = |container: &&Container| match container.created_at {
                _ if known.contains(&container.id) => false,
                // It may be one of those that were forgotten.
                0 => !self.forgot,
                at => at > there,
            };
            self.missed += listed.0.iter().filter(is_missed).count() as u64;
        }
        *self = Self {
            there: Some(now),
            missed: self.missed,
            ..Self::default()
        };
        for container in &listed.0 {
            self.remember(container.id);
        }
    }

    fn remember(&mut self, id: u64) {
        if self.known.len() == MAX_KNOWN {
            self.known.pop_front();
            self.forgot = true;
        }
        self.known.push_back(id);
    }
}

fn digest(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// On the clock of the runtime, which runs on the same machine.
fn now() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::api;
    use protobuf::Message as _;

    use super::*;

    fn container(id: &str, created_at: i64) -> api::Container {
        api::Container {
            id: id.to_owned(),
            created_at,
            ..Default::default()
        }
    }

    fn listed(containers: &[(&str, i64)]) -> Listed {
        let containers = containers.iter().map(|(id, at)| container(id, *at));
        let request = api::SynchronizeRequest {
            containers: containers.collect(),
            ..Default::default()
        };
        let mut listed = Listed::default();
        listed.add(&request.write_to_bytes().unwrap());
        listed
    }

    #[test]
    fn what_was_there_before_the_first_synchronization_is_not_missed() {
        let mut inner = Inner::default();
        inner.synchronized(&listed(&[("a", 1), ("b", 0)]), 10);
        inner.synchronized(&listed(&[("a", 1), ("b", 0)]), 20);
        assert_eq!(inner.missed, 0);
    }

    #[test]
    fn what_came_in_between_and_was_not_told_is_missed_once() {
        for created_at in [0, 15] {
            let mut inner = Inner::default();
            inner.synchronized(&listed(&[("a", 1)]), 10);
            inner.told(digest(b"told"), 12);
            for now in [20, 30] {
                let all = [("a", 1), ("told", 13), ("missed", created_at)];
                inner.synchronized(&listed(&all), now);
            }
            assert_eq!(inner.missed, 1);
        }
    }

    #[test]
    fn the_id_is_found_in_a_request() {
        let attendance = Attendance::default();
        attendance.synchronized(&listed(&[]));
        let request = api::CreateContainerRequest {
            container: Some(container("told", 0)).into(),
            ..Default::default()
        };
        attendance.told(&request.write_to_bytes().unwrap());
        attendance.synchronized(&listed(&[("told", 0), ("missed", 0)]));
        assert_eq!(attendance.missed(), 1);
    }

    #[test]
    fn what_was_forgotten_counts_only_if_the_runtime_says_that_it_is_new() {
        let mut inner = Inner::default();
        inner.synchronized(&listed(&[("old", 5), ("silent", 0)]), 10);
        for number in 0..MAX_KNOWN as u64 {
            inner.told(number, 20);
        }
        assert_eq!(inner.known.len(), MAX_KNOWN);
        inner.synchronized(&listed(&[("old", 5), ("silent", 0), ("new", 25)]), 30);
        assert_eq!(inner.missed, 1);
    }
}
