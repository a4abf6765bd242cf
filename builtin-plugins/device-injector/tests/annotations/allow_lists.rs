//! What the administrator allows, and ways around it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use nri_device_injector::DeviceInjector;
use nri_plugin_api::api::ContainerAdjustment;
use nri_plugin_api::testing::{self, Harness, Outcome, json};

use crate::asking::{CDI, DEV, IOP, MNT, MPOL, NET, SCH, SYS, ask, ask_in};

#[test]
fn nothing_is_allowed_by_default_and_the_error_says_which_key_to_set() {
    for (key, value, setting) in [
        (DEV, "- path: /dev/null", "allow_devices"),
        (MNT, "- {source: /etc, destination: /x}", "allow_mounts"),
        (
            MNT,
            "- {source: tmpfs, destination: /x, type: tmpfs}",
            "allow_mounts",
        ),
        (CDI, "- a.com/x=y", "allow_cdi_devices"),
    ] {
        let reason = ask(json!({}), key, value).rejection();
        assert!(reason.contains(setting), "{reason}");
        assert!(reason.contains("component \"test\""), "{reason}");
    }
}

#[test]
fn a_device_is_judged_by_its_numbers_not_by_its_path() {
    let allowed = |rule: &str, value: &str| {
        matches!(
            ask(json!({"allow_devices": [rule]}), DEV, value),
            Outcome::Answer(_)
        )
    };
    // Whatever the container calls it.
    assert!(allowed("/dev/null", "- path: /dev/null"));
    assert!(allowed(
        "/dev/null",
        "- {path: /dev/mine, type: c, major: 1, minor: 3}"
    ));
    assert!(allowed(
        "c 1:3",
        "- {path: /dev/mine, type: c, major: 1, minor: 3}"
    ));
    assert!(allowed("/dev/nul?", "- path: /dev/null"));
    // The name of an allowed device with the numbers of another.
    assert!(!allowed(
        "/dev/null",
        "- {path: /dev/null, type: b, major: 8, minor: 0}"
    ));
    assert!(!allowed(
        "/dev/null",
        "- {path: /dev/null, type: c, major: 1, minor: 5}"
    ));
    assert!(!allowed(
        "/dev/null",
        "- {path: /dev/null, major: 8, minor: 0}"
    ));
    assert!(!allowed(
        "c 1:3",
        "- {path: /dev/null, type: b, major: 1, minor: 3}"
    ));
    assert!(!allowed("/dev/null", "- path: /dev/zero"));
    assert!(!allowed("/dev/n*", "- path: /dev/zero"));
    // What is not allowed is told beside what is wrong.
    let value = "- {path: /dev/zero, uid: x}";
    let reason = ask(json!({}), DEV, value).rejection();
    assert!(
        reason.contains("uid") && reason.contains("allow_devices"),
        "{reason}"
    );
    // One bad device spoils all.
    assert!(!allowed(
        "/dev/null",
        "[{path: /dev/null}, {path: /dev/zero}]"
    ));
}

/// A host with `/srv/data`, and links in it that lead to `/etc`.
fn host() -> io::Result<tempfile::TempDir> {
    let root = tempfile::tempdir()?;
    let at = |path: &str| root.path().join(path);
    fs::create_dir_all(at("srv/data/inner"))?;
    fs::create_dir_all(at("srv/data2"))?;
    fs::create_dir_all(at("etc/keys"))?;
    symlink("/etc", at("srv/data/absolute"))?;
    symlink("../../etc", at("srv/data/relative"))?;
    symlink("inner", at("srv/data/within"))?;
    symlink("/srv/data", at("shortcut"))?;
    symlink("/nowhere", at("srv/data/dangling"))?;
    Ok(root)
}

#[test]
fn mount_sources_are_judged_by_where_they_lead() {
    let root = host().unwrap();
    let config = json!({"allow_mounts": ["/srv/data"], "host_root": root.path()});
    let source = |source: &str| {
        let value = format!("- {{source: {source}, destination: /x}}");
        match ask(config.clone(), MNT, &value) {
            Outcome::Answer(adjustment) => Ok(adjustment.mounts[0].source.clone()),
            other => Err(other.rejection()),
        }
    };
    // What is mounted is where it leads: nobody can change that any more.
    for (asked, mounted) in [
        ("/srv/data", "/srv/data"),
        ("/srv/data/inner/", "/srv/data/inner"),
        ("/srv/data/within", "/srv/data/inner"),
        ("/srv//data", "/srv/data"),
    ] {
        assert_eq!(source(asked).as_deref(), Ok(mounted), "{asked}");
    }
    for asked in [
        "/",
        "/srv",
        "/srv/data2",
        "/etc",
        "/srv/data/..",
        "/srv/data/../data/inner",
        "/srv/data/./inner",
        // It leads to an allowed place, and is not in one itself.
        "/shortcut/inner",
        "/srv/data/../../etc",
        "/srv/data/absolute",
        "/srv/data/absolute/keys",
        "/srv/data/relative",
        "/srv/data/dangling",
        "/srv/data/absolute/../srv/data2",
    ] {
        assert!(source(asked).is_err(), "{asked}");
    }
}

