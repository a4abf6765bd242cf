//! What cannot be asked of a runtime.

use std::fmt;

use crate::cdi::NameError;

/// What an entry of an adjustment or an update is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Item {
    /// An annotation, by key.
    Annotation,
    /// An environment variable, by name.
    Env,
    /// The command line.
    Args,
    /// A mount, by destination.
    Mount,
    /// A device node, by path.
    Device,
    /// A CDI device, by qualified name.
    CdiDevice,
    /// An OCI hook, by path.
    Hook,
    /// A resource limit of the first process, by name.
    Rlimit,
    /// The resources as a whole.
    Resources,
    /// A limit for huge pages, by page size.
    HugepageLimit,
    /// A rule of the device cgroup.
    DeviceRule,
    /// The path of the control group.
    CgroupsPath,
    /// The badness for the OOM killer.
    OomScoreAdj,
    /// The I/O priority of the first process.
    IoPriority,
    /// The scheduling attributes of the first process.
    Scheduler,
    /// The NUMA memory policy of the first process.
    MemoryPolicy,
    /// The seccomp policy.
    SeccompPolicy,
    /// A namespace, by its kind.
    Namespace,
    /// A kernel parameter, by name.
    Sysctl,
    /// A network device, by its name on the host.
    NetDevice,
    /// The cache and memory bandwidth allocation.
    Rdt,
    /// An update of a container, by id.
    Update,
    /// An eviction of a container, by id.
    Eviction,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Annotation => "annotation",
            Self::Env => "environment variable",
            Self::Args => "command line",
            Self::Mount => "mount",
            Self::Device => "device",
            Self::CdiDevice => "CDI device",
            Self::Hook => "OCI hook",
            Self::Rlimit => "resource limit",
            Self::Resources => "resources",
            Self::HugepageLimit => "limit for huge pages of",
            Self::DeviceRule => "device rule",
            Self::CgroupsPath => "cgroups path",
            Self::OomScoreAdj => "OOM score adjustment",
            Self::IoPriority => "I/O priority",
            Self::Scheduler => "scheduler",
            Self::MemoryPolicy => "memory policy",
            Self::SeccompPolicy => "seccomp policy",
            Self::Namespace => "namespace",
            Self::Sysctl => "sysctl",
            Self::NetDevice => "network device",
            Self::Rdt => "RDT",
            Self::Update => "update of container",
            Self::Eviction => "eviction of container",
        })
    }
}

/// Something that the runtime would refuse, or understand as something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdjustmentError {
    /// The name is empty.
    #[error("{item} without a name")]
    Unnamed {
        /// What has no name.
        item: Item,
    },
    /// The name starts with `-`, which would make it a removal.
    #[error("{item} {name:?} starts with '-': the runtime would take it for a removal")]
    RemovalMarker {
        /// What was to be added or removed.
        item: Item,
        /// Its name.
        name: String,
    },
    /// The same thing twice: a runtime lets each be set once.
    #[error("{} is set twice", Named(*item, name))]
    SetTwice {
        /// What was to be set.
        item: Item,
        /// Its name; empty for what there is one of.
        name: String,
    },
    /// A namespace that is to be removed and set: to a runtime it would be set twice.
    #[error("namespace {name:?} is removed and set")]
    RemovedAndSet {
        /// The kind of the namespace.
        name: &'static str,
    },
    /// An environment variable whose name cannot be one.
    #[error("environment variable {name:?} has '=' or NUL in its name")]
    EnvName {
        /// The name.
        name: String,
    },
    /// A CDI device whose name is not of the form `vendor.com/class=name`.
    #[error("CDI device {name:?} has no qualified name")]
    CdiName {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        error: NameError,
    },
    /// A network device with a name that Linux does not know.
    #[error("network device {name:?}: a name has 1 to 15 bytes without '/', ':' and blanks")]
    NetDeviceName {
        /// The name.
        name: String,
    },
    /// A name that no file of cgroup v2 has.
    #[error("cgroup file {name:?} is not of the form controller.parameter")]
    CgroupFileName {
        /// The name.
        name: String,
    },
    /// A resource limit whose soft limit is above the hard one.
    #[error("resource limit {name}: the soft limit is above the hard one")]
    SoftAboveHard {
        /// The name of the limit.
        name: &'static str,
    },
    /// A path that must be absolute.
    #[error("{item}: {path:?} is not an absolute path")]
    NotAbsolute {
        /// What it is the path of.
        item: Item,
        /// The path.
        path: String,
    },
    /// A number outside the range that the kernel takes.
    #[error("{item}: {field} {value} is not within {least} to {most}")]
    OutOfRange {
        /// What the number belongs to.
        item: Item,
        /// Which number.
        field: &'static str,
        /// What it is.
        value: i64,
        /// Least value.
        least: i64,
        /// Greatest value.
        most: i64,
    },
    /// A field without which the thing means nothing.
    #[error("{} needs {field}", Named(*item, name))]
    Missing {
        /// What lacks it.
        item: Item,
        /// Which one it is, or the setting that needs the field; empty for what there is one of.
        name: String,
        /// What is lacking.
        field: &'static str,
    },
    /// A field that contradicts another.
    #[error("{} cannot have {field}", Named(*item, name))]
    Misplaced {
        /// What has it.
        item: Item,
        /// Which one it is, or the setting that excludes the field.
        name: String,
        /// What is too much.
        field: &'static str,
    },
    /// The container that is being created cannot be updated at the same time.
    #[error("container {id:?} is being created: it can be adjusted, not updated")]
    UpdateOfCreated {
        /// The id of the container.
        id: String,
    },
    /// Evictions in an answer that has no place for them.
    #[error("the answer to {method} cannot evict containers")]
    EvictionNotTaken {
        /// The call that is answered.
        method: &'static str,
    },
}

