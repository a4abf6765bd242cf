//! What an instance says of itself.

use nri_plugin_api::testing::{Harness, json};
use nri_plugin_api::{
    Adjustment, Component, CreateContainer, Error, Health, HealthProblem, Host, NoConfig,
};

struct Patient {
    host: Host,
}

#[nri_plugin_api::component(id = "com.example.patient", no_export)]
impl Component for Patient {
    type Config = NoConfig;

    fn create(_: NoConfig, host: Host) -> Result<Self, Error> {
        let mut health = Health::new("2 of 3 files");
        health.add(
            HealthProblem::new("no such key")
                .file("/etc/a.json")
                .line(3),
        );
        health.add(HealthProblem::new("in general"));
        host.report_health(&health);
        Ok(Self { host })
    }

    fn create_container(&mut self, _: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        let host = self.host.clone();
        std::thread::scope(|scope| {
            scope
                .spawn(|| host.report_health(&Health::new("well")))
                .join()
        })
        .expect("the thread does not panic");
        Ok(Adjustment::new())
    }
}

#[test]
fn the_last_report_counts_from_any_thread() {
    let mut harness = Harness::<Patient>::create(json!({})).unwrap();
    let health = harness.health().expect("create has reported");
    assert_eq!(health.summary, "2 of 3 files");
    let [first, second] = &health.problems[..] else {
        panic!("expected two problems: {health:?}");
    };
    assert_eq!(
        (first.message.as_str(), first.file.as_deref(), first.line),
        ("no such key", Some("/etc/a.json"), Some(3))
    );
    assert_eq!(
        (second.message.as_str(), second.file.as_deref(), second.line),
        ("in general", None, None)
    );
    let pod = nri_plugin_api::testing::pod("web-0", [("", ""); 0]);
    let container = nri_plugin_api::testing::container(&pod, "server");
    harness.create_container(&pod, &container).answer();
    assert_eq!(harness.health(), Some(Health::new("well")));
}
