//! What components say of themselves, and commands that they bring with them.

use anyhow::Result;
use nri_host_tests::host::{Component, ComponentStatus};
use serde_json::json;

use crate::scene::{SUBJECT, Scene};

fn talkative() -> Component {
    let config = json!({
        "methods": ["CreateContainer"],
        "on": { "CreateContainer": { "do": "panic", "times": 1 } },
        "health": {
            "summary": "11 of 12 hooks",
            "problems": [{ "message": "no such stage", "file": "/hooks/a.json", "line": 7 }],
        },
    });
    Component::faulty(SUBJECT, 10, config)
}

#[tokio::test]
async fn what_a_component_says_of_itself_is_in_the_status_also_after_a_panic() -> Result<()> {
    let scene = Scene::new(talkative()).await?;
    let reported = json!({
        "summary": "11 of 12 hooks",
        "problems": [{ "message": "no such stage", "file": "/hooks/a.json", "line": 7 }],
        "problems_total": 1,
    });
    let tells_its_health = async |recreated| {
        let condition = |subject: &ComponentStatus| {
            subject.rest["health"] == reported && subject.count("recreated") == Some(recreated)
        };
        let what = format!("created again {recreated} times, and telling its health");
        scene.host.wait_component(SUBJECT, &what, condition).await
    };
    tells_its_health(0).await?;
    let (pod, container) = (&scene.pod, &scene.container);
    scene.plugin.create_container(pod, container).await?;
    tells_its_health(1).await?;
    let table = scene.host.run(&["status"]).await?.stdout;
    let lines = "    says: 11 of 12 hooks\n    /hooks/a.json:7: no such stage\n";
    assert!(table.contains(lines), "{table}");
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn a_command_runs_beside_the_daemon_with_the_components_configuration() -> Result<()> {
    let scene = Scene::new(talkative()).await?;
    let ran = scene.host.run(&["component", SUBJECT, "methods"]).await?;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "CreateContainer\n")
    );
    let ran = scene
        .host
        .run(&["component", SUBJECT, "fail", "no"])
        .await?;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "no\n"));
    let ran = scene.host.run(&["component", SUBJECT, "panic"]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("as asked"), "{}", ran.stderr);
    let ran = scene.host.run(&["component", SUBJECT]).await?;
    let listed = "fail     TEXT: fails with this text\n";
    assert!(ran.stdout.contains(listed), "{}", ran.stdout);
    scene.bystander_is_unaware().await
}
