//! Gives containers the devices, mounts and CDI devices that their pods ask for by annotation, as
//! far as the node's administrator allows it.
//!
//! `docs/components/device-injector.md` tells users about annotations and settings. Here, in the
//! order in which a request goes through it:
//!
//! * `annotation` finds the annotations that count for a container, and reads their YAML;
//! * `devices`, `mounts` and `cdi` read the entries of one kind of annotation each, complete
//!   them from what is on the host, and ask `allow` about them;
//! * `paths` says what a path can be;
//! * `problems` collects whatever is wrong, so that the author of a pod learns all of it at once.

mod allow;
mod annotation;
mod cdi;
mod component;
mod devices;
mod host_files;
mod mounts;
mod paths;
mod problems;
mod settings;

pub use component::DeviceInjector;
pub use settings::RawSettings;
