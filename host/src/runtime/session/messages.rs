//! What becomes of a message that was read: a call for the component, an answer for others, or
//! something that the host itself answers.

use std::fmt;
use std::time::Instant;

use nri_plugin_api::abi::Method;
use protobuf::Message as _;
use ttrpc::proto::{Code, Response};

use super::handshake;
use super::{Call, Dialect, End, Incoming, PLUGIN_SERVICE, REGISTER_CALL, Session};
use crate::lock::lock;
use crate::runtime::connection::Patience;
use crate::runtime::fields::{self, Malformed};
use crate::runtime::mux::{Message, PLUGIN_STREAM, RUNTIME_STREAM};
use crate::runtime::ttrpc::{Answer, IncomingRequest, MAX_BODY, MessageKind};

/// A request that the host itself answers.
pub(super) struct HostAnswer {
    pub(super) answer: Answer,
    pub(super) then: Then,
}

/// What follows from a request that the host itself answered.
pub(super) enum Then {
    GoOn,
    /// The synchronization is over, with a good answer or an error.
    Synchronized(bool),
    End(End),
}

impl From<Answer> for HostAnswer {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            then: Then::GoOn,
        }
    }
}

impl Session {
    pub(super) fn take_in(&self, message: &Message, patience: Patience) -> Option<Incoming> {
        match (message.stream, message.header.kind) {
            (RUNTIME_STREAM, MessageKind::Response) => self.take_response(message),
            (PLUGIN_STREAM, MessageKind::Request) => {
                let number = message.header.stream_number;
                match self.take_request(message) {
                    Ok(call) => Some(Incoming::Call(call)),
                    Err(HostAnswer { answer, then }) => {
                        // It is part of a request, too; and while it cannot be written, no update
                        // waits behind it.
                        let _under_way = self.traffic.begin();
                        self.write_answer(number, answer, patience);
                        match then {
                            Then::GoOn => {}
                            Then::Synchronized(good) => self.synchronized(good),
                            Then::End(end) => drop(self.end(end)),
                        }
                        None
                    }
                }
            }
            // Nothing else has a meaning in unary calls.
            _ => None,
        }
    }

    fn take_response(&self, message: &Message) -> Option<Incoming> {
        let number = message.header.stream_number;
        let answer = match Response::parse_from_bytes(&message.body) {
            _ if message.oversized => Err(format!("its answer has more than {MAX_BODY} bytes")),
            Ok(response) if response.status.code() == Code::OK => Ok(response.payload),
            Ok(response) => Err(response.status.message.clone()),
            Err(_) => Err("its answer cannot be read".to_owned()),
        };
        if number != REGISTER_CALL {
            return Some(Incoming::UpdateAnswer { number, answer });
        }
        match answer {
            Ok(_) => self.advance(|progress| progress.registered = true),
            Err(text) => drop(self.end(End::Refused(handshake::short(text)))),
        }
        None
    }

    /// A call for the component, or what the host itself answers.
    fn take_request(&self, message: &Message) -> Result<Call, HostAnswer> {
        if message.oversized {
            let answer = invalid(&End::TooLarge);
            // Not in step, and an old runtime would keep the connection without ever using it.
            let then = match lock(&self.progress).synchronized {
                Some(_) => Then::GoOn,
                None => Then::End(End::TooLarge),
            };
            return Err(HostAnswer { answer, then });
        }
        let number = message.header.stream_number;
        let request = IncomingRequest::read(&message.body).map_err(|e| unreadable(&e))?;
        if request.service != PLUGIN_SERVICE {
            return Err(Answer::unimplemented(request.service, request.method).into());
        }
        let time = request.time.unwrap_or_else(|| self.request_timeout());
        let call = |method: Method, dialect, payload, time| {
            if self.registration.methods & method.bit() == 0 {
                return Err(Answer::EMPTY);
            }
            if self.validates() {
                let creating = (method == Method::CreateContainer).then(Instant::now);
                *lock(&self.creating) = creating;
            }
            Ok(Call {
                number,
                method,
                dialect,
                payload,
                time,
                under_way: self.traffic.begin(),
            })
        };
        match (request.method, Method::from_name(request.method)) {
            ("Configure", _) => Err(self.configure(request.payload)),
            ("Shutdown", _) => Err(Answer::EMPTY.into()),
            ("StateChange", _) => {
                let (event, payload) =
                    fields::split_state_change(request.payload).map_err(|e| unreadable(&e))?;
                match state_change(event) {
                    Some(method) => Ok(call(method, Dialect::StateChange, payload, time)?),
                    None => Err(Answer::EMPTY.into()),
                }
            }
            (_, Some(method @ Method::Synchronize)) => {
                let (payload, time) = self.join_chunk(request.payload, time)?;
                call(method, Dialect::Dedicated, payload, time).map_err(|answer| HostAnswer {
                    answer,
                    then: Then::Synchronized(true),
                })
            }
            (_, Some(method)) => {
                let payload = request.payload.to_vec();
                let call = call(method, Dialect::Dedicated, payload, time)?;
                if method == Method::CreateContainer {
                    self.attendance.told(&call.payload);
                }
                Ok(call)
            }
            (_, None) => Err(Answer::unimplemented(request.service, request.method).into()),
        }
    }
}

/// The method that an event of StateChange stands for. The others have calls of their own in every
/// version, and numbers that are not known are for the future.
fn state_change(event: u32) -> Option<Method> {
    Method::from_number(event).filter(|method| {
        matches!(
            method,
            Method::RunPodSandbox
                | Method::StopPodSandbox
                | Method::RemovePodSandbox
                | Method::PostCreateContainer
                | Method::StartContainer
                | Method::PostStartContainer
                | Method::PostUpdateContainer
                | Method::RemoveContainer
                | Method::PostUpdatePodSandbox
        )
    })
}

pub(super) fn unreadable(malformed: &Malformed) -> Answer {
    invalid(&format_args!("the request cannot be read: {malformed}"))
}

pub(super) fn invalid(text: &dyn fmt::Display) -> Answer {
    Answer::Error {
        code: Code::INVALID_ARGUMENT,
        text: text.to_string(),
    }
}
