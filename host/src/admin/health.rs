//! `GET /healthz` and `GET /readyz`: whether the host is to be started anew, and whether it does all
//! of its work. What they say may go to anybody, so no words of a component are in it.

use std::time::Duration;

use hyper::StatusCode;
use tokio::time::timeout;

use super::answer::{Answer, Questions, ask, refuse, stopping, text};
use super::status::{State, Status};
use crate::supervisor::Question;

/// How long the supervisor may take to answer. It waits for nothing, so this means that it is dead.
const PATIENCE: Duration = Duration::from_secs(3);

/// The loop that keeps everything going is alive, and no component that wants the host to be started
/// anew is stuck.
pub(super) async fn alive(questions: &Questions) -> Answer {
    match timeout(PATIENCE, ask(questions, Question::Stuck)).await {
        Ok(Some(stuck)) if stuck.is_empty() => text("ok"),
        Ok(Some(stuck)) => unavailable(&format!("stuck: {}", stuck.join(", "))),
        Ok(None) => stopping(),
        Err(_) => unavailable("the supervisor does not answer"),
    }
}

/// Every required component is active and in step.
pub(super) async fn ready(questions: &Questions) -> Answer {
    match timeout(PATIENCE, ask(questions, Question::Status)).await {
        Ok(Some(status)) if status.ready => text("ready"),
        Ok(Some(status)) => unavailable(&missing(&status)),
        Ok(None) => stopping(),
        Err(_) => unavailable("the supervisor does not answer"),
    }
}

fn unavailable(text: &str) -> Answer {
    refuse(StatusCode::SERVICE_UNAVAILABLE, text)
}

fn missing(status: &Status) -> String {
    let mut text = "not ready; required components that are not active:".to_owned();
    let required = status.components.iter().filter(|c| c.required);
    for component in required.filter(|c| !c.is_active()) {
        let state = component.state.map_or("unknown", State::as_str);
        text += &format!("\n{}: {state}", component.plugin());
    }
    text
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::super::status::ComponentStatus;
    use super::*;

    /// What is said when the supervisor answers like this.
    async fn with(answer: impl FnOnce(Question)) -> StatusCode {
        let (questions, mut asked) = mpsc::channel(1);
        let supervisor = async {
            // Until somebody asks: it ends with the question in hand.
            answer(asked.recv().await.expect("somebody asks"));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answer = alive(&questions) => answer.status(),
            () = supervisor => unreachable!("it never ends"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_supervisor_that_does_not_answer_and_a_component_that_is_stuck_are_no_health() {
        let answers = |names: &'static [&str]| {
            move |question| match question {
                Question::Stuck(to) => {
                    let names = names.iter().map(|name| (*name).to_owned());
                    to.send(names.collect()).expect("it is awaited");
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(with(answers(&[])).await, StatusCode::OK);
        assert_eq!(
            with(answers(&["10-gpu"])).await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        // For as long as it takes: the question is kept, and never answered.
        let mut kept = None;
        let silent = |question| kept = Some(question);
        assert_eq!(with(silent).await, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn the_required_components_that_are_not_active_are_named_and_nothing_else_is_said() {
        let component = |name: &str, required, state| ComponentStatus {
            name: Some(name.to_owned()),
            index: Some(5),
            state: Some(state),
            reason: Some("a secret".to_owned()),
            required,
            ..ComponentStatus::default()
        };
        let status = Status {
            components: vec![
                component("gpu", true, State::Waiting),
                component("net", true, State::Active),
                component("log", false, State::Failed),
                ComponentStatus {
                    required: true,
                    state: Some(State::Failed),
                    ..ComponentStatus::default()
                },
            ],
            ..Status::default()
        };
        assert_eq!(
            missing(&status),
            "not ready; required components that are not active:\n05-gpu: waiting\n(no name): failed"
        );
    }
}
