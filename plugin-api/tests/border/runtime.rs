//! What a component knows of the runtime.

use nri_plugin_api::testing::{self, Harness, json};
use nri_plugin_api::{Adjustment, Component, CreateContainer, Error, Host, NoConfig};

/// Tells the runtime in a variable.
struct Telling {
    host: Host,
}

#[nri_plugin_api::component(id = "com.example.telling", no_export)]
impl Component for Telling {
    type Config = NoConfig;

    fn create(_: NoConfig, host: Host) -> Result<Self, Error> {
        Ok(Self { host })
    }

    fn create_container(&mut self, _: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        let mut adjustment = Adjustment::new();
        if let Some(runtime) = self.host.runtime() {
            let text = [runtime.name, runtime.version, runtime.nri_version].join(" ");
            adjustment.set_env("RUNTIME", text)?;
        }
        Ok(adjustment)
    }
}

#[test]
fn the_runtime_is_known_once_it_has_said_what_it_is() {
    let mut telling = Harness::<Telling>::create(json!({})).unwrap();
    let pod = testing::pod("p", []);
    let container = testing::container(&pod, "c");
    let adjust = telling.create_container(&pod, &container).answer().adjust;
    assert!(adjust.is_none(), "{adjust:?}");
    for version in ["v2.4.2", "v2.5.0 \"quoted\""] {
        telling.set_runtime("containerd", version, "0.12.3");
        let adjust = telling.create_container(&pod, &container).answer().adjust;
        assert_eq!(adjust.env[0].value, format!("containerd {version} 0.12.3"));
    }
}
