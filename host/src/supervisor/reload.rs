//! `nri-host reload` and SIGHUP: what the files say by now is brought about, and what is not changed
//! by that goes on undisturbed.
//!
//! One at a time: whoever asks while one is under way shares the next with all others who do.

mod changes;
mod plan;
mod reading;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Supervisor;
use super::member::{Member, SessionState};
use crate::component::inspect::Digest;
use crate::component::seat::Condition;
use crate::config::{Config, HostConfig, RuntimeConfig};
use plan::{Known, plan};
pub use reading::Files;
use reading::Found;
pub use reading::log_findings;
pub use report::{ComponentReport, Outcome, ReloadError, Report};

/// How long a reload may take to read all files, and then how long it waits for calls to end.
const LIMIT: Duration = Duration::from_secs(60);
/// How long an answer waits for components that are there to be active as well.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);
/// Who wants to know what came of it.
pub(super) type Asker = oneshot::Sender<Result<Report, ReloadError>>;

/// See the module.
#[derive(Debug)]
pub(super) struct Reload {
    files: Files,
    stage: Stage,
    /// Another one is to follow.
    wanted: bool,
    /// Who waits for it.
    askers: Vec<Asker>,
    /// By name of component, what was loaded for it.
    generations: BTreeMap<String, BTreeSet<Digest>>,
}

#[derive(Debug)]
enum Stage {
    Idle,
    Reading {
        found: oneshot::Receiver<Found>,
        askers: Vec<Asker>,
        until: Instant,
        /// It was said that nothing comes of it.
        given_up: bool,
    },
    Changing {
        report: Report,
        askers: Vec<Asker>,
        until: Instant,
        /// All is done, and what was started gets until then to be active.
        settles_until: Option<Instant>,
    },
}

impl Reload {
    pub(super) fn new(files: Files) -> Self {
        Self {
            files,
            stage: Stage::Idle,
            wanted: false,
            askers: Vec::new(),
            generations: BTreeMap::new(),
        }
    }

    /// Has another one follow.
    pub(super) fn want(&mut self, asker: Option<Asker>) {
        self.wanted = true;
        self.askers.extend(asker);
    }

    /// Waits for what is being read; `None` if that has failed. Cancel-safe.
    pub(super) async fn found(&mut self) -> Option<Found> {
        match &mut self.stage {
            Stage::Reading { found, .. } => found.await.ok(),
            _ => std::future::pending().await,
        }
    }

    fn begin(&mut self, now: Instant) {
        self.wanted = false;
        let askers = std::mem::take(&mut self.askers);
        match reading::start(&self.files) {
            Ok(found) => {
                tracing::info!("reloading");
                self.stage = Stage::Reading {
                    found,
                    askers,
                    until: now + LIMIT,
                    given_up: false,
                };
            }
            Err(error) => answer(askers, &Err(ReloadError::NoThread(error.to_string()))),
        }
    }

    /// Nothing comes of what is being read. Whoever asks before it is, waits behind the same file.
    fn give_up(&mut self) {
        let Stage::Reading {
            askers, given_up, ..
        } = &mut self.stage
        else {
            return;
        };
        if !std::mem::replace(given_up, true) || std::mem::take(&mut self.wanted) {
            self.wanted = false;
            let mut all = std::mem::take(askers);
            all.append(&mut self.askers);
            let error = ReloadError::Reading {
                limit_seconds: LIMIT.as_secs(),
            };
            tracing::error!("{error}: nothing is changed");
            answer(all, &Err(error));
        }
    }
}

impl Supervisor {
    /// Does what is due of a reload, and says when to look again at the latest.
    pub(super) fn reload_step(&mut self, now: Instant) -> Option<Instant> {
        if let Stage::Idle = self.reload.stage
            && self.reload.wanted
        {
            self.reload.begin(now);
        }
        self.collect_outcomes();
        match &mut self.reload.stage {
            Stage::Idle => None,
            Stage::Reading { until, .. } => {
                if *until > now {
                    return Some(*until);
                }
                self.reload.give_up();
                None
            }
            Stage::Changing { .. } => self.observe_changes(now),
        }
    }

    fn collect_outcomes(&mut self) {
        let Stage::Changing { report, .. } = &mut self.reload.stage else {
            return;
        };
        for member in &mut self.members {
            if let Some((outcome, reason)) = member.take_outcome() {
                report.components.push(ComponentReport {
                    component: member.plugin().to_owned(),
                    outcome,
                    reason,
                });
            }
        }
    }

