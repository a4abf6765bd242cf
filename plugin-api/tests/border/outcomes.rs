//! Answers, rejections, failures.

use nri_plugin_api::testing::{self, Harness, Outcome, json};
use nri_plugin_api::{
    Adjustment, Component, ContainerUpdate, CreateContainer, Error, Host, Method, MethodSet,
    Resources, RunPodSandbox, StopContainer, Synchronize, UpdateContainer, Updates,
    ValidateContainerAdjustment, api,
};
use serde::Deserialize;

/// Does what the name of the container says.
struct Obedient {
    only: Option<String>,
    host: Host,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    only: Option<String>,
}

fn refuse(what: &str) -> Result<(), Error> {
    match what {
        "reject" => Err(Error::reject("not on this node").context("checking")),
        "fail" => Err(std::io::Error::other("disk on fire").into()),
        _ => Ok(()),
    }
}

#[nri_plugin_api::component(id = "com.example.obedient", one_instance)]
impl Component for Obedient {
    type Config = Settings;

    fn create(config: Settings, host: Host) -> Result<Self, Error> {
        Ok(Self {
            only: config.only,
            host,
        })
    }

    fn methods(&self) -> MethodSet {
        match &self.only {
            Some(name) => Method::from_name(name).into_iter().collect(),
            None => MethodSet::ALL,
        }
    }

    fn synchronize(&mut self, request: &Synchronize) -> Result<Updates, Error> {
        let mut updates = Updates::new();
        for container in request.containers() {
            updates.add(ContainerUpdate::new(
                container.id(),
                Resources::new().cpus(container.pod_id()),
            ))?;
        }
        Ok(updates)
    }

    fn run_pod_sandbox(&mut self, request: &RunPodSandbox) -> Result<(), Error> {
        refuse(request.pod_name())
    }

    fn create_container(&mut self, request: &CreateContainer) -> Result<Adjustment, Error> {
        refuse(request.container_name())?;
        let mut adjustment = Adjustment::new();
        match request.container_name() {
            "own-update" => {
                let update =
                    ContainerUpdate::new(request.container_id(), Resources::new().cpus("1"));
                adjustment.update(update)?;
            }
            "twice" => {
                adjustment.set_env("A", "1")?.set_env("A", "2")?;
            }
            "huge" => {
                adjustment.set_env("A", "x".repeat(4 << 20))?;
            }
            "later" => {
                let mut updates = Updates::new();
                updates.add(ContainerUpdate::new(
                    "other",
                    Resources::new().memory_limit(5),
                ))?;
                self.host.update_containers(updates)?;
            }
            _ => {}
        }
        Ok(adjustment)
    }

    fn update_container(&mut self, request: &UpdateContainer) -> Result<Updates, Error> {
        let limit = request.linux_resources()?.memory.limit.value;
        let mut updates = Updates::new();
        updates.add(ContainerUpdate::new(
            request.container_id(),
            Resources::new().memory_limit(limit * 2),
        ))?;
        Ok(updates)
    }

    fn stop_container(&mut self, request: &StopContainer) -> Result<Updates, Error> {
        let mut updates = Updates::new();
        updates.add(ContainerUpdate::new(
            request.pod_id(),
            Resources::new().cpu_shares(2),
        ))?;
        Ok(updates)
    }

    fn validate_container_adjustment(
        &mut self,
        request: &ValidateContainerAdjustment,
    ) -> Result<(), Error> {
        let adjustment = request.adjustment()?;
        refuse(adjustment.env.first().map_or("", |env| env.key.as_str()))
    }
}

fn obedient() -> Harness<Obedient> {
    Harness::create(json!({})).expect("nothing can fail")
}

fn create_container(name: &str) -> Outcome<api::CreateContainerResponse> {
    let pod = testing::pod("p", []);
    obedient().create_container(&pod, &testing::container(&pod, name))
}

#[test]
fn a_rejection_and_a_failure_are_told_apart() {
    assert_eq!(
        create_container("reject").rejection(),
        "checking: not on this node"
    );
    assert_eq!(create_container("fail").failure(), "disk on fire");
    let pod = |name| api::RunPodSandboxRequest {
        pod: Some(testing::pod(name, [])).into(),
        ..Default::default()
    };
    assert!(
        obedient()
            .call(&pod("reject"))
            .rejection()
            .ends_with("not on this node")
    );
    assert_eq!(
        obedient().call(&pod("x")).answer(),
        api::RunPodSandboxResponse::default()
    );
}

