//! From an accepted connection to a plugin that gets events.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nri_plugin_api::api;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout_at;
use ttrpc::{Code, Response};

use super::board::{Board, Complaint};
use super::connection::Stage;
use super::fault::{Fault, Step, Victim};
use super::mux::{End, Limits};
use super::raw::RawConnection;
use super::session::{Registration, Session, Subscription, Synchronized};
use super::{RegisterReply, rpc, sync};

/// Why a handshake did not lead to an active plugin.
enum Stop {
    /// The connection ended, or is to be closed.
    Ended(End),
    /// It stays open and gets nothing more.
    Dead,
}

impl From<&'static str> for Stop {
    fn from(reason: &'static str) -> Self {
        Self::Ended(End::Closed(reason))
    }
}

/// Serves one connection until its plugin is active or the handshake has failed. The session is
/// put into `current` when it starts.
pub(super) async fn serve(
    board: Arc<Board>,
    number: usize,
    socket: UnixStream,
    current: &OnceLock<Arc<Session>>,
) {
    let fault = board.next_fault();
    let limits = match &fault {
        Some(Fault::Raw) => {
            return board.change(|state| state.raw.push_back(RawConnection::new(socket)));
        }
        Some(Fault::CutOff(limits)) => *limits,
        Some(Fault::Hold(Step::Read)) => {
            hold(&board, number, Step::Read).await;
            Limits::default()
        }
        Some(Fault::Close(Step::Read)) => {
            return board.ended(number, &End::Closed("before reading"), Vec::new());
        }
        _ => Limits::default(),
    };
    let (session, registrations) = match Session::start(&board, number, socket, limits).await {
        Ok(started) => started,
        Err(_) => {
            let end = End::Closed("the fake runtime cannot serve it");
            return board.ended(number, &end, Vec::new());
        }
    };
    let session = current.get_or_init(|| session);
    let mut handshake = Handshake {
        board: Arc::clone(&board),
        session: Arc::clone(session),
        registrations,
        faults: fault.into_iter().collect(),
        started: Instant::now(),
    };
    let result = tokio::select! {
        result = handshake.run() => result,
        end = session.trunk.ended() => Err(Stop::Ended(end)),
    };
    match result {
        Ok(()) => {
            activate(&board, session);
            tokio::spawn(watch(board, Arc::clone(session)));
        }
        Err(Stop::Dead) => {
            board.change(|state| {
                state.connections[number - 1].reach(Stage::Dead);
                state.dead.push(Arc::clone(session));
            });
            tokio::spawn(watch(board, Arc::clone(session)));
        }
        Err(Stop::Ended(end)) => {
            session.trunk.close("the handshake failed");
            board.ended(number, &end, session.trunk.take_violations());
        }
    }
}

/// Puts the plugin among those that are called, in the order of indexes.
fn activate(board: &Board, session: &Arc<Session>) {
    if board.settings.replaces_namesakes {
        let active = board.state().active.clone();
        for older in active.iter().filter(|older| older.name() == session.name()) {
            older.trunk.close("another plugin took its name");
        }
    }
    board.change(|state| {
        state.connections[session.number - 1].reach(Stage::Active);
        state.active.push(Arc::clone(session));
        // Stable, so that equal indexes stay in the order of connecting.
        state
            .active
            .sort_by(|a, b| a.name()[..2].cmp(&b.name()[..2]));
    });
}

/// Waits for the end of a connection and notes it.
async fn watch(board: Arc<Board>, session: Arc<Session>) {
    let end = session.trunk.ended().await;
    board.ended(session.number, &end, session.trunk.take_violations());
}

/// Stands still until the test releases what is held.
async fn hold(board: &Board, number: usize, step: Step) {
    let mut releases = board.releases.subscribe();
    releases.borrow_and_update();
    board.note(number, |connection| connection.held = Some(step));
    releases
        .changed()
        .await
        .expect("the sender lives in the board");
    board.note(number, |connection| connection.held = None);
}

struct Handshake {
    board: Arc<Board>,
    session: Arc<Session>,
    registrations: mpsc::UnboundedReceiver<Registration>,
    faults: Vec<Fault>,
    started: Instant,
}

impl Handshake {
    async fn run(&mut self) -> Result<(), Stop> {
        self.before(Step::Read).await?;
        let Registration { request, answer } = self.registration().await?;
        self.identify(&request);
        self.before(Step::Register).await?;
        if let Some(refusal) = self.refusal(&request) {
            // Nobody waits for the answer if the plugin is gone, which the caller sees.
            let _ = answer.send(refusal);
            return Err(Stop::Dead);
        }
        let empty = rpc::ok(Vec::new());
        if self.board.settings.register_reply == RegisterReply::First
            || self.faults.iter().any(|fault| at(fault, Step::Configure))
        {
            let _ = answer.send(empty);
            self.before(Step::Configure).await?;
            self.configure().await?;
        } else {
            self.configure().await?;
            let _ = answer.send(empty);
        }
        self.before(Step::Synchronize).await?;
        self.synchronize().await?;
        self.before(Step::Activate).await
    }

    /// Lets the faults happen that were ordered for this step.
    async fn before(&mut self, step: Step) -> Result<(), Stop> {
        let (now, later) = self.faults.drain(..).partition(|fault| at(fault, step));
        self.faults = later;
        let now: Vec<Fault> = now;
        for fault in now {
            match fault {
                Fault::Hold(Step::Read) => {}
                Fault::Hold(step) => hold(&self.board, self.session.number, step).await,
                Fault::Close(_) => return Err("as the test wanted it".into()),
                Fault::HalfClose(_) => self.session.trunk.half_close(),
                Fault::Send(_, bytes) => self.session.trunk.send_raw(bytes),
                Fault::RefuseRegistration | Fault::CutOff(_) | Fault::Raw => {}
            }
        }
        Ok(())
    }

