//! The component: from a request to hooks.

use std::fmt::Write;
use std::sync::Arc;

use nri_node_files::Watcher;
use nri_plugin_api::{Adjustment, Command, Component, CreateContainer, Error, Host};

use crate::hook::Subject;
use crate::loader::Loader;
use crate::settings::{RawSettings, Settings};
use crate::table::{ActiveHook, Current, Table};
use crate::{commands, cri_o, inject, report, subject, watch};

/// How many hooks a line of the log names.
const MAX_LOGGED: usize = 16;

/// An instance of the hook injector.
#[derive(Debug)]
pub struct HookInjector {
    settings: Settings,
    current: Arc<Current>,
    host: Host,
    /// Whether it was said that hooks run twice, since that is said once.
    has_warned: bool,
    /// Keeps `current` up to date as long as it is here.
    _watcher: Option<Watcher>,
}

#[nri_plugin_api::component(id = "dev.nri-host.hook-injector")]
impl Component for HookInjector {
    type Config = RawSettings;
    const COMMANDS: &'static [Command<Self>] = commands::COMMANDS;

    fn create(config: RawSettings, host: Host) -> Result<Self, Error> {
        let settings = Settings::check(&config)?;
        let mut loader = Loader::new(settings.host.clone(), settings.hook_dirs.clone());
        let table = loader.load();
        report::start(&table, &host);
        let current = Arc::new(Current::new(table));
        let watcher = if settings.watch {
            let started = watch::start(loader, Arc::clone(&current), host.clone());
            Some(started.map_err(|error| Error::from(error).context("cannot watch hook files"))?)
        } else {
            None
        };
        Ok(Self {
            settings,
            current,
            host,
            has_warned: false,
            _watcher: watcher,
        })
    }

    fn create_container(&mut self, request: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        let table = self.current.get();
        let pod = request.pod_view();
        if table.hooks.is_empty()
            || self
                .settings
                .exclude(pod.namespace(), pod.runtime_handler())
        {
            return Ok(Adjustment::new());
        }
        if !self.has_warned
            && let Some(warning) = cri_o::warning(&table, &self.host)
        {
            self.has_warned = true;
            tracing::warn!("{warning}");
        }
        let subject = subject::of_request(request, self.settings.bind_mounts)?;
        let hooks = matching(&table, &subject)?;
        log(request, &hooks);
        Ok(inject::adjustment(&hooks))
    }
}

/// The hooks that run for a container, in their order.
///
/// # Errors
///
/// A rejection, if it cannot be said of some hook whether it does.
fn matching<'t>(table: &'t Table, subject: &Subject<'_>) -> Result<Vec<&'t ActiveHook>, Error> {
    let mut matching = Vec::new();
    let mut undecided = String::new();
    for hook in &table.hooks {
        match hook.holds_for(subject) {
            Ok(true) => matching.push(hook),
            Ok(false) => {}
            Err(why) => {
                let separator = if undecided.is_empty() { "" } else { "; " };
                let _ = write!(undecided, "{separator}{}: {why}", hook.file().display());
            }
        }
    }
    if undecided.is_empty() {
        Ok(matching)
    } else {
        Err(Error::reject(undecided))
    }
}

/// One line for the record of who got what.
fn log(request: &CreateContainer<'_>, hooks: &[&ActiveHook]) {
    if hooks.is_empty() {
        return;
    }
    let mut list = String::new();
    for hook in hooks.iter().take(MAX_LOGGED) {
        let separator = if list.is_empty() { "" } else { ", " };
        let _ = write!(list, "{separator}{}", hook.file().display());
        for stage in hook.stages() {
            let _ = write!(list, " {}", stage.name());
        }
    }
    if hooks.len() > MAX_LOGGED {
        let _ = write!(list, " and {} more", hooks.len() - MAX_LOGGED);
    }
    tracing::info!(
        namespace = request.pod_namespace(),
        pod = request.pod_name(),
        container = request.container_name(),
        hooks = list,
        "injected"
    );
}
