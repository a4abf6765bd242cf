//! Runtimes of every age, whatever they say of their version: the right mask, the right dialect and
//! the right policy, and each component active.

use anyhow::Result;
use nri_host_tests::fake_runtime::{
    EVENTS_0_3, EVENTS_0_10, FakeRuntime, Plugin, Profile, event_bit,
};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::callbacks::CALLBACKS;
use crate::record::Record;

/// One component that does not mind its failures and one that does.
const PLUGINS: [(&str, u8, &str); 2] = [("lenient", 10, "ignore"), ("strict", 20, "fail")];

/// Checks everything that depends on the version.
async fn serves(profile: &Profile, mask: i32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = |name: &str| Record::new(&folder.path().join(name));
    let runtime = FakeRuntime::start(profile.clone()).await?;
    let mut host = Host::builder().socket(runtime.socket());
    for (name, index, on_failure) in PLUGINS {
        std::fs::create_dir(folder.path().join(name))?;
        let config = json!({ "record": record(name).path() });
        let component = Component::faulty(name, index, config);
        host = host.component(component.set("on_failure", on_failure));
    }
    let host = host.start()?;
    for (name, index, on_failure) in PLUGINS {
        let plugin = runtime.plugin(&format!("{index}-{name}")).await?;
        let (runtime, version) = (profile.runtime_name, profile.runtime_version);
        assert_eq!(plugin.mask(), mask, "{runtime} {version}");
        // A runtime that does not know the policy ignores it.
        assert_eq!(plugin.asks_to_keep_connected(), profile.failure_policy);
        assert_eq!(
            plugin.asks_to_fail_requests(),
            profile.failure_policy && on_failure == "fail"
        );
        let component = host.wait_state(name, State::Active).await?;
        assert_eq!(component.count("events"), u64::try_from(mask).ok());
        hears_everything(&plugin, mask, &record(name)).await?;
    }
    Ok(())
}

/// Tells the plugin each event of its mask, in the dialect of the runtime.
async fn hears_everything(plugin: &Plugin, mask: i32, record: &Record) -> Result<()> {
    let pod = pods::pod("web-0").build();
    let container = pods::container(&pod, "server").build();
    let wanted = CALLBACKS
        .iter()
        .filter(|callback| mask & event_bit(callback.event) != 0);
    let mut told = vec!["Synchronize"];
    for callback in wanted {
        callback.tell(plugin, &pod, &container).await?;
        told.push(callback.method);
    }
    assert_eq!(record.methods(), told);
    Ok(())
}

#[tokio::test]
async fn every_version_of_nri_is_served_in_its_own_way() -> Result<()> {
    for profile in Profile::all() {
        serves(&profile, profile.valid_events).await?;
    }
    Ok(())
}

#[tokio::test]
async fn versions_as_distributions_write_them_are_understood() -> Result<()> {
    for (profile, version) in [
        (Profile::nri_0_3(), "1.7.0"),
        (Profile::nri_0_6(), "1.7.24~ds1"),
        (Profile::nri_0_6(), "v1.7.20-k3s1"),
        (Profile::nri_0_8(), "1.7.30"),
        (Profile::nri_0_8(), "2.1.9+unknown"),
        (Profile::nri_0_9(), "1.33.0-dev"),
        (Profile::nri_0_10(), "v2.2.0"),
        (Profile::nri_0_11(), "2.2.1-rc.1+azure"),
    ] {
        let profile = Profile {
            runtime_version: version,
            ..profile
        };
        serves(&profile, profile.valid_events).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_version_that_says_nothing_costs_only_the_events_that_may_be_unknown() -> Result<()> {
    let long = "x".repeat(2048);
    for version in ["", "unknown", "v2.x-dev", "\u{1f980}\n\"{}", &long] {
        for (profile, name) in [
            (Profile::nri_0_3(), "containerd"),
            (Profile::nri_0_11(), "containerd"),
            (Profile::nri_0_9(), "cri-o"),
            (Profile::nri_0_8(), ""),
        ] {
            let profile = Profile {
                runtime_name: name,
                runtime_version: version.to_owned().leak(),
                ..profile
            };
            serves(&profile, EVENTS_0_3).await?;
        }
        // Such a runtime says itself which NRI it speaks.
        let profile = Profile {
            runtime_version: version.to_owned().leak(),
            ..Profile::nri_0_12_4()
        };
        serves(&profile, EVENTS_0_10).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_nri_version_that_says_nothing_is_made_up_for_by_the_runtime_s_own() -> Result<()> {
    for nri in ["unknown", "(devel)", ""] {
        let profile = Profile {
            nri,
            ..Profile::nri_0_12_0()
        };
        serves(&profile, EVENTS_0_10).await?;
    }
    Ok(())
}
