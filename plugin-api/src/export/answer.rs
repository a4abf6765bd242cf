//! From a method and its payload to the bytes of the answer.

use protobuf::Message;

use crate::abi::{Method, Status};
use crate::api;
use crate::component::Component;
use crate::error::{Error, Kind};
use crate::request::{Request, RequestMessage};

/// What is handed to the host's `reply`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: Status,
    /// For [`Status::OK`] the encoded response, else text.
    pub(super) data: Vec<u8>,
}

impl Answer {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self {
            status: Status::FAILED,
            data: message.into().into_bytes(),
        }
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            Kind::Rejected(_) => Status::REJECTED,
            Kind::Failed(_) | Kind::TryLater(_) | Kind::Config(_) => Status::FAILED,
        };
        Self {
            status,
            data: error.to_string().into_bytes(),
        }
    }
}

/// Lets the component serve a request.
///
/// A rejection stays one, also of `ValidateContainerAdjustment`, for which the protocol has an answer
/// of its own: the host makes that answer, names the component in it, and counts it.
pub(super) fn answer<T: Component>(component: &mut T, method: Method, payload: &[u8]) -> Answer {
    serve(component, method, payload).map_or_else(Answer::from, |data| Answer {
        status: Status::OK,
        data,
    })
}

/// Reads the request, calls the component, and encodes what it makes of it.
fn respond<M: RequestMessage>(
    payload: &[u8],
    call: impl FnOnce(&Request<'_, M>) -> Result<M::Response, Error>,
) -> Result<Vec<u8>, Error> {
    let request = Request::<M>::parse(payload)
        .map_err(|malformed| Error::from(malformed).context("reading the request"))?;
    Ok(call(&request)?.write_to_bytes()?)
}

/// The same for a method whose answer holds nothing.
fn notice<M: RequestMessage>(
    payload: &[u8],
    call: impl FnOnce(&Request<'_, M>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    respond(payload, |request| {
        call(request).map(|()| M::Response::new())
    })
}

fn serve<T: Component>(
    component: &mut T,
    method: Method,
    payload: &[u8],
) -> Result<Vec<u8>, Error> {
    let c = component;
    match method {
        Method::RunPodSandbox => notice(payload, |r| c.run_pod_sandbox(r)),
        Method::UpdatePodSandbox => notice(payload, |r| c.update_pod_sandbox(r)),
        Method::PostUpdatePodSandbox => notice(payload, |r| c.post_update_pod_sandbox(r)),
        Method::StopPodSandbox => notice(payload, |r| c.stop_pod_sandbox(r)),
        Method::RemovePodSandbox => notice(payload, |r| c.remove_pod_sandbox(r)),
        Method::CreateContainer => {
            respond(payload, |r: &Request<'_, api::CreateContainerRequest>| {
                Ok(c.create_container(r)?.into_response(r.container_id())?)
            })
        }
        Method::PostCreateContainer => notice(payload, |r| c.post_create_container(r)),
        Method::StartContainer => notice(payload, |r| c.start_container(r)),
        Method::PostStartContainer => notice(payload, |r| c.post_start_container(r)),
        Method::UpdateContainer => respond(payload, |r| {
            let (update, evict) = c.update_container(r)?.into_messages();
            Ok(api::UpdateContainerResponse {
                update,
                evict,
                ..Default::default()
            })
        }),
        Method::PostUpdateContainer => notice(payload, |r| c.post_update_container(r)),
        Method::StopContainer => respond(payload, |r| {
            let update = c.stop_container(r)?.into_updates("StopContainer")?;
            Ok(api::StopContainerResponse {
                update,
                ..Default::default()
            })
        }),
        Method::RemoveContainer => notice(payload, |r| c.remove_container(r)),
        Method::ValidateContainerAdjustment => {
            notice(payload, |r| c.validate_container_adjustment(r))
        }
        Method::Synchronize => respond(payload, |r| {
            let update = c.synchronize(r)?.into_updates("Synchronize")?;
            Ok(api::SynchronizeResponse {
                update,
                ..Default::default()
            })
        }),
    }
}
