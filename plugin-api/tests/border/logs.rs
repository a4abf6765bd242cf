//! `tracing` and `log` reach the host under the name of the instance that they belong to.

use nri_plugin_api::testing::{self, Harness, LogLevel, LogLine, Setup, json};
use nri_plugin_api::{Adjustment, Component, CreateContainer, Error, Host, NoConfig};

struct Talkative {
    host: Host,
}

#[nri_plugin_api::component(id = "com.example.talkative", no_export)]
impl Component for Talkative {
    type Config = NoConfig;

    fn create(_: NoConfig, host: Host) -> Result<Self, Error> {
        tracing::info!(name = host.name(), index = host.index(), "created");
        Ok(Self { host })
    }

    fn create_container(&mut self, request: &CreateContainer) -> Result<Adjustment, Error> {
        let span = tracing::info_span!(
            "create",
            pod = request.pod_name(),
            id = tracing::field::Empty
        );
        let _entered = span.enter();
        span.record("id", 5);
        let error = std::io::Error::other("gone");
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            attempt = 2,
            "trying again"
        );
        tracing::debug!("detail");
        log::info!("by {}", "log");
        let host = self.host.clone();
        let thread = std::thread::spawn(move || {
            let _attached = host.attach();
            tracing::info!("from a thread");
        });
        thread
            .join()
            .map_err(|_| Error::failed("the thread panicked"))?;
        Ok(Adjustment::new())
    }
}

impl Drop for Talkative {
    fn drop(&mut self) {
        tracing::info!("dropped");
    }
}

fn line(level: LogLevel, message: &str) -> LogLine {
    LogLine {
        level,
        message: message.to_owned(),
    }
}

fn call(harness: &mut Harness<Talkative>) {
    let pod = testing::pod("web-0", []);
    harness
        .create_container(&pod, &testing::container(&pod, "c"))
        .answer();
}

#[test]
fn each_instance_has_its_own_log() {
    let mut a = Setup::new()
        .name("a")
        .index(1)
        .create::<Talkative>(&json!({}))
        .unwrap();
    let b = Setup::new()
        .name("b")
        .index(2)
        .create::<Talkative>(&json!({}))
        .unwrap();
    call(&mut a);
    assert_eq!(
        a.logs(),
        [
            line(LogLevel::Info, "created name=\"a\" index=1"),
            line(
                LogLevel::Warn,
                "create{pod=\"web-0\" id=5}: trying again error=gone attempt=2"
            ),
            line(LogLevel::Debug, "create{pod=\"web-0\" id=5}: detail"),
            line(LogLevel::Info, "by log"),
            line(LogLevel::Info, "from a thread"),
        ]
    );
    assert_eq!(
        b.logs(),
        [line(LogLevel::Info, "created name=\"b\" index=2")]
    );
}

#[test]
fn lines_above_the_level_of_the_instance_are_left_out() {
    // Another instance of the same library keeps everything.
    let _all = Harness::<Talkative>::create(json!({})).unwrap();
    let quiet = Setup::new().log_level(LogLevel::Warn);
    let mut quiet = quiet.create::<Talkative>(&json!({})).unwrap();
    call(&mut quiet);
    let logs = quiet.logs();
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert_eq!(logs[0].level, LogLevel::Warn);
}
