//! `nri-host run`

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};

use super::logging::Log;
use super::{CommonArgs, complain};
use crate::admin::notify::ServiceManager;
use crate::admin::socket;
use crate::chain;
use crate::component::border::{end_process, return_large_memory};
use crate::component::inspect::inspect;
use crate::component::load::{Libraries, Library};
use crate::component::watchdog::Watchdog;
use crate::config::{ComponentConfig, Config, DEFAULT_LOG, Loaded};
use crate::exit::ExitReason;
use crate::supervisor::{Absent, Member, Supervisor};

/// Questions that wait for the supervisor; more of them wait in the admin connections.
const MAX_QUESTIONS: usize = 16;

/// Loads the components and serves the runtime until it is told to stop.
pub(super) fn run(common: &CommonArgs) -> ExitReason {
    return_large_memory();
    let log = Log::start(common.log.unwrap_or(DEFAULT_LOG));
    let loaded = common.load();
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    for mistake in &loaded.mistakes {
        tracing::error!("{mistake}");
    }
    let Some(config) = &loaded.config else {
        tracing::error!("the configuration cannot be used: not starting");
        return ExitReason::BadConfig;
    };
    log.set_level(config.host.log);
    match serve(config, &loaded) {
        Ok(()) => ExitReason::Done,
        Err(error) => {
            tracing::error!("{}", chain(&*error));
            complain(&*error);
            ExitReason::Failure
        }
    }
}

fn serve(config: &Config, loaded: &Loaded) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stop = stop_signal()?;
        let admin = socket::bind(&config.host.runtime_dir)?;
        let notice = Arc::new(Notify::new());
        let (members, absent) = start_components(config, loaded, &notice)?;
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            components = members.len(),
            socket = %config.runtime.socket.display(),
            "started"
        );
        let service = ServiceManager::from_environment();
        let supervisor = Supervisor::new(
            config.runtime.socket.clone(),
            members,
            absent,
            notice,
            service,
        );
        let (ask, questions) = mpsc::channel(MAX_QUESTIONS);
        tokio::join!(supervisor.run(questions, stop), socket::serve(admin, ask));
        Ok(())
    })
}

/// SIGTERM or SIGINT; a second one ends the process at once.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::task::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            end_process(ExitReason::Failure);
        });
    })
}

fn start_components(
    config: &Config,
    loaded: &Loaded,
    notice: &Arc<Notify>,
) -> std::io::Result<(Vec<Member>, Vec<Absent>)> {
    let watchdog = Watchdog::start()?;
    let libraries = Libraries::new(config.host.state_dir.clone());
    let mut members = Vec::new();
    let mut absent: Vec<Absent> = loaded.broken.iter().map(Absent::from).collect();
    for component in &config.components {
        let (name, index) = (component.name.clone(), component.index);
        if !component.enabled {
            absent.push(Absent::Disabled { name, index });
            continue;
        }
        let started = load(component, &libraries).and_then(|library| {
            Member::start(component.clone(), library, config, &watchdog, notice)
                .map_err(|error| format!("its thread cannot be started: {error}"))
        });
        match started {
            Ok(member) => members.push(member),
            Err(reason) => {
                tracing::error!(component = component.plugin_name(), "{reason}");
                let required = component.required;
                absent.push(Absent::Broken {
                    name: Some(name),
                    index: Some(index),
                    required,
                    reason,
                });
            }
        }
    }
    Ok((members, absent))
}

fn load(component: &ComponentConfig, libraries: &Libraries) -> Result<Arc<Library>, String> {
    let inspected = inspect(&component.library).map_err(|error| chain(&error))?;
    for warning in &inspected.warnings {
        tracing::warn!(component = component.plugin_name(), "{warning}");
    }
    libraries.load(&inspected).map_err(|error| chain(&error))
}
