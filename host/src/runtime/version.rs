//! Which NRI a runtime speaks, and what follows from it.
//!
//! Runtimes with NRI 0.12 and later say it themselves. Before, it is known from the runtime's name
//! and version; in doubt, the oldest event mask is the one that every runtime accepts.

use std::fmt;

use nri_plugin_api::abi::Method;

/// A version of NRI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NriVersion {
    /// 0 so far.
    pub major: u32,
    /// Grows with the protocol.
    pub minor: u32,
    /// Fixes.
    pub patch: u32,
}

impl NriVersion {
    /// A version 0.`minor`.0.
    pub const fn minor(minor: u32) -> Self {
        Self {
            major: 0,
            minor,
            patch: 0,
        }
    }

    /// Reads `v0.12.3` and the like; what follows the numbers is left aside.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor, patch) = numbers(text)?;
        Some(Self {
            major,
            minor,
            patch,
        })
    }
}

impl fmt::Display for NriVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What a runtime says of itself in Configure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeVersion {
    /// `containerd`, `cri-o`, ...
    pub name: String,
    /// The runtime's own version, as it wrote it.
    pub version: String,
    /// The NRI version, as it wrote it; empty before NRI 0.12.
    pub nri_version: String,
}

impl RuntimeVersion {
    /// The NRI version, said or known; `None` when there is doubt.
    pub fn nri(&self) -> Option<NriVersion> {
        NriVersion::parse(&self.nri_version).or_else(|| {
            let (major, minor, patch) = numbers(&self.version)?;
            match self.name.as_str() {
                "containerd" => containerd(major, minor, patch),
                "cri-o" | "crio" => crio(major, minor),
                _ => None,
            }
        })
    }

    /// The runtime did not say which NRI it speaks.
    pub fn is_guess(&self) -> bool {
        NriVersion::parse(&self.nri_version).is_none()
    }

    /// The events that the runtime knows, as a mask of NRI: bit `n - 1` for event `n`.
    pub fn known_events(&self) -> u32 {
        match self.nri() {
            Some(nri) if nri >= NriVersion::minor(10) => EVENTS_SINCE_0_10,
            _ => EVENTS_BEFORE_0_10,
        }
    }

    /// An update outside a call can make this runtime wait for itself for ever, when it begins a call
    /// in the same moment (NRI before 0.12.1: two locks, taken in opposite orders).
    pub fn can_freeze_on_updates(&self) -> bool {
        let mended = NriVersion {
            major: 0,
            minor: 12,
            patch: 1,
        };
        self.nri().is_some_and(|nri| nri < mended)
    }

    /// Setting a sysctl ends this runtime's process (NRI 0.11: a write to a map that is not there).
    pub fn dies_of_sysctl(&self) -> bool {
        self.nri()
            .is_some_and(|nri| nri.major == 0 && nri.minor == 11)
    }
}

/// Events 1 to 11: every runtime knows them.
pub const EVENTS_BEFORE_0_10: u32 = 0x07ff;
/// Events 1 to 14.
pub const EVENTS_SINCE_0_10: u32 = 0x3fff;

/// What to subscribe to for a component that wants `methods` (bits as in the descriptor).
///
/// Never 0, which would subscribe to everything: a component without a single event that the
/// runtime knows gets RemovePodSandbox, the rarest one that nothing waits for.
pub fn event_mask(methods: u64, known_events: u32) -> u32 {
    let wanted = Method::ALL
        .iter()
        .filter(|method| is_event(**method) && methods & method.bit() != 0)
        .fold(0, |mask, method| mask | event_bit(*method));
    match wanted & known_events {
        0 => event_bit(Method::RemovePodSandbox),
        mask => mask,
    }
}

/// Names of the events in a mask.
pub fn event_names(mask: u32) -> impl Iterator<Item = &'static str> {
    let events = Method::ALL.iter().copied().filter(|m| is_event(*m));
    events
        .filter(move |method| mask & event_bit(*method) != 0)
        .map(Method::name)
}

/// The method is an NRI event, so that it has a bit in the mask.
fn is_event(method: Method) -> bool {
    method != Method::Synchronize
}

/// The bit of an event.
fn event_bit(method: Method) -> u32 {
    1 << (method.number() - 1)
}

/// `1.7.24~ds1`, `2.1.9+unknown`, `v2.2.0`, `1.33.0-dev`, `2.3`: what is there, is read.
pub(crate) fn numbers(text: &str) -> Option<(u32, u32, u32)> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let mut parts = text.split('.');
    let major = parts.next()?.parse().ok()?;
    let (minor, minor_is_whole) = leading_number(parts.next()?)?;
    let patch = match parts.next() {
        Some(part) if minor_is_whole => leading_number(part).map_or(0, |(n, _)| n),
        _ => 0,
    };
    Some((major, minor, patch))
}

fn leading_number(part: &str) -> Option<(u32, bool)> {
    let digits = part
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(part.len());
    Some((part[..digits].parse().ok()?, digits == part.len()))
}

