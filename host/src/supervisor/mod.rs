//! Keeps every component connected, in order, and in step with the runtime.
//!
//! One loop looks at the state of all components whenever anything has happened, and does what is
//! due: one handshake at a time, in index order. It waits for nothing but the next event, runs no
//! component code, and no request waits for it.

mod absent;
mod backoff;
mod gate;
mod kept_out;
mod lull;
mod means;
mod member;
mod parting;
mod reason;
mod reload;
mod reset;
mod socket;
mod stuck;
mod updates;
mod watch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot};

pub use absent::Absent;
pub use means::Means;
pub use member::{Member, SessionState};
pub use reload::{ComponentReport, Files, Outcome, ReloadError, Report, log_findings};
pub use reset::{Deed, Reset, ResetError};
pub(crate) use socket::{Trouble, connect_to};

use crate::admin::notify::ServiceManager;
use crate::admin::status::Status;
use crate::component::seat::Seat;
use crate::config::{BrokenComponent, Config};
use crate::crash::History;
use crate::runtime::connection::Connection;
use gate::Gate;
use kept_out::kept_out;
use lull::Lull;
use reload::Reload;
use updates::Updates;

/// The unit is told that it is ready after this time even if required components are not: the
/// kubelet stands behind it.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// How long the host waits for its components when it ends.
const STOP_LIMIT: Duration = Duration::from_secs(4);
/// How long after the start components wait for one before them that is still being created.
const ORDER_GRACE: Duration = Duration::from_millis(500);
/// Wait after the host itself could not do its part: descriptors may be free again.
const RETRY: Duration = Duration::from_millis(100);

/// What others ask the supervisor.
#[derive(Debug)]
pub enum Question {
    /// How is everything?
    Status(oneshot::Sender<Status>),
    /// Which components are stuck and want the host to be started anew for it?
    Stuck(oneshot::Sender<Vec<String>>),
    /// Forget what keeps this component from being called.
    Reset {
        /// Its name, alone or with its index before it.
        name: String,
        /// Who wants to know what was done.
        to: oneshot::Sender<Result<Vec<Reset>, ResetError>>,
    },
    /// Bring about what the files say by now, and tell what came of it, if anybody wants to know.
    Reload(Option<oneshot::Sender<Result<Report, ReloadError>>>),
}

/// Why the supervisor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Asked,
    /// A component is stuck and wants the host to be started anew.
    Stuck,
}

/// See the module.
#[derive(Debug)]
pub struct Supervisor {
    gate: Gate,
    members: Vec<Member>,
    absent: Vec<Absent>,
    /// Seats that were left, whose threads have not ended.
    former: Vec<Arc<Seat>>,
    means: Means,
    config: Config,
    reload: Reload,
    notice: Arc<Notify>,
    updates: Updates,
    lull: Lull,
    service: ServiceManager,
    history: History,
    started: Instant,
}

impl Supervisor {
    /// Starts all components; `broken` are those that cannot be run.
    ///
    /// # Errors
    ///
    /// When the system has no thread left.
    pub fn start(
        mut config: Config,
        broken: &[BrokenComponent],
        means: Means,
        files: Files,
        service: ServiceManager,
        history: History,
    ) -> std::io::Result<Self> {
        let mut members = Vec::new();
        let mut absent: Vec<Absent> = broken.iter().map(Absent::from).collect();
        for component in std::mem::take(&mut config.components) {
            if !component.enabled {
                absent.push(Absent::Disabled(Box::new(component)));
                continue;
            }
            let kept_out = kept_out(&history, &component);
            members.push(Member::start(component, &config, &means, kept_out)?);
        }
        Ok(Self {
            gate: Gate::new(config.runtime.socket.clone()),
            members,
            absent,
            former: Vec::new(),
            notice: Arc::clone(&means.notice),
            means,
            config,
            reload: Reload::new(files),
            updates: Updates::default(),
            lull: Lull::default(),
            service,
            history,
            started: Instant::now(),
        })
    }

    /// How many components there are that are not switched off or broken.
    pub fn components(&self) -> usize {
        self.members.len()
    }