#[test]
fn a_pod_does_not_learn_what_is_where_nothing_is_allowed() {
    let root = host().unwrap();
    let config = json!({"allow_mounts": ["/srv/data"], "host_root": root.path()});
    let reason = |source: &str| {
        let value = format!("- {{source: {source}, destination: /x}}");
        ask(config.clone(), MNT, &value)
            .rejection()
            .replace(source, "SOURCE")
    };
    assert_eq!(reason("/etc/keys"), reason("/etc/absent"));
    assert_eq!(
        reason("/srv/data/absolute/../../etc/keys"),
        reason("/srv/data/absolute/../../etc/absent")
    );
    assert!(reason("/srv/data/absent").contains("No such file"));
}

#[test]
fn other_types_of_mounts_do_not_get_around_the_sources() {
    let allowed = |rule: &str, value: &str| {
        matches!(
            ask(json!({"allow_mounts": [rule]}), MNT, value),
            Outcome::Answer(_)
        )
    };
    assert!(allowed(
        "tmpfs",
        "- {source: tmpfs, destination: /x, type: tmpfs}"
    ));
    // To a runtime these are bind mounts, whatever their type says.
    assert!(!allowed(
        "tmpfs",
        "- {source: /etc, destination: /x, type: tmpfs, options: [bind]}"
    ));
    assert!(!allowed(
        "tmpfs",
        "- {source: /etc, destination: /x, type: tmpfs, options: [ro, rbind]}"
    ));
    assert!(!allowed(
        "tmpfs",
        "- {source: /etc, destination: /x, type: tmpfs, options: ['ro,bind']}"
    ));
    assert!(!allowed("tmpfs", "- {source: /etc, destination: /x}"));
    assert!(!allowed(
        "tmpfs",
        "- {source: /dev/sda, destination: /x, type: ext4}"
    ));
    assert!(!allowed(
        "/srv",
        "- {source: /srv, destination: /x, type: ext4}"
    ));
    let overlay = "- {source: overlay, destination: /x, type: overlay, options: ['lowerdir=/etc']}";
    assert!(!allowed("/srv", overlay));
    assert!(!allowed("tmpfs", overlay));
}

#[test]
fn cdi_devices_are_judged_by_kind_or_name() {
    let allowed = |rule: &str, value: &str| {
        matches!(
            ask(json!({"allow_cdi_devices": [rule]}), CDI, value),
            Outcome::Answer(_)
        )
    };
    assert!(allowed(
        "acme.com/gpu",
        "[acme.com/gpu=0, acme.com/gpu=all]"
    ));
    assert!(allowed("acme.com/gpu=0", "[acme.com/gpu=0]"));
    assert!(!allowed("acme.com/gpu=0", "[acme.com/gpu=1]"));
    assert!(!allowed("acme.com/gpu", "[acme.com/gpu2=0]"));
    assert!(!allowed("acme.com/gpu", "[evil.com/gpu=0]"));
    assert!(!allowed("acme.com/gpu", "[acme.com/gpu=0, acme.com/nic=0]"));
}

#[test]
fn namespaces_are_compared_whole() {
    let config = json!({
        "allow_namespaces": ["gpu-jobs", "team-*"],
        "allow_devices": ["*"],
    });
    let ask = |namespace: &str, value: &str| ask_in(namespace, config.clone(), &[(DEV, value)]);
    for namespace in ["gpu-jobs", "team-a"] {
        let adjustment = ask(namespace, "- path: /dev/null").answer();
        assert_eq!(adjustment.linux.devices.len(), 1, "{namespace}");
    }
    for namespace in ["gpu", "gpu-job", "gpu-jobs-2", "steam-a", ""] {
        let reason = ask(namespace, "- path: /dev/null").rejection();
        assert!(reason.contains("allow_namespaces"), "{namespace}: {reason}");
    }
    // Who asks for nothing is not rejected.
    assert_eq!(ask("gpu", "[]").answer(), ContainerAdjustment::default());
}

#[test]
fn mistakes_in_the_settings_are_told_by_key_and_all_at_once() {
    let failure = Harness::<DeviceInjector>::create(json!({
        "allow_namespaces": ["a/b"],
        "allow_devices": ["/dev/null", "null", "c 1"],
        "allow_mounts": ["/srv/../etc", "bind"],
        "allow_cdi_devices": ["acme.com"],
        "allow_network_devices": ["a/b"],
        "allow_sysctls": ["net/core"],
        "allow_io_priorities": ["BE"],
        "allow_scheduling_policies": ["fifo"],
        "allow_memory_policies": ["MPOL_*"],
        "host_root": "host",
    }))
    .unwrap_err();
    let keys: Vec<&str> = failure
        .mistakes
        .iter()
        .map(|mistake| mistake.key.as_str())
        .collect();
    assert_eq!(
        keys,
        [
            "host_root",
            "allow_namespaces[0]",
            "allow_devices[1]",
            "allow_devices[2]",
            "allow_mounts[0]",
            "allow_mounts[1]",
            "allow_cdi_devices[0]",
            "allow_network_devices[0]",
            "allow_sysctls[0]",
            "allow_io_priorities[0]",
            "allow_scheduling_policies[0]",
            "allow_memory_policies[0]",
        ]
    );
    let failure = Harness::<DeviceInjector>::create(json!({"allow_device": []})).unwrap_err();
    assert!(failure.message.contains("allow_device"), "{failure}");
}

