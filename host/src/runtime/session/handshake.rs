//! Configure and Synchronize, which make a session active.

use std::time::{Duration, Instant};

use nri_plugin_api::abi::Method;
use nri_plugin_api::api;
use protobuf::Message as _;

use super::messages::{HostAnswer, Then, invalid, unreadable};
use super::{Configured, End, Session, Unsynchronized};
use crate::lock::lock;
use crate::runtime::attendance::Listed;
use crate::runtime::fields::Chunk;
use crate::runtime::ttrpc::{Answer, encode};
use crate::runtime::version::{EVENTS_BEFORE_0_10, RuntimeVersion, event_mask};

/// Most that is kept of a synchronization: some 100,000 containers.
const MAX_SYNCHRONIZE: usize = 256 << 20;
/// Most that is kept of a text of the runtime, in bytes.
const MAX_TEXT: usize = 256;

/// A synchronization under way.
#[derive(Default)]
pub(super) struct Synchronization {
    /// The chunks so far.
    joined: Vec<u8>,
    /// The containers in them, if the component is told of their creation.
    listed: Listed,
    /// When it began, and the time that the runtime gives it: all chunks share one limit.
    pub(super) begun: Option<(Instant, Duration)>,
}

impl Synchronization {
    /// Set when an answer now is later than one that the runtime surely has in time.
    fn lateness(&self) -> Option<Unsynchronized> {
        let (begun, limit) = self.begun?;
        let after = begun.elapsed();
        (after > surely_in_time(limit)).then_some(Unsynchronized::Late { after, limit })
    }
}

impl Session {
    /// The answer to Configure: what is subscribed to.
    pub(super) fn configure(&self, payload: &[u8]) -> HostAnswer {
        let request = match api::ConfigureRequest::parse_from_bytes(payload) {
            Ok(request) => request,
            Err(error) => {
                return invalid(&format_args!("the configuration cannot be read: {error}")).into();
            }
        };
        let runtime = RuntimeVersion {
            name: short(request.runtime_name),
            version: short(request.runtime_version),
            nri_version: short(request.NRI_version),
        };
        if let Some(expected) = &self.registration.expect_runtime
            && *expected != runtime.name
        {
            let end = End::WrongRuntime {
                expected: expected.clone(),
                found: runtime.name,
            };
            return HostAnswer {
                answer: invalid(&end),
                then: Then::End(end),
            };
        }
        let known = match self.registration.oldest_events_only {
            true => EVENTS_BEFORE_0_10,
            false => runtime.known_events(),
        };
        let events = event_mask(self.registration.methods, known);
        self.advance(|progress| {
            progress.configured = Some(Configured {
                runtime,
                request_timeout: millis(request.request_timeout),
                registration_timeout: millis(request.registration_timeout),
                events,
            });
        });
        let policy = api::FailurePolicy {
            fail_request: self.registration.fail_request,
            keep_connected: true,
            ..Default::default()
        };
        Answer::Payload(encode(&api::ConfigureResponse {
            events: i32::try_from(events).expect("a mask has 14 bits"),
            failure_policy: Some(policy).into(),
            ..Default::default()
        }))
        .into()
    }

    /// The whole of Synchronize and the time that is left for it, or the answer to a chunk that is
    /// not the last. `time`: what the runtime gives for this chunk.
    pub(super) fn join_chunk(
        &self,
        chunk: &[u8],
        time: Duration,
    ) -> Result<(Vec<u8>, Duration), HostAnswer> {
        let refused = |answer| HostAnswer {
            answer,
            then: Then::Synchronized(false),
        };
        let Chunk { more, pieces } = Chunk::read(chunk).map_err(|e| refused(unreadable(&e)))?;
        let now = Instant::now();
        let mut synchronization = lock(&self.synchronization);
        if synchronization.begun.is_none() {
            self.advance(|progress| progress.synchronizing = true);
        }
        let (begun, limit) = *synchronization.begun.get_or_insert((now, time));
        if self.registration.methods & Method::CreateContainer.bit() != 0 {
            synchronization.listed.add(chunk);
        }
        let joined = &mut synchronization.joined;
        if self.registration.methods & Method::Synchronize.bit() != 0 {
            joined.reserve(chunk.len());
            for piece in pieces {
                joined.extend_from_slice(piece);
            }
        }
        if joined.len() > MAX_SYNCHRONIZE {
            let text = format!("the synchronization has more than {MAX_SYNCHRONIZE} bytes");
            return Err(refused(invalid(&text)));
        }
        if more {
            let answer = api::SynchronizeResponse {
                more,
                ..Default::default()
            };
            return Err(Answer::Payload(encode(&answer)).into());
        }
        let left = surely_in_time(limit).saturating_sub(now - begun);
        Ok((std::mem::take(joined), left))
    }

    /// The synchronization was answered, by something `good` or by an error. The session is active,
    /// unless the runtime has given it up.
    pub(super) fn synchronized(&self, good: bool) {
        let synchronization = std::mem::take(&mut *lock(&self.synchronization));
        let late = synchronization.lateness();
        let refused = (!good).then_some(Unsynchronized::Refused);
        let first = lock(&self.progress).synchronized.is_none();
        if let Some(failure) = late.or(refused)
            && first
        {
            self.end(End::Unsynchronized(failure));
            return;
        }
        if first && self.registration.methods & Method::CreateContainer.bit() != 0 {
            self.attendance.synchronized(&synchronization.listed);
        }
        self.advance(|progress| {
            progress.synchronized.get_or_insert_with(Instant::now);
        });
    }
}

/// How long after the first chunk was read the last answer may go out. The chunk was under way for a
/// while before that, and the answer will be.
fn surely_in_time(limit: Duration) -> Duration {
    limit - limit / 20
}

/// What a runtime says of itself is shown in the status and in the log.
pub(super) fn short(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}

fn millis(value: i64) -> Option<Duration> {
    u64::try_from(value)
        .ok()
        .filter(|ms| *ms > 0)
        .map(Duration::from_millis)
}
