//! What each request has of names and secrets.

use nri_plugin_api::api;
use nri_plugin_api::request::PodRequest;
use serde::Serialize;

use crate::names::Names;
use crate::redact::Redaction;

/// A request that is written as its message.
pub(crate) trait Loggable: PodRequest + Serialize {
    fn names(&self) -> Names;

    /// Hides what is likely to be a secret.
    fn redact(&mut self, redaction: &Redaction);
}

macro_rules! about_pods {
    ($($message:ident)*) => {$(
        impl Loggable for api::$message {
            fn names(&self) -> Names {
                Names { pod: self.pod.as_ref().map(Into::into), container: None }
            }

            fn redact(&mut self, redaction: &Redaction) {
                redaction.pod(self.pod.as_mut());
            }
        }
    )*};
}

macro_rules! about_containers {
    ($($message:ident $(and $adjust:ident)?;)*) => {$(
        impl Loggable for api::$message {
            fn names(&self) -> Names {
                Names {
                    pod: self.pod.as_ref().map(Into::into),
                    container: self.container.as_ref().map(Into::into),
                }
            }

            fn redact(&mut self, redaction: &Redaction) {
                redaction.pod(self.pod.as_mut());
                redaction.container(self.container.as_mut());
                $(redaction.adjustment(self.$adjust.as_mut());)?
            }
        }
    )*};
}

about_pods! {
    RunPodSandboxRequest UpdatePodSandboxRequest PostUpdatePodSandboxRequest StopPodSandboxRequest
    RemovePodSandboxRequest
}

about_containers! {
    CreateContainerRequest;
    PostCreateContainerRequest;
    StartContainerRequest;
    PostStartContainerRequest;
    UpdateContainerRequest;
    PostUpdateContainerRequest;
    StopContainerRequest;
    RemoveContainerRequest;
    ValidateContainerAdjustmentRequest and adjust;
}