    /// Serves until `stop` is done or a component is stuck that asks for it, then ends every
    /// component in order.
    pub async fn run(
        mut self,
        mut questions: mpsc::Receiver<Question>,
        stop: impl Future,
    ) -> Ended {
        let mut stop = std::pin::pin!(stop);
        let ended = loop {
            let next = self.step(Instant::now());
            if self.ends_for_stuck() {
                break Ended::Stuck;
            }
            tokio::select! {
                () = self.notice.notified() => {}
                () = sleep_until(next) => {}
                () = self.gate.changed() => self.socket_changed(),
                found = self.reload.found() => self.take_found(found),
                Some(question) = questions.recv() => self.answer(question),
                _ = &mut stop => break Ended::Asked,
            }
        };
        // Whoever asks from now on is told at once that there is no answer any more.
        drop(questions);
        self.wind_down().await;
        ended
    }

    /// Whether the host is to be started anew because of a component, which is held against it.
    fn ends_for_stuck(&mut self) -> bool {
        let Some(stuck) = self.members.iter_mut().find_map(|m| m.ends_host.take()) else {
            return false;
        };
        let component = stuck.component.clone();
        match self.history.add(stuck) {
            Ok(()) => true,
            Err(error) => {
                // Each new start would come to the same end, for ever.
                let error = crate::chain(&error);
                tracing::error!(
                    component,
                    error,
                    "the host does not end for it, as the next start would not know"
                );
                false
            }
        }
    }

    /// Does what is due, and says when something will be due next.
    fn step(&mut self, now: Instant) -> Option<Instant> {
        let mut next = None;
        for member in &mut self.members {
            // A member that asks to be seen again now is: a session that ended waits or is due.
            while let Some(at) = member.observe(now) {
                if at > now {
                    next = earlier(next, Some(at));
                    break;
                }
            }
        }
        self.let_go();
        next = earlier(next, self.part(now));
        self.judge_runtime(now);
        next = earlier(next, self.start_handshake(now));
        next = earlier(next, self.updates.step(&self.members, &mut self.lull, now));
        next = earlier(next, self.reload_step(now));
        let ready_by = self.started + READY_LIMIT;
        let ready = self.is_ready();
        self.service.tell(ready || now >= ready_by, &self.summary());
        next = earlier(next, Some(ready_by).filter(|at| *at > now));
        earlier(next, self.service.next_ping(now))
    }

    /// Parts with components that are not to be run any more, and with seats that were left.
    fn let_go(&mut self) {
        for mut gone in self.members.extract_if(.., |member| member.has_left()) {
            tracing::info!(component = gone.plugin(), "removed by a reload");
            self.former.append(&mut gone.take_former());
            self.former.push(gone.seat);
        }
        for member in &mut self.members {
            self.former.append(&mut member.take_former());
        }
        self.former.retain(|seat| !seat.has_ended());
    }

    /// The runtime shows who it is in the handshake of any component.
    fn judge_runtime(&mut self, now: Instant) {
        for member in &mut self.members {
            if let Some(trouble) = member.take_wrong_runtime() {
                self.gate.block(trouble, now);
            } else if let Some(registered) = member.accepted_runtime() {
                self.gate.recognize(registered, now);
            }
        }
    }

    /// Connects the next component, if none is in its handshake and the socket allows it.
    fn start_handshake(&mut self, now: Instant) -> Option<Instant> {
        let busy = self
            .members
            .iter()
            .any(|m| matches!(m.session, SessionState::Handshaking(_)));
        if busy {
            return None;
        }
        if let Some(retry) = self.gate.closed_until(now) {
            return Some(retry);
        }
        if let Some(at) = self.held_for_order(now) {
            return Some(at);
        }
        let due = self
            .members
            .iter_mut()
            .filter(|member| member.handshake_turn(now).is_some())
            .min_by(|a, b| a.handshake_turn(now).cmp(&b.handshake_turn(now)))?;
        let stream = match self.gate.connect(now) {
            Ok(stream) => stream,
            Err(retry) => return Some(retry),
        };
        match Connection::new(stream) {
            Ok(connection) => {
                let traffic = &self.lull.traffic;
                Some(due.register(connection, traffic, &self.notice, now))
            }
            Err(error) => {
                tracing::error!(%error, "a connection cannot be set up");
                Some(now + RETRY)
            }
        }
    }

