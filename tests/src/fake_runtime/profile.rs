//! What differs between the versions of NRI, by the runtimes that have them.

/// Bits of the events 1 to 11, which every version knows.
pub const EVENTS_0_3: i32 = 0x07FF;

/// Bits of the events 1 to 14, known since NRI 0.10.
pub const EVENTS_0_10: i32 = 0x3FFF;

/// A runtime to be played.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Version of NRI, as in `0.12.3`.
    pub nri: &'static str,
    /// Name that Configure tells.
    pub runtime_name: &'static str,
    /// Version that Configure tells, in one of the forms that real builds write.
    pub runtime_version: &'static str,
    /// Bits of the events that a plugin may subscribe to; any other ends the connection.
    pub valid_events: i32,
    /// Whether Synchronize is sent in chunks when it is too large for one message.
    pub split_sync: bool,
    /// Whether each event has a call of its own, where older versions send `StateChange`.
    pub dedicated_calls: bool,
    /// Whether Configure tells the two timeouts.
    pub sends_timeouts: bool,
    /// Whether Configure tells the version of NRI.
    pub sends_version: bool,
    /// Whether RegisterPlugin checks the characters of the name.
    pub checks_names: bool,
    /// Whether a failed Synchronize closes the connection. Where it does not, the plugin stays
    /// connected and never gets an event.
    pub closes_unsynchronized: bool,
    /// Whether the failure policy in Configure's answer is honoured.
    pub failure_policy: bool,
}

/// The oldest of them; the others are told by what they added.
const OLDEST: Profile = Profile {
    nri: "0.3.0",
    runtime_name: "containerd",
    runtime_version: "v1.7.6",
    valid_events: EVENTS_0_3,
    split_sync: false,
    dedicated_calls: false,
    sends_timeouts: false,
    sends_version: false,
    checks_names: false,
    closes_unsynchronized: false,
    failure_policy: false,
};

impl Profile {
    /// containerd 1.7.0 to 1.7.6.
    pub fn nri_0_3() -> Self {
        OLDEST
    }

    /// containerd 1.7.14 to 1.7.25, here with the version of a Debian build.
    pub fn nri_0_6() -> Self {
        Self {
            nri: "0.6.1",
            runtime_version: "1.7.24~ds1",
            ..OLDEST
        }
    }

    /// containerd 1.7.26 and later, 2.0, 2.1: split synchronization, timeouts in Configure.
    pub fn nri_0_8() -> Self {
        Self {
            nri: "0.8.0",
            runtime_version: "2.1.9+unknown",
            split_sync: true,
            sends_timeouts: true,
            ..OLDEST
        }
    }

    /// CRI-O 1.32 and 1.33.
    pub fn nri_0_9() -> Self {
        Self {
            nri: "0.9.0",
            runtime_name: "cri-o",
            runtime_version: "1.33.0-dev",
            ..Self::nri_0_8()
        }
    }

    /// containerd 2.2.0: fourteen events.
    pub fn nri_0_10() -> Self {
        Self {
            nri: "0.10.0",
            runtime_version: "v2.2.0",
            valid_events: EVENTS_0_10,
            ..Self::nri_0_8()
        }
    }

    /// containerd 2.2.1 to 2.2.9.
    pub fn nri_0_11() -> Self {
        Self {
            nri: "0.11.0",
            runtime_version: "v2.2.9",
            ..Self::nri_0_10()
        }
    }

    /// containerd 2.3: a call for each event, the version in Configure, names are checked.
    pub fn nri_0_12_0() -> Self {
        Self {
            nri: "0.12.0",
            runtime_version: "v2.3.7",
            dedicated_calls: true,
            sends_version: true,
            checks_names: true,
            closes_unsynchronized: true,
            ..Self::nri_0_10()
        }
    }

    /// containerd 2.4.
    pub fn nri_0_12_3() -> Self {
        Self {
            nri: "0.12.3",
            runtime_version: "v2.4.2",
            ..Self::nri_0_12_0()
        }
    }

    /// The failure policy is honoured; in no released runtime so far.
    pub fn nri_0_12_4() -> Self {
        Self {
            nri: "0.12.4",
            runtime_version: "v2.5.0-beta.0",
            failure_policy: true,
            ..Self::nri_0_12_3()
        }
    }

    /// The newest NRI that a released runtime has.
    pub fn newest() -> Self {
        Self::nri_0_12_3()
    }

    /// All of them, oldest first.
    pub fn all() -> [Self; 9] {
        [
            Self::nri_0_3(),
            Self::nri_0_6(),
            Self::nri_0_8(),
            Self::nri_0_9(),
            Self::nri_0_10(),
            Self::nri_0_11(),
            Self::nri_0_12_0(),
            Self::nri_0_12_3(),
            Self::nri_0_12_4(),
        ]
    }
}
