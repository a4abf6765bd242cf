//! Updates outside requests, and what comes of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use nri_plugin_api::{
    ContainerUpdate, Error, Host, Resources, UpdateError, UpdateId, UpdateResult, Updates,
};
use serde::Deserialize;

use crate::behaviour::POLL;
use crate::record::{Entry, Record};

/// Asks for updates from a thread of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Burst {
    /// It begins when this file exists.
    after: PathBuf,
    /// One request for each, which sets the processors; an empty id stands for a request that
    /// changes nothing.
    containers: Vec<String>,
}

/// Asks for updates and remembers for which containers.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    host: Host,
    /// Locked while the host is asked: the result may be told before it has returned.
    asked: Arc<Mutex<BTreeMap<UpdateId, String>>>,
}

impl Asker {
    pub(crate) fn new(host: Host) -> Self {
        Self {
            host,
            asked: Arc::default(),
        }
    }

    /// Asks for an update of one container, and writes down what the host says.
    pub(crate) fn ask(&self, container: &str, record: &mut Record) -> Result<(), Error> {
        let mut updates = Updates::new();
        if !container.is_empty() {
            updates.add(ContainerUpdate::new(container, Resources::new().cpus("0")))?;
        }
        let status = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            match self.host.update_containers(updates) {
                Ok(id) => {
                    asked.insert(id, container.to_owned());
                    "queued"
                }
                Err(UpdateError::QueueFull) => "full",
                Err(_) => "refused",
            }
        };
        record.write(&Entry {
            instance: self.host.name(),
            method: "update_containers",
            container,
            status,
            ..Default::default()
        })?;
        Ok(())
    }

    /// Writes down what came of an update.
    pub(crate) fn told(&self, result: &UpdateResult, record: &mut Record) -> Result<(), Error> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let container = asked.remove(&result.id());
        let failed = result.failed().iter();
        let failed: Vec<_> = failed.map(|update| update.container_id.as_str()).collect();
        record.write(&Entry {
            instance: self.host.name(),
            method: "update_result",
            container: container.as_deref().unwrap_or("nobody asked"),
            error: result.error().unwrap_or_default(),
            failed: &failed,
            ..Default::default()
        })?;
        Ok(())
    }
}

/// The thread of a burst; it ends with this value.
#[derive(Debug)]
pub(crate) struct Bursting {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bursting {
    pub(crate) fn start(burst: Burst, asker: Asker, path: Option<&Path>) -> Result<Self, Error> {
        let mut record = Record::open(path)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let _attached = asker.host.attach();
            while !burst.after.exists() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(POLL);
            }
            for container in &burst.containers {
                if let Err(error) = asker.ask(container, &mut record) {
                    tracing::error!(%error, "cannot ask for an update");
                }
            }
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Bursting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It logged its panic.
            let _ = thread.join();
        }
    }
}
