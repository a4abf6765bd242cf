//! The configuration after validation: what the rest of the host works with.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use tracing::level_filters::LevelFilter;

use super::origin::{Location, Origin};
#[cfg(feature = "schema")]
use super::schema::{
    AbsolutePath, ComponentName, DurationText, LibraryName, LogLevel, SocketAddressText,
};

/// Where the main file is looked for when neither a flag nor the environment names one.
pub const DEFAULT_CONFIG_FILE: &str = "/etc/nri-host/nri-host.toml";
/// Where containerd and CRI-O listen for plugins unless they are told otherwise.
pub const DEFAULT_SOCKET: &str = "/var/run/nri/nri.sock";
/// Where packages put components.
pub const DEFAULT_COMPONENT_DIR: &str = "/usr/lib/nri-host/components";
/// Holds the admin socket; systemd creates it for the service.
pub const DEFAULT_RUNTIME_DIR: &str = "/run/nri-host";
/// The admin socket, in the `runtime_dir`.
pub(super) const ADMIN_SOCKET_NAME: &str = "nri-host.sock";
/// Holds what survives a restart.
pub const DEFAULT_STATE_DIR: &str = "/var/lib/nri-host";
/// The pods without which a node cannot heal live here.
pub const DEFAULT_FAIL_EXEMPT_NAMESPACE: &str = "kube-system";
/// A component is put into quarantine after this many failures ...
pub const DEFAULT_QUARANTINE_FAILURES: u32 = 5;
/// ... within this time.
pub const DEFAULT_QUARANTINE_WINDOW: Duration = Duration::from_secs(600);
/// The runtime lets one plugin in at a time, and holds back Synchronize while it serves requests.
pub(super) const DEFAULT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// State changes and everything worse.
pub const DEFAULT_LOG: LevelFilter = LevelFilter::INFO;

/// The whole configuration of the daemon.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields)
)]
pub struct Config {
    /// `[runtime]`
    pub runtime: RuntimeConfig,
    /// `[host]`
    pub host: HostConfig,
    /// Each sound `[[component]]`, also those with `enabled = false`, in the order in which the
    /// files name them.
    #[cfg_attr(
        feature = "schema",
        schemars(
            rename = "component",
            description = "One table for each component. In a drop-in it may also change one of an \
                           earlier file."
        )
    )]
    pub components: Vec<ComponentConfig>,
}

/// `[runtime]`: the container runtime to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields)
)]
pub struct RuntimeConfig {
    /// Absolute path of the runtime's NRI socket.
    #[cfg_attr(feature = "schema", schemars(with = "AbsolutePath"))]
    pub socket: PathBuf,
    /// The name that the runtime must give itself ("containerd", "cri-o"), if it matters.
    pub expect_runtime: Option<String>,
    /// How long a connection may take from its registration to the answer to Synchronize.
    #[cfg_attr(feature = "schema", schemars(with = "DurationText"))]
    pub handshake_timeout: Duration,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            socket: DEFAULT_SOCKET.into(),
            expect_runtime: None,
            handshake_timeout: DEFAULT_HANDSHAKE_TIMEOUT,
        }
    }
}

/// `[host]`: the daemon itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields)
)]
pub struct HostConfig {
    /// Absolute paths of the folders in which a bare library name is looked for, in this order.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<AbsolutePath>"))]
    pub component_dirs: Vec<PathBuf>,
    /// Absolute path of the folder with the admin socket.
    #[cfg_attr(feature = "schema", schemars(with = "AbsolutePath"))]
    pub runtime_dir: PathBuf,
    /// Absolute path of the folder for what survives a restart.
    #[cfg_attr(feature = "schema", schemars(with = "AbsolutePath"))]
    pub state_dir: PathBuf,
    /// Kubernetes namespaces whose pods `on_failure = "fail"` never touches.
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 1))))]
    pub fail_exempt_namespaces: Vec<String>,
    /// The most talkative level that is logged.
    #[cfg_attr(feature = "schema", schemars(with = "LogLevel"))]
    pub log: LevelFilter,
    /// Where metrics and health are served over TCP, if they are.
    #[cfg_attr(feature = "schema", schemars(with = "SocketAddressText"))]
    pub metrics_listen: Option<SocketAddr>,
}

impl HostConfig {
    /// Where the daemon listens for its admins.
    pub fn admin_socket(&self) -> PathBuf {
        self.runtime_dir.join(ADMIN_SOCKET_NAME)
    }
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            component_dirs: vec![DEFAULT_COMPONENT_DIR.into()],
            runtime_dir: DEFAULT_RUNTIME_DIR.into(),
            state_dir: DEFAULT_STATE_DIR.into(),
            fail_exempt_namespaces: vec![DEFAULT_FAIL_EXEMPT_NAMESPACE.to_owned()],
            log: DEFAULT_LOG,
            metrics_listen: None,
        }
    }
}

