//! The component: from a request to an adjustment.

use nri_plugin_api::cdi::DeviceName;
use nri_plugin_api::{Adjustment, Component, CreateContainer, Error, Host};

use crate::annotation::{Found, Kind, Requested, Value};
use crate::devices::DeviceEntry;
use crate::mounts::MountEntry;
use crate::problems::{Place, Problems, Reported};
use crate::settings::{RawSettings, Settings};
use crate::{cdi, devices, io_priority, memory_policy, mounts, net_devices, scheduler, sysctl};

/// An instance of the device injector.
#[derive(Debug)]
pub struct DeviceInjector {
    settings: Settings,
}

#[nri_plugin_api::component(id = "dev.nri-host.device-injector")]
impl Component for DeviceInjector {
    type Config = RawSettings;

    fn create(config: RawSettings, host: Host) -> Result<Self, Error> {
        let settings = Settings::check(&config, host.name())?;
        settings.warn_of_links();
        Ok(Self { settings })
    }

    fn create_container(&mut self, request: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        let reads_cdi_devices = self.settings.reads_cdi_devices;
        let is_read = |kind| kind != Kind::CdiDevices || reads_cdi_devices;
        let Some(requested) = Requested::find(request, is_read) else {
            return Ok(Adjustment::new());
        };
        let injection = Injection::read(&self.settings, request, &requested)?;
        injection.log(request);
        injection.into_adjustment()
    }
}

/// All that one container gets.
#[derive(Debug, Default)]
struct Injection {
    devices: Vec<DeviceEntry>,
    mounts: Vec<MountEntry>,
    cdi_devices: Vec<DeviceName>,
    /// What the others are, and how they are told in the log.
    adjustment: Adjustment,
    others: Vec<String>,
}

impl Injection {
    /// Reads and judges what is asked for. Nothing is injected unless everything can be.
    fn read(
        settings: &Settings,
        request: &CreateContainer<'_>,
        requested: &Requested<'_>,
    ) -> Result<Self, Error> {
        let namespace = request.pod_namespace();
        let mut problems = Problems::new(settings.on_denied);
        let mut injection = Self::default();
        for found in requested.iter() {
            let Some(value) = found.value(&mut problems) else {
                continue;
            };
            if settings.namespaces.allow(namespace) {
                injection.add(found.kind, &value, settings, &mut problems);
            } else {
                deny_namespace(settings, namespace, found, &mut problems);
            }
        }
        problems.into_result(request)?;
        Ok(injection)
    }

    fn add(&mut self, kind: Kind, value: &Value<'_>, settings: &Settings, problems: &mut Problems) {
        let adjustment = &mut self.adjustment;
        let others = match kind {
            Kind::Devices => {
                self.devices = devices::read(value, settings, problems);
                return;
            }
            Kind::CdiDevices => {
                self.cdi_devices = cdi::read(value, settings, problems);
                return;
            }
            Kind::Mounts => {
                self.mounts = mounts::read(value, settings, problems);
                return;
            }
            Kind::NetDevices => net_devices::inject(value, settings, adjustment, problems),
            Kind::Sysctl => sysctl::inject(value, settings, adjustment, problems),
            Kind::IoPriority => one(io_priority::inject(value, settings, adjustment, problems)),
            Kind::Scheduler => one(scheduler::inject(value, settings, adjustment, problems)),
            Kind::MemoryPolicy => one(memory_policy::inject(value, settings, adjustment, problems)),
        };
        self.others.extend(others);
    }

    /// The record of who got what: one line, or several if there is much.
    fn log(&self, request: &CreateContainer<'_>) {
        let lists = [
            self.devices.len(),
            self.mounts.len(),
            self.cdi_devices.len(),
            self.others.len(),
        ];
        let longest = lists.into_iter().max().unwrap_or(0);
        for start in (0..longest).step_by(MAX_LISTED) {
            tracing::info!(
                namespace = request.pod_namespace(),
                pod = request.pod_name(),
                container = request.container_name(),
                devices = list(&self.devices, start),
                mounts = list(&self.mounts, start),
                cdi_devices = list(&self.cdi_devices, start),
                others = list(&self.others, start),
                "injected"
            );
        }
    }

    fn into_adjustment(self) -> Result<Adjustment, Error> {
        let mut adjustment = self.adjustment;
        for device in self.devices {
            adjustment.add_device(device.into_device())?;
        }
        for device in self.cdi_devices {
            adjustment.add_cdi_device(device.as_str())?;
        }
        for mount in self.mounts {
            adjustment.add_mount(mount.into_mount())?;
        }
        Ok(adjustment)
    }
}

/// What was injected, if anything.
fn one(injected: Result<String, Reported>) -> Vec<String> {
    injected.into_iter().collect()
}

fn deny_namespace(
    settings: &Settings,
    namespace: &str,
    found: &Found<'_>,
    problems: &mut Problems,
) {
    let advice = settings.advice("allow_namespaces", namespace);
    problems.deny(
        Place::annotation(found.key),
        format_args!("namespace {namespace:?} may not use it on this node: {advice}"),
    );
}

/// Items of each kind in a line of the log. All of them together are shorter than the 8 KiB at which
/// the host cuts a line.
const MAX_LISTED: usize = 8;

/// How long each end of an item may get, in bytes, when it is too long as a whole.
const MAX_END: usize = 48;

/// A line's items for the log, separated by commas. Authors of pods chose the texts: one that
/// could be taken for several is quoted, and none is so long that it hides others.
fn list<T: std::fmt::Display>(items: &[T], start: usize) -> String {
    let listed = items.iter().skip(start).take(MAX_LISTED);
    let listed = listed.map(|item| {
        let text = item.to_string();
        let quoted = format!("{text:?}");
        let is_plain = quoted.len() == text.len() + 2 && !text.contains(',');
        shortened(if is_plain { &text } else { &quoted })
    });
    listed.collect::<Vec<_>>().join(", ")
}

fn shortened(text: &str) -> String {
    if text.len() <= 2 * MAX_END {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(MAX_END)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_END)..];
    format!("{head}…{tail}")
}