fn containerd(major: u32, minor: u32, patch: u32) -> Option<NriVersion> {
    let nri = match (major, minor) {
        (1, 7) => match patch {
            0..=6 => 3,
            7..=13 => 4,
            14..=25 => 6,
            _ => 8,
        },
        (2, 0 | 1) => 8,
        (2, 2) if patch == 0 => 10,
        (2, 2) => 11,
        // Later ones say it themselves; one that does not is at least this new.
        (2, _) if minor > 2 => 12,
        (major, _) if major > 2 => 12,
        _ => return None,
    };
    Some(NriVersion::minor(nri))
}

fn crio(major: u32, minor: u32) -> Option<NriVersion> {
    let nri = match (major, minor) {
        (1, 26 | 27) => 3,
        (1, 28..=31) => 6,
        (1, 32 | 33) => 9,
        (1, 34) => 10,
        (1, _) if minor > 34 => 11,
        _ => return None,
    };
    Some(NriVersion::minor(nri))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(name: &str, version: &str, nri_version: &str) -> RuntimeVersion {
        RuntimeVersion {
            name: name.into(),
            version: version.into(),
            nri_version: nri_version.into(),
        }
    }

    #[test]
    fn the_event_mask_is_cut_to_what_the_runtime_knows() {
        for (name, version, nri_version, mask) in [
            ("containerd", "1.7.0", "", 0x07ff),
            ("containerd", "1.7.24~ds1", "", 0x07ff),
            ("containerd", "v1.7.30", "", 0x07ff),
            ("containerd", "2.1.9+unknown", "", 0x07ff),
            ("containerd", "v2.2.0", "", 0x3fff),
            ("containerd", "2.2.1-rc.1", "", 0x3fff),
            ("containerd", "2.4.2", "v0.12.3", 0x3fff),
            ("containerd", "garbage", "", 0x07ff),
            ("containerd", "", "0.12.0", 0x3fff),
            ("containerd", "2.3.0", "unknown", 0x3fff),
            ("containerd", "2", "", 0x07ff),
            ("containerd", "1.6.30", "", 0x07ff),
            ("cri-o", "1.33.0-dev", "", 0x07ff),
            ("cri-o", "1.34.0", "", 0x3fff),
            ("cri-o", "1.35.1", "", 0x3fff),
            ("foo", "9.9.9", "", 0x07ff),
            ("foo", "9.9.9", "v0.9.0", 0x07ff),
            ("", "", "", 0x07ff),
        ] {
            let known = runtime(name, version, nri_version).known_events();
            assert_eq!(known, mask, "{name} {version} {nri_version}");
        }
    }

    #[test]
    fn versions_are_read_as_far_as_they_go() {
        assert_eq!(numbers("1.7.24~ds1"), Some((1, 7, 24)));
        assert_eq!(numbers("2.3"), Some((2, 3, 0)));
        assert_eq!(numbers("2.3-beta.1"), Some((2, 3, 0)));
        assert_eq!(numbers("2"), None);
        assert_eq!(numbers("v"), None);
        assert_eq!(NriVersion::parse("v0.12.3").unwrap().to_string(), "0.12.3");
    }

    #[test]
    fn a_component_never_subscribes_to_everything_by_accident() {
        let remove_pod = 0b100;
        assert_eq!(event_mask(0, EVENTS_SINCE_0_10), remove_pod);
        assert_eq!(
            event_mask(Method::Synchronize.bit(), EVENTS_SINCE_0_10),
            remove_pod
        );
        let new_event = Method::UpdatePodSandbox.bit();
        assert_eq!(event_mask(new_event, EVENTS_BEFORE_0_10), remove_pod);
        assert_eq!(event_mask(new_event, EVENTS_SINCE_0_10), 1 << 11);
        let create = Method::CreateContainer.bit() | Method::Synchronize.bit();
        assert_eq!(event_mask(create, EVENTS_BEFORE_0_10), 1 << 3);
    }

    #[test]
    fn nri_before_0_12_1_can_freeze_on_updates() {
        assert!(runtime("containerd", "1.7.30", "").can_freeze_on_updates());
        assert!(runtime("containerd", "2.3.0", "v0.12.0").can_freeze_on_updates());
        assert!(!runtime("containerd", "2.4.0", "v0.12.1").can_freeze_on_updates());
        assert!(!runtime("something", "1.0.0", "").can_freeze_on_updates());
    }

    #[test]
    fn only_nri_0_11_dies_of_sysctls() {
        assert!(runtime("containerd", "2.2.5", "").dies_of_sysctl());
        assert!(runtime("cri-o", "1.35.0", "").dies_of_sysctl());
        assert!(!runtime("containerd", "2.4.2", "v0.12.3").dies_of_sysctl());
        assert!(!runtime("containerd", "2.3.0", "").dies_of_sysctl());
        assert!(!runtime("containerd", "2.1.0", "").dies_of_sysctl());
    }
}