    fn observe_changes(&mut self, now: Instant) -> Option<Instant> {
        let Stage::Changing {
            report,
            until,
            settles_until,
            ..
        } = &mut self.reload.stage
        else {
            return None;
        };
        let changing = || self.members.iter().filter(|member| member.is_changing());
        if changing().next().is_some() {
            if *until > now {
                return Some(*until);
            }
            // They wait for the end of a call, which the runtime gives more time than that.
            changing().for_each(Member::end_session);
            return None;
        }
        let settles_until = *settles_until.get_or_insert(now + SETTLE_LIMIT);
        let may_connect = self.gate.trouble().is_none();
        let is_new = |member: &Member| {
            let mut reports = report.components.iter();
            reports.any(|it| it.outcome != Outcome::Unchanged && it.component == member.plugin())
        };
        let mut connecting = self.members.iter().filter(|member| {
            let is_active = matches!(
                &member.session,
                SessionState::Active(served)
                    if served.session.goes_on() && !member.is_parting()
            );
            matches!(member.seat.condition(), Condition::Ready) && !is_active && is_new(member)
        });
        if may_connect && settles_until > now && connecting.next().is_some() {
            return Some(settles_until);
        }
        self.finish_reload();
        // Another one may follow.
        self.reload.wanted.then_some(now)
    }

    fn finish_reload(&mut self) {
        let stage = std::mem::replace(&mut self.reload.stage, Stage::Idle);
        let Stage::Changing {
            mut report, askers, ..
        } = stage
        else {
            return;
        };
        report
            .components
            .sort_by(|a, b| a.component.cmp(&b.component));
        let count = |outcome| {
            let outcomes = report.components.iter().map(|component| component.outcome);
            outcomes.filter(|other| *other == outcome).count()
        };
        tracing::info!(
            unchanged = count(Outcome::Unchanged),
            changed = count(Outcome::Changed),
            restarted = count(Outcome::Restarted),
            added = count(Outcome::Added),
            removed = count(Outcome::Removed),
            failed = count(Outcome::Failed),
            "reloaded"
        );
        answer(askers, &Ok(report));
    }

    /// Begins to bring about what was read; `None` if that has failed.
    pub(super) fn take_found(&mut self, found: Option<Found>) {
        let stage = std::mem::replace(&mut self.reload.stage, Stage::Idle);
        let Stage::Reading {
            askers, given_up, ..
        } = stage
        else {
            return;
        };
        if given_up {
            return;
        }
        let now = Instant::now();
        let Some(Found { loaded, libraries }) = found else {
            let gone = "it ended before it had read everything".to_owned();
            return answer(askers, &Err(ReloadError::NoThread(gone)));
        };
        log_findings(&loaded);
        let Some(config) = loaded.config else {
            tracing::error!("the configuration cannot be used: nothing is changed");
            let mistakes = loaded.mistakes.iter().map(ToString::to_string).collect();
            return answer(askers, &Err(ReloadError::Config { mistakes }));
        };
        self.note_generations();
        let needs_restart = self.take_over(&config);
        for key in &needs_restart {
            tracing::warn!(key, "changed, which takes a restart of the host");
        }
        let (places, known): (Vec<usize>, Vec<Known<'_>>) = self.known().unzip();
        let plan = plan(&known, &config.components, &loaded.broken);
        let mut report = Report {
            needs_restart,
            ..Report::default()
        };
        self.carry_out(plan, &places, &libraries, &mut report, now);
        self.reload.stage = Stage::Changing {
            report,
            askers,
            until: now + LIMIT,
            settles_until: None,
        };
    }

    /// Takes over what concerns the host as a whole, and says what it cannot.
    fn take_over(&mut self, config: &Config) -> Vec<String> {
        let RuntimeConfig {
            socket,
            expect_runtime,
            handshake_timeout,
        } = &config.runtime;
        let HostConfig {
            component_dirs,
            runtime_dir,
            state_dir,
            fail_exempt_namespaces,
            log,
            metrics_listen,
        } = &config.host;
        let Config { runtime, host, .. } = &mut self.config;
        runtime.expect_runtime.clone_from(expect_runtime);
        runtime.handshake_timeout = *handshake_timeout;
        for member in &mut self.members {
            member.runtime.clone_from(runtime);
            // Also of those that go on as before otherwise.
            let exempt = fail_exempt_namespaces.clone();
            member.seat.set_fail_exempt_namespaces(exempt);
        }
        host.component_dirs.clone_from(component_dirs);
        host.fail_exempt_namespaces
            .clone_from(fail_exempt_namespaces);
        host.log = *log;
        (self.reload.files.set_log)(*log);
        [
            ("runtime.socket", *socket != runtime.socket),
            ("host.runtime_dir", *runtime_dir != host.runtime_dir),
            ("host.state_dir", *state_dir != host.state_dir),
            (
                "host.metrics_listen",
                *metrics_listen != host.metrics_listen,
            ),
        ]
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(key, _)| key.to_owned())
        .collect()
    }
}

fn answer(askers: Vec<Asker>, answer: &Result<Report, ReloadError>) {
    for asker in askers {
        // Who asked may have gone.
        let _ = asker.send(answer.clone());
    }
}

#[cfg(test)]
mod tests;
