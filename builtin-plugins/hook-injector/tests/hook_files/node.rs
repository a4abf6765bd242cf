//! A node with folders of hook files, for tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nri_hook_injector::HookInjector;
use nri_plugin_api::api::{Container, CreateContainerResponse, Hook, Hooks, Mount};
use nri_plugin_api::testing::{self, Harness, Outcome, Value, json};

/// The folder of packages, and that of administrators.
pub(crate) const DEFAULT: &str = "/usr/share/containers/oci/hooks.d";
pub(crate) const OVERRIDE: &str = "/etc/containers/oci/hooks.d";

/// The root of a node's file system, with a program `/bin/true` and both folders.
pub(crate) struct Node {
    root: tempfile::TempDir,
}

impl Node {
    pub(crate) fn new() -> Self {
        let node = Self {
            root: tempfile::tempdir().expect("a folder for the node"),
        };
        for folder in ["/bin", DEFAULT, OVERRIDE] {
            fs::create_dir_all(node.path(folder)).expect("the node can be changed");
        }
        fs::write(node.path("/bin/true"), "#!/bin/sh\n").expect("the node can be changed");
        fs::set_permissions(node.path("/bin/true"), fs::Permissions::from_mode(0o755))
            .expect("the node can be changed");
        node
    }

    /// A node with one hook file.
    pub(crate) fn with(text: &str) -> Self {
        let node = Self::new();
        node.write(DEFAULT, "a.json", text);
        node
    }

    /// Where a path of the node is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    /// Writes a hook file in one step.
    pub(crate) fn write(&self, folder: &str, name: &str, text: &str) {
        let unfinished = self.path("/unfinished");
        fs::write(&unfinished, text).expect("the node can be changed");
        fs::rename(&unfinished, self.path(folder).join(name)).expect("the node can be changed");
    }

    /// The settings, with these changes.
    pub(crate) fn config(&self, changes: Value) -> Value {
        let mut config = json!({ "host_root": self.root.path(), "watch": false });
        let Value::Object(changes) = changes else {
            panic!("settings are an object");
        };
        config
            .as_object_mut()
            .expect("it is an object")
            .extend(changes);
        config
    }

    pub(crate) fn injector(&self) -> Injector {
        self.injector_with(json!({}))
    }

    pub(crate) fn injector_with(&self, changes: Value) -> Injector {
        let harness = Harness::create(self.config(changes));
        Injector(harness.expect("the settings are fine"))
    }
}

/// An injector at work.
pub(crate) struct Injector(pub(crate) Harness<HookInjector>);

impl Injector {
    pub(crate) fn ask(&mut self, subject: &Subject) -> Outcome<CreateContainerResponse> {
        let annotations = subject.pod_annotations.iter().copied();
        let mut pod = testing::pod("p", annotations);
        subject.namespace.clone_into(&mut pod.namespace);
        subject.handler.clone_into(&mut pod.runtime_handler);
        let container = Container {
            args: subject.args.iter().map(|arg| (*arg).to_owned()).collect(),
            mounts: subject.mounts.clone(),
            annotations: subject
                .annotations
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..testing::container(&pod, "c0")
        };
        self.0.create_container(&pod, &container)
    }

    /// The hooks that a container gets, each as `STAGE PATH ARG...`.
    #[track_caller]
    pub(crate) fn hooks(&mut self, subject: &Subject) -> Vec<String> {
        let response = self.ask(subject).answer();
        let hooks = response.adjust.unwrap_or_default().hooks;
        texts(&hooks.unwrap_or_default())
    }

    /// All that was logged, a line each.
    pub(crate) fn log(&self) -> String {
        let lines = self.0.logs();
        lines
            .iter()
            .map(|line| format!("{}\n", line.message))
            .collect()
    }
}

/// A container that is being created.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) namespace: &'static str,
    pub(crate) handler: &'static str,
    pub(crate) pod_annotations: Vec<(&'static str, &'static str)>,
    pub(crate) annotations: Vec<(&'static str, &'static str)>,
    pub(crate) args: Vec<&'static str>,
    pub(crate) mounts: Vec<Mount>,
}

/// A container that runs this program.
pub(crate) fn runs(command: &'static str) -> Subject {
    Subject {
        args: vec![command],
        ..Subject::default()
    }
}

/// A container of a pod with these annotations.
pub(crate) fn annotated(annotations: &[(&'static str, &'static str)]) -> Subject {
    Subject {
        pod_annotations: annotations.to_vec(),
        ..runs("/bin/sh")
    }
}

/// A container with one mount.
pub(crate) fn mounts(kind: &str, destination: &str, options: &[&str]) -> Subject {
    Subject {
        mounts: vec![Mount {
            type_: kind.to_owned(),
            destination: destination.to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            ..Mount::default()
        }],
        ..runs("/bin/sh")
    }
}

fn texts(hooks: &Hooks) -> Vec<String> {
    let stages: [(&str, &[Hook]); 6] = [
        ("prestart", &hooks.prestart),
        ("createRuntime", &hooks.create_runtime),
        ("createContainer", &hooks.create_container),
        ("startContainer", &hooks.start_container),
        ("poststart", &hooks.poststart),
        ("poststop", &hooks.poststop),
    ];
    let mut texts = Vec::new();
    for (stage, hooks) in stages {
        for hook in hooks {
            let mut text = format!("{stage} {}", hook.path);
            for part in hook.args.iter().chain(&hook.env) {
                text.push(' ');
                text.push_str(part);
            }
            if let Some(timeout) = hook.timeout.as_ref() {
                text.push_str(&format!(" {}s", timeout.value));
            }
            texts.push(text);
        }
    }
    texts
}

/// Whether a file is named in a text, with this line.
pub(crate) fn place(folder: &str, name: &str, line: usize) -> String {
    let path = Path::new(folder).join(name);
    format!("{}:{line}: ", path.display())
}
