//! The promise: whatever a component does, the runtime gets an answer that it can live with.
//!
//! | the component | the runtime gets |
//! |---|---|
//! | answers | the answer |
//! | rejects a call that decides something | an error with its reason |
//! | rejects another call | an empty answer |
//! | fails, is late, is away, or is in quarantine | by `on_failure`: an empty answer or an error |
//! | any of the last row in ValidateContainerAdjustment | an error: what was not checked has not passed |
//! | any of it in Synchronize | an empty answer; the component is out of step |
//!
//! `on_failure = "fail"` holds for the calls with which a pod or a container comes into being or
//! changes. An error in a call that stops or removes something, or that only tells, would keep
//! nothing from happening but the clean-up, so it is counted and the answer is empty.

use std::fmt;
use std::time::Duration;

use nri_plugin_api::abi::Method;
use nri_plugin_api::api;
use protobuf::Message as _;
use ttrpc::proto::Code;

use crate::config::OnFailure;
use crate::runtime::fields::{Malformed, bytes_field, map_text, text_field};
use crate::runtime::session::Call;
use crate::runtime::ttrpc::Answer;
use crate::runtime::update::Unfit;

/// Most of a component's own words that reaches the runtime, in bytes.
pub const MAX_REASON: usize = 1024;
/// Least time that is kept back for the way of the answer.
const MARGIN: Duration = Duration::from_millis(50);

/// What came of a call.
#[derive(Debug)]
pub enum Outcome {
    /// An encoded response message, checked.
    Reply(Vec<u8>),
    /// A decision of the component about this pod or container.
    Rejected(String),
    /// Something else.
    Failed(Failure),
}

impl Outcome {
    /// The component does not know of the call, or has forgotten what it knew.
    pub fn is_missed(&self) -> bool {
        matches!(
            self,
            Self::Failed(Failure::Late | Failure::Away | Failure::Quarantined | Failure::Panic(_))
        )
    }
}

/// Why there is no answer of the component.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It says that it failed.
    #[error("it failed: {0}")]
    Error(String),
    /// It can no longer be used; the SDK says so after a panic.
    #[error("it panicked: {0}")]
    Panic(String),
    /// Its reply is not the message that it should be.
    #[error("its reply cannot be read: {0}")]
    Garbage(#[from] Malformed),
    /// Its reply asks for what no runtime could do.
    #[error("its reply is of no use: {0}")]
    Unfit(#[from] Unfit),
    /// It returned without a reply.
    #[error("it returned without a reply")]
    NoReply,
    /// It replied with null bytes, or with too many.
    #[error("its reply was refused: {0}")]
    BadReply(&'static str),
    /// Its reply would end the runtime.
    #[error(
        "sysctl adjustments end the process of this runtime (NRI 0.11), so they are not passed on"
    )]
    DeadlySysctl,
    /// It was not back at its deadline.
    #[error("it did not answer in time")]
    Late,
    /// It has not come back from an earlier call, or is being created again.
    #[error("it is not back from an earlier call")]
    Away,
    /// It failed too often, and is not called for a time.
    #[error("it is in quarantine after too many failures (`nri-host reset` ends it)")]
    Quarantined,
}

/// How one component's outcomes become answers.
#[derive(Clone, Debug)]
pub struct Policy {
    /// `INDEX-NAME`, for messages.
    pub plugin: String,
    /// What the runtime is told of failures.
    pub on_failure: OnFailure,
    /// Pods of these namespaces never fail because of a failure.
    pub fail_exempt_namespaces: Vec<String>,
    /// Shortens the time for a call.
    pub timeout: Option<Duration>,
    /// Shortens the time for Synchronize.
    pub sync_timeout: Option<Duration>,
}

impl Policy {
    /// How long the component has, when the runtime gives `time` for the call.
    pub fn time_for(&self, method: Method, time: Duration) -> Duration {
        let margin = MARGIN.max(time / 10).min(time / 2);
        let own = match method {
            Method::Synchronize => self.sync_timeout,
            _ => self.timeout,
        };
        own.map_or(time - margin, |own| own.min(time - margin))
    }

    /// How long the component has to take the result of an update in, when the runtime gives
    /// `time` for a call that could come meanwhile.
    pub fn time_for_result(&self, time: Duration) -> Duration {
        self.timeout.map_or(time / 2, |own| own.min(time / 2))
    }