/// One `[[component]]`, as the main file and the drop-ins together describe it.
#[derive(Clone, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields)
)]
pub struct ComponentConfig {
    /// Its name: `[A-Za-z0-9_.+-]+`.
    #[cfg_attr(feature = "schema", schemars(with = "ComponentName"))]
    pub name: String,
    /// Its place among the runtime's plugins, 0 to 99; lower ones are asked first.
    #[cfg_attr(feature = "schema", schemars(range(max = 99)))]
    pub index: u8,
    /// Absolute path of the library. It exists unless the component is disabled.
    #[cfg_attr(
        feature = "schema",
        schemars(
            with = "LibraryName",
            description = "An absolute path, or the name of a file in one of the component_dirs."
        )
    )]
    pub library: PathBuf,
    /// Whether the component is to be run at all.
    pub enabled: bool,
    /// Shortens the time that the component has for one call.
    #[cfg_attr(feature = "schema", schemars(with = "DurationText"))]
    pub timeout: Option<Duration>,
    /// Shortens the time that the component has for Synchronize.
    #[cfg_attr(feature = "schema", schemars(with = "DurationText"))]
    pub sync_timeout: Option<Duration>,
    /// What the runtime is told when the component fails.
    pub on_failure: OnFailure,
    /// What becomes of a call that does not return.
    pub on_stuck: OnStuck,
    /// When the component is not called any more.
    pub quarantine: QuarantineConfig,
    /// Whether the host is ready only when this component is active.
    pub required: bool,
    /// Where the component's code runs.
    pub isolation: Isolation,
    /// `[component.config]`, handed to the component as it stands. TOML dates and times are
    /// strings in it.
    pub config: Map<String, Value>,
    /// Where each key was written.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub origin: Origin,
}

impl ComponentConfig {
    /// The name under which the runtime knows the component: `10-device-injector`.
    pub fn plugin_name(&self) -> String {
        plugin_name(self.index, &self.name)
    }

    /// `[component.config]` as a JSON object.
    pub fn config_json(&self) -> String {
        Value::Object(self.config.clone()).to_string()
    }

    /// Where a key of `[component.config]` was written.
    ///
    /// `key` is a path such as `allow_devices[0].path`; the empty one is the table itself. When no
    /// file has that key, this is the place of the nearest enclosing one that was written, at
    /// worst that of the `[[component]]`.
    pub fn locate(&self, key: &str) -> Location {
        let path = if key.is_empty() {
            "config".to_owned()
        } else {
            format!("config.{key}")
        };
        self.origin.find(&path).clone()
    }
}

/// `config` may hold passwords, so only its keys are shown.
impl fmt::Debug for ComponentConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentConfig")
            .field("name", &self.name)
            .field("index", &self.index)
            .field("library", &self.library)
            .field("enabled", &self.enabled)
            .field("timeout", &self.timeout)
            .field("sync_timeout", &self.sync_timeout)
            .field("on_failure", &self.on_failure)
            .field("on_stuck", &self.on_stuck)
            .field("quarantine", &self.quarantine)
            .field("required", &self.required)
            .field("isolation", &self.isolation)
            .field("config_keys", &self.config.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// What the runtime is told when a component fails, panics or is late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename_all = "kebab-case")
)]
pub enum OnFailure {
    /// Nothing: the pod goes on as if the component were not there.
    #[default]
    Ignore,
    /// An error: the pod must not go on without the component.
    Fail,
}

impl OnFailure {
    /// As in the configuration file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Fail => "fail",
        }
    }
}

/// What becomes of a component's call that does not return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename_all = "kebab-case")
)]
pub enum OnStuck {
    /// The thread is left in it, and the host answers for the component until it is back.
    #[default]
    Leave,
    /// The host ends itself, so that the service manager starts it anew.
    RestartHost,
}

impl OnStuck {
    /// As in the configuration file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Leave => "leave",
            Self::RestartHost => "restart-host",
        }
    }
}

/// `quarantine` of a component: when it is not called any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields)
)]
pub struct QuarantineConfig {
    /// So many failed or late calls within the window; 0: it never comes to that.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub failures: u32,
    /// The time within which they count together.
    #[cfg_attr(feature = "schema", schemars(with = "DurationText"))]
    pub window: Duration,
}

impl Default for QuarantineConfig {
    fn default() -> Self {
        Self {
            failures: DEFAULT_QUARANTINE_FAILURES,
            window: DEFAULT_QUARANTINE_WINDOW,
        }
    }
}

/// Where a component's code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename_all = "kebab-case")
)]
pub enum Isolation {
    /// On a thread of the daemon.
    #[default]
    InProcess,
}

impl Isolation {
    /// As in the configuration file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
        }
    }
}

/// The name under which the runtime knows a component: its index in two digits, a dash, its name.
pub(crate) fn plugin_name(index: u8, name: &str) -> String {
    format!("{index:02}-{name}")
}

/// The name of a component in what may be its [`plugin_name`].
pub(crate) fn without_index(plugin: &str) -> Option<&str> {
    let (index, name) = plugin.split_once('-')?;
    let is_index = index.len() == 2 && index.bytes().all(|byte| byte.is_ascii_digit());
    is_index.then_some(name)
}