/// An item by its name, if it has one.
struct Named<'a>(Item, &'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(item, name) = self;
        if name.is_empty() {
            write!(f, "{item}")
        } else {
            write!(f, "{item} {name:?}")
        }
    }
}

/// Checks a name that an entry is found by.
pub(super) fn check_name(item: Item, name: &str) -> Result<(), AdjustmentError> {
    if name.is_empty() {
        return Err(AdjustmentError::Unnamed { item });
    }
    if name.starts_with('-') {
        return Err(AdjustmentError::RemovalMarker {
            item,
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Refuses a name that is set already.
pub(super) fn check_new<'a>(
    item: Item,
    name: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> Result<(), AdjustmentError> {
    if names.any(|other| other == name) {
        return Err(AdjustmentError::SetTwice {
            item,
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Refuses a second value for what there is one of.
pub(super) fn check_unset(item: Item, is_set: bool) -> Result<(), AdjustmentError> {
    if is_set {
        return Err(AdjustmentError::SetTwice {
            item,
            name: String::new(),
        });
    }
    Ok(())
}

/// Checks the range of a number.
pub(super) fn check_range(
    item: Item,
    field: &'static str,
    value: i64,
    range: std::ops::RangeInclusive<i64>,
) -> Result<(), AdjustmentError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(AdjustmentError::OutOfRange {
        item,
        field,
        value,
        least: *range.start(),
        most: *range.end(),
    })
}

/// Checks that a path is absolute.
pub(super) fn check_absolute(item: Item, path: &str) -> Result<(), AdjustmentError> {
    if path.starts_with('/') {
        return Ok(());
    }
    Err(AdjustmentError::NotAbsolute {
        item,
        path: path.to_owned(),
    })
}

/// Refuses a field that is set although another excludes it.
pub(super) fn check_fits(
    item: Item,
    name: impl Into<String>,
    field: &'static str,
    fits: bool,
) -> Result<(), AdjustmentError> {
    if fits {
        return Ok(());
    }
    Err(AdjustmentError::Misplaced {
        item,
        name: name.into(),
        field,
    })
}

/// Refuses a thing that lacks a field.
pub(super) fn check_has(
    item: Item,
    name: impl Into<String>,
    field: &'static str,
    has: bool,
) -> Result<(), AdjustmentError> {
    if has {
        return Ok(());
    }
    Err(AdjustmentError::Missing {
        item,
        name: name.into(),
        field,
    })
}