    /// What the runtime gets.
    pub fn answer(&self, call: &Call, outcome: Outcome) -> Answer {
        match outcome {
            Outcome::Reply(payload) => Answer::Payload(payload),
            Outcome::Rejected(reason) if call.method == Method::ValidateContainerAdjustment => {
                Answer::Payload(rejected_validation(self.rejection(call, &reason)))
            }
            Outcome::Rejected(reason) if can_reject(call.method) => Answer::Error {
                code: Code::PERMISSION_DENIED,
                text: self.rejection(call, &reason),
            },
            Outcome::Rejected(_) => Answer::EMPTY,
            Outcome::Failed(failure) if self.fails(call) => Answer::Error {
                code: Code::INTERNAL,
                text: format!(
                    "component {} cannot serve {} for {}: {}",
                    self.plugin,
                    call.method.name(),
                    Subject::of(call),
                    cut(&failure.to_string())
                ),
            },
            Outcome::Failed(_) => Answer::EMPTY,
        }
    }

    /// A failure in this call becomes an error for the runtime.
    fn fails(&self, call: &Call) -> bool {
        if call.method == Method::ValidateContainerAdjustment {
            return true;
        }
        self.on_failure == OnFailure::Fail
            && (can_reject(call.method) || call.method == Method::UpdatePodSandbox)
            && !self
                .fail_exempt_namespaces
                .iter()
                .any(|exempt| exempt == Subject::of(call).namespace)
    }

    fn rejection(&self, call: &Call, reason: &str) -> String {
        format!(
            "component {} rejects {}: {}",
            self.plugin,
            Subject::of(call),
            cut(reason)
        )
    }
}

/// The method decides about a pod or container, so that a rejection means something.
pub fn can_reject(method: Method) -> bool {
    matches!(
        method,
        Method::CreateContainer
            | Method::UpdateContainer
            | Method::ValidateContainerAdjustment
            | Method::RunPodSandbox
            | Method::StartContainer
    )
}

fn rejected_validation(reason: String) -> Vec<u8> {
    api::ValidateContainerAdjustmentResponse {
        reject: true,
        reason,
        ..Default::default()
    }
    .write_to_bytes()
    .expect("encoding into memory fails only past 2 GiB")
}

/// At most [`MAX_REASON`] bytes of a text, cut between characters.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_REASON)]
}

/// The pod and container that a call is about, by name.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// Name of the pod.
    pub pod: &'a str,
    /// Name of the container; empty in calls about pods.
    pub container: &'a str,
}

impl<'a> Subject<'a> {
    /// Reads the names from the request.
    pub fn of(call: &'a Call) -> Self {
        if call.method == Method::Synchronize {
            return Self {
                namespace: "",
                pod: "",
                container: "",
            };
        }
        let pod = bytes_field(&call.payload, 1).unwrap_or_default();
        let container = match call.method {
            Method::UpdatePodSandbox => None,
            _ => bytes_field(&call.payload, 2),
        };
        Self {
            namespace: text_field(pod, 4),
            pod: text_field(pod, 2),
            container: container_name(container.unwrap_or_default()),
        }
    }
}