    async fn registration(&mut self) -> Result<Registration, Stop> {
        let deadline = self.started + self.board.settings.registration_timeout;
        match timeout_at(deadline.into(), self.registrations.recv()).await {
            Ok(Some(registration)) => Ok(registration),
            Ok(None) => Err("the server is gone".into()),
            Err(_) => Err("no RegisterPlugin in time".into()),
        }
    }

    fn identify(&mut self, request: &api::RegisterPluginRequest) {
        let name = format!("{}-{}", request.plugin_idx, request.plugin_name);
        let victim = Victim::Plugin(name.clone());
        self.board.change(|state| {
            let connection = &mut state.connections[self.session.number - 1];
            connection.plugin = Some(name.clone());
            connection.reach(Stage::Registered);
            self.faults.extend(state.faults.take(&victim));
        });
        self.session
            .name
            .set(name)
            .expect("a connection registers once");
    }

    /// The answer to a registration that is not accepted.
    fn refusal(&self, request: &api::RegisterPluginRequest) -> Option<Response> {
        let refuse = |text: &str| Some(rpc::error(Code::UNKNOWN, text));
        let index = request.plugin_idx.as_bytes();
        if self.faults.contains(&Fault::RefuseRegistration) {
            return refuse("plugin registration is disabled by the test");
        }
        if index.len() != 2 || !index.iter().all(u8::is_ascii_digit) {
            return refuse("invalid plugin index");
        }
        let mut characters = request.plugin_name.chars();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
        let checked = self.board.settings.profile.checks_names;
        if request.plugin_name.is_empty() || checked && !characters.all(allowed) {
            return refuse("invalid plugin name");
        }
        None
    }

    async fn configure(&self) -> Result<(), Stop> {
        let settings = &self.board.settings;
        let profile = &settings.profile;
        let milliseconds = |timeout: Duration| match profile.sends_timeouts {
            true => i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX),
            false => 0,
        };
        let request = api::ConfigureRequest {
            runtime_name: profile.runtime_name.to_owned(),
            runtime_version: profile.runtime_version.to_owned(),
            registration_timeout: milliseconds(settings.registration_timeout),
            request_timeout: milliseconds(settings.request_timeout),
            NRI_version: match profile.sends_version {
                true => format!("v{}", profile.nri),
                false => String::new(),
            },
            ..api::ConfigureRequest::default()
        };
        let reply = self
            .session
            .call_message::<api::ConfigureResponse>("Configure", &request, settings.request_timeout)
            .await
            .map_err(|_| "Configure failed")?;
        let valid = profile.valid_events;
        if reply.events & !valid != 0 {
            return Err("invalid plugin events".into());
        }
        let subscription = Subscription {
            answered: reply.events,
            events: if reply.events == 0 {
                valid
            } else {
                reply.events
            },
            fail_request: profile.failure_policy && reply.failure_policy.fail_request,
            keep_connected: profile.failure_policy && reply.failure_policy.keep_connected,
        };
        self.session
            .subscription
            .set(subscription)
            .expect("a connection is configured once");
        self.board.note(self.session.number, |connection| {
            connection.reach(Stage::Configured);
        });
        Ok(())
    }

    async fn synchronize(&self) -> Result<(), Stop> {
        let _alone = self.board.operations.write().await;
        let profile = &self.board.settings.profile;
        let messages = {
            let state = self.board.state();
            sync::messages(
                &state.split,
                profile.split_sync,
                &state.pods,
                &state.containers,
            )
        };
        let result = match messages {
            Ok(messages) => self.send_state(&messages).await,
            Err(sync::TooLarge) => Err("the state is too large for Synchronize"),
        };
        match result {
            Ok(synchronized) => {
                self.session
                    .synchronized
                    .set(synchronized)
                    .expect("set once");
                Ok(())
            }
            Err(reason) if profile.closes_unsynchronized => Err(reason.into()),
            Err(_) => Err(Stop::Dead),
        }
    }

    /// Sends the chunks, all within one request timeout.
    async fn send_state(
        &self,
        messages: &[api::SynchronizeRequest],
    ) -> Result<Synchronized, &'static str> {
        let start = Instant::now();
        let deadline = start + self.board.settings.request_timeout;
        let mut updates = Vec::new();
        for message in messages {
            let left = deadline.saturating_duration_since(Instant::now());
            let reply = self
                .session
                .call_message::<api::SynchronizeResponse>("Synchronize", message, left)
                .await
                .map_err(|_| "Synchronize failed")?;
            if message.more && (!reply.more || !reply.update.is_empty()) {
                let connection = self.session.number;
                self.board
                    .change(|state| state.complaints.push(Complaint::Chunk { connection }));
                return Err("the plugin does not handle split synchronization");
            }
            updates = reply.message.update;
        }
        Ok(Synchronized {
            messages: messages.len(),
            updates,
            took: start.elapsed(),
        })
    }
}

/// Whether a fault is ordered for a step.
fn at(fault: &Fault, step: Step) -> bool {
    match fault {
        Fault::Hold(at) | Fault::Close(at) | Fault::HalfClose(at) | Fault::Send(at, _) => {
            *at == step
        }
        Fault::RefuseRegistration | Fault::CutOff(_) | Fault::Raw => false,
    }
}