#[test]
fn what_the_runtime_would_refuse_fails_at_the_component() {
    assert!(
        create_container("twice")
            .failure()
            .contains("\"A\" is set twice")
    );
    assert!(
        create_container("own-update")
            .failure()
            .contains("p-own-update-id")
    );
    // The host refuses the reply, and the component says that there is none.
    assert_eq!(create_container("huge").failure(), "handle returned -2");
}

#[test]
fn an_empty_adjustment_is_an_empty_answer() {
    assert_eq!(
        create_container("x").answer(),
        api::CreateContainerResponse::default()
    );
}

#[test]
fn updates_reach_the_answers_of_their_methods() {
    let pod = testing::pod("p", []);
    let containers = [testing::container(&pod, "a"), testing::container(&pod, "b")];
    let answer = obedient()
        .synchronize(std::slice::from_ref(&pod), &containers)
        .answer();
    let ids: Vec<_> = answer
        .update
        .iter()
        .map(|u| u.container_id.as_str())
        .collect();
    assert_eq!(ids, ["p-a-id", "p-b-id"]);
    assert_eq!(answer.update[0].linux.resources.cpu.cpus, "p-id");

    let mut request = api::UpdateContainerRequest::new();
    request.container = Some(containers[0].clone()).into();
    let memory = request
        .linux_resources
        .mut_or_insert_default()
        .memory
        .mut_or_insert_default();
    memory.limit.mut_or_insert_default().value = 21;
    let answer = obedient().call(&request).answer();
    assert_eq!(answer.update[0].linux.resources.memory.limit.value, 42);

    let mut request = api::StopContainerRequest::new();
    request.pod = Some(pod).into();
    let answer = obedient().call(&request).answer();
    assert_eq!(answer.update[0].container_id, "p-id");
}

#[test]
fn a_validation_can_pass_reject_and_fail() {
    let validate = |key: &str| {
        let mut request = api::ValidateContainerAdjustmentRequest::new();
        let env = api::KeyValue {
            key: key.to_owned(),
            ..Default::default()
        };
        request.adjust.mut_or_insert_default().env.push(env);
        obedient().call(&request)
    };
    assert_eq!(validate("reject").rejection(), "checking: not on this node");
    assert_eq!(
        validate("fine").answer(),
        api::ValidateContainerAdjustmentResponse::default()
    );
    assert_eq!(validate("fail").failure(), "disk on fire");
}

#[test]
fn malformed_requests_fail_in_every_method() {
    let mut harness = obedient();
    for method in Method::ALL {
        // Field 1 claims five bytes and has none.
        let text = harness.call_encoded(*method, &[0x0a, 0x05]).failure();
        assert!(text.contains("reading the request"), "{method:?}: {text}");
    }
}

#[test]
fn methods_that_are_new_are_unsupported() {
    assert_eq!(obedient().call_number(63, &[]), Outcome::Unsupported);
    assert_eq!(obedient().call_number(0, &[]), Outcome::Unsupported);
}

#[test]
fn the_subscription_is_what_the_implementation_has_and_the_instance_wants() {
    let all = [
        Method::RunPodSandbox,
        Method::CreateContainer,
        Method::UpdateContainer,
        Method::StopContainer,
        Method::ValidateContainerAdjustment,
        Method::Synchronize,
    ];
    assert_eq!(obedient().methods(), MethodSet::of(&all));
    let narrowed = json!({ "only": "CreateContainer" });
    let mut harness = Harness::<Obedient>::create(narrowed).unwrap();
    assert_eq!(harness.methods(), MethodSet::of(&[Method::CreateContainer]));
    // It wants a method that the implementation does not have.
    let mut harness =
        Harness::<Obedient>::create(json!({ "only": "PostCreateContainer" })).unwrap();
    assert_eq!(harness.methods(), MethodSet::EMPTY);
}

#[test]
fn the_library_tells_its_id_and_the_version_of_its_package() {
    assert_eq!(
        obedient().identity(),
        ("com.example.obedient", env!("CARGO_PKG_VERSION"))
    );
}