#[test]
fn a_rule_that_names_a_link_is_warned_of() {
    let root = host().unwrap();
    let config = json!({"allow_mounts": ["/shortcut", "/srv/data"], "host_root": root.path()});
    let injector = Harness::<DeviceInjector>::create(config).unwrap();
    let logs = injector.logs();
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert!(
        logs[0].message.contains("/shortcut leads to /srv/data"),
        "{logs:?}"
    );
}

#[test]
fn only_create_container_is_subscribed_to() {
    let mut injector = Harness::<DeviceInjector>::create(json!({})).unwrap();
    let methods: Vec<_> = injector
        .methods()
        .iter()
        .map(|method| method.name())
        .collect();
    assert_eq!(methods, ["CreateContainer"]);
}

#[test]
fn what_is_denied_is_left_out_and_logged_where_the_settings_say_so() {
    let config = json!({
        "allow_namespaces": ["default"],
        "allow_devices": ["/dev/null"],
        "allow_sysctls": ["net.core.*"],
        "on_denied": "drop",
    });
    let mut injector = Harness::<DeviceInjector>::create(config).unwrap();
    let mut ask = |namespace: &str, devices: &str| {
        let mut pod = testing::pod(
            "p",
            [
                (DEV, devices),
                (MNT, "- {source: /etc, destination: /x}"),
                (CDI, "- a.com/x=y"),
                ("sysctl.noderesource.dev", "{net.core.x: 1, kernel.x: 1}"),
            ],
        );
        pod.namespace = namespace.to_owned();
        injector.create_container(&pod, &testing::container(&pod, "c0"))
    };
    let adjustment = ask("default", "[{path: /dev/null}, {path: /dev/zero}]").answer();
    let linux = &adjustment.adjust.linux;
    assert_eq!(linux.devices.len(), 1);
    assert_eq!(linux.devices[0].path, "/dev/null");
    assert_eq!(linux.sysctl.keys().collect::<Vec<_>>(), ["net.core.x"]);
    assert!(adjustment.adjust.mounts.is_empty() && adjustment.adjust.CDI_devices.is_empty());

    assert!(
        ask("other", "[{path: /dev/null}]")
            .answer()
            .adjust
            .is_none()
    );
    // A mistake is one all the same.
    let reason = ask("default", "[{path: null}, {path: /dev/zero}]").rejection();
    assert!(reason.contains("entry 1: path: is missing"), "{reason}");
    assert!(!reason.contains("/dev/zero"), "{reason}");

    let logs = injector.logs();
    let left_out: Vec<_> = logs
        .iter()
        .filter(|line| line.message.contains("left out: "))
        .collect();
    assert_eq!(left_out.len(), 2, "{logs:?}");
    for part in [
        "namespace=\"default\"",
        "entry 2: c 1:5 as /dev/zero",
        "allow_mounts",
        "allow_cdi_devices",
    ] {
        assert!(left_out[0].message.contains(part), "{part}: {logs:?}");
    }
    assert!(left_out[1].message.contains("allow_namespaces"), "{logs:?}");
}

#[test]
fn only_what_is_listed_is_allowed() {
    for (key, value, setting, rule, other) in [
        (
            IOP,
            "class: IOPRIO_CLASS_BE",
            "allow_io_priorities",
            "IOPRIO_CLASS_BE",
            "IOPRIO_CLASS_IDLE",
        ),
        (
            SCH,
            "policy: SCHED_BATCH",
            "allow_scheduling_policies",
            "SCHED_BATCH",
            "SCHED_OTHER",
        ),
        (
            NET,
            "- hostIf: ens2",
            "allow_network_devices",
            "ens*",
            "ens",
        ),
        (
            SYS,
            "net.core.somaxconn: 1",
            "allow_sysctls",
            "net.core.*",
            "net.cor.*",
        ),
        (
            MPOL,
            "mode: MPOL_LOCAL",
            "allow_memory_policies",
            "MPOL_LOCAL",
            "MPOL_DEFAULT",
        ),
    ] {
        let answer = ask(json!({ setting: [rule] }), key, value).answer();
        assert_ne!(answer, ContainerAdjustment::new(), "{key}");
        for rules in [json!([]), json!([other])] {
            let reason = ask(json!({ setting: rules }), key, value).rejection();
            assert!(reason.contains(key), "{reason}");
            assert!(reason.contains(setting), "{reason}");
        }
    }
}
