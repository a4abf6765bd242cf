//! `GET /metrics`: the status as Prometheus reads it. `docs/metrics.md` lists all of it.

mod component;
mod family;
mod format;
mod host;
mod process;

use std::fmt;

use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Registry;

use super::answer::{Answer, Sources, ask, refuse, stopping};
use super::status::Status;
use crate::supervisor::Question;
use family::Families;
use format::Format;
use process::Process;

/// Answers with the metrics as they are now.
pub(super) async fn respond(headers: &HeaderMap, sources: &Sources) -> Answer {
    let Some(status) = ask(&sources.questions, Question::Status).await else {
        return stopping();
    };
    let process = Process::look(sources);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot { status, process }));
    let format = Format::accepted(headers);
    let mut body = String::new();
    if format.encode(&mut body, &registry).is_err() {
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, "cannot be encoded");
    }
    let mut response = Response::new(Full::from(body));
    let kind = HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Everything that metrics are made of, at one moment.
#[derive(Debug)]
struct Snapshot {
    status: Status,
    process: Process,
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut families = Families::new(encoder);
        host::write(&self.status, &mut families)?;
        component::write(&self.status, &mut families)?;
        self.process.write(&mut families)
    }
}
