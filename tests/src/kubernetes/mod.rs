//! What `deploy/kubernetes` describes: read and validated as an API server does it, and run on a real
//! containerd as a kubelet does it.

mod kubelet;
mod objects;

pub use kubelet::{Kubelet, RunningPod};
pub use objects::{Objects, Overlay, manifests_dir};
