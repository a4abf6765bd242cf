//! `nri-host run`

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};

use super::CommonArgs;
use super::logging::Log;
use crate::admin::log::LogLines;
use crate::admin::notify::ServiceManager;
use crate::admin::socket::{self, AdminSocket, Sources};
use crate::admin::tcp;
use crate::chain;
use crate::component::load::{Libraries, Probe};
use crate::component::watchdog::Watchdog;
use crate::config::{BrokenComponent, Config, DEFAULT_LOG};
use crate::crash;
use crate::exit::ExitReason;
use crate::process;
use crate::supervisor::{Ended, Files, Means, Question, Supervisor, log_findings};

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
    log_findings(&loaded);
    let Some(config) = loaded.config else {
        tracing::error!("the configuration cannot be used: not starting");
        return ExitReason::BadConfig;
    };
    log.set_level(config.host.log);
    let again = common.clone();
    let files = Files {
        read: Arc::new(move || again.load()),
        set_log: log.level_setter(),
    };
    let (questions, asked) = mpsc::channel(MAX_QUESTIONS);
    let sources = Sources {
        questions,
        log: lines,
        dropped_lines: log.dropped_lines(),
        started: SystemTime::now(),
    };
    match serve(config, &loaded.broken, files, sources, asked) {
        Ok(reason) => reason,
        Err(error) => {
            tracing::error!("{}", chain(&*error));
            ExitReason::Failure
        }
    }
}

fn serve(
    config: Config,
    broken: &[BrokenComponent],
    files: Files,
    sources: Sources,
    asked: mpsc::Receiver<Question>,
) -> Result<ExitReason, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stop = stop_signal()?;
        spare_from_signals()?;
        reload_on_hangup(sources.questions.clone())?;
        let admin = socket::bind(&config.host)?;
        let history = crash::begin(&config.host.state_dir)?;
        let means = means(&config)?;
        let socket = config.runtime.socket.clone();
        let metrics = config.host.metrics_listen;
        let service = ServiceManager::from_environment();
        let supervisor = Supervisor::start(config, broken, means, files, service, history)?;
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            components = supervisor.components(),
            socket = %socket.display(),
            "started"
        );
        let ended = tokio::select! {
            ended = supervisor.run(asked, stop) => ended,
            never = answer(admin, metrics, sources) => match never {},
        };
        let reason = match ended {
            Ended::Asked => ExitReason::Done,
            Ended::Stuck => ExitReason::Stuck,
        };
        process::end_within(TIDY_LIMIT, reason);
        Ok(reason)
    })
}

fn means(config: &Config) -> std::io::Result<Means> {
    let state_dir = &config.host.state_dir;
    let probe = Probe::with_this_program().remembering(state_dir);
    Ok(Means {
        libraries: Arc::new(Libraries::new(state_dir.clone(), probe)),
        watchdog: Watchdog::start()?,
        notice: Arc::new(Notify::new()),
    })
}

/// Answers on the admin socket, and over TCP where that is wanted.
async fn answer(admin: AdminSocket, metrics: Option<SocketAddr>, sources: Sources) -> Infallible {
    let Some(address) = metrics else {
        return socket::serve(admin, sources).await;
    };
    tokio::select! {
        never = socket::serve(admin, sources.clone()) => never,
        never = tcp::serve(address, sources) => never,
    }
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
    Ok(())
}

/// SIGHUP: what the files say by now is brought about.
fn reload_on_hangup(ask: mpsc::Sender<Question>) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // Nobody takes questions any more when the host is stopping.
            if ask.send(Question::Reload(None)).await.is_err() {
                break;
            }
        }
    });
    Ok(())
}
