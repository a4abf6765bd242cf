//! Gives containers the devices, mounts, kernel parameters and the like that their pods ask for by
//! annotation, as far as the node's administrator allows it.
//!
//! `docs/components/device-injector.md` tells users about annotations and settings. Here, in the
//! order in which a request goes through it:
//!
//! * `annotation` finds the annotations that count for a container, and reads their YAML;
//! * `devices`, `mounts` and `cdi` read the entries of one kind of annotation each, complete
//!   them from what is on the host, and ask `allow` about them; so do `io_priority`, `scheduler`,
//!   `net_devices`, `sysctl` and `memory_policy`, for which the host need not be looked at;
//! * `paths` says what a path can be;
//! * `problems` collects whatever is wrong, so that the author of a pod learns all of it at once.

mod allow;
mod annotation;
mod cdi;
mod component;
mod devices;
mod host_files;
mod io_priority;
mod memory_policy;
mod mounts;
mod names;
mod net_devices;
mod paths;
mod problems;
mod scheduler;
mod settings;
mod sysctl;

pub use component::DeviceInjector;
pub use problems::OnDenied;
pub use settings::RawSettings;
