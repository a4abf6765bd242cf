//! `nri-host check`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use nri_plugin_api::abi::flags;

use super::CommonArgs;
use super::output::print;
use crate::chain;
use crate::component::inspect::{Digest, Inspected, inspect};
use crate::component::load::{Libraries, Probe};
use crate::config::{ComponentConfig, Config, Loaded};
use crate::exit::ExitReason;

/// Checks the configuration and all libraries that it names. Each is also loaded, in a throw-away
/// process, as its constructors could break it; no other code of a component runs, and nothing is
/// connected. Any mistake makes the result [`ExitReason::BadConfig`].
pub(super) fn check(common: &CommonArgs, out: &mut dyn Write) -> ExitReason {
    let report = Report::on(&common.load());
    match print(&report.text, out) {
        ExitReason::Done if report.mistakes > 0 => ExitReason::BadConfig,
        reason => reason,
    }
}

/// What there is to tell, in lines, and how much of it is bad.
#[derive(Default)]
struct Report {
    text: String,
    sound: usize,
    mistakes: usize,
    warnings: usize,
}

impl Report {
    fn on(loaded: &Loaded) -> Self {
        let mut report = Self::default();
        for mistake in &loaded.mistakes {
            report.mistake(mistake);
        }
        for warning in &loaded.warnings {
            report.warning(warning);
        }
        if let Some(config) = &loaded.config {
            let mut trials = Trials::new(config);
            for component in &config.components {
                report.component(component, &mut trials);
            }
        }
        report.line(format_args!(
            "{} OK, {}, {}",
            count(report.sound, "component"),
            count(report.mistakes, "mistake"),
            count(report.warnings, "warning"),
        ));
        report
    }

    fn component(&mut self, component: &ComponentConfig, trials: &mut Trials) {
        let plugin = component.plugin_name();
        if !component.enabled {
            self.line(format_args!("disabled: {plugin}"));
            return;
        }
        let place = format!(
            "{}: component {:?}: library",
            component.origin.find("library"),
            component.name
        );
        let inspected = match inspect(&component.library) {
            Ok(inspected) => inspected,
            Err(error) => {
                let library = component.library.display();
                self.mistake(format_args!("{place}: {library}: {}", chain(&error)));
                return;
            }
        };
        for warning in &inspected.warnings {
            self.warning(format_args!(
                "{place}: {}: {warning}",
                inspected.path.display()
            ));
        }
        if let Err(reason) = trials.pass(&plugin, &inspected) {
            self.mistake(format_args!(
                "{place}: {}: {reason}",
                inspected.path.display()
            ));
            return;
        }
        self.sound += 1;
        self.line(format_args!(
            "OK: {plugin}: {} {} ({})",
            inspected.note.id,
            inspected.note.version,
            inspected.path.display()
        ));
    }

    fn mistake(&mut self, what: impl std::fmt::Display) {
        self.mistakes += 1;
        self.line(what);
    }

    fn warning(&mut self, what: impl std::fmt::Display) {
        self.warnings += 1;
        self.line(format_args!("warning: {what}"));
    }

    fn line(&mut self, what: impl std::fmt::Display) {
        writeln!(self.text, "{what}").expect("a String takes any text");
    }
}

/// What a library has to come through before it counts as sound.
struct Trials {
    peers: Peers,
    libraries: Libraries,
    /// What came of loading each content.
    tried: BTreeMap<Digest, Result<(), String>>,
}

impl Trials {
    fn new(config: &Config) -> Self {
        let state_dir = config.host.state_dir.clone();
        Self {
            peers: Peers::default(),
            libraries: Libraries::new(state_dir, Probe::with_this_program()),
            tried: BTreeMap::new(),
        }
    }

    fn pass(&mut self, plugin: &str, inspected: &Inspected) -> Result<(), String> {
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

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
