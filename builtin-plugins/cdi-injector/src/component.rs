//! The component: from a request to an adjustment.

use std::sync::Arc;
use std::time::Duration;

use nri_node_files::Watcher;
use nri_plugin_api::annotations::Annotation;
use nri_plugin_api::api::{CDIDevice, User};
use nri_plugin_api::cdi::DeviceName;
use nri_plugin_api::{Adjustment, Command, Component, CreateContainer, Error, Host, Resources};

use crate::annotation;
use crate::catalog::Catalog;
use crate::commands::COMMANDS;
use crate::edits::resolve;
use crate::health::Reporter;
use crate::index::{Index, Problem};
use crate::problems::Problems;
use crate::runtime::{Capabilities, is_native};
use crate::settings::{RawSettings, Settings};
use crate::translate::Translator;
use crate::watch;

/// How long `create` waits for the files to be read. Folders of a network that does not answer must
/// not keep the component from being there: without devices it says so.
const FIRST_SCAN: Duration = Duration::from_secs(2);

/// How many problems are told when a device is unknown.
const MAX_HINTS: usize = 3;

/// An instance of the CDI injector.
#[derive(Debug)]
pub struct CdiInjector {
    settings: Settings,
    catalog: Arc<Catalog>,
    watcher: Watcher,
    reporter: Arc<Reporter>,
    host: Host,
}

#[nri_plugin_api::component(id = "dev.nri-host.cdi-injector")]
impl Component for CdiInjector {
    type Config = RawSettings;
    const COMMANDS: &'static [Command<Self>] = COMMANDS;

    fn create(config: RawSettings, host: Host) -> Result<Self, Error> {
        let settings = Settings::check(&config, host.name())?;
        let catalog = Arc::new(Catalog::new(settings.folders.clone()));
        let reporter = Arc::new(Reporter::new(host.clone(), Arc::clone(&catalog)));
        let watcher = watch::start(Arc::clone(&catalog), Arc::clone(&reporter), host.clone())
            .map_err(|error| Error::from(error).context("cannot watch the folders of CDI files"))?;
        catalog.wait_scanned(FIRST_SCAN);
        Ok(Self {
            settings,
            catalog,
            watcher,
            reporter,
            host,
        })
    }

    fn create_container(&mut self, request: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        let Some(annotation) = annotation::find(request) else {
            return Ok(Adjustment::new());
        };
        let mut names = self.requested(request, annotation)?;
        let container = request.container()?;
        // The runtime applies what the kubelet asked for by itself.
        names.retain(|name| {
            let by_runtime = |device: &CDIDevice| device.name == name.as_str();
            !container.CDI_devices.iter().any(by_runtime)
        });
        if names.is_empty() {
            return Ok(Adjustment::new());
        }
        let runtime = self.host.runtime();
        let index = self.catalog.index();
        let native = is_native(self.settings.mode, runtime.as_ref());
        let adjustment = if native {
            self.native(&index, &names)?
        } else {
            let user = container.user.as_ref();
            self.resolved(&index, &names, Capabilities::of(runtime.as_ref()), user)?
        };
        tracing::info!(
            namespace = request.pod_namespace(),
            pod = request.pod_name(),
            container = request.container_name(),
            devices = list(&names),
            by = if native {
                "the runtime"
            } else {
                "cdi-injector"
            },
            "injected"
        );
        Ok(adjustment)
    }
}

impl CdiInjector {
    /// The devices that are asked for, all of them allowed.
    fn requested(
        &self,
        request: &CreateContainer<'_>,
        annotation: Annotation<'_>,
    ) -> Result<Vec<DeviceName>, Error> {
        let mut problems = Problems::default();
        let names = annotation::names(annotation, &mut problems);
        let namespace = request.pod_namespace();
        for name in &names {
            if !self.settings.allow.allows(namespace, name) {
                problems.add(format_args!(
                    "{}: {name} is not allowed in namespace {namespace:?} on this node: the \
                     administrator can add an entry to `allow` of component {:?}",
                    annotation.key, self.settings.component
                ));
            }
        }
        problems.into_result()?;
        Ok(names)
    }

    /// Gives the names to the runtime. It may read other folders, so it decides whether it knows
    /// them.
    fn native(&self, index: &Index, names: &[DeviceName]) -> Result<Adjustment, Error> {
        let mut adjustment = Adjustment::new();
        for name in names {
            if index.find(name).is_none() {
                self.watcher.look_again();
                tracing::warn!("no CDI file here defines {name}: it is up to the runtime");
            }
            adjustment.add_cdi_device(name.as_str())?;
        }
        Ok(adjustment)
    }

    /// Gives the runtime what the CDI files say.
    fn resolved(
        &self,
        index: &Index,
        names: &[DeviceName],
        capabilities: Capabilities,
        user: Option<&User>,
    ) -> Result<Adjustment, Error> {
        let edits = match resolve(index, names) {
            Ok(edits) => edits,
            Err(unknown) => {
                self.watcher.look_again();
                return Err(self.unknown(index, &unknown));
            }
        };
        let mut problems = Problems::default();
        let mut translator = Translator {
            capabilities,
            on_unsupported: self.settings.on_unsupported,
            host_root: &self.settings.host_root,
            user,
            problems: &mut problems,
            gaps: Vec::new(),
            resources: Resources::new(),
        };
        let adjustment = translator.adjustment(&edits);
        let gaps = translator.gaps;
        problems.into_result()?;
        for gap in &gaps {
            tracing::warn!("left out: {gap}");
        }
        if !gaps.is_empty() {
            self.reporter.add_left_out(gaps.len() as u64);
        }
        Ok(adjustment)
    }

    /// Says which devices no file defines, and what may be the reason.
    fn unknown(&self, index: &Index, names: &[&DeviceName]) -> Error {
        let mut problems = Problems::default();
        let is_scanned = self.catalog.is_scanned();
        for name in names {
            match is_scanned {
                true => problems.add(format_args!("no CDI file that can be used defines {name}")),
                false => {
                    problems.add(format_args!(
                        "CDI files are not read yet: {name} may come later"
                    ));
                }
            }
        }
        for hint in hints(index, names).take(MAX_HINTS) {
            problems.add(hint);
        }
        let result = problems.into_result();
        result.expect_err("a problem was added")
    }
}

/// What may be the reason that devices are unknown: what is wrong with files of their kinds. Files
/// that cannot be read may be of any kind; what they say is no business of the pod's author.
fn hints(index: &Index, names: &[&DeviceName]) -> impl Iterator<Item = String> {
    let problems = index.problems().iter();
    let theirs = problems.clone().filter(|problem| {
        let kind = problem.kind.as_deref();
        kind.is_some_and(|kind| names.iter().any(|name| name.kind() == kind))
    });
    let unread = problems.filter(|problem| problem.kind.is_none());
    let place = |problem: &Problem| match problem.line {
        Some(line) => format!("{}:{line}: cannot be used", problem.path.display()),
        None => format!("{}: cannot be used", problem.path.display()),
    };
    theirs.map(Problem::to_string).chain(unread.map(place))
}

/// Items for a text, separated by commas.
fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}
