//! Trying components out as the host would run them, without loading them into this process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nri_plugin_api::abi::flags;

use super::border::{Blueprint, NotCreated};
use super::context::ConfigError;
use super::inspect::{Digest, Inspected};
use super::load::{Libraries, Printed, Probe};
use crate::chain;
use crate::child::{self, End, Ended, Job, Report, THIS_PROGRAM, Trial};
use crate::config::ComponentConfig;

/// How long loading, `create` and `destroy` may take together.
const CREATE_LIMIT: Duration = Duration::from_secs(5);

/// What is said against a component when an instance of it is made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// Its configuration is wrong.
    Config(Vec<ConfigError>),
    /// It is broken.
    Broken(String),
    /// It may be otherwise in the daemon, or at another time.
    NotNow(String),
}

/// What libraries that were inspected have to come through before they count as sound.
pub(crate) struct Trials {
    state_dir: PathBuf,
    peers: Peers,
    libraries: Libraries,
    /// What came of loading each content.
    tried: BTreeMap<Digest, Result<(), String>>,
}

impl Trials {
    /// Nothing is tried yet. `state_dir` is that of the host.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            peers: Peers::default(),
            libraries: Libraries::new(state_dir.to_owned(), Probe::with_this_program()),
            tried: BTreeMap::new(),
        }
    }

    /// Loads the library of `plugin` in a throw-away process, once for each content, and looks
    /// whether it gets along with those before it. Blocks for as long as that takes.
    ///
    /// # Errors
    ///
    /// Says in one line why the host would not have it.
    pub(crate) fn pass(&mut self, plugin: &str, inspected: &Inspected) -> Result<(), String> {
        let probe = || {
            let probed = self.libraries.probe(inspected);
            probed.map_err(|error| chain(&error))
        };
        let outcome = self.tried.entry(inspected.digest).or_insert_with(probe);
        outcome.clone()?;
        self.peers.admit(plugin, inspected)
    }

    /// Makes an instance in a throw-away process and ends it. Blocks for as long as that takes.
    ///
    /// # Errors
    ///
    /// What is said against it.
    pub(crate) fn create(&self, component: &ComponentConfig) -> Result<(), Objection> {
        let trial = Trial {
            library: component.library.clone(),
            state_dir: self.state_dir.clone(),
            blueprint: Blueprint {
                name: component.name.clone(),
                index: component.index,
                config: component.config_json(),
            },
        };
        let program = Path::new(THIS_PROGRAM);
        let ended = task(&trial)
            .map_err(|error| chain(&error))
            .and_then(|task| {
                let started = child::start(program, Job::Create, task, CREATE_LIMIT);
                started.map_err(|error| chain(&error))
            });
        match ended {
            Ok(ended) => verdict(ended),
            Err(reason) => Err(Objection::NotNow(reason)),
        }
    }
}

/// A configuration can hold secrets, so it is on no command line and in no folder.
fn task(trial: &Trial) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(c"nrih-trial", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(&serde_json::to_vec(trial)?)?;
    Ok(file.into())
}

fn verdict(ended: Ended<Result<(), NotCreated>>) -> Result<(), Objection> {
    let Ended {
        end,
        report,
        output,
    } = ended;
    let printed = Printed::from(output);
    match (report, end) {
        (Report::Done(Ok(())), End::Exited(0) | End::Untold) => Ok(()),
        (Report::Done(Err(NotCreated::Failed { config, .. })), _) if !config.is_empty() => {
            Err(Objection::Config(config))
        }
        (
            Report::Done(Err(NotCreated::TryLater(reason) | NotCreated::Failed { reason, .. })),
            _,
        ) => Err(Objection::NotNow(format!("says {reason:?}"))),
        (Report::NotBegun, _) | (_, End::TimedOut(_)) => Err(Objection::NotNow(format!(
            "the process for it {end}{printed}"
        ))),
        (Report::Begun | Report::Done(Ok(())), _) => Err(Objection::Broken(format!(
            "{end} when an instance was made and ended{printed}"
        ))),
    }
}

/// The libraries so far, by content, with the plugin that came first: some do not get along.
#[derive(Default)]
struct Peers {
    one_instance: BTreeMap<Digest, String>,
    go: Option<(Digest, String)>,
}

impl Peers {
    fn admit(&mut self, plugin: &str, inspected: &Inspected) -> Result<(), String> {
        let digest = inspected.digest;
        if inspected.note.flags & flags::ONE_INSTANCE != 0 {
            if let Some(first) = self.one_instance.get(&digest) {
                return Err(format!(
                    "says that it can serve one component only, and it serves {first} already"
                ));
            }
            self.one_instance.insert(digest, plugin.to_owned());
        }
        if inspected.go_runtime {
            match &self.go {
                Some((other, first)) if *other != digest => {
                    return Err(format!(
                        "carries a Go runtime, as does the library of {first}: there can be one \
                         in a process only, and this version has no processes for components"
                    ));
                }
                Some(_) => {}
                None => self.go = Some((digest, plugin.to_owned())),
            }
        }
        Ok(())
    }
}
