//! The annotation `devices.noderesource.dev`.

use std::fmt;
use std::path::Path;

use nri_plugin_api::{Device, DeviceKind};

use crate::allow::AllowedDevices;
use crate::annotation::{Entry, Fields, Value};
use crate::host_files::{DeviceNode, MAX_MAJOR, MAX_MINOR};
use crate::paths::{Clean, check_container_path};
use crate::problems::{Problems, Reported};
use crate::settings::Settings;

const FIELDS: [&str; 7] = ["path", "type", "major", "minor", "file_mode", "uid", "gid"];

/// The permission bits, with those for set-user-id and its like.
const MAX_FILE_MODE: u32 = 0o7777;

/// A device that a container gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceEntry {
    path: Clean,
    node: DeviceNode,
    file_mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
}

impl DeviceEntry {
    pub(crate) fn into_device(self) -> Device {
        let DeviceNode { kind, major, minor } = self.node;
        let mut device = Device::new(self.path, kind, major, minor);
        if let Some(mode) = self.file_mode {
            device = device.file_mode(mode);
        }
        if let Some(uid) = self.uid {
            device = device.uid(uid);
        }
        if let Some(gid) = self.gid {
            device = device.gid(gid);
        }
        device
    }
}

impl fmt::Display for DeviceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path, self.node)
    }
}

/// Reads the entries and asks whether they are allowed.
pub(crate) fn read(
    value: &Value<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Vec<DeviceEntry> {
    let allowed = settings.devices.for_container(&settings.host);
    let mut devices: Vec<DeviceEntry> = Vec::new();
    for entry in value.entries() {
        let Ok(device) = read_entry(&entry, settings, &allowed, problems) else {
            continue;
        };
        if devices.iter().any(|other| other.path == device.path) {
            let what = format_args!("{} is there already", device.path);
            problems.add(entry.place().field("path"), what);
            continue;
        }
        devices.push(device);
    }
    devices
}

fn read_entry(
    entry: &Entry<'_>,
    settings: &Settings,
    allowed: &AllowedDevices<'_>,
    problems: &mut Problems,
) -> Result<DeviceEntry, Reported> {
    let fields = entry.fields(&FIELDS, problems)?;
    // Every field is read before the first problem ends the entry.
    let path = read_path(&fields, problems);
    let claim = Claim::read(&fields, problems);
    let file_mode = fields.number("file_mode", 0..=MAX_FILE_MODE, problems);
    let uid = fields.number("uid", 0..=u32::MAX, problems);
    let gid = fields.number("gid", 0..=u32::MAX, problems);
    let (path, claim) = (path?, claim?);
    let node = claim.complete(&path, &fields, settings, problems)?;
    if !allowed.allow(node) {
        let advice = settings.advice("allow_devices", &node.to_string());
        let what = format_args!("{node} as {path} is not allowed on this node: {advice}");
        return Err(problems.deny(entry.place(), what));
    }
    Ok(DeviceEntry {
        path,
        node,
        // As in the sample plugin of the NRI project: 0 leaves the choice to the runtime.
        file_mode: file_mode?.filter(|mode| *mode != 0),
        uid: uid?,
        gid: gid?,
    })
}

fn read_path(fields: &Fields<'_>, problems: &mut Problems) -> Result<Clean, Reported> {
    let text = fields.text("path", problems)?.unwrap_or_default();
    check_container_path(text).map_err(|error| problems.add(fields.place().field("path"), error))
}

/// What the author of the pod says about the device.
#[derive(Clone, Copy, Debug)]
struct Claim {
    kind: Option<DeviceKind>,
    numbers: Option<(u32, u32)>,
}

impl Claim {
    fn read(fields: &Fields<'_>, problems: &mut Problems) -> Result<Self, Reported> {
        let kind = read_kind(fields, problems);
        let major = fields.number("major", 0..=MAX_MAJOR, problems);
        let minor = fields.number("minor", 0..=MAX_MINOR, problems);
        let numbers = match (major?, minor?) {
            (Some(major), Some(minor)) => Some((major, minor)),
            (None, None) => None,
            _ => {
                let what = "major and minor belong together: give both or none";
                return Err(problems.add(fields.place(), what));
            }
        };
        Ok(Self {
            kind: kind?,
            numbers,
        })
    }

    /// Takes what was not said from the node at the same path on the host.
    fn complete(
        self,
        path: &Clean,
        fields: &Fields<'_>,
        settings: &Settings,
        problems: &mut Problems,
    ) -> Result<DeviceNode, Reported> {
        if let Self {
            kind: Some(kind),
            numbers: Some((major, minor)),
        } = self
        {
            return Ok(DeviceNode { kind, major, minor });
        }
        let on_host = Path::new(path.as_str());
        let looked_up = settings.devices.allow_lookup(on_host);
        let Some(node) = looked_up
            .then(|| settings.host.device_at(on_host))
            .flatten()
        else {
            let what = format_args!(
                "{path} is no device on this node: type, major and minor must be given"
            );
            return Err(problems.add(fields.place(), what));
        };
        let fits = self.kind.is_none_or(|kind| kind == node.kind)
            && self
                .numbers
                .is_none_or(|numbers| numbers == (node.major, node.minor));
        if !fits {
            let what = format_args!(
                "{path} is {node} on this node, not what is asked for: give type, major and minor, \
                 or none of them"
            );
            return Err(problems.add(fields.place(), what));
        }
        Ok(node)
    }
}

fn read_kind(fields: &Fields<'_>, problems: &mut Problems) -> Result<Option<DeviceKind>, Reported> {
    let Some(letter) = fields.text("type", problems)? else {
        return Ok(None);
    };
    match DeviceKind::from_letter(letter) {
        Some(kind @ (DeviceKind::Character | DeviceKind::Block)) => Ok(Some(kind)),
        // Runtimes make a rule for the device cgroup of each device, and there is none for pipes.
        Some(DeviceKind::Fifo) => {
            let what = "a named pipe is no device that a container can be given";
            Err(problems.add(fields.place().field("type"), what))
        }
        None => {
            let what = format_args!("expected \"c\" or \"b\", not {letter:?}");
            Err(problems.add(fields.place().field("type"), what))
        }
    }
}
