//! Trying libraries out as the host would load them, without loading them into this process.

use std::collections::BTreeMap;
use std::path::Path;

use nri_plugin_api::abi::flags;

use super::inspect::{Digest, Inspected};
use super::load::{Libraries, Probe};
use crate::chain;

/// What libraries that were inspected have to come through before they count as sound.
pub(crate) struct Trials {
    peers: Peers,
    libraries: Libraries,
    /// What came of loading each content.
    tried: BTreeMap<Digest, Result<(), String>>,
}

impl Trials {
    /// Nothing is tried yet. `state_dir` is that of the host.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
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