/// The name in an encoded `Container`. CRI-O leaves the field empty in some calls.
fn container_name(container: &[u8]) -> &str {
    match text_field(container, 3) {
        "" => map_text(container, 5, "io.kubernetes.container.name"),
        name => name,
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pod, self.container) {
            ("", "") => f.write_str("the node"),
            (_, "") => write!(f, "pod {}/{}", self.namespace, self.pod),
            (_, container) => {
                write!(
                    f,
                    "container {container} of pod {}/{}",
                    self.namespace, self.pod
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::runtime::session::Dialect;
    use crate::runtime::traffic::Traffic;

    fn policy(on_failure: OnFailure) -> Policy {
        Policy {
            plugin: "10-gpu".into(),
            on_failure,
            fail_exempt_namespaces: vec!["kube-system".into()],
            timeout: None,
            sync_timeout: None,
        }
    }

    fn call(method: Method, namespace: &str) -> Call {
        let mut request = api::CreateContainerRequest::new();
        let pod = request.pod.mut_or_insert_default();
        pod.name = "web".into();
        pod.namespace = namespace.into();
        request.container.mut_or_insert_default().name = "nginx".into();
        Call {
            number: 3,
            method,
            dialect: Dialect::Dedicated,
            payload: request.write_to_bytes().unwrap(),
            time: Duration::from_secs(2),
            under_way: Arc::new(Traffic::default()).begin(),
        }
    }

    fn is_error(answer: &Answer) -> bool {
        matches!(answer, Answer::Error { .. })
    }

    #[test]
    fn a_rejection_is_an_error_only_where_it_decides() {
        for &method in Method::ALL {
            let answer = policy(OnFailure::Ignore)
                .answer(&call(method, "default"), Outcome::Rejected("no".into()));
            match method {
                Method::ValidateContainerAdjustment => {
                    let Answer::Payload(bytes) = answer else {
                        panic!("{method:?}")
                    };
                    let verdict =
                        api::ValidateContainerAdjustmentResponse::parse_from_bytes(&bytes).unwrap();
                    assert!(verdict.reject && verdict.reason.contains("10-gpu"));
                }
                method => assert_eq!(is_error(&answer), can_reject(method), "{method:?}"),
            }
        }
    }

    #[test]
    fn a_rejection_names_component_container_pod_and_at_most_a_kilobyte_of_reason() {
        let reason = "ä".repeat(2000);
        let answer = policy(OnFailure::Ignore).answer(
            &call(Method::CreateContainer, "default"),
            Outcome::Rejected(reason),
        );
        let Answer::Error { text, .. } = answer else {
            panic!("{answer:?}")
        };
        assert!(text.starts_with("component 10-gpu rejects container nginx of pod default/web: ä"));
        assert!(text.len() < MAX_REASON + 100);
    }

    #[test]
    fn a_container_without_a_name_goes_by_its_label() {
        let mut request = api::CreateContainerRequest::new();
        request.pod.mut_or_insert_default().name = "web".into();
        let labels = &mut request.container.mut_or_insert_default().labels;
        labels.insert("app".into(), "shop".into());
        labels.insert("io.kubernetes.container.name".into(), "nginx".into());
        let mut call = call(Method::CreateContainer, "");
        call.payload = request.write_to_bytes().unwrap();
        assert_eq!(Subject::of(&call).container, "nginx");
    }

    #[test]
    fn failures_follow_the_policy_save_in_validation_and_exempt_namespaces() {
        use OnFailure::{Fail, Ignore};
        for (method, on_failure, namespace, error) in [
            (Method::CreateContainer, Ignore, "default", false),
            (Method::CreateContainer, Fail, "default", true),
            (Method::CreateContainer, Fail, "kube-system", false),
            (Method::CreateContainer, Fail, "kube-system-2", true),
            (Method::UpdatePodSandbox, Fail, "default", true),
            (Method::StopContainer, Fail, "default", false),
            (Method::RemovePodSandbox, Fail, "default", false),
            (Method::Synchronize, Fail, "", false),
            (Method::ValidateContainerAdjustment, Ignore, "default", true),
            (
                Method::ValidateContainerAdjustment,
                Ignore,
                "kube-system",
                true,
            ),
        ] {
            let answer =
                policy(on_failure).answer(&call(method, namespace), Outcome::Failed(Failure::Late));
            assert_eq!(
                is_error(&answer),
                error,
                "{method:?} {on_failure:?} {namespace}"
            );
        }
    }

    #[test]
    fn the_component_gets_less_time_than_the_runtime_gives_and_never_more() {
        let ms = Duration::from_millis;
        let mut policy = policy(OnFailure::Ignore);
        for (given, left) in [(2000, 1800), (300, 250), (60, 30), (10_000, 9000)] {
            assert_eq!(
                policy.time_for(Method::CreateContainer, ms(given)),
                ms(left)
            );
        }
        policy.timeout = Some(ms(500));
        policy.sync_timeout = Some(ms(60_000));
        assert_eq!(policy.time_for(Method::CreateContainer, ms(2000)), ms(500));
        assert_eq!(policy.time_for(Method::CreateContainer, ms(300)), ms(250));
        assert_eq!(policy.time_for(Method::Synchronize, ms(2000)), ms(1800));
    }
}
