//! Why a session ended, in words: what was seen, and what is usually behind it.

use std::time::Duration;

use super::backoff::SESSION_BUDGET;
use crate::runtime::connection::Lost;
use crate::runtime::session::{Configured, End, Progress};
use crate::runtime::version::NriVersion;

/// NRI splits a large synchronization since then.
const SPLITS_SINCE: NriVersion = NriVersion::minor(8);

/// Why a session ended that came so far.
pub(super) fn of_end(end: &End, progress: &Progress) -> String {
    let mut text = crate::chain(end);
    let Some(configured) = &progress.configured else {
        return text;
    };
    if progress.synchronized.is_some() {
        return text;
    }
    if progress.synchronizing {
        if matches!(end, End::Lost(_)) {
            text.push_str(" in the middle of the synchronization");
        }
        return text;
    }
    if matches!(end, End::Lost(Lost::Closed)) {
        text.push_str(" after the subscription to ");
        text.push_str(&subscription(configured));
    }
    if matches!(end, End::Lost(Lost::Closed) | End::HandshakeTimeout { .. })
        && configured
            .runtime
            .nri()
            .is_some_and(|nri| nri < SPLITS_SINCE)
    {
        text.push_str(
            "; runtimes before NRI 0.8 (containerd 1.7.26) cannot synchronize a node whose pods and \
             containers take more than 4 MiB",
        );
    }
    text
}

/// More sessions were lost than may be within a minute; what is said of the last one.
pub(super) fn of_spent_budget(last: &str, wait: Duration) -> String {
    format!(
        "{SESSION_BUDGET} sessions were active and lost within a minute, so the next one is tried in \
         {} s: does another host with the same component names run on this node? The last one \
         ended: {last}",
        wait.as_secs()
    )
}

fn subscription(configured: &Configured) -> String {
    let Configured {
        runtime, events, ..
    } = configured;
    let nri = runtime
        .nri()
        .map_or_else(|| "unknown".to_owned(), |nri| nri.to_string());
    format!(
        "events {events:#06x}, on {} {} (NRI {nri})",
        runtime.name, runtime.version
    )
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::runtime::version::RuntimeVersion;

    fn configured(version: &str) -> Progress {
        Progress {
            registered: true,
            configured: Some(Configured {
                runtime: RuntimeVersion {
                    name: "containerd".into(),
                    version: version.into(),
                    nri_version: String::new(),
                },
                events: 0x07ff,
                ..Configured::default()
            }),
            ..Progress::default()
        }
    }

    #[test]
    fn an_end_after_the_subscription_names_the_mask_and_the_runtime() {
        let text = of_end(&End::Lost(Lost::Closed), &configured("2.1.0"));
        assert_eq!(
            text,
            "the runtime closed the connection after the subscription to events 0x07ff, on \
             containerd 2.1.0 (NRI 0.8.0)"
        );
    }

    #[test]
    fn an_end_in_the_middle_of_the_synchronization_does_not_blame_the_subscription() {
        let begun = Progress {
            synchronizing: true,
            ..configured("1.7.20")
        };
        assert_eq!(
            of_end(&End::Lost(Lost::Closed), &begun),
            "the runtime closed the connection in the middle of the synchronization"
        );
    }

    #[test]
    fn only_an_old_runtime_that_does_not_synchronize_is_suspected_of_its_size_limit() {
        let timeout = End::HandshakeTimeout {
            awaited: "Synchronize",
            limit: Duration::from_secs(60),
        };
        let old = configured("1.7.20");
        for end in [&timeout, &End::Lost(Lost::Closed)] {
            assert!(of_end(end, &old).contains("4 MiB"));
            assert!(!of_end(end, &configured("1.7.26")).contains("4 MiB"));
            assert!(!of_end(end, &Progress::default()).contains("4 MiB"));
        }
        let active = Progress {
            synchronized: Some(Instant::now()),
            ..old
        };
        assert_eq!(
            of_end(&End::Lost(Lost::Closed), &active),
            "the runtime closed the connection"
        );
    }
}
