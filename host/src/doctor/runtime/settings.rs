//! What a runtime's configuration comes to, as far as plugins care.

use std::path::PathBuf;
use std::time::Duration;

use super::layers::{Section, Setting};

/// Where runtimes listen by default.
const DEFAULT_SOCKET: &str = "/var/run/nri/nri.sock";
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
const DEFAULT_REGISTRATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of a runtime.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Whether NRI is on; `None`: that depends on the version, which is not known.
    pub(crate) enabled: Option<Setting<bool>>,
    /// The file that takes NRI out of the runtime, whatever its own table says.
    pub(super) left_out_by: Option<PathBuf>,
    /// The file that takes the CRI out, without which there are no pods.
    pub(crate) cri_left_out_by: Option<PathBuf>,
    /// The file that lets no plugin connect.
    pub(super) closed_by: Option<PathBuf>,
    /// Where plugins connect.
    pub(crate) socket: Setting<PathBuf>,
    /// How long a plugin may take for a request.
    pub(super) request_timeout: Setting<Duration>,
    /// How long a plugin may take to register.
    pub(super) registration_timeout: Setting<Duration>,
    /// The built-in validator; `None`: this version has none.
    pub(super) validator: Option<Validator>,
    /// Whether it applies CDI devices; `None`: that depends on the version.
    pub(crate) cdi: Option<Setting<bool>>,
    /// Where it looks for CDI files.
    pub(crate) cdi_dirs: Vec<PathBuf>,
    /// Tables that look like NRI's and are not read.
    pub(super) misplaced: Vec<Misplaced>,
}

/// The validator that comes with NRI.
#[derive(Debug, Default)]
pub(super) struct Validator {
    pub(super) enabled: bool,
    pub(super) required: Vec<String>,
    pub(super) rejects_hooks: bool,
    pub(super) rejects_sysctls: bool,
    /// Whether a pod can be let through without the required plugins.
    pub(super) tolerates: bool,
    /// A file that has its table.
    pub(super) file: Option<PathBuf>,
}

/// A table at a place where nobody looks for it.
#[derive(Debug)]
pub(super) struct Misplaced {
    pub(super) file: PathBuf,
    /// Its header, as it is.
    pub(super) found: &'static str,
    /// Its header, as it should be.
    pub(super) right: &'static str,
}

/// How a runtime calls its settings of NRI.
pub(super) struct Names {
    pub(super) socket: &'static str,
    pub(super) request_timeout: &'static str,
    pub(super) registration_timeout: &'static str,
    pub(super) closed: &'static str,
    pub(super) validator_enable: &'static str,
    pub(super) required: &'static str,
    pub(super) tolerate: &'static str,
    pub(super) rejects_hooks: &'static str,
    pub(super) rejects_sysctls: &'static str,
}

impl Settings {
    /// What NRI's own table says, on a runtime where nothing else matters.
    pub(super) fn of_nri(nri: &Section, names: &Names, has_validator: bool) -> Self {
        let socket = nri
            .string(names.socket)
            .filter(|socket| !socket.value.is_empty());
        let closed = nri.boolean(names.closed).filter(|closed| closed.value);
        let or = |duration: Option<Setting<Duration>>, default| {
            duration.unwrap_or_else(|| Setting::default(default))
        };
        Self {
            enabled: None,
            left_out_by: None,
            cri_left_out_by: None,
            closed_by: closed.and_then(|closed| closed.file),
            socket: match socket {
                Some(Setting { value, file }) => Setting {
                    value: value.into(),
                    file,
                },
                None => Setting::default(DEFAULT_SOCKET.into()),
            },
            request_timeout: or(nri.duration(names.request_timeout), DEFAULT_REQUEST_TIMEOUT),
            registration_timeout: or(
                nri.duration(names.registration_timeout),
                DEFAULT_REGISTRATION_TIMEOUT,
            ),
            validator: has_validator.then(|| Validator::of(nri, names)),
            cdi: None,
            cdi_dirs: Vec::new(),
            misplaced: Vec::new(),
        }
    }
}

impl Validator {
    fn of(nri: &Section, names: &Names) -> Self {
        let on = |key| nri.boolean(key).is_some_and(|setting| setting.value);
        let enable = nri.boolean(names.validator_enable);
        let required = nri.strings(names.required);
        let tolerate = nri.string(names.tolerate);
        Self {
            enabled: on(names.validator_enable),
            file: [
                required.as_ref().and_then(|set| set.file.clone()),
                enable.and_then(|set| set.file),
            ]
            .into_iter()
            .flatten()
            .next(),
            required: required.map(|set| set.value).unwrap_or_default(),
            rejects_hooks: on(names.rejects_hooks),
            rejects_sysctls: on(names.rejects_sysctls),
            tolerates: tolerate.is_some_and(|set| !set.value.is_empty()),
        }
    }
}
