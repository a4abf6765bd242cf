//! Which request goes to which endpoint, and who may send it.

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::answer::{Answer, Sources, ask, json, refuse, stopping};
use super::{log, reload, reset};
use crate::supervisor::Question;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint {
    Status,
    Log,
    Reload,
    Reset,
}

/// Who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Somebody whom the mode of the admin socket lets in.
    Onlooker,
    /// Root, or the user that the daemon itself runs as.
    Owner,
}

impl Endpoint {
    const ALL: [Self; 4] = [Self::Status, Self::Log, Self::Reload, Self::Reset];

    fn path(self) -> &'static str {
        match self {
            Self::Status => "/status",
            Self::Log => "/log",
            Self::Reload => "/reload",
            Self::Reset => "/reset",
        }
    }

    /// Those that change something are posted to, and only by the owner.
    fn changes(self) -> bool {
        match self {
            Self::Status | Self::Log => false,
            Self::Reload | Self::Reset => true,
        }
    }
}

/// Why a request is not served.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    text: String,
}

/// Answers a request.
pub(super) async fn respond(
    request: Request<Incoming>,
    caller: Caller,
    sources: &Sources,
) -> Answer {
    let questions = &sources.questions;
    match permit(request.method(), request.uri().path(), caller) {
        Err(Refusal { status, text }) => refuse(status, &text),
        Ok(Endpoint::Status) => match ask(questions, Question::Status).await {
            Some(status) => json(&status),
            None => stopping(),
        },
        Ok(Endpoint::Log) => log::respond(request.uri().query(), sources).await,
        Ok(Endpoint::Reload) => reload::respond(questions).await,
        Ok(Endpoint::Reset) => reset::respond(request.into_body(), questions).await,
    }
}

/// Whether the answer may take longer than others.
pub(super) fn takes_long(request: &Request<Incoming>, caller: Caller) -> bool {
    let endpoint = permit(request.method(), request.uri().path(), caller);
    matches!(endpoint, Ok(Endpoint::Reload))
}

/// The endpoint that is meant, if the caller may use it so.
fn permit(method: &Method, path: &str, caller: Caller) -> Result<Endpoint, Refusal> {
    let refusal = |status, text: &str| Refusal {
        status,
        text: text.to_owned(),
    };
    let Some(endpoint) = Endpoint::ALL.into_iter().find(|e| e.path() == path) else {
        let paths = Endpoint::ALL.map(Endpoint::path).join(", ");
        let text = format!("there are {paths}");
        return Err(refusal(StatusCode::NOT_FOUND, &text));
    };
    match (endpoint.changes(), method, caller) {
        (false, &Method::GET | &Method::HEAD, _) | (true, &Method::POST, Caller::Owner) => {
            Ok(endpoint)
        }
        (true, &Method::POST, Caller::Onlooker) => Err(refusal(
            StatusCode::FORBIDDEN,
            "only root and the user that nri-host runs as may do this",
        )),
        (false, ..) => Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "GET only")),
        (true, ..) => Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "POST only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &Method, path: &str, caller: Caller) -> Result<Endpoint, StatusCode> {
        permit(method, path, caller).map_err(|refusal| refusal.status)
    }

    #[test]
    fn onlookers_may_look_and_only_the_owner_may_change_something() {
        for caller in [Caller::Onlooker, Caller::Owner] {
            for method in [Method::GET, Method::HEAD] {
                let permitted = status(&method, "/status", caller);
                assert_eq!(permitted, Ok(Endpoint::Status));
                let permitted = status(&method, "/log", caller);
                assert_eq!(permitted, Ok(Endpoint::Log));
            }
            let posted = status(&Method::POST, "/status", caller);
            assert_eq!(posted, Err(StatusCode::METHOD_NOT_ALLOWED));
            let got = status(&Method::GET, "/reset", caller);
            assert_eq!(got, Err(StatusCode::METHOD_NOT_ALLOWED));
            let elsewhere = status(&Method::GET, "/", caller);
            assert_eq!(elsewhere, Err(StatusCode::NOT_FOUND));
        }
        let reset = |caller| status(&Method::POST, "/reset", caller);
        assert_eq!(reset(Caller::Owner), Ok(Endpoint::Reset));
        assert_eq!(reset(Caller::Onlooker), Err(StatusCode::FORBIDDEN));
    }
}
