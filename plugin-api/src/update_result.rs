//! What came of an update outside a request.

use protobuf::Message;

use crate::abi::Status;
use crate::api;

/// Names a request of [`Host::update_containers`](crate::Host::update_containers) within its
/// instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UpdateId(pub(crate) u64);

/// What came of a request of [`Host::update_containers`](crate::Host::update_containers).
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateResult {
    id: UpdateId,
    outcome: Result<Vec<api::ContainerUpdate>, String>,
}

impl UpdateResult {
    /// A result as it comes over the border: the encoded response, or a text.
    pub(crate) fn read(cookie: u64, status: Status, data: &[u8]) -> Self {
        let outcome = match status {
            Status::OK => api::UpdateContainersResponse::parse_from_bytes(data)
                .map(|response| response.failed)
                .map_err(|error| format!("the runtime's answer cannot be read: {error}")),
            _ => Err(String::from_utf8_lossy(data).into_owned()),
        };
        Self {
            id: UpdateId(cookie),
            outcome,
        }
    }

    /// What [`Host::update_containers`](crate::Host::update_containers) returned.
    pub fn id(&self) -> UpdateId {
        self.id
    }

    /// Why the request failed as a whole: the runtime refused it or did not answer in time, or the
    /// session was lost. All, some or none of it may have been applied all the same.
    pub fn error(&self) -> Option<&str> {
        self.outcome.as_ref().err().map(String::as_str)
    }

    /// The updates that the runtime could not make. Most runtimes never name one: they fail the
    /// request as a whole, or pass over containers that they do not know.
    pub fn failed(&self) -> &[api::ContainerUpdate] {
        self.outcome.as_deref().unwrap_or_default()
    }
}