    /// At the start, components are created side by side, and one that is a moment behind would lose
    /// its place in the order. How long the others wait for it.
    fn held_for_order(&self, now: Instant) -> Option<Instant> {
        let until = self.started + ORDER_GRACE;
        let next = self
            .members
            .iter()
            .filter_map(|member| member.handshake_turn(now))
            .min()?;
        let (_, index, name) = next;
        let before =
            |member: &&Member| (member.config.index, member.config.name.as_str()) < (index, name);
        let behind = self.members.iter().filter(before).any(Member::is_creating);
        (behind && until > now).then_some(until)
    }

    fn socket_changed(&mut self) {
        let now = Instant::now();
        for member in &mut self.members {
            member.socket_changed(now);
        }
    }

    fn answer(&mut self, question: Question) {
        // Who asked may have gone.
        match question {
            Question::Status(to) => drop(to.send(self.status())),
            Question::Stuck(to) => drop(to.send(self.stuck(Instant::now()))),
            Question::Reset { name, to } => drop(to.send(self.reset(&name))),
            Question::Reload(asker) => self.reload.want(asker),
        }
    }

    fn stuck(&self, now: Instant) -> Vec<String> {
        let stuck = self
            .members
            .iter()
            .filter(|member| member.wants_restart(now));
        stuck.map(|member| member.plugin().to_owned()).collect()
    }

    fn status(&self) -> Status {
        let trouble = self.gate.trouble();
        let trouble = trouble.map(|trouble| (trouble.state(), trouble.to_string()));
        Status::new(
            self.gate.socket(),
            trouble,
            self.is_ready(),
            &self.members,
            &self.absent,
        )
    }

    /// Every required component is active and in step.
    fn is_ready(&self) -> bool {
        let members = self.members.iter().filter(|member| !member.leaves());
        let mut required = members.filter(|member| member.config.required);
        let absent = self
            .absent
            .iter()
            .any(|absent| matches!(absent, Absent::Broken { required: true, .. }));
        !absent && required.all(Member::is_ready)
    }

    /// One line for `systemctl status`.
    fn summary(&self) -> String {
        let count = |is: fn(&Member) -> bool| self.members.iter().filter(|m| is(m)).count();
        let broken = self
            .absent
            .iter()
            .filter(|absent| matches!(absent, Absent::Broken { .. }))
            .count();
        let failed = count(|member| member.failure().is_some()) + broken;
        let quarantined = count(|m| m.seat.quarantine.is_active() || m.kept_out().is_some());
        let all = self.members.len() + broken;
        let runtime = self.members.iter().find_map(|member| {
            let configured = member.served()?.session.progress().configured?;
            Some(format!(
                "{} {}",
                configured.runtime.name, configured.runtime.version
            ))
        });
        let runtime = runtime.unwrap_or_else(|| "no runtime".to_owned());
        let mut summary = format!("{} of {all} components active", count(Member::is_ready));
        for (number, what) in [(failed, "failed"), (quarantined, "in quarantine")] {
            if number > 0 {
                summary += &format!(", {number} {what}");
            }
        }
        format!("{summary}, {runtime}")
    }

    async fn wind_down(&mut self) {
        self.service.stopping();
        tracing::info!("stopping");
        let mut seats: Vec<&Arc<Seat>> = self.former.iter().collect();
        seats.extend(self.members.iter().flat_map(Member::seats));
        for seat in &seats {
            seat.stop("the host is stopping");
        }
        let deadline = tokio::time::sleep(STOP_LIMIT);
        let mut deadline = std::pin::pin!(deadline);
        while let Some(busy) = seats.iter().find(|seat| !seat.has_stopped()) {
            tokio::select! {
                () = self.notice.notified() => {}
                () = &mut deadline => {
                    tracing::warn!(component = busy.plugin, "did not stop in time");
                    return;
                }
            }
        }
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    [a, b].into_iter().flatten().min()
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
