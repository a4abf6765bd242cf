//! Which request goes to which endpoint, and who may send it.

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::answer::{Answer, Sources, ask, json, refuse, stopping};
use super::{health, log, metrics, reload, reset};
use crate::supervisor::Question;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint {
    Healthz,
    Readyz,
    Metrics,
    Status,
    Log,
    Reload,
    Reset,
}

/// Who sends a request; the later ones may do what the earlier ones may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    /// Anybody who can reach the address.
    Network,
    /// Somebody whom the mode of the admin socket lets in.
    Onlooker,
    /// Root, or the user that the daemon itself runs as.
    Owner,
}

impl Endpoint {
    const ALL: [Self; 7] = [
        Self::Healthz,
        Self::Readyz,
        Self::Metrics,
        Self::Status,
        Self::Log,
        Self::Reload,
        Self::Reset,
    ];

    fn path(self) -> &'static str {
        match self {
            Self::Healthz => "/healthz",
            Self::Readyz => "/readyz",
            Self::Metrics => "/metrics",
            Self::Status => "/status",
            Self::Log => "/log",
            Self::Reload => "/reload",
            Self::Reset => "/reset",
        }
    }

    /// Who may use it. Those for the owner change something, and are posted to.
    fn least(self) -> Caller {
        match self {
            Self::Healthz | Self::Readyz | Self::Metrics => Caller::Network,
            Self::Status | Self::Log => Caller::Onlooker,
            Self::Reload | Self::Reset => Caller::Owner,
        }
    }

    /// Whether it is there for this caller, who may still not be the one to use it.
    fn is_shown_to(self, caller: Caller) -> bool {
        caller > Caller::Network || self.least() == Caller::Network
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
        Ok(Endpoint::Healthz) => health::alive(questions).await,
        Ok(Endpoint::Readyz) => health::ready(questions).await,
        Ok(Endpoint::Metrics) => metrics::respond(request.headers(), sources).await,
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
    let shown: Vec<Endpoint> = Endpoint::ALL
        .into_iter()
        .filter(|endpoint| endpoint.is_shown_to(caller))
        .collect();
    let Some(&endpoint) = shown.iter().find(|endpoint| endpoint.path() == path) else {
        let paths: Vec<&str> = shown.iter().map(|endpoint| endpoint.path()).collect();
        let text = format!("there are {}", paths.join(", "));
        return Err(refusal(StatusCode::NOT_FOUND, &text));
    };
    let changes = endpoint.least() == Caller::Owner;
    match (changes, method) {
        (false, &Method::GET | &Method::HEAD) => Ok(endpoint),
        (false, _) => Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "GET only")),
        (true, &Method::POST) if caller == Caller::Owner => Ok(endpoint),
        (true, &Method::POST) => Err(refusal(
            StatusCode::FORBIDDEN,
            "only root and the user that nri-host runs as may do this",
        )),
        (true, _) => Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "POST only")),
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

    #[test]
    fn over_the_network_there_are_metrics_and_health_and_nothing_else() {
        for endpoint in Endpoint::ALL {
            let public = matches!(endpoint.path(), "/healthz" | "/readyz" | "/metrics");
            let got = status(&Method::GET, endpoint.path(), Caller::Network);
            let expected = match public {
                true => Ok(endpoint),
                false => Err(StatusCode::NOT_FOUND),
            };
            assert_eq!(got, expected);
            for method in [Method::POST, Method::PUT, Method::DELETE] {
                let refused = status(&method, endpoint.path(), Caller::Network);
                assert!(refused.is_err(), "{method} {}", endpoint.path());
            }
        }
    }
}
