//! `nri-host run`

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};

use super::CommonArgs;
use super::logging::Log;
use crate::admin::log::LogLines;
use crate::admin::notify::ServiceManager;
use crate::admin::socket::{self, Sources};
use crate::chain;
use crate::component::instance::Source;
use crate::component::load::{Libraries, Probe};
use crate::component::watchdog::Watchdog;
use crate::config::{Config, DEFAULT_LOG, Loaded, Scope};
use crate::crash::{self, History};
use crate::exit::ExitReason;
use crate::process;
use crate::supervisor::{Absent, Ended, Member, Supervisor, kept_out};

/// Questions that wait for the supervisor; more of them wait in the admin connections.
const MAX_QUESTIONS: usize = 16;

/// How long the process may take to tidy up, once its components have ended.
const TIDY_LIMIT: Duration = Duration::from_millis(500);

/// Loads the components and serves the runtime until it is told to stop.
pub(super) fn run(common: &CommonArgs) -> ExitReason {
    process::return_large_memory();
    let lines = LogLines::default();
    let log = Log::start(common.log.unwrap_or(DEFAULT_LOG), lines.clone());
    let loaded = common.load();
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    for mistake in &loaded.mistakes {
        match &mistake.scope {
            Scope::Component(Some(component)) => tracing::error!(component, "{mistake}"),
            _ => tracing::error!("{mistake}"),
        }
    }
    let Some(config) = &loaded.config else {
        tracing::error!("the configuration cannot be used: not starting");
        return ExitReason::BadConfig;
    };
    log.set_level(config.host.log);
    match serve(config, &loaded, lines) {
        Ok(reason) => reason,
        Err(error) => {
            tracing::error!("{}", chain(&*error));
            ExitReason::Failure
        }
    }
}

fn serve(
    config: &Config,
    loaded: &Loaded,
    log: LogLines,
) -> Result<ExitReason, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stop = stop_signal()?;
        spare_from_signals()?;
        let admin = socket::bind(&config.host)?;
        let notice = Arc::new(Notify::new());
        let history = crash::begin(&config.host.state_dir)?;
        let (members, absent) = start_components(config, loaded, &history, &notice)?;
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
            history,
        );
        let (questions, asked) = mpsc::channel(MAX_QUESTIONS);
        let ended = tokio::select! {
            ended = supervisor.run(asked, stop) => ended,
            never = socket::serve(admin, Sources { questions, log }) => match never {},
        };
        let reason = match ended {
            Ended::Asked => ExitReason::Done,
            Ended::Stuck => ExitReason::Stuck,
        };
        process::end_within(TIDY_LIMIT, reason);
        Ok(reason)
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
            process::end(ExitReason::Failure);
        });
    })
}

/// Signals that mean no harm, and that would end the process if nobody took them.
fn spare_from_signals() -> std::io::Result<()> {
    for kind in [SignalKind::user_defined1(), SignalKind::user_defined2()] {
        // It stays taken when nobody listens any more.
        drop(signal(kind)?);
    }
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP: the configuration is read at the start alone; nothing is done");
        }
    });
    Ok(())
}

fn start_components(
    config: &Config,
    loaded: &Loaded,
    history: &History,
    notice: &Arc<Notify>,
) -> std::io::Result<(Vec<Member>, Vec<Absent>)> {
    let watchdog = Watchdog::start()?;
    let state_dir = &config.host.state_dir;
    let probe = Probe::with_this_program().remembering(state_dir);
    let libraries = Arc::new(Libraries::new(state_dir.clone(), probe));
    let mut members = Vec::new();
    let mut absent: Vec<Absent> = loaded.broken.iter().map(Absent::from).collect();
    for component in &config.components {
        if !component.enabled {
            absent.push(Absent::Disabled {
                name: component.name.clone(),
                index: component.index,
            });
            continue;
        }
        let source = Source {
            path: component.library.clone(),
            libraries: Arc::clone(&libraries),
        };
        members.push(Member::start(
            component.clone(),
            source,
            config,
            &watchdog,
            notice,
            kept_out(history, component),
        )?);
    }
    Ok((members, absent))
}
