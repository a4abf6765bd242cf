//! What it takes to run a component.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::component::border::Blueprint;
use crate::component::instance::{self, Source};
use crate::component::load::Libraries;
use crate::component::policy::Policy;
use crate::component::seat::Seat;
use crate::component::watchdog::Watchdog;
use crate::config::ComponentConfig;

/// See the module. Clones share it.
#[derive(Clone, Debug)]
pub struct Means {
    /// The libraries of the process.
    pub libraries: Arc<Libraries>,
    /// Answers for components that do not come back.
    pub watchdog: Watchdog,
    /// Wakes the supervisor.
    pub notice: Arc<Notify>,
}

impl Means {
    /// A seat, whose thread does not run yet.
    pub(super) fn seat(&self, config: &ComponentConfig, policy: Policy) -> Seat {
        let blueprint = Blueprint {
            name: config.name.clone(),
            index: config.index,
            config: config.config_json(),
        };
        let (watchdog, notice) = (self.watchdog.clone(), Arc::clone(&self.notice));
        Seat::new(blueprint, policy, config.quarantine, watchdog, notice)
    }

    /// Starts the thread of a seat, which loads the library at `path` and creates the instance.
    ///
    /// # Errors
    ///
    /// When the system has no thread left.
    pub(super) fn start(&self, seat: &Arc<Seat>, path: &Path) -> io::Result<()> {
        let source = Source {
            path: path.to_owned(),
            libraries: Arc::clone(&self.libraries),
        };
        instance::start(Arc::clone(seat), source)
    }
}

/// How outcomes of a component become answers.
pub(super) fn policy(config: &ComponentConfig, fail_exempt_namespaces: &[String]) -> Policy {
    Policy {
        plugin: config.plugin_name(),
        on_failure: config.on_failure,
        fail_exempt_namespaces: fail_exempt_namespaces.to_vec(),
        timeout: config.timeout,
        sync_timeout: config.sync_timeout,
    }
}
